package e2e

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/webtest"
)

// A site in bad weather loses the crawl nothing: failures are tried again, pauses
// that are asked for are kept, redirects followed, odd bodies read.
func TestWeather(t *testing.T) {
	const (
		busy, limited, failing, moved, slow, delayed, cut = 0, 1, 2, 3, 4, 5, 6
		pages                                             = 20
		crawlDelay                                        = 300 * time.Millisecond
	)
	script := func(v webtest.Visit) *webtest.Answer {
		once := v.Attempt == 1 && v.Page > 0
		switch {
		case v.Host == busy && once && v.Page%8 == 0:
			return webtest.RetryAfter(503, 1)
		case v.Host == limited && once && v.Page%9 == 0:
			return webtest.RetryAfter(429, 1)
		case v.Host == failing && once && v.Page%5 == 0:
			return &webtest.Answer{Status: 500, Body: "error"}
		case v.Host == failing && once && v.Page%7 == 0:
			return &webtest.Answer{Drop: true}
		case v.Host == moved && v.Page > 0 && v.Page%3 == 0:
			return webtest.Redirect(fmt.Sprint("/r/", v.Page))
		case v.Host == moved && v.Page == -1 && v.Path != "/robots.txt":
			var page int
			if _, err := fmt.Sscanf(v.Path, "/r/%d", &page); err != nil {
				return nil
			}
			return &webtest.Answer{Body: v.Site.PageHTML(moved, page)}
		case v.Host == slow && v.Page >= 0:
			return &webtest.Answer{Page: true, Gzip: true, Drip: 200 * time.Millisecond}
		case v.Host == delayed && v.Path == "/robots.txt":
			return &webtest.Answer{Body: "User-agent: *\nCrawl-delay: 0.3\nDisallow: /private/\n"}
		case v.Host == cut && once && v.Page%6 == 0:
			return &webtest.Answer{Raw: func(w io.Writer) {
				_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\nContent-Type: text/html\r\n\r\n<html>")
			}}
		}
		return nil
	}
	site := webtest.New(t, webtest.Config{Hosts: 7, Pages: pages, Script: script})
	file := filepath.Join(t.TempDir(), "items.jsonl")
	// One request at a time: what is in flight when a host asks for a pause cannot
	// be called back.
	n := run(t, crawl(site.Roots(0, 7), unthrottled(), embedded(t.TempDir()), []string{
		"-o", file, "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=1",
		"-s", "RANDOMIZE_DOWNLOAD_DELAY=false", "-s", "RETRY_BACKOFF_BASE=0.1", "-s", "BACKOFF_BASE=0.2",
	})...).finish()

	want := site.PageURLs()
	for p := 3; p < pages; p += 3 {
		want[slices.Index(want, site.PageURL(moved, p))] = site.URL(moved, fmt.Sprint("/r/", p))
	}
	require.ElementsMatch(t, want, urls(lines(t, readFile(t, file))))
	require.Empty(t, site.InsideRetryAfter())
	require.Empty(t, site.Under(webtest.RobotsDisallow))
	require.Zero(t, site.Refetched())
	all := site.Arrivals(delayed)
	require.Equal(t, "/robots.txt", all[0].Path)
	for i := 2; i < len(all); i++ { // the first page may follow the rule's own fetch at once
		require.GreaterOrEqual(t, all[i].Start.Sub(all[i-1].Start), crawlDelay-slack)
	}
	require.Contains(t, n.err.String(), "retry/count")
}

// A host whose robots.txt cannot be had is not crawled meanwhile.
func TestRobotsUnavailable(t *testing.T) {
	t.Parallel()
	site := webtest.New(t, webtest.Config{Pages: 10, Script: func(v webtest.Visit) *webtest.Answer {
		if v.Path == "/robots.txt" && v.Attempt <= 2 {
			return &webtest.Answer{Status: 500}
		}
		return nil
	}})
	run(t, crawl(site.Roots(0, 1), unthrottled(), embedded(t.TempDir()))...).finish()
	all := site.Arrivals(0)
	require.Len(t, site.Under("/robots.txt"), 3)
	for _, a := range all[:3] {
		require.Equal(t, "/robots.txt", a.Path)
	}
	require.Empty(t, site.Missing())
}
