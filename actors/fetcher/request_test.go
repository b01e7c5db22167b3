package fetcher_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/actors/fetcher"
	"orbweaver/core/crawl"
)

func TestRequestBytes(t *testing.T) {
	t.Parallel()
	s := answering(t, hello, true)
	_, port, _ := strings.Cut(s.addr, ":")
	const defaults = "User-Agent: test/1\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\r\n"
	tests := []struct {
		name string
		url  string // after the authority
		auth string // user info
		req  crawl.Request
		want string // HOST stands for the address
	}{
		{name: "plain", url: "/a?b=c", want: "GET /a?b=c HTTP/1.1\r\nHost: HOST\r\n" + defaults},
		{name: "no path", url: "", want: "GET / HTTP/1.1\r\nHost: HOST\r\n" + defaults},
		{name: "query without path", url: "?a=b", want: "GET /?a=b HTTP/1.1\r\nHost: HOST\r\n" + defaults},
		{name: "fragment", url: "/a#b?c", want: "GET /a HTTP/1.1\r\nHost: HOST\r\n" + defaults},
		{name: "fragment only", url: "#b", want: "GET / HTTP/1.1\r\nHost: HOST\r\n" + defaults},
		{name: "path as given", url: "/a/../b//./%7e%2F+;x?%20&=&a#", want: "GET /a/../b//./%7e%2F+;x?%20&=&a HTTP/1.1\r\nHost: HOST\r\n" + defaults},
		{name: "user info", url: "/", auth: "me:p%40ss@", want: "GET / HTTP/1.1\r\nHost: HOST\r\n" +
			"User-Agent: test/1\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nAuthorization: Basic bWU6cEBzcw==\r\n\r\n"},
		{name: "own headers", url: "/", req: crawl.Request{Headers: []crawl.Header{
			{Name: "x-lower", Value: "1"},
			{Name: "Cookie", Value: "a=1; b=2"},
			{Name: "user-agent", Value: "me"},
			{Name: "X-Two", Value: "1"},
			{Name: "X-Two", Value: "2"},
			{Name: "Accept-Encoding", Value: "identity"},
		}}, want: "GET / HTTP/1.1\r\nHost: HOST\r\nx-lower: 1\r\nCookie: a=1; b=2\r\nuser-agent: me\r\nX-Two: 1\r\nX-Two: 2\r\n" +
			"Accept-Encoding: identity\r\nAccept: */*\r\n\r\n"},
		{
			name: "own host", url: "/", req: crawl.Request{Headers: []crawl.Header{{Name: "host", Value: "example.org"}}},
			want: "GET / HTTP/1.1\r\nhost: example.org\r\n" + defaults,
		},
		{
			name: "post", url: "/", req: crawl.Request{Method: "POST", Body: []byte(""), Headers: []crawl.Header{{Name: "Content-Length", Value: "99"}}},
			want: "POST / HTTP/1.1\r\nHost: HOST\r\n" + strings.TrimSuffix(defaults, "\r\n") + "Content-Length: 0\r\n\r\n",
		},
		{name: "other method", url: "/", req: crawl.Request{Method: "PROPFIND"}, want: "PROPFIND / HTTP/1.1\r\nHost: HOST\r\n" + defaults},
	}
	slot := newSlot(t, func(c *fetcher.Config) {
		c.UserAgent = "test/1"
		c.DefaultHeaders = []crawl.Header{{Name: "Accept", Value: "*/*"}}
	})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.req.URL = "http://" + tt.auth + "127.0.0.1:" + port + tt.url
			resp := slot.Do(context.Background(), &tt.req, fetcher.Permit{}, nil)
			requireCause(t, crawl.CauseNone, resp)
			require.Equal(t, strings.ReplaceAll(tt.want, "HOST", s.addr), <-s.heads)
		})
	}
}

func TestRequestBody(t *testing.T) {
	t.Parallel()
	s := answering(t, hello, false)
	resp := newSlot(t).Do(context.Background(), &crawl.Request{
		URL: s.url(), Method: "POST", Body: []byte("a=b"),
		Headers: []crawl.Header{{Name: "Content-Type", Value: "application/x-www-form-urlencoded"}},
	}, fetcher.Permit{}, nil)
	requireCause(t, crawl.CauseNone, resp)
	require.Contains(t, <-s.heads, "Content-Length: 3\r\n")
}

func TestHead(t *testing.T) {
	t.Parallel()
	s := answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\nContent-Encoding: gzip\r\n\r\n", true)
	slot := newSlot(t)
	for range 2 {
		resp := slot.Do(context.Background(), &crawl.Request{URL: s.url(), Method: "HEAD"}, fetcher.Permit{}, nil)
		requireCause(t, crawl.CauseNone, resp)
		require.Empty(t, resp.Body)
	}
	require.Equal(t, int32(1), s.conns.Load())
}

func TestRequestsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	s := answering(t, hello, true)
	tests := []struct {
		name string
		req  crawl.Request
	}{
		{"method with a space", crawl.Request{Method: "GET /x"}},
		{"header name with a line break", crawl.Request{Headers: []crawl.Header{{Name: "A\r\nB", Value: "c"}}}},
		{"header value with a line break", crawl.Request{Headers: []crawl.Header{{Name: "A", Value: "b\r\nC: d"}}}},
		{"empty header name", crawl.Request{Headers: []crawl.Header{{Value: "b"}}}},
	}
	slot := newSlot(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.req.URL = s.url()
			requireCause(t, crawl.CauseBadURL, slot.Do(context.Background(), &tt.req, fetcher.Permit{}, nil))
			require.Zero(t, s.conns.Load())
		})
	}
}

func TestReleasedBodiesAreReused(t *testing.T) {
	t.Parallel()
	s := answering(t, hello, true)
	client := newClient(t)
	slot := client.Slot()
	defer slot.Close()
	for range 10 {
		resp := get(t, slot, s.url())
		require.Equal(t, "hello", string(resp.Body))
		client.Release(resp)
		require.Nil(t, resp.Body)
		client.Release(resp) // twice does no harm
	}
}
