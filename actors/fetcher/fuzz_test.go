package fetcher

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
)

// recorded is a connection on which everything has been received already. It
// gives step bytes a read.
type recorded struct {
	net.Conn
	answer *bytes.Reader
	step   int
}

func (r *recorded) Read(p []byte) (int, error)    { return r.answer.Read(p[:min(len(p), r.step)]) }
func (*recorded) Write(p []byte) (int, error)     { return len(p), nil }
func (*recorded) SetDeadline(time.Time) error     { return nil }
func (*recorded) SetReadDeadline(time.Time) error { return nil }
func (*recorded) Close() error                    { return nil }
func (*recorded) RemoteAddr() (addr net.Addr)     { return addr }

// receiveAnswer is what Slot.Do makes of an answer, without a network.
func receiveAnswer(c *Client, answer []byte, step int, method string) (resp *crawl.Response, keep bool) {
	cn := &conn{stream: &recorded{answer: bytes.NewReader(answer), step: step}}
	x := exchange{
		client: c,
		req:    &crawl.Request{URL: "http://example.org/", Method: method},
		resp:   &crawl.Response{},
		conn:   cn,
		start:  time.Now(),

		deadline: time.Now().Add(time.Hour),
	}
	if err := cn.begin(Permit{}, time.Time{}); err != nil {
		panic(err)
	}
	keep = x.receive()
	return x.resp, keep
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 404 Not Found\r\nA: b\r\n c\r\n\r\nhello",
		"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
		"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n\x0b\x02\x80hello\x03",
		"HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n\r\n\x28\xb5\x2f\xfd\x04\x00\x29\x00\x00hello\x88\x3d\xf2\x91",
		"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\nx\x9c\x03\x00\x00\x00\x00\x01",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08",
	} {
		f.Add([]byte(seed), uint8(3))
		f.Add([]byte(seed), uint8(200))
	}
	const limit = 1000
	c, err := New(Config{MaxSize: limit})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, answer []byte, step uint8) {
		resp, keep := receiveAnswer(c, answer, int(step)+1, "GET")
		defer c.Release(resp)
		require.LessOrEqual(t, len(resp.Body), limit)
		require.Equal(t, resp.Cause == crawl.CauseNone, resp.Status >= 200)
		if resp.Cause != crawl.CauseNone {
			require.LessOrEqual(t, len(resp.Err), maxErrText)
			require.Nil(t, resp.Body)
			return
		}
		// How reads happen to be cut must not matter.
		whole, keepWhole := receiveAnswer(c, answer, 1<<20, "GET")
		defer c.Release(whole)
		require.Equal(t, whole.Status, resp.Status)
		require.Equal(t, whole.Headers, resp.Headers)
		require.Equal(t, string(whole.Body), string(resp.Body))
		if keepWhole {
			require.True(t, keep)
		}
		sameAsStandard(t, answer, resp)
	})
}

// sameAsStandard compares the framing with net/http's, where that accepts the
// answer too: a difference would let one response pass for another.
func sameAsStandard(t *testing.T, answer []byte, resp *crawl.Response) {
	t.Helper()
	if !bytes.HasPrefix(answer, []byte("HTTP/1.1 200 OK\r\n")) || resp.Header("Content-Encoding") != "" {
		return
	}
	std, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil)
	if err != nil {
		return
	}
	body, err := io.ReadAll(std.Body)
	require.NoError(t, std.Body.Close())
	if err != nil {
		return
	}
	require.Equal(t, string(body), string(resp.Body))
}

func FuzzTarget(f *testing.F) {
	for _, seed := range []string{
		"http://example.org", "https://u:p@example.org:444/a?b#c", "http://[::1]:80/", "http://a:80?x", "HTTP://A.b./#",
		"http://a@b@c/", "http://a:/", "//a", "http://[::1", "http://[::1]x/",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := parseTarget(raw)
		if err != nil {
			return
		}
		require.NotEmpty(t, got.host)
		require.False(t, strings.ContainsAny(got.authority+got.path, "\r\n #"), "%q", raw)
		require.NotContains(t, got.authority, "@")
		std, err := url.Parse(raw)
		if err != nil {
			return
		}
		require.Equal(t, std.Hostname(), got.host)
		if port := std.Port(); port != "" {
			require.Equal(t, port, got.port)
		}
	})
}
