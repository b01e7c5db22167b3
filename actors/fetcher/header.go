package fetcher

import (
	"bytes"
	"errors"
	"math"
	"strings"

	"orbweaver/core/crawl"
)

var (
	errNotHTTP     = errors.New("answer does not begin with HTTP/")
	errHeaderSize  = errors.New("header is too long")
	errStatusLine  = errors.New("status line is malformed")
	errStatusRange = errors.New("status is below 100")
	errFold        = errors.New("first field continues no other")
	errSwitched    = errors.New("protocol switched without being asked")
	errLength      = errors.New("Content-Length is not a number")
	errLengths     = errors.New("two different lengths")
	errTransfer    = errors.New("transfer coding unknown, or after chunked")
)

// Lengths of a body that no Content-Length tells.
const (
	lengthChunked int64 = -1
	lengthClose   int64 = -2 // ends with the connection
)

// head is the header block of one response, read the way tolerant clients read
// it (testdata/vectors/http_wild.json). Whatever the grammar of RFC 9112 does not
// have is odd: it is read, and the connection serves no other request, so that a
// misread end of the body can never shift one answer into the next.
type head struct {
	status   int
	fields   []crawl.Header // in their order, repeated ones included
	length   int64          // of the body, or one of the constants above
	transfer []coding       // under the chunks, in the order in which they were applied
	keep     bool           // the connection may serve another request
	odd      bool
}

// parseHead reads a whole block, its empty line included. The strings share one
// allocation.
func parseHead(block []byte) (h head, err error) {
	text := string(block)
	h.odd = strings.IndexByte(text, 0) >= 0
	line, rest := cutLine(text)
	persistent, err := h.parseStatus(line)
	if err != nil {
		return h, err
	}
	if n := strings.Count(rest, "\n") - 1; n > 0 {
		h.fields = make([]crawl.Header, 0, n)
	}
	for rest != "" {
		line, rest = cutLine(rest)
		if line == "" {
			continue // the last one
		}
		if line[0] == ' ' || line[0] == '\t' { // a folded value, RFC 9112 section 5.2
			last := len(h.fields) - 1
			if last < 0 {
				return h, errFold
			}
			h.odd = true
			h.fields[last].Value = trimSpace(h.fields[last].Value + " " + h.clean(trimSpace(line)))
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			h.odd = true // curl passes over it
			continue
		}
		if trimmed := trimSpace(name); trimmed != name || name == "" {
			name, h.odd = trimmed, true
		}
		h.fields = append(h.fields, crawl.Header{Name: h.clean(name), Value: h.clean(trimSpace(value))})
	}
	return h, h.frame(persistent)
}

// cutLine splits off the first line, without its end: CRLF or, as RFC 9112
// section 2.2 allows, a bare LF.
func cutLine(s string) (line, rest string) {
	line, rest, _ = strings.Cut(s, "\n")
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, rest
}

// clean makes spaces of NUL and bare CR, as RFC 9110 section 5.5 asks.
func (h *head) clean(s string) string {
	if strings.IndexByte(s, '\r') < 0 && (!h.odd || strings.IndexByte(s, 0) < 0) {
		return s
	}
	h.odd = true
	b := []byte(s)
	for i, c := range b {
		if c == '\r' || c == 0 {
			b[i] = ' '
		}
	}
	return string(b)
}

// parseStatus reads the status line. Any version will do and any status from 100
// on, even one of four digits; persistent is what the version says about the
// connection.
func (h *head) parseStatus(line string) (persistent bool, err error) {
	version, rest, ok := strings.Cut(line, " ")
	if !ok || !validVersion(version) {
		return false, errStatusLine
	}
	rest = strings.TrimLeft(rest, " ")
	i := 0
	for ; i < len(rest) && rest[i] >= '0' && rest[i] <= '9'; i++ {
		h.status = h.status*10 + int(rest[i]-'0')
		if i >= 5 {
			return false, errStatusLine
		}
	}
	switch {
	case i < 3, i < len(rest) && rest[i] != ' ':
		return false, errStatusLine
	case h.status < 100:
		return false, errStatusRange
	}
	h.odd = h.odd || h.status > 999
	return version == "HTTP/1.1", nil
}

// validVersion reports whether s is HTTP/ and a number, with or without a point.
func validVersion(s string) bool {
	number, ok := strings.CutPrefix(s, "HTTP/")
	major, minor, point := strings.Cut(number, ".")
	return ok && digits(major) && (!point || digits(minor))
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// frame says where the body ends (RFC 9112 section 6.3) and what becomes of the
// connection.
func (h *head) frame(persistent bool) error {
	h.length, h.keep = lengthClose, persistent
	chunked, stated, closes := false, false, false
	var lengthErr error
	for i := range h.fields {
		f := &h.fields[i]
		switch {
		case len(f.Name) == 10 && strings.EqualFold(f.Name, "Connection"):
			if hasToken(f.Value, "close") {
				h.keep, closes = false, true
			} else if !closes && hasToken(f.Value, "keep-alive") {
				h.keep = true
			}
		case len(f.Name) == 14 && strings.EqualFold(f.Name, "Content-Length"):
			lengthErr = errors.Join(lengthErr, h.contentLength(f.Value, stated))
			stated = true
		case len(f.Name) == 17 && strings.EqualFold(f.Name, "Transfer-Encoding"):
			for part := range strings.SplitSeq(f.Value, ",") {
				part = trimSpace(part)
				switch c := codingNamed(part); {
				case part == "", c == identity:
				case chunked:
					return errTransfer
				case strings.EqualFold(part, "chunked"):
					chunked = true
				case c == gzipped || c == deflated:
					h.transfer, h.odd = append(h.transfer, c), true
				default:
					return errTransfer
				}
			}
		}
	}
	switch {
	case chunked:
		// It beats a length; whoever sends both is not to be trusted further.
		h.length, h.odd = lengthChunked, h.odd || stated
	case len(h.transfer) > 0:
		h.length = lengthClose
	case lengthErr != nil:
		return lengthErr
	}
	if len(h.transfer) > maxCodings {
		return errCodings
	}
	h.keep = h.keep && !h.odd && (h.length != lengthClose || bodiless(h.status))
	return nil
}

// contentLength reads one Content-Length: its leading digits count, as for curl.
// Repeated ones must agree. A number too large to be one leaves the end to the
// connection, where the size cap waits.
func (h *head) contentLength(value string, again bool) error {
	for part := range strings.SplitSeq(value, ",") {
		part = trimSpace(part)
		number := strings.TrimPrefix(part, "+")
		n, i := int64(0), 0
		for ; i < len(number) && number[i] >= '0' && number[i] <= '9'; i++ {
			if n > (math.MaxInt64-9)/10 {
				n = lengthClose
				break
			}
			n = n*10 + int64(number[i]-'0')
		}
		switch {
		case i == 0:
			return errLength
		case again && n != h.length:
			return errLengths
		}
		h.odd = h.odd || i < len(part) || again
		h.length, again = n, true
	}
	return nil
}

// bodiless reports whether responses of that status never have a body.
func bodiless(status int) bool { return status == 204 || status == 304 }

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

func trimSpace(s string) string { return strings.Trim(s, " \t") }
