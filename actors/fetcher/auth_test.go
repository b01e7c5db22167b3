package fetcher_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/actors/fetcher"
	"orbweaver/core/crawl"
)

func TestAuth(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("Authorization")) })
	plain, secure := httptest.NewServer(h), httptest.NewTLSServer(h)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	loop := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	table := names{"site.test": loop, "WWW.site.test": loop, "asite.test": loop, "site.test.": loop, "site.test.evil": loop}
	const set, own = "Basic bWU6d29yZA==", "Basic b3duOnB3" // me:word, own:pw
	tests := []struct {
		name, domain, host string
		tls                bool
		header             string
		want               string
	}{
		{name: "host", domain: "site.test", host: "site.test", want: set},
		{name: "https", domain: "site.test", host: "site.test", tls: true, want: set},
		{name: "below", domain: "Site.test", host: "WWW.site.test", want: set},
		{name: "trailing dot", domain: "site.test", host: "site.test.", want: set},
		{name: "other host", domain: "site.test", host: "asite.test"},
		{name: "longer host", domain: "site.test", host: "site.test.evil"},
		{name: "above", domain: "www.site.test", host: "site.test"},
		{name: "scheme", domain: "https://site.test", host: "site.test", tls: true, want: set},
		{name: "other scheme", domain: "https://site.test", host: "site.test"},
		{name: "other scheme", domain: "http://site.test", host: "site.test", tls: true},
		{name: "other port", domain: "site.test:8080", host: "site.test"},
		{name: "port", domain: "http://site.test:" + portOf(plain), host: "site.test", want: set},
		{name: "user info", domain: "site.test", host: "own:pw@site.test", want: own},
		{name: "own field", domain: "site.test", host: "site.test", header: "Bearer x", want: "Bearer x"},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+tt.host, func(t *testing.T) {
			t.Parallel()
			slot := newSlot(t, func(c *fetcher.Config) {
				c.Auth = fetcher.Auth{User: "me", Password: "word", Domain: tt.domain}
				c.Resolver, c.SkipVerify = table, true
			})
			scheme, at := "http", plain.Listener.Addr().String()
			if tt.tls {
				scheme, at = "https", secure.Listener.Addr().String()
			}
			_, port, err := net.SplitHostPort(at)
			require.NoError(t, err)
			req := &crawl.Request{URL: scheme + "://" + tt.host + ":" + port + "/"}
			if tt.header != "" {
				req.Headers = []crawl.Header{{Name: "authorization", Value: tt.header}}
			}
			resp := slot.Do(context.Background(), req, fetcher.Permit{}, nil)
			requireCause(t, crawl.CauseNone, resp)
			require.Equal(t, tt.want, string(resp.Body))
		})
	}
	for _, bad := range []fetcher.Auth{{User: "a"}, {Password: "word"}, {User: "a:b", Domain: "c"}, {User: "a", Domain: "ftp://c"}, {User: "a", Domain: "c/d"}} {
		_, err := fetcher.New(fetcher.Config{Auth: bad})
		require.ErrorContains(t, err, "auth")
		require.NotContains(t, err.Error(), "word")
	}
}

func portOf(s *httptest.Server) string { return s.URL[strings.LastIndexByte(s.URL, ':')+1:] }
