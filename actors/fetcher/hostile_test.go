package fetcher_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/stretchr/testify/require"

	"orbweaver/actors/fetcher"
	"orbweaver/core/crawl"
)

// repeated is head, then part n times, then tail; n less than 0 never ends.
type repeated struct {
	head, part string
	n          int
	tail       string
}

// writeTo sends it until the reader goes away.
func (r repeated) writeTo(w io.Writer) {
	_, err := io.WriteString(w, r.head)
	several := max(1, (32<<10)/max(1, len(r.part)))
	many := []byte(strings.Repeat(r.part, several))
	for n := r.n; err == nil && n != 0; {
		take := several
		if n > 0 {
			take = min(n, several)
			n -= take
		}
		_, err = w.Write(many[:take*len(r.part)])
	}
	if err == nil {
		_, _ = io.WriteString(w, r.tail)
	}
}

// heap is how many bytes of objects are in use.
func heap() int64 {
	runtime.GC()
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64()) //nolint:gosec // a size
}

// peakOf runs f and gives how far the heap grew meanwhile, as samples every
// millisecond saw it.
func peakOf(f func()) int64 {
	base, peak := heap(), int64(0)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			peak = max(peak, heap()-base)
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	})
	f()
	close(stop)
	wg.Wait()
	return peak
}

const mebi = 1 << 20

