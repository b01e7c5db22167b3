package fetcher_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"orbweaver/actors/fetcher"
	"orbweaver/core/crawl"
)

func gzipped(t *testing.T, data string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(data))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

func zlibbed(t *testing.T, data string) string {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, err := w.Write([]byte(data))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

func brotlied(t *testing.T, data string) string {
	t.Helper()
	var b bytes.Buffer
	w := brotli.NewWriter(&b)
	_, err := w.Write([]byte(data))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

func zstded(t *testing.T, data string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	require.NoError(t, err)
	_, err = w.Write([]byte(data))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

func deflated(t *testing.T, data string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, 6)
	require.NoError(t, err)
	_, err = w.Write([]byte(data))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// coded is an answer whose body has the given Content-Encoding.
func coded(coding, body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", coding, len(body), body)
}

// TestAnswers sends one answer and closes the connection after it.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	page := strings.Repeat("<p>page</p>\n", 500)
	big := strings.Repeat("x", 70_000)
	gz := gzipped(t, page)
	tests := []struct {
		name   string
		answer string
		cause  crawl.Cause
		status int // 200 when zero and there is no cause
		body   string
	}{
		{name: "length", answer: ok + "Content-Length: 5\r\n\r\nhello", body: "hello"},
		{name: "long body", answer: ok + "Content-Length: 70000\r\n\r\n" + big, body: big},
		{name: "zero body", answer: ok + "Content-Length: 0\r\n\r\n"},
		{name: "no content", answer: "HTTP/1.1 204 No Content\r\n\r\n", status: 204},
		{name: "not modified with a length", answer: "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", status: 304},
		{name: "status without reason", answer: "HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n", status: 404},
		{name: "status out of the ordinary", answer: "HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n", status: 999},
		{name: "until close", answer: ok + "\r\n" + big, body: big},
		{name: "HTTP/1.0 until close", answer: "HTTP/1.0 200 OK\r\nServer: old\r\n\r\nhello", body: "hello"},
		{name: "until close, empty", answer: ok + "\r\n"},
		{name: "chunked", answer: ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\n\r\n", body: "hello world"},
		{name: "chunked, empty", answer: ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
		{name: "chunked with trailer", answer: ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 1\r\n\r\n", body: "hi"},
		{name: "chunks of one byte", answer: ok + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1\r\nx\r\n", 70_000) + "0\r\n\r\n", body: big},
		{name: "bare LF", answer: "HTTP/1.1 200 OK\nContent-Length: 5\nX-A: 1\n\nhello", body: "hello"},
		{name: "early hints", answer: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nhi", body: "hi"},
		{name: "header of 60 KiB", answer: ok + "X-Big: " + strings.Repeat("a", 60<<10) + "\r\nContent-Length: 2\r\n\r\nhi", body: "hi"},
		{name: "absurd length", answer: ok + "Content-Length: 99999999999999999999999\r\n\r\nhello", body: "hello"},
		{name: "field without colon", answer: ok + "nonsense\r\nContent-Length: 2\r\n\r\nhi", body: "hi"},
		{name: "NUL in a field", answer: ok + "X-A: \x00\r\nContent-Length: 2\r\n\r\nhi", body: "hi"},
		{name: "length twice", answer: ok + "Content-Length: 2\r\ncontent-length: 2\r\n\r\nhi", body: "hi"},
		{name: "length and chunked", answer: ok + "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", body: "hi"},
		{name: "length and rubbish", answer: ok + "Content-Length: +2 bytes\r\n\r\nhi", body: "hi"},
		{name: "space before the colon", answer: ok + "Content-Length : 2\r\n\r\nhi, and more", body: "hi"},
		{name: "chunks with bare LF", answer: ok + "Transfer-Encoding: chunked\r\n\r\n2\nhi\n0\n\n", body: "hi"},
		{name: "chunked in HTTP/1.0", answer: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", body: "hi"},
		{name: "chunks with zeros and spaces", answer: ok + "Transfer-Encoding: Chunked\r\n\r\n0002 \r\nhi\r\n0\r\n\r\n", body: "hi"},
		{name: "gzip as transfer coding", answer: ok + "Transfer-Encoding: gzip, chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(gz), gz), body: page},
		{name: "gzip as transfer coding until close", answer: ok + "Transfer-Encoding: x-gzip\r\n\r\n" + gz, body: page},
		{name: "length too short", answer: ok + "Content-Length: 2\r\n\r\nhello", body: "he"},

		{name: "dropped before an answer", answer: "", cause: crawl.CauseReset},
		{name: "dropped in the header", answer: ok + "Content-Le", cause: crawl.CauseReset},
		{name: "length too long", answer: ok + "Content-Length: 9\r\n\r\nhello", cause: crawl.CauseReset},
		{name: "chunk cut", answer: ok + "Transfer-Encoding: chunked\r\n\r\n9\r\nhello", cause: crawl.CauseReset},
		{name: "cut between chunks", answer: ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", cause: crawl.CauseReset},
		{name: "cut in the chunk size", answer: ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5", cause: crawl.CauseReset},
		{name: "cut in the trailer", answer: ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", cause: crawl.CauseReset},

		{name: "garbage", answer: "\x00\x01\x02\x03garbage\r\n\r\n", cause: crawl.CauseMalformed},
		{name: "HTTP/0.9", answer: "<html>hello</html>", cause: crawl.CauseMalformed},
		{name: "SSH", answer: "SSH-2.0-OpenSSH_9.7\r\n", cause: crawl.CauseMalformed},
		{name: "no version", answer: "HTTP/one 200 OK\r\n\r\n", cause: crawl.CauseMalformed},
		{name: "no status", answer: "HTTP/1.1 OK\r\n\r\n", cause: crawl.CauseMalformed},
		{name: "status below 100", answer: "HTTP/1.1 042 What\r\n\r\n", cause: crawl.CauseMalformed},
		{name: "first field folded", answer: ok + " X-A: b\r\nContent-Length: 0\r\n\r\n", cause: crawl.CauseMalformed},
		{name: "status of six digits", answer: "HTTP/1.1 200200 OK\r\n\r\n", cause: crawl.CauseMalformed},
		{name: "no space after the status", answer: "HTTP/1.1 200OK\r\n\r\n", cause: crawl.CauseMalformed},
		{name: "no length in the length", answer: ok + "Content-Length: five\r\n\r\nhello", cause: crawl.CauseMalformed},
		{name: "two lengths in one field", answer: ok + "Content-Length: 5, 6\r\n\r\nhello", cause: crawl.CauseMalformed},
		{name: "two lengths", answer: ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", cause: crawl.CauseMalformed},
		{name: "negative length", answer: ok + "Content-Length: -5\r\n\r\nhello", cause: crawl.CauseMalformed},
		{name: "unknown transfer coding", answer: ok + "Transfer-Encoding: rot13, chunked\r\n\r\n0\r\n\r\n", cause: crawl.CauseMalformed},
		{name: "chunked is not last", answer: ok + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", cause: crawl.CauseMalformed},
		{name: "size that is none", answer: ok + "Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n", cause: crawl.CauseMalformed},
		{name: "switched, then another protocol", answer: "HTTP/1.1 101 Switching Protocols\r\n\r\n\x81\x05hello", cause: crawl.CauseMalformed},
		{name: "bad chunk size", answer: ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n", cause: crawl.CauseMalformed},
		{name: "absurd chunk size", answer: ok + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhello", cause: crawl.CauseMalformed},
		{name: "chunk without its end", answer: ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloworld\r\n", cause: crawl.CauseMalformed},
		{name: "switched protocols", answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", cause: crawl.CauseMalformed},
		{name: "header of 1 MiB", answer: ok + "X-Big: " + strings.Repeat("a", 1<<20) + "\r\n\r\n", cause: crawl.CauseMalformed},
		{name: "100,000 short fields", answer: ok + strings.Repeat("A: b\r\n", 100_000) + "\r\n", cause: crawl.CauseMalformed},
		{name: "chunk extension of 1 MiB", answer: ok + "Transfer-Encoding: chunked\r\n\r\n5;" + strings.Repeat("a", 1<<20) + "\r\nhello\r\n0\r\n\r\n", cause: crawl.CauseMalformed},
		{name: "trailer of 1 MiB", answer: ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n" + strings.Repeat("A: b\r\n", 200_000) + "\r\n", cause: crawl.CauseMalformed},

		{name: "announced over the limit", answer: ok + "Content-Length: 100001\r\n\r\n", cause: crawl.CauseTooLarge},
		{name: "at the limit", answer: ok + "Content-Length: 100000\r\n\r\n" + strings.Repeat("x", 100_000), body: strings.Repeat("x", 100_000)},
		{name: "until close over the limit", answer: ok + "\r\n" + strings.Repeat("x", 100_001), cause: crawl.CauseTooLarge},
		{name: "chunked over the limit", answer: ok + "Transfer-Encoding: chunked\r\n\r\n186a1\r\n" + strings.Repeat("x", 100_001) + "\r\n0\r\n\r\n", cause: crawl.CauseTooLarge},

		{name: "gzip", answer: coded("gzip", gz), body: page},
		{name: "x-gzip", answer: coded("X-GZip", gz), body: page},
		{name: "zlib deflate", answer: coded("deflate", zlibbed(t, page)), body: page},
		{name: "raw deflate", answer: coded("deflate", deflated(t, page)), body: page},
		{name: "identity", answer: coded("identity", "plain"), body: "plain"},
		{name: "gzip twice", answer: coded("gzip, gzip", gzipped(t, gz)), body: page},
		{name: "deflate then gzip", answer: coded("deflate, gzip", gzipped(t, zlibbed(t, page))), body: page},
		{name: "two gzip members", answer: coded("gzip", gz+gz), body: page + page},
		{name: "gzip and rubbish after it", answer: coded("gzip", gz+"\x00\x00rubbish"), body: page},
		{name: "gzip of nothing", answer: coded("gzip", gzipped(t, ""))},
		{name: "gzip without a body", answer: coded("gzip", "")},
		{name: "gzip at the limit", answer: coded("gzip", gzipped(t, strings.Repeat("x", 100_000))), body: strings.Repeat("x", 100_000)},
		{name: "gzip over the limit", answer: coded("gzip", gzipped(t, strings.Repeat("x", 100_001))), cause: crawl.CauseTooLarge},
		{name: "gzip bomb", answer: coded("gzip", gzipped(t, strings.Repeat("\x00", 32<<20))), cause: crawl.CauseTooLarge},
		{name: "deflate bomb", answer: coded("deflate", zlibbed(t, strings.Repeat("\x00", 32<<20))), cause: crawl.CauseTooLarge},
		{name: "gzip cut", answer: coded("gzip", gz[:len(gz)-10]), body: page},
		{name: "gzip cut in its magic", answer: coded("gzip", gz[:1]), cause: crawl.CauseEncoding},
		{name: "gzip of a wrong sum", answer: coded("gzip", gz[:len(gz)-8]+"\x00\x00\x00\x00"+gz[len(gz)-4:]), body: page},
		{name: "gzip and then another member cut", answer: coded("gzip", gz+gz[:12]), body: page},
		{name: "gzip cut by the connection", answer: ok + "Content-Encoding: gzip\r\nContent-Length: 500\r\n\r\n" + gz, cause: crawl.CauseReset},
		{name: "gzip without its last chunk", answer: ok + "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n", len(gz), gz), cause: crawl.CauseReset},
		{name: "gzip cut in its header", answer: coded("gzip", gz[:9]), cause: crawl.CauseEncoding},
		{name: "not gzip", answer: coded("gzip", "plain text"), body: "plain text"},
		{name: "neither gzip nor text", answer: coded("gzip", "\x00\x01\x02 data"), cause: crawl.CauseEncoding},
		{name: "long text that is no gzip", answer: coded("gzip", big), body: big},
		{name: "text that is no deflate", answer: coded("deflate", page), body: page},
		{name: "text that is no stack", answer: coded("zstd, gzip", page), body: page},
		{name: "deflate cut", answer: coded("deflate", zlibbed(t, page)[:6]), cause: crawl.CauseEncoding},
		{name: "unknown coding", answer: coded("rot13", "plain"), body: "plain"},
		{name: "character set as coding", answer: coded("utf-8", "plain"), body: "plain"},
		{name: "br", answer: coded("br", brotlied(t, page)), body: page},
		{name: "zstd", answer: coded("ZSTD", zstded(t, page)), body: page},
		{name: "two zstd frames", answer: coded("zstd", zstded(t, page)+zstded(t, page)), body: page + page},
		{name: "br then gzip", answer: coded("br, gzip", gzipped(t, brotlied(t, page))), body: page},
		{name: "zstd then br", answer: coded("zstd, br", brotlied(t, zstded(t, page))), body: page},
		{name: "br of nothing", answer: coded("br", brotlied(t, ""))},
		{name: "zstd of nothing", answer: coded("zstd", zstded(t, ""))},
		{name: "br bomb", answer: coded("br", brotlied(t, strings.Repeat("\x00", 32<<20))), cause: crawl.CauseTooLarge},
		{name: "zstd bomb", answer: coded("zstd", zstded(t, strings.Repeat("\x00", 32<<20))), cause: crawl.CauseTooLarge},
		{name: "zstd bomb in br", answer: coded("zstd, br", brotlied(t, zstded(t, strings.Repeat("\x00", 32<<20)))), cause: crawl.CauseTooLarge},
		{name: "br and rubbish after it", answer: coded("br", brotlied(t, page)+"rubbish"), body: page},
		{name: "zstd cut after a frame", answer: coded("zstd", zstded(t, page)+zstded(t, page)[:9]), body: page},
		{name: "zstd cut", answer: coded("zstd", zstded(t, page)[:8]), cause: crawl.CauseEncoding},
		{name: "not br", answer: coded("br", "plain text, which is none"), body: "plain text, which is none"},
		{name: "not zstd", answer: coded("zstd", "plain text, which is none"), body: "plain text, which is none"},
		// A frame that asks for a window of 2 GiB.
		{name: "zstd of a huge window", answer: coded("zstd", "\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00"), cause: crawl.CauseEncoding},
		{name: "many codings", answer: coded("gzip, gzip, gzip, gzip", gz), cause: crawl.CauseEncoding},
	}
	slot := newSlot(t, func(c *fetcher.Config) { c.MaxSize = 100_000 })
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp := get(t, slot, answering(t, tt.answer, false).url())
			requireCause(t, tt.cause, resp)
			require.False(t, resp.SentAt.IsZero())
			require.Equal(t, tt.body, string(resp.Body))
			if tt.cause == "" {
				require.Equal(t, max(tt.status, 200), resp.Status)
				require.Positive(t, resp.Latency)
				require.GreaterOrEqual(t, resp.Took, resp.Latency)
			}
		})
	}
}

// TestEndless meets servers that never stop: each must be left by a cap, long
// before the timeout.
func TestEndless(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, start, more string
		cause             crawl.Cause
	}{
		{"header lines", "HTTP/1.1 200 OK\r\n", "X-A: bbbbbbbb\r\n", crawl.CauseMalformed},
		{"one header line", "HTTP/1.1 200 OK\r\nX-A: ", "bbbbbbbb", crawl.CauseMalformed},
		{"status line", "HTTP/1.1 200 ", "OK ", crawl.CauseMalformed},
		{"interim responses", "", "HTTP/1.1 100 Continue\r\n\r\n", crawl.CauseMalformed},
		{"body", "HTTP/1.1 200 OK\r\n\r\n", "<p>more</p>", crawl.CauseTooLarge},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "8\r\n<p>a</p>\r\n", crawl.CauseTooLarge},
		{"chunk extension", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8;", "aaaaaaaa", crawl.CauseMalformed},
		{"chunk size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "00000000", crawl.CauseMalformed},
		{"extensions of small chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1;" + strings.Repeat("a", 100) + "\r\nx\r\n", crawl.CauseMalformed},
		{"trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X-A: bbbbbbbb\r\n", crawl.CauseMalformed},
	}
	slot := newSlot(t, func(c *fetcher.Config) { c.MaxSize = 1 << 20 })
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			more := []byte(strings.Repeat(tt.more, 1+4096/len(tt.more)))
			s := newSite(t, func(_ *site, c net.Conn, next func() bool) {
				next()
				_, err := c.Write([]byte(tt.start))
				for err == nil {
					_, err = c.Write(more)
				}
			})
			resp := get(t, slot, s.url())
			requireCause(t, tt.cause, resp)
			require.Less(t, resp.Took, 9*time.Second)
		})
	}
}

// TestDrip meets servers that send one byte now and then: the time for the
// whole fetch ends them.
func TestDrip(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, start, more string }{
		{"nothing", "", ""},
		{"header", "HTTP/1.1 200 OK\r\n", "X"},
		{"interim", "", "HTTP/1.1 102 Processing\r\n\r\n"},
		{"body", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", "x"},
		{"until close", "HTTP/1.1 200 OK\r\n\r\n", "x"},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"},
	}
	slot := newSlot(t, func(c *fetcher.Config) { c.Timeout = 300 * time.Millisecond })
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(_ *site, c net.Conn, next func() bool) {
				next()
				_, err := c.Write([]byte(tt.start))
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for n := 0; err == nil && n < 500; n++ {
					<-tick.C
					_, err = c.Write([]byte(tt.more))
				}
			})
			resp := get(t, slot, s.url())
			requireCause(t, crawl.CauseTimeout, resp)
			require.Less(t, resp.Took, 3*time.Second)
		})
	}
}

func TestResponseFields(t *testing.T) {
	t.Parallel()
	const answer = "HTTP/1.1 200 OK\r\nServer: x\r\nset-cookie: a=1; Path=/\r\nContent-Type: text/html\r\n" +
		"Set-Cookie: b=2\r\nX-Fold: one\r\n\ttwo\r\nX-Empty:\r\nContent-Length: 2\r\n\r\nhi"
	resp := get(t, newSlot(t), answering(t, answer, true).url())
	requireCause(t, crawl.CauseNone, resp)
	require.Equal(t, []crawl.Header{
		{Name: "Server", Value: "x"},
		{Name: "set-cookie", Value: "a=1; Path=/"},
		{Name: "Content-Type", Value: "text/html"},
		{Name: "Set-Cookie", Value: "b=2"},
		{Name: "X-Fold", Value: "one two"},
		{Name: "X-Empty", Value: ""},
		{Name: "Content-Length", Value: "2"},
	}, resp.Headers)
	require.Equal(t, int64(len(answer)), resp.Wire)
}
