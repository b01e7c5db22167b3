package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/webtest"
)

// A second crawl of what the cache holds asks the site nothing, waits for no delay and
// brings the same items.
func TestCacheAnswers(t *testing.T) {
	const pages = 40
	site := webtest.New(t, webtest.Config{Pages: pages})
	dir := t.TempDir()
	args := func(file string, more ...string) []string {
		return crawl(site.Roots(0, 1), embedded(t.TempDir()), []string{
			"--name", "shop", "-o", filepath.Join(dir, file),
			"-s", "HTTPCACHE_ENABLED=true", "-s", "HTTPCACHE_POLICY=Dummy", "-s", "HTTPCACHE_DIR=" + filepath.Join(dir, "cache"), "-s", "HTTPCACHE_GZIP=true",
		}, more)
	}
	run(t, args("first.jsonl", unthrottled()...)...).finish()
	requireExact(t, site, lines(t, readFile(t, filepath.Join(dir, "first.jsonl"))))

	asked := site.Count()
	begun := time.Now()
	n := run(t, args("second.jsonl", "-s", "AUTOTHROTTLE_START_DELAY=10", "-s", "DOWNLOAD_DELAY=10")...).finish()
	require.Less(t, time.Since(begun), pages*5*time.Second, "every page would have waited")
	require.Equal(t, asked, site.Count())
	requireExact(t, site, lines(t, readFile(t, filepath.Join(dir, "second.jsonl"))))
	// robots.txt is one of them.
	require.Regexp(t, `httpcache/hit\D+41`, n.err.String())
}

// With RFC9111 a page that is stale is asked for by its ETag, and its 304 is the page.
func TestCacheAsksByETag(t *testing.T) {
	var sent, unchanged atomic.Int64
	site := webtest.New(t, webtest.Config{Pages: 20, Script: func(v webtest.Visit) *webtest.Answer {
		if v.Page < 0 {
			return nil
		}
		if v.Header.Get("If-None-Match") == `"v1"` {
			unchanged.Add(1)
			return &webtest.Answer{Status: 304, Header: http.Header{"Etag": {`"v1"`}}}
		}
		sent.Add(1)
		return &webtest.Answer{Page: true, Header: http.Header{"Etag": {`"v1"`}, "Cache-Control": {"no-cache"}}}
	}})
	dir := t.TempDir()
	for i := range 2 {
		file := filepath.Join(dir, "items.jsonl")
		n := run(t, crawl(site.Roots(0, 1), unthrottled(), embedded(t.TempDir()), []string{
			"-O", file, "-s", "HTTPCACHE_ENABLED=true", "-s", "HTTPCACHE_DIR=" + filepath.Join(dir, "cache"),
		})...).finish()
		require.Len(t, lines(t, readFile(t, file)), 20)
		require.Equal(t, i == 1, strings.Contains(n.err.String(), "httpcache/revalidate"))
	}
	require.EqualValues(t, 20, sent.Load())
	require.EqualValues(t, 20, unchanged.Load())
}

// The cache keeps no challenge: after a release the site is asked again, and the crawl
// goes on to its end.
func TestCacheKeepsNoChallenge(t *testing.T) {
	t.Parallel()
	var wall atomic.Bool
	wall.Store(true)
	site := webtest.New(t, webtest.Config{Pages: 20, Script: func(v webtest.Visit) *webtest.Answer {
		if v.Page > 4 && wall.Load() {
			return &webtest.Answer{Body: `<meta http-equiv="refresh" content="0; url=/next">` + challenge}
		}
		return nil
	}})
	dir := t.TempDir()
	out := filepath.Join(dir, "pages.jsonl")
	args := crawl(site.Roots(0, 1), embedded(dir), unthrottled(), []string{
		"--name", "shop", "-o", out, "-s", "HTTPCACHE_ENABLED=true", "-s", "HTTPCACHE_POLICY=Dummy", "-s", "HTTPCACHE_DIR=" + filepath.Join(dir, "cache"),
	})
	n := run(t, args...).finish()
	require.Contains(t, n.err.String(), "challenge: captcha")
	require.Contains(t, n.err.String(), "httpcache/uncacheable: ")
	require.Empty(t, site.Under("/next"), "a challenge leads nowhere")
	wall.Store(false)
	run(t, append([]string{"crawls", "release", "shop", "--all"}, embedded(dir)...)...).finish()
	n = run(t, args...).finish()
	require.NotContains(t, n.err.String(), "left alone")
	requireExact(t, site, lines(t, readFile(t, out)))
}
