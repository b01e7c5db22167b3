package fetcher

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"orbweaver/core/crawl"
)

// coding is a content coding that can be removed.
type coding uint8

const (
	unknown coding = iota
	identity
	gzipped
	deflated
	brotlied
	zstded
	codings // how many there are
)

// acceptEncoding names what decode removes.
const acceptEncoding = "gzip, deflate, br, zstd"

// maxCodings is how many content codings may be stacked on a body.
const maxCodings = 3

// bombFloor is the decoded size in bytes up to which a body may expand as far as
// it likes.
const bombFloor = 4 << 20

// zstdWindow is the largest window that a zstd body may ask for: what RFC 9659
// allows on the web. Brotli's is at most 16 MiB by its format.
const zstdWindow = 8 << 20

var errCodings = errors.New("too many codings")

// codingNamed knows a name of Content-Encoding or Transfer-Encoding.
func codingNamed(name string) coding {
	switch strings.ToLower(name) {
	case "", "identity", "none": // the last is what some servers send for the second
		return identity
	case "gzip", "x-gzip":
		return gzipped
	case "deflate":
		return deflated
	case "br":
		return brotlied
	case "zstd":
		return zstded
	default:
		return unknown
	}
}

func (c coding) String() string {
	return [...]string{"unknown", "identity", "gzip", "deflate", "br", "zstd"}[c]
}

// codingsOf lists the codings of a body in the order in which they were applied.
// A coding that is unknown leaves the body as it came, as Scrapy does: servers
// name character sets there.
func codingsOf(fields []crawl.Header) (list []coding, err error) {
	for i := range fields {
		if len(fields[i].Name) != len("Content-Encoding") || !strings.EqualFold(fields[i].Name, "Content-Encoding") {
			continue
		}
		for part := range strings.SplitSeq(fields[i].Value, ",") {
			switch c := codingNamed(trimSpace(part)); {
			case c == unknown:
				return nil, nil
			case c == identity:
			case len(list) == maxCodings:
				return nil, errCodings
			default:
				list = append(list, c)
			}
		}
	}
	return list, nil
}

// layer removes one coding while it is read, and counts what comes out. It is
// pooled for its windows and buffers.
type layer struct {
	coding coding
	wire   *wire
	limit  int64 // ends with errTooLarge when more comes out
	ratio  int64 // ends with errBomb when more comes out per byte of wire; 0 is no limit
	out    int64
	err    error

	src   *bufio.Reader
	dec   io.Reader    // one of the following, nil until opened
	gzip  *gzip.Reader // nil until used, as are the others
	flate io.ReadCloser
	br    *brotli.Reader
	zstd  *zstd.Decoder
}

// layers recycles layers, by coding.
type layers [codings]sync.Pool

// get gives a layer that reads from.
func (p *layers) get(c coding, from io.Reader) *layer {
	l, ok := p[c].Get().(*layer)
	if !ok {
		l = &layer{coding: c, src: bufio.NewReaderSize(nil, smallReader)}
	}
	l.src.Reset(from)
	return l
}

// put takes a layer back; it keeps no hold on what it read from.
func (p *layers) put(l *layer) {
	l.src.Reset(nil)
	l.wire, l.out, l.err, l.dec = nil, 0, nil, nil
	p[l.coding].Put(l)
}

// Read gives decoded bytes. An end of the source that comes too early is
// io.ErrUnexpectedEOF, except before the first byte.
func (l *layer) Read(p []byte) (n int, err error) {
	if l.err != nil {
		return 0, l.err
	}
	if l.dec == nil {
		if l.err = l.open(); l.err != nil {
			return 0, l.err
		}
	}
	n, err = l.dec.Read(p)
	l.out += int64(n)
	switch {
	case l.out > l.limit:
		err = errTooLarge
	case l.ratio > 0 && l.out > bombFloor && l.out/l.ratio > l.wire.n:
		err = errBomb
	}
	l.err = err
	return n, err
}

// open reads the start of the source. An empty body is empty in every coding.
func (l *layer) open() (err error) {
	if _, err = l.src.Peek(1); err != nil {
		return err
	}
	switch l.coding {
	case gzipped:
		if l.gzip == nil {
			l.gzip = new(gzip.Reader)
		}
		l.dec, err = l.gzip, l.gzip.Reset(l.src)
	case deflated:
		err = l.openDeflate()
		l.dec = l.flate
	case brotlied:
		if l.br == nil {
			l.br = brotli.NewReader(nil)
		}
		l.dec, err = l.br, l.br.Reset(l.src)
	default:
		if l.zstd == nil {
			// One goroutine: ours.
			l.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
			if err != nil {
				return err
			}
		}
		l.dec, err = l.zstd, l.zstd.Reset(l.src)
	}
	if err == io.EOF { //nolint:errorlint // gzip gives it bare
		err = io.ErrUnexpectedEOF
	}
	return err
}

