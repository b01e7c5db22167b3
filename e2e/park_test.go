package e2e

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/webtest"
)

// challenge is a page that is nothing but a challenge, with a status of 200.
const challenge = `<!DOCTYPE html><html><head><title>Security check</title>
<script src="https://www.google.com/recaptcha/api.js"></script></head>
<body><form method="post"><p>Please verify you are human.</p><div class="g-recaptcha" data-sitekey="1"></div></form></body></html>`

// A site that turns into a challenge in the middle of a crawl is left alone at once:
// the crawl ends and says so, the same command sends nothing more, and after the
// release it goes on and is complete.
func TestChallengeParksTheSite(t *testing.T) {
	t.Parallel()
	const pages, before, atOnce = 60, 20, 4
	var wall atomic.Bool
	var answered, refused atomic.Int64
	wall.Store(true)
	site := webtest.New(t, webtest.Config{Pages: pages, Script: func(v webtest.Visit) *webtest.Answer {
		if v.Page >= 0 && wall.Load() && answered.Add(1) > before {
			refused.Add(1)
			return &webtest.Answer{Body: challenge}
		}
		return nil
	}})
	dir := t.TempDir()
	out := filepath.Join(dir, "pages.jsonl")
	args := crawl(site.Roots(0, 1), embedded(dir), unthrottled(), []string{
		"--name", "shop", "-o", out, "-s", "DOWNLOAD_DELAY=0.05", "-s", "RANDOMIZE_DOWNLOAD_DELAY=false", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=4",
	})

	n := run(t, args...).finish()
	require.LessOrEqual(t, refused.Load(), int64(1+2*atOnce), "only what was in flight reached the site")
	text := n.err.String()
	require.Contains(t, text, "host parked")
	require.Contains(t, text, "challenge: captcha")
	require.Contains(t, text, "host was left alone")
	require.Contains(t, text, "node crawls release shop HOST --data-dir ")
	require.Contains(t, text, "parked/hosts: 1")
	require.Contains(t, text, "blocked/challenge: ")
	require.Len(t, lines(t, readFile(t, out)), before)

	sent := site.Count()
	n = run(t, args...).finish()
	require.Equal(t, sent, site.Count(), "the same command sends nothing, not even for robots.txt")
	require.Contains(t, n.err.String(), "host was left alone")

	n = run(t, append([]string{"crawls", "parked", "shop"}, embedded(dir)...)...).finish()
	require.Contains(t, n.out.String(), site.Host(0))
	require.Contains(t, n.out.String(), "challenge: captcha")
	wall.Store(false)
	n = run(t, append([]string{"crawls", "release", "shop", "--all"}, embedded(dir)...)...).finish()
	require.Contains(t, n.out.String(), "requests wait again")
	n = run(t, args...).finish()
	require.NotContains(t, n.err.String(), "left alone")
	require.Empty(t, site.Missing())
	requireExact(t, site, lines(t, readFile(t, out)))
}

// Over HTTP hosts are parked and released while a node serves their crawl.
func TestParkingByHand(t *testing.T) {
	t.Parallel()
	site := webtest.New(t, webtest.Config{Hosts: 2, Pages: 30})
	n := start(t, service(embedded(t.TempDir()), []string{
		"--name", "shop", "--admin", "127.0.0.1:0", "-s", "AUTOTHROTTLE_ENABLED=false", "-s", "DOWNLOAD_DELAY=0.1",
	})...)
	at := adminOf(t, n)
	api := at + "/api/v1/crawls/shop/"
	host := site.Host(0)
	var parked struct{ Parked int }
	require.Equal(t, 200, ask(t, "POST", api+"park", `{"hosts": ["`+strings.ToUpper(host)+`"], "reason": "asked by mail"}`, &parked))
	require.Equal(t, 1, parked.Parked)
	require.Equal(t, 200, ask(t, "POST", api+"seeds", `["`+site.PageURL(0, 0)+`", "`+site.PageURL(1, 0)+`"]`, nil))
	var list struct {
		Hosts []struct {
			Host, Reason string
			Requests     int
		}
	}
	eventually(t, func() bool {
		return ask(t, "GET", api+"parked", "", &list) == 200 && len(list.Hosts) == 1 && list.Hosts[0].Requests == 1
	}, "the seed is put aside")
	require.Equal(t, "asked by mail", list.Hosts[0].Reason)
	require.NoError(t, site.WaitCount(within(t), 10))
	require.Empty(t, site.Arrivals(0), "nothing was sent, not even for robots.txt")
	require.Equal(t, 400, ask(t, "POST", api+"release", `{}`, nil))
	require.Equal(t, 400, ask(t, "POST", api+"park", `{"hosts": ["a b"]}`, nil))
	require.Equal(t, 404, ask(t, "GET", at+"/api/v1/crawls/none/parked", "", nil))
	var released struct{ Hosts, Requests int }
	require.Equal(t, 200, ask(t, "POST", api+"release", `{"hosts": ["`+host+`"]}`, &released))
	require.Equal(t, 1, released.Hosts)
	require.Equal(t, 1, released.Requests)
	eventually(t, func() bool { return len(site.Missing()) == 0 }, "the crawl goes on")
}
