package pipeline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/policy"
	"orbweaver/core/rqueue"
)

func refreshTo(url string) string {
	return `<title>T</title><meta http-equiv="refresh" content="0; url=` + url + `"><a href="/1">1</a>`
}

func TestWorkerFollowsRefresh(t *testing.T) {
	t.Parallel()
	notFound := html(refreshTo("/moved"))
	notFound.Status = 404
	wide := html("\xff\xfe" + strings.Join(strings.Split(refreshTo("/wide"), ""), "\x00") + "\x00")
	plain := html(refreshTo("/x"))
	plain.Headers[0].Value = "text/plain"
	busy := html(refreshTo("/x"))
	busy.Status = 503
	tests := []struct {
		name  string
		resp  crawl.Response
		doc   bool
		end   rqueue.End
		links []string
	}{
		{"refresh", html(refreshTo("/y")), false, rqueue.EndDone, []string{"http://a.test/y"}},
		{"not found", notFound, false, rqueue.EndDone, []string{"http://a.test/moved"}},
		{"UTF-16", wide, false, rqueue.EndDone, []string{"http://a.test/wide"}},
		{"off site", html(refreshTo("http://b.test/")), false, rqueue.EndDone, nil},
		{"itself", html(refreshTo("/#now")), true, rqueue.EndDone, []string{"http://a.test/1"}},
		{"no web", html(refreshTo("file:///x")), true, rqueue.EndDone, []string{"http://a.test/1"}},
		{"no HTML", plain, true, rqueue.EndDone, nil},
		{"later", busy, false, rqueue.EndRetry, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := newParser(t).judge(tt.resp)
			require.Equal(t, tt.doc, o.isDoc)
			require.Equal(t, tt.end, o.page.End)
			require.Equal(t, tt.links, linkURLs(o))
			if !tt.doc {
				require.Empty(t, o.page.Items)
				require.Zero(t, stat(o, policy.StatResponseReceived))
			}
		})
	}
	o := newParser(t).judge(html(refreshTo("/y")), func(r *crawl.Request) { r.Redirects = 20 })
	require.Equal(t, rqueue.EndDead, o.page.End)
	require.Equal(t, "max redirections reached", o.page.Cause)
}

func TestWorkerObeysReferrerPolicy(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	resp := html(`<a href="/1">1</a>`)
	resp.Headers = append(resp.Headers, crawl.Header{Name: "referrer-policy", Value: "no-referrer"})
	require.Empty(t, p.judge(resp).page.Links[0].Request.Referer)
	require.Equal(t, "http://a.test/", p.judge(html(`<a href="/2">2</a>`)).page.Links[0].Request.Referer, "that page's only")
}

// A site that sends a visitor to the same page, to see whether the cookie comes back,
// is asked again; one that sends it there for nothing is not.
func TestWorkerGoesBackWithACookie(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	p.job.Cookies = true
	resp := crawl.Response{Status: 302, Headers: []crawl.Header{{Name: "Location", Value: "/"}, {Name: "Set-Cookie", Value: "a=1"}}}
	require.True(t, p.judge(resp).page.Links[0].Request.DontFilter)
	resp.Headers[0].Value = "/other"
	require.False(t, p.judge(resp).page.Links[0].Request.DontFilter)
	p.job.Cookies = false
	resp.Headers[0].Value = "/"
	require.False(t, p.judge(resp).page.Links[0].Request.DontFilter)
	p.job.Cookies = true
	resp.Headers = []crawl.Header{{Name: "Location", Value: "/"}}
	require.False(t, p.judge(resp).page.Links[0].Request.DontFilter)
}
