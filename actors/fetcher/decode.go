package fetcher

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"orbweaver/core/crawl"
)

// maxCodings is how many content codings may be stacked on a body.
const maxCodings = 3

var (
	errCoding  = errors.New("unknown content coding")
	errCodings = errors.New("too many content codings")
)

// decoder undoes one content coding at a time; it is pooled for its windows.
type decoder struct {
	src   bytes.Reader
	gzip  gzip.Reader
	flate io.ReadCloser  // nil until used
	br    *brotli.Reader // nil until used
	zstd  *zstd.Decoder  // nil until used
}

// zstdWindow is the largest window that a zstd body may ask for, what RFC 8878
// §3.1.1.1.2 asks decoders to support at least.
const zstdWindow = 8 << 20

// decode removes the codings of Content-Encoding from the body, the last one
// first. A body over the cap, or one that cannot be decoded, becomes a failure.
func (x *exchange) decode() {
	resp := x.resp
	if resp.Cause != crawl.CauseNone || len(resp.Body) == 0 {
		return
	}
	codings, err := codingsOf(resp.Headers)
	if err != nil {
		x.fail(crawl.CauseEncoding, err.Error())
		return
	}
	if len(codings) == 0 {
		return
	}
	d := x.client.inflate.Get().(*decoder) //nolint:forcetypeassert // only *decoder is put
	defer x.client.inflate.Put(d)
	defer d.src.Reset(nil)
	for _, coding := range slices.Backward(codings) {
		var (
			body     []byte
			tooLarge bool
		)
		switch coding {
		case "deflate":
			body, tooLarge, err = d.deflate(x.client, resp.Body)
		case "br":
			body, tooLarge, err = d.unbrotli(x.client, resp.Body)
		case "zstd":
			body, tooLarge, err = d.unzstd(x.client, resp.Body)
		default:
			body, tooLarge, err = d.gunzip(x.client, resp.Body)
		}
		switch {
		case tooLarge:
			x.fail(crawl.CauseTooLarge, "decoded body is over the limit")
			return
		case err != nil:
			x.fail(crawl.CauseEncoding, coding+": "+err.Error())
			return
		}
		x.client.Release(resp)
		resp.Body = body
	}
}

// codingsOf lists the codings to undo, as "gzip", "deflate", "br" and "zstd".
func codingsOf(fields []crawl.Header) ([]string, error) {
	var codings []string
	for i := range fields {
		if len(fields[i].Name) != len("Content-Encoding") || !strings.EqualFold(fields[i].Name, "Content-Encoding") {
			continue
		}
		for part := range strings.SplitSeq(fields[i].Value, ",") {
			switch coding := strings.ToLower(trimSpace(part)); coding {
			case "", "identity", "none": // the last is what some servers send for the second
			case "gzip", "x-gzip":
				codings = append(codings, "gzip")
			case "deflate", "br", "zstd":
				codings = append(codings, coding)
			default:
				return nil, errCoding
			}
			if len(codings) > maxCodings {
				return nil, errCodings
			}
		}
	}
	return codings, nil
}

// gunzip decodes all members of a gzip file. Bytes after the last one that are
// no member are ignored, as browsers do.
func (d *decoder) gunzip(c *Client, body []byte) (out []byte, tooLarge bool, err error) {
	d.src.Reset(body)
	if err := d.gzip.Reset(&d.src); err != nil {
		return nil, false, truncated(err)
	}
	// The last four bytes are the length modulo 2^32 of the last member: a
	// hint that saves growing, when it is believable at all.
	hint := -1
	if len(body) >= 18 {
		if n := int64(binary.LittleEndian.Uint32(body[len(body)-4:])); n <= int64(len(body))*64 {
			hint = int(n) + 1 // one more, so that the end is seen without growing
		}
	}
	return c.bodies.readAll(&members{d}, hint, c.maxSize, nil)
}

// members reads the members of a gzip file one after another.
type members struct{ *decoder }

func (m *members) Read(p []byte) (int, error) {
	m.gzip.Multistream(false)
	n, err := m.gzip.Read(p)
	if err == io.EOF { //nolint:errorlint // io.Reader's contract
		if m.moreMembers() && m.gzip.Reset(&m.src) == nil {
			return n, nil
		}
		return n, io.EOF
	}
	return n, err
}

// moreMembers reports whether another member's magic number follows.
func (m *members) moreMembers() bool {
	first, err := m.src.ReadByte()
	if err != nil {
		return false
	}
	second, err := m.src.ReadByte()
	if err != nil {
		return false
	}
	_, err = m.src.Seek(-2, io.SeekCurrent)
	return err == nil && first == 0x1f && second == 0x8b
}

// deflate decodes what servers mean by "deflate": zlib's format (RFC 1950), as
// the standard says, or raw deflate (RFC 1951), as some do. zlib's checksum is
// not looked at.
func (d *decoder) deflate(c *Client, body []byte) (out []byte, tooLarge bool, err error) {
	data := body
	if len(body) >= 2 && body[0]&0x0f == 8 && body[0]>>4 <= 7 && binary.BigEndian.Uint16(body)%31 == 0 && body[1]&0x20 == 0 {
		data = body[2:]
	}
	d.src.Reset(data)
	if d.flate == nil {
		d.flate = flate.NewReader(&d.src)
	} else if err := d.flate.(flate.Resetter).Reset(&d.src, nil); err != nil { //nolint:forcetypeassert // its documented contract
		return nil, false, err
	}
	return c.bodies.readAll(d.flate, -1, c.maxSize, nil)
}

// unbrotli decodes Brotli (RFC 7932). Its window is at most 16 MiB.
func (d *decoder) unbrotli(c *Client, body []byte) (out []byte, tooLarge bool, err error) {
	d.src.Reset(body)
	if d.br == nil {
		d.br = brotli.NewReader(&d.src)
	} else if err := d.br.Reset(&d.src); err != nil {
		return nil, false, err
	}
	return c.bodies.readAll(d.br, -1, c.maxSize, nil)
}

// unzstd decodes the frames of a Zstandard body (RFC 8878), without goroutines.
func (d *decoder) unzstd(c *Client, body []byte) (out []byte, tooLarge bool, err error) {
	d.src.Reset(body)
	if d.zstd == nil {
		if d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdWindow)); err != nil {
			return nil, false, err
		}
	}
	if err := d.zstd.Reset(&d.src); err != nil {
		return nil, false, err
	}
	return c.bodies.readAll(d.zstd, -1, c.maxSize, nil)
}

// truncated says what an end of file inside a coding is.
func truncated(err error) error {
	if err == io.EOF { //nolint:errorlint // gzip gives it bare
		return io.ErrUnexpectedEOF
	}
	return err
}
