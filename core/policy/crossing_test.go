package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/policy"
)

// What goes along with a redirect, by the classes of Scrapy's security advisories:
// credentials stay with the origin that they were given for, cookies with the host
// and never leave https; no redirect leads out of the web.
func TestRedirectsCarryNoSecretsAway(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, from, location string
		kept                 []string
	}{
		{"same origin", "https://a.example/x", "/y", []string{"Authorization", "Proxy-Authorization", "Cookie", "X"}},
		{"another host", "https://a.example/x", "https://b.example/", []string{"X"}},
		{"a host below", "https://a.example/x", "https://www.a.example/", []string{"X"}},
		{"another port", "https://a.example/x", "https://a.example:444/", []string{"Cookie", "X"}},
		{"up to https", "http://a.example/x", "https://a.example/", []string{"Cookie", "X"}},
		{"down to http", "https://a.example/x", "http://a.example/", []string{"X"}},
		{"without scheme", "https://a.example/x", "//b.example/", []string{"X"}},
		{"backslashes", "https://a.example/x", "https:\\\\b.example/", []string{"X"}},
		{"user in the URL", "https://a.example/x", "https://a.example@b.example/", []string{"X"}},
		{"upper case", "https://a.example/x", "HTTPS://A.EXAMPLE/y", []string{"Authorization", "Proxy-Authorization", "Cookie", "X"}},
	}
	p := newPolicy(t, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := &crawl.Request{ID: crawl.NewID("r"), URL: tt.from, Headers: []crawl.Header{
				{Name: "authorization", Value: "Basic x"}, {Name: "Proxy-Authorization", Value: "Basic y"}, {Name: "COOKIE", Value: "a=1"}, {Name: "X", Value: "1"},
			}}
			before := append([]crawl.Header(nil), req.Headers...)
			got := p.Decide(req, &crawl.Response{Status: 302, Headers: []crawl.Header{{Name: "Location", Value: tt.location}}}, nil)
			require.Equal(t, policy.Redirect, got.Kind)
			kept := crawl.Response{Headers: got.Request.Headers}
			require.Len(t, got.Request.Headers, len(tt.kept), "%v", got.Request.Headers)
			for _, name := range tt.kept {
				require.NotEmpty(t, kept.Header(name), name)
			}
			require.Equal(t, before, req.Headers, "the request itself is as it was")
		})
	}
}

func TestRedirectsStayInTheWeb(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, nil)
	for _, location := range []string{"file:///etc/passwd", "FILE:/etc/passwd", "s3://bucket/key", "ftp://a.example/", "data:text/html,x", "javascript:x()", "http:///", "gopher://a.example/"} {
		got := p.Decide(request(), &crawl.Response{Status: 302, Headers: []crawl.Header{{Name: "Location", Value: location}}}, nil)
		require.NotContains(t, []policy.Kind{policy.Parse, policy.Retry}, got.Kind, location)
		if got.Kind == policy.Redirect {
			require.Regexp(t, "^https?://[a-z]", got.Request.URL, location)
		}
	}
}
