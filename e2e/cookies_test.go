package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
	"orbweaver/internal/webtest"
)

// gate is a site that shows its pages to those only who send the cookie back that it
// gave them, and sends everybody else to the page that was asked for.
func gate(given *atomic.Int32) func(webtest.Visit) *webtest.Answer {
	return func(v webtest.Visit) *webtest.Answer {
		if v.Page < 0 || strings.Contains(v.Header.Get("Cookie"), "visitor=1") {
			return nil
		}
		given.Add(1)
		a := webtest.Redirect(v.Path)
		a.Header["Set-Cookie"] = []string{"visitor=1; Path=/; Max-Age=3600", "other=2"}
		return a
	}
}

func TestCookiesOpenTheGate(t *testing.T) {
	t.Parallel()
	var given atomic.Int32
	site := webtest.New(t, webtest.Config{Hosts: 2, Pages: 20, Script: gate(&given)})
	dir := t.TempDir()
	file := filepath.Join(dir, "items.jsonl")
	run(t, crawl(site.Roots(0, 2), unthrottled(), embedded(dir), []string{"-o", file})...).finish()
	requireExact(t, site, lines(t, readFile(t, file)))
	require.EqualValues(t, 2, given.Load(), "one a host")
}

func TestCookiesDisabled(t *testing.T) {
	t.Parallel()
	var given atomic.Int32
	script := gate(&given)
	site := webtest.New(t, webtest.Config{Pages: 5, Script: func(v webtest.Visit) *webtest.Answer {
		if len(v.Header[http.CanonicalHeaderKey("Cookie")]) > 0 {
			t.Error("a cookie was sent")
		}
		return script(v)
	}})
	dir := t.TempDir()
	file := filepath.Join(dir, "items.jsonl")
	run(t, crawl(site.Roots(0, 1), unthrottled(), embedded(dir), []string{"-o", file, "-s", "COOKIES_ENABLED=false", "-s", "REDIRECT_MAX_TIMES=3"})...).wait()
	require.Empty(t, lines(t, readFile(t, file)))
	require.EqualValues(t, 4, given.Load(), "a seed is followed as often as redirects are")
}

// With COOKIES_PERSIST a crawl that goes on after a stop needs no new ones.
func TestCookiesPersist(t *testing.T) {
	t.Parallel()
	var given atomic.Int32
	site := webtest.New(t, webtest.Config{Pages: 40, Latency: 50 * time.Millisecond, Script: gate(&given)})
	server := redistest.New(t)
	file := filepath.Join(t.TempDir(), "items.jsonl")
	args := crawl(site.Roots(0, 1), unthrottled(), []string{"--redis", server.URL(), "-o", file, "-s", "COOKIES_PERSIST=true", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=2"}, shortLeases())
	n := start(t, args...)
	require.NoError(t, site.WaitCount(within(t), 15))
	n.signal(syscall.SIGINT)
	require.Equal(t, 130, n.wait())
	n = start(t, args...)
	n.finish()
	requireExact(t, site, lines(t, readFile(t, file)))
	require.EqualValues(t, 1, given.Load())
	keys, err := server.Client().Keys(within(t), "*:cookies").Result()
	require.NoError(t, err)
	require.Empty(t, keys, "nothing is left of a finished crawl's cookies")
}
