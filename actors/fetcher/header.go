package fetcher

import (
	"bufio"
	"bytes"
	"errors"
	"strings"

	"github.com/valyala/fasthttp"

	"orbweaver/core/crawl"
)

var (
	errNotHTTP     = errors.New("answer does not begin with HTTP/")
	errHeaderSize  = errors.New("header is too long")
	errFraming     = errors.New("header block ends in two places")
	errSwitched    = errors.New("protocol switched without being asked")
	errStatusRange = errors.New("status is not from 100 to 999")
)

// blockEnd is the length of the header block at the start of b, its empty line
// included, or 0 when there is no end yet. Bytes before from were searched by an
// earlier call.
func blockEnd(b []byte, from int) int {
	from = max(0, from-3)
	for {
		i := bytes.IndexByte(b[from:], '\n')
		if i < 0 {
			return 0
		}
		from += i + 1
		switch {
		case from < len(b) && b[from] == '\n':
			return from + 1
		case from+1 < len(b) && b[from] == '\r' && b[from+1] == '\n':
			return from + 2
		}
	}
}

// statusPrefix reports whether b can be the start of a status line.
func statusPrefix(b []byte) bool {
	const want = "HTTP/"
	n := min(len(b), len(want))
	return string(b[:n]) == want[:n]
}

// parseHeader has fasthttp read the complete block of n bytes that br holds.
// fasthttp takes only blocks that end in CRLF CRLF, so that any other is brought
// to that form first: servers that end lines with a bare LF exist, and browsers
// accept them.
func parseHeader(h *fasthttp.ResponseHeader, br *bufio.Reader, block []byte) error {
	if bytes.HasSuffix(block, []byte("\r\n\r\n")) {
		want := br.Buffered() - len(block)
		if err := h.Read(br); err != nil {
			return err
		}
		if br.Buffered() != want {
			return errFraming
		}
		return nil
	}
	lines := bytes.ReplaceAll(block, []byte("\r\n"), []byte("\n"))
	lines = bytes.ReplaceAll(lines, []byte("\n"), []byte("\r\n"))
	if _, err := br.Discard(len(block)); err != nil {
		return err
	}
	return h.Read(bufio.NewReaderSize(bytes.NewReader(lines), len(lines)))
}

// splitHeaders gives the fields of a block that fasthttp has accepted, in their
// order, repeated ones included. The strings share one allocation.
func splitHeaders(block string) []crawl.Header {
	n := strings.Count(block, "\n") - 2
	if n <= 0 {
		return nil
	}
	fields := make([]crawl.Header, 0, n)
	_, rest, _ := strings.Cut(block, "\n") // the status line
	for rest != "" {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			break
		}
		if line[0] == ' ' || line[0] == '\t' { // a folded value, RFC 9112 section 5.2
			if last := len(fields) - 1; last >= 0 {
				fields[last].Value = trimSpace(fields[last].Value + " " + trimSpace(line))
			}
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		fields = append(fields, crawl.Header{Name: trimSpace(name), Value: trimSpace(value)})
	}
	return fields
}

func trimSpace(s string) string { return strings.Trim(s, " \t") }
