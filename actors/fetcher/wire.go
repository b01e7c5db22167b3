package fetcher

import (
	"bufio"
	"errors"
	"io"
)

var (
	errChunk    = errors.New("malformed chunk")
	errFraming  = errors.New("too many bytes around the chunks")
	errTooLarge = errors.New("body is over the limit")
	errBomb     = errors.New("body expands too far")
)

// framingSlack and framingFactor bound what a chunked body may be wrapped in:
// bytes that are no content, minus the slack, are at most factor times those that
// are. A chunk of one byte takes five.
const (
	framingSlack  = 16 << 10
	framingFactor = 7
)

// wire is the body of one response as it comes from the connection, its framing
// removed, its codings not. It is confined to an exchange.
type wire struct {
	br     *bufio.Reader
	length int64 // of the body, lengthChunked or lengthClose
	limit  int64 // ends with errTooLarge when there is more
	n      int64 // bytes given
	err    error // why there is no more; io.EOF when the body is whole

	left    int64 // of the chunk
	framing int64 // bytes around the chunks
	inside  bool  // a chunk has begun whose line end is yet to come
}

// open readies w for a body. A length over the limit is found at once.
func (w *wire) open(br *bufio.Reader, length, limit int64) {
	*w = wire{br: br, length: length, limit: limit}
	if length > limit {
		w.err = errTooLarge
	}
}

// Read gives the body's bytes, and io.EOF only when the body is whole.
func (w *wire) Read(p []byte) (n int, err error) {
	switch {
	case w.err != nil:
		return 0, w.err
	case len(p) == 0:
		return 0, nil
	case w.length == lengthChunked && w.left == 0:
		if w.err = w.nextChunk(); w.err != nil {
			return 0, w.err
		}
	}
	if left := w.bounded(); left < int64(len(p)) {
		p = p[:left]
	}
	n, err = w.br.Read(p)
	w.n += int64(n)
	w.left -= int64(n)
	switch {
	case err == io.EOF && w.length != lengthClose: //nolint:errorlint // io.Reader's contract
		w.err = io.ErrUnexpectedEOF
	case err != nil:
		w.err = err
	case w.n > w.limit:
		w.err = errTooLarge
	case w.length >= 0 && w.n == w.length:
		w.err = io.EOF
	}
	return n, w.err
}

// bounded is how many bytes may be read at once: what is left of the body or of
// the chunk, and one more than the limit at most.
func (w *wire) bounded() int64 {
	left := w.limit - w.n + 1
	switch w.length {
	case lengthClose:
		return left
	case lengthChunked:
		return min(left, w.left)
	default:
		return min(left, w.length-w.n)
	}
}

// nextChunk reads up to the first byte of the next chunk, or past the trailer
// with io.EOF.
func (w *wire) nextChunk() error {
	if w.inside {
		if err := w.lineEnd(); err != nil {
			return err
		}
		w.inside = false
	}
	size, err := w.chunkSize()
	switch {
	case err != nil:
		return err
	case size == 0:
		return w.trailer()
	case size > w.limit-w.n:
		return errTooLarge
	}
	w.left, w.inside = size, true
	return nil
}

// next gives a byte of the framing.
func (w *wire) next() (byte, error) {
	if w.framing++; w.framing-framingSlack > framingFactor*w.n {
		return 0, errFraming
	}
	c, err := w.br.ReadByte()
	if err == io.EOF { //nolint:errorlint // io.ByteReader's contract
		err = io.ErrUnexpectedEOF
	}
	return c, err
}

// lineEnd reads CRLF, or the bare LF of some servers.
func (w *wire) lineEnd() error {
	c, err := w.next()
	if err == nil && c == '\r' {
		c, err = w.next()
	}
	if err == nil && c != '\n' {
		err = errChunk
	}
	return err
}

// chunkSize reads a chunk's first line. Extensions are passed over.
func (w *wire) chunkSize() (int64, error) {
	const most = 1 << 58
	size, seen := int64(0), false
	for {
		c, err := w.next()
		if err != nil {
			return 0, err
		}
		digit := hexDigit(c)
		if digit < 0 {
			if !seen {
				return 0, errChunk
			}
			return size, w.extension(c)
		}
		if size > most {
			return 0, errChunk
		}
		size, seen = size<<4|int64(digit), true
	}
}

// extension reads to the end of a chunk's first line; c is its first byte after
// the size.
func (w *wire) extension(c byte) (err error) {
	if c != ' ' && c != '\t' && c != ';' && c != '\r' && c != '\n' {
		return errChunk
	}
	for err == nil && c != '\n' {
		c, err = w.next()
	}
	return err
}

// trailer reads the fields after the last chunk, which nothing asks for.
func (w *wire) trailer() error {
	for empty := true; ; {
		c, err := w.next()
		switch {
		case err != nil:
			return err
		case c == '\n' && empty:
			return io.EOF
		case c == '\n':
			empty = true
		case c != '\r':
			empty = false
		}
	}
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	default:
		return -1
	}
}
