package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/policy"
)

func TestRefresh(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, page, want string }{
		{"usual", `<meta http-equiv="refresh" content="0; url=/y">`, "http://a.example/y"},
		{"content first, odd case", `<META CONTENT='5;URL=y' HTTP-EQUIV=rEfReSh>`, "http://a.example/y"},
		{"no url=", `<meta http-equiv=refresh content="0; /y">`, "http://a.example/y"},
		{"comma", `<meta http-equiv=refresh content="0,url=/y">`, "http://a.example/y"},
		{"fraction", `<meta http-equiv=refresh content=" .5; url=/y">`, "http://a.example/y"},
		{"entities", `<meta http-equiv=refresh content="0; url=/y?a=1&amp;b=2">`, "http://a.example/y?a=1&b=2"},
		{"written in entities", `<meta http-equiv="&#114;efres&#x68;" content="0; url=/y">`, "http://a.example/y"},
		{"quoted in part", `<meta http-equiv=refresh content="0; url='/y' or so">`, "http://a.example/y"},
		{"no target", `<meta http-equiv=refresh content="5">`, ""},
		{"empty target", `<meta http-equiv=refresh content="5; url=">`, ""},
		{"no number", `<meta http-equiv=refresh content="url=/y">`, ""},
		{"huge delay", `<meta http-equiv=refresh content="` + strings.Repeat("9", 400) + `; url=/y">`, ""},
		{"script", `<meta http-equiv=refresh content="0; url=javascript:x()">`, ""},
		{"file", `<meta http-equiv=refresh content="0; url=file:///etc/passwd">`, ""},
		{"comment", `<!-- <meta http-equiv=refresh content="0; url=/y"> -->`, ""},
		{"in a script", `<script>"<meta http-equiv=refresh content='0; url=/y'>"</script>`, ""},
		{"noscript", `<noscript><meta http-equiv=refresh content="0; url=/y"></noscript>`, ""},
		{"after noscript", `<noscript>x</noscript><meta http-equiv=refresh content="0; url=/y">`, "http://a.example/y"},
		{"another meta", `<meta name=refresh content="0; url=/y">`, ""},
		{"the first", `<meta http-equiv=refresh content="0; url=/y"><meta http-equiv=refresh content="0; url=/z">`, "http://a.example/y"},
	}
	p := newPolicy(t, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := p.Refresh(request(), &crawl.Response{Status: 200}, []byte(tt.page))
			require.Equal(t, tt.want != "", ok)
			if ok {
				require.Equal(t, tt.want, got.Request.URL)
				require.Equal(t, "http://a.example/x", got.Request.Referer)
				require.Equal(t, int32(1), got.Request.Redirects)
			}
		})
	}
}

func TestRefreshIsNotFollowed(t *testing.T) {
	t.Parallel()
	page := []byte(`<meta http-equiv="refresh" content="9; url=/y">`)
	tests := []struct {
		name   string
		change func(*policy.Config)
		req    crawl.Request
		dead   bool
	}{
		{name: "disabled", change: func(c *policy.Config) { c.MetaRefreshEnabled = false }},
		{name: "too late", change: func(c *policy.Config) { c.MetaRefreshMaxDelay = 9 * time.Second }},
		{name: "HEAD", req: crawl.Request{Method: "HEAD"}},
		{name: "dont_redirect", req: crawl.Request{Meta: []byte(`{"dont_redirect": true}`)}},
		{name: "too often", req: crawl.Request{Redirects: 20}, dead: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.req.URL = "http://a.example/x"
			got, ok := newPolicy(t, tt.change).Refresh(&tt.req, &crawl.Response{Status: 200}, page)
			require.Equal(t, tt.dead, ok)
			require.Nil(t, got.Request)
			if ok {
				require.Equal(t, crawl.CauseRedirects, got.Cause)
			}
		})
	}
}

// A form that was posted is not posted again where the page leads.
func TestRefreshIsGet(t *testing.T) {
	t.Parallel()
	req := &crawl.Request{URL: "http://a.example/x", Method: "POST", Body: []byte("a=1"), Headers: []crawl.Header{{Name: "Content-Type", Value: "x/y"}, {Name: "X", Value: "1"}}}
	got, ok := newPolicy(t, nil).Refresh(req, &crawl.Response{Status: 200}, []byte(`<meta http-equiv=refresh content="0; url=/y">`))
	require.True(t, ok)
	require.Equal(t, "GET", got.Request.Method)
	require.Empty(t, got.Request.Body)
	require.Equal(t, []crawl.Header{{Name: "X", Value: "1"}}, got.Request.Headers)
}

func TestPagesWithoutRefreshCostNothing(t *testing.T) { //nolint:paralleltest // counts allocations
	page := []byte(strings.Repeat(`<p class="fresh">Herefores and RE fresh air.</p>`, 200))
	p, req, resp := newPolicy(t, nil), request(), &crawl.Response{Status: 200}
	require.Zero(t, testing.AllocsPerRun(10, func() {
		if _, ok := p.Refresh(req, resp, page); ok {
			panic("followed")
		}
	}))
}

func BenchmarkRefreshNone(b *testing.B) {
	page := []byte(strings.Repeat(`<p class="first"><a href="/some/link">A link there, and text.</a></p>`, 200))
	p, err := policy.New(policy.Default())
	require.NoError(b, err)
	req, resp := request(), &crawl.Response{Status: 200}
	for b.Loop() {
		p.Refresh(req, resp, page)
	}
}

func FuzzRefresh(f *testing.F) {
	for _, s := range []string{
		`<meta http-equiv="refresh" content="0; url=/y">`, `<base href=//b><noscript><meta http-equiv=refresh content=0,/x></noscript>`,
		`<meta http-equiv=refresh content="1.5.3 ; URL = 'x`, `<!-- refresh`, "<meta \x00http-equiv=refresh content=\xff>",
	} {
		f.Add([]byte(s))
	}
	p, err := policy.New(policy.Default())
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, page []byte) {
		got, ok := p.Refresh(request(), &crawl.Response{Status: 200}, page)
		if !ok {
			require.Zero(t, got)
			return
		}
		require.Equal(t, policy.Redirect, got.Kind)
		require.True(t, strings.HasPrefix(got.Request.URL, "http://") || strings.HasPrefix(got.Request.URL, "https://"), got.Request.URL)
	})
}
