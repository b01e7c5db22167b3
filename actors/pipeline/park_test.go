package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/blocked"
	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
)

const challengePage = `<html><head><title>Just a moment...</title><script>window._cf_chl_opt={}</script></head><body>Enable JavaScript and cookies to continue</body></html>`

func TestWorkerParksForAChallenge(t *testing.T) {
	t.Parallel()
	location := func(to string) []crawl.Header { return []crawl.Header{{Name: "Location", Value: to}} }
	tests := []struct {
		name string
		resp crawl.Response
		want string // reason; "" for no park
		stat string
	}{
		{"page", html(`<title>T</title><a href="/1">1</a>`), "", ""},
		{"challenge, 200", html(challengePage), "challenge: Cloudflare", "blocked/challenge"},
		{"challenge, 200, that leads on", html(`<meta http-equiv="refresh" content="0; url=/y">` + challengePage), "challenge: Cloudflare", "blocked/challenge"},
		{"challenge, 403, that leads on", crawl.Response{Status: 403, Headers: html("").Headers, Body: []byte(`<meta http-equiv="refresh" content="0; url=/y">` + challengePage)}, "challenge: Cloudflare", "blocked/challenge"},
		{"challenge, 200, that loads itself again", html(`<meta http-equiv="refresh" content="3; url=/">` + challengePage), "challenge: Cloudflare", "blocked/challenge"},
		{"challenge, 403", crawl.Response{Status: 403, Body: []byte(challengePage)}, "challenge: Cloudflare", "blocked/challenge"},
		{"challenge, 429 is not retried", crawl.Response{Status: 429, Headers: []crawl.Header{{Name: "cf-mitigated", Value: "challenge"}}}, "challenge: Cloudflare", "blocked/challenge"},
		{"challenge, 503 is not retried", crawl.Response{Status: 503, Body: []byte(challengePage)}, "challenge: Cloudflare", "blocked/challenge"},
		{"redirect to a challenge is not followed", crawl.Response{Status: 302, Headers: location("/captcha?x=1")}, "challenge: captcha", "blocked/challenge"},
		{"payment", crawl.Response{Status: 402}, "payment required (402)", "blocked/payment"},
		{"one private page", crawl.Response{Status: 401, Headers: []crawl.Header{{Name: "WWW-Authenticate", Value: "Basic"}}}, "", "blocked/login"},
		{"busy", crawl.Response{Status: 429}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newParser(t)
			p.job.Blocked = blocked.NewWatch()
			o := p.judge(tt.resp)
			require.Equal(t, tt.want, o.page.Park)
			if tt.stat != "" {
				require.EqualValues(t, 1, stat(o, tt.stat))
			}
			if tt.want == "" {
				require.NotEqual(t, rqueue.EndParked, o.page.End)
				return
			}
			require.Equal(t, rqueue.EndParked, o.page.End)
			require.Equal(t, tt.want, o.page.Cause)
			require.Nil(t, o.page.Retry)
			require.Empty(t, o.page.Links)
			require.Empty(t, o.page.Items)
			require.False(t, o.isDoc)
			require.EqualValues(t, 1, stat(o, "downloader/response_count"))
			require.Len(t, p.logs.AllEntries(), 1)
			require.Equal(t, tt.want, p.logs.LastEntry().Data["reason"])
			p.judge(tt.resp)
			require.Len(t, p.logs.AllEntries(), 1, "said once")

			p.job.Blocked = nil
			require.Empty(t, p.judge(tt.resp).page.Park, "BLOCKED_PARK off")
		})
	}
}

// A request of a parked host was never sent: it counts as nothing.
func TestWorkerEndsParkedRequests(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	p.job.Blocked = blocked.NewWatch()
	o := p.judge(crawl.Response{Cause: crawl.CauseParked, Err: "challenge: Cloudflare"})
	require.Equal(t, rqueue.EndParked, o.page.End)
	require.Equal(t, "challenge: Cloudflare", o.page.Cause)
	require.Empty(t, o.page.Park)
	require.Empty(t, o.stats)
	require.Zero(t, p.counters.Errors.Load())
}