// A hostile answer ends by a cap, and takes no more memory than a body may have and
// one MiB.
func TestHostileAnswersTakeBoundedMemory(t *testing.T) { //nolint:paralleltest // it measures the heap
	const ok = "HTTP/1.1 200 OK\r\n"
	const chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
	kinds := []struct {
		name   string
		answer repeated
		cause  crawl.Cause
	}{
		{"endless header lines", repeated{head: ok, part: "X-A: bbbbbbbb\r\n", n: -1}, crawl.CauseMalformed},
		{"endless empty-named fields", repeated{head: ok, part: ": b\r\n", n: -1}, crawl.CauseMalformed},
		{"endless folded lines", repeated{head: ok + "X-A: b\r\n", part: " b\r\n", n: -1}, crawl.CauseMalformed},
		{"one endless header line", repeated{head: ok + "X-A: ", part: "bbbbbbbb", n: -1}, crawl.CauseMalformed},
		{"one endless header name", repeated{head: ok, part: "bbbbbbbb", n: -1}, crawl.CauseMalformed},
		{"endless bare CR", repeated{head: ok, part: "\r", n: -1}, crawl.CauseMalformed},
		{"endless NUL", repeated{head: ok, part: "\x00", n: -1}, crawl.CauseMalformed},
		{"endless NUL before the status", repeated{part: "\x00", n: -1}, crawl.CauseMalformed},
		{"endless empty lines before the status", repeated{part: "\r\n", n: -1}, crawl.CauseMalformed},
		{"endless status line", repeated{head: "HTTP/1.1 200 ", part: "OK ", n: -1}, crawl.CauseMalformed},
		{"endless version", repeated{head: "HTTP/", part: "1", n: -1}, crawl.CauseMalformed},
		{"endless 100", repeated{part: "HTTP/1.1 100 Continue\r\n\r\n", n: -1}, crawl.CauseMalformed},
		{"endless 103 with fields", repeated{part: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", n: -1}, crawl.CauseMalformed},
		{"endless HTTP/0.9", repeated{part: "<p>hello</p>\n", n: -1}, crawl.CauseMalformed},
		{"endless body", repeated{head: ok + "\r\n", part: "<p>more</p>", n: -1}, crawl.CauseTooLarge},
		{"endless body under a huge length", repeated{head: ok + "Content-Length: 9223372036854775807\r\n\r\n", part: "<p>more</p>", n: -1}, crawl.CauseTooLarge},
		{"endless chunks", repeated{head: chunked, part: "8\r\n<p>a</p>\r\n", n: -1}, crawl.CauseTooLarge},
		{"endless chunks of a byte", repeated{head: chunked, part: "1\r\na\r\n", n: -1}, crawl.CauseTooLarge},
		{"one chunk of an EiB", repeated{head: chunked + "1000000000000000\r\n", part: "aaaaaaaa", n: -1}, crawl.CauseTooLarge},
		{"length and endless chunks", repeated{head: ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", part: "8\r\n<p>a</p>\r\n", n: -1}, crawl.CauseTooLarge},
		{"endless chunk size", repeated{head: chunked, part: "00000000", n: -1}, crawl.CauseMalformed},
		{"endless chunk extension", repeated{head: chunked + "8;", part: "aaaaaaaa", n: -1}, crawl.CauseMalformed},
		{"extensions of small chunks", repeated{head: chunked, part: "1;" + strings.Repeat("a", 100) + "\r\nx\r\n", n: -1}, crawl.CauseMalformed},
		{"endless trailer", repeated{head: chunked + "0\r\n", part: "X-A: bbbbbbbb\r\n", n: -1}, crawl.CauseMalformed},
		{"one endless trailer line", repeated{head: chunked + "0\r\nX-A: ", part: "bbbbbbbb", n: -1}, crawl.CauseMalformed},
		{"endless gzip header", repeated{head: ok + "Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x03", part: "name", n: -1}, crawl.CauseTooLarge},
		{"endless empty gzip members", repeated{head: ok + "Content-Encoding: gzip\r\n\r\n", part: gzipped(t, ""), n: -1}, crawl.CauseTooLarge},
		{"endless empty zstd frames", repeated{head: ok + "Content-Encoding: zstd\r\n\r\n", part: zstded(t, ""), n: -1}, crawl.CauseTooLarge},
		{"endless text under gzip", repeated{head: ok + "Content-Encoding: gzip\r\n\r\n", part: "text", n: -1}, crawl.CauseTooLarge},
		{"endless text under br", repeated{head: ok + "Content-Encoding: br\r\n\r\n", part: "\x00text", n: -1}, crawl.CauseTooLarge},
	}
	for _, k := range kinds {
		limit := int64(2 * mebi)
		if strings.Contains(k.name, "zstd") {
			limit = 8 * mebi // its window alone may take as much
		}
		slot := newSlot(t, func(c *fetcher.Config) { c.MaxSize = limit; c.Timeout = time.Minute })
		t.Run(k.name, func(t *testing.T) { //nolint:paralleltest // as above
			s := newSite(t, func(_ *site, c net.Conn, next func() bool) {
				next()
				k.answer.writeTo(c)
			})
			var resp *crawl.Response
			peak := peakOf(func() { resp = get(t, slot, s.url()) })
			requireCause(t, k.cause, resp)
			require.LessOrEqual(t, resp.Wire, 9*limit+mebi, "bytes read")
			require.LessOrEqual(t, peak, limit+mebi, "heap")
		})
	}
}

// flushed gives what a stream of zeros begins with, and what each further piece of it
// is once the coder is in its stride.
func flushed(t *testing.T, piece int, open func(io.Writer) flusher) (head, part string) {
	t.Helper()
	var b bytes.Buffer
	w := open(&b)
	zeros := make([]byte, piece)
	var ends []int
	for range 4 {
		_, err := w.Write(zeros)
		require.NoError(t, err)
		require.NoError(t, w.Flush())
		ends = append(ends, b.Len())
	}
	require.Equal(t, b.String()[ends[1]:ends[2]], b.String()[ends[2]:ends[3]])
	return b.String()[:ends[1]], b.String()[ends[1]:ends[2]]
}

type flusher interface {
	io.Writer
	Flush() error
}

// A body of at most 10 MB that unpacks to 10 GB costs no more memory than a body may have.
func TestBombs(t *testing.T) { //nolint:paralleltest // it measures the heap
	const piece = 1_000_000
	zeros := strings.Repeat("\x00", piece)
	deflateHead, deflatePart := flushed(t, piece, func(w io.Writer) flusher {
		z, err := flate.NewWriter(w, 6)
		require.NoError(t, err)
		return z
	})
	brHead, brPart := flushed(t, piece, func(w io.Writer) flusher { return brotli.NewWriterLevel(w, 5) })
	gzipMember, zstdFrame := gzipped(t, zeros), zstded(t, zeros)
	stack := func(inner string) string { return gzipped(t, strings.Repeat(inner, 10_000)) }
	const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"
	bombs := []struct {
		coding string
		body   repeated
	}{
		{"gzip", repeated{head: gzipHeader + deflateHead, part: deflatePart, n: 10_000}},
		{"gzip of many members", repeated{part: gzipMember, n: 10_000}},
		{"deflate", repeated{head: deflateHead, part: deflatePart, n: 10_000}},
		{"deflate of zlib", repeated{head: "\x78\x9c" + deflateHead, part: deflatePart, n: 10_000}},
		{"br", repeated{head: brHead, part: brPart, n: 10_000}},
		{"zstd", repeated{part: zstdFrame, n: 10_000}},
		{"gzip, gzip", repeated{part: stack(gzipMember), n: 1}},
		{"zstd, gzip", repeated{part: stack(zstdFrame), n: 1}},
		{"br, gzip", repeated{part: gzipped(t, brHead+strings.Repeat(brPart, 10_000)), n: 1}},
		{"gzip, br", repeated{part: brotlied(t, strings.Repeat(gzipMember, 10_000)), n: 1}},
	}
	const limit = 32 * mebi
	slot := newSlot(t, func(c *fetcher.Config) { c.MaxSize = limit; c.Timeout = time.Minute })
	for _, bomb := range bombs {
		t.Run(bomb.coding, func(t *testing.T) { //nolint:paralleltest // as above
			coding, _, _ := strings.Cut(bomb.coding, " of ")
			s := newSite(t, func(_ *site, c net.Conn, next func() bool) {
				next()
				bomb.body.head = fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\n\r\n%s", coding, bomb.body.head)
				bomb.body.writeTo(c)
			})
			var resp *crawl.Response
			peak := peakOf(func() { resp = get(t, slot, s.url()) })
			requireCause(t, crawl.CauseTooLarge, resp)
			require.LessOrEqual(t, peak, int64(limit), "heap")
		})
	}
}