// openDeflate takes what servers mean by "deflate": zlib's format (RFC 1950), as
// the standard says, or raw deflate (RFC 1951), as some do. zlib's checksum is
// not looked at.
func (l *layer) openDeflate() error {
	if b, err := l.src.Peek(2); err == nil && b[0]&0x0f == 8 && b[0]>>4 <= 7 && binary.BigEndian.Uint16(b)%31 == 0 && b[1]&0x20 == 0 {
		if _, err := l.src.Discard(2); err != nil {
			return err
		}
	}
	if l.flate == nil {
		l.flate = flate.NewReader(l.src)
		return nil
	}
	return l.flate.(flate.Resetter).Reset(l.src, nil) //nolint:forcetypeassert // its documented contract
}

// decode reads w to its end and gives its content: codings are removed, the last
// one first. Content that is broken is given as far as it goes, and a plain body
// under a coding's name as it is; err is then nil. Memory does not grow with what
// w expands to, but with what is kept of it.
//
// With most > 0 it reads no further than it needs for so many decoded bytes, which
// may be more than the size limit.
func (c *Client) decode(w *wire, codings []coding, most int64) (body []byte, err error) {
	start := &plainHead{wire: w}
	var from io.Reader = start
	limit := w.limit
	used := make([]*layer, 0, 2*maxCodings)
	for _, coding := range slices.Backward(codings) {
		l := c.layers.get(coding, from)
		l.wire, l.limit, l.ratio = w, limit, int64(c.cfg.MaxRatio)
		used, from = append(used, l), l
	}
	defer func() {
		for _, l := range used {
			c.layers.put(l)
		}
	}()
	hint := int64(-1)
	if w.length > 0 {
		hint = 4 * w.length
	}
	body, err = c.bodies.readAll(startOf(from, most), hint)
	for _, l := range used {
		if l.err != nil && (errors.Is(l.err, errTooLarge) || errors.Is(l.err, errBomb)) {
			c.bodies.put(body)
			return nil, l.err
		}
	}
	if raw := start.plain(); err != nil && raw != nil && w.transport() == nil {
		c.bodies.put(body)
		body, err = c.bodies.readAll(startOf(io.MultiReader(bytes.NewReader(raw), w), most), w.length)
	}
	if most > 0 && int64(len(body)) == most {
		return body, nil
	}
	if cut := c.drain(w); cut != nil {
		c.bodies.put(body)
		return nil, cut
	}
	if err != nil && len(body) == 0 {
		return nil, &codingError{used[len(used)-1].coding, err}
	}
	return body, nil
}

// codingError is a body of which nothing could be decoded.
type codingError struct {
	coding coding
	err    error
}

func (e *codingError) Error() string { return e.coding.String() + ": " + e.err.Error() }
func (e *codingError) Unwrap() error { return e.err }

// transport is what ended w other than its own end.
func (w *wire) transport() error {
	if w.err == io.EOF { //nolint:errorlint // set bare
		return nil
	}
	return w.err
}

// drain reads what a decoder left over, so that a body that was cut is told from
// one that is whole, and the connection can go on.
func (c *Client) drain(w *wire) error {
	if w.err != nil {
		return w.transport()
	}
	scratch := c.bodies.get(bodyClasses[0])
	defer c.bodies.put(scratch)
	for w.err == nil {
		if _, err := w.Read(scratch[:cap(scratch)]); err != nil {
			break
		}
	}
	return w.transport()
}

// plainHead keeps what it hands on of a body as long as that looks like text:
// servers announce codings that they did not apply.
type plainHead struct {
	wire  *wire
	seen  []byte
	coded bool // it is no text, or too long to be kept
}

// maxPlain is how many bytes a plainHead keeps: more than any decoder takes to
// find that text is no code.
const maxPlain = 64 << 10

func (h *plainHead) Read(p []byte) (int, error) {
	n, err := h.wire.Read(p)
	if !h.coded && n > 0 {
		if len(h.seen)+n > maxPlain || !text(p[:n]) {
			h.coded, h.seen = true, nil
		} else {
			h.seen = append(h.seen, p[:n]...)
		}
	}
	return n, err
}

// plain is all that was handed on, if it is text.
func (h *plainHead) plain() []byte {
	if h.coded {
		return nil
	}
	return h.seen
}

// text reports whether the first bytes of b are no code: they are UTF-8 without
// control bytes but those of text files.
func text(b []byte) bool {
	b = b[:min(len(b), 512)]
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' || c == 0x7f {
			return false
		}
	}
	for i := 0; i < utf8.UTFMax-1 && len(b) > 0 && !utf8.Valid(b); i++ {
		b = b[:len(b)-1] // a rune may be cut
	}
	return utf8.Valid(b)
}
