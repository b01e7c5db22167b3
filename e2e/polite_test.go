package e2e

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/webtest"
)

// AutoThrottle: a host is visited at the rate that Scrapy's rule gives for its
// latency, from the start delay on, and never by more requests than the limit.
func TestAutoThrottle(t *testing.T) {
	const latency = 50 * time.Millisecond
	site := webtest.New(t, webtest.Config{Hosts: 5, Pages: 40, Latency: latency, Script: func(v webtest.Visit) *webtest.Answer {
		if v.Path == "/robots.txt" { // it counts as any answer does
			return &webtest.Answer{Status: 404, Delay: latency}
		}
		return nil
	}})
	run(t, crawl(site.Roots(0, 5), embedded(t.TempDir()), []string{
		"-s", "AUTOTHROTTLE_START_DELAY=0.2",
		"-s", "RANDOMIZE_DOWNLOAD_DELAY=false", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=2",
	})...).finish()
	require.Empty(t, site.Missing())
	for h := range site.Hosts() {
		require.LessOrEqual(t, site.MaxInFlight(h), 2)
		all := site.Arrivals(h)
		// The delay moves half way to the latency with each good answer, and is
		// never below it. A 404 that is quicker than the delay does not lower it.
		delay := 200 * time.Millisecond
		for i := 1; i < len(all); i++ {
			require.GreaterOrEqual(t, all[i].Start.Sub(all[i-1].Start), delay-slack, "host %d, request %d", h, i)
			delay = max(latency, (delay+latency)/2)
		}
		settled := all[10:]
		mean := settled[len(settled)-1].Start.Sub(settled[0].Start) / time.Duration(len(settled)-1)
		require.GreaterOrEqual(t, mean, latency-time.Millisecond)
		require.Less(t, mean, 2*latency, "slower than the rule asks for")
	}
}

// With no delay a host has as many requests as CONCURRENT_REQUESTS_PER_DOMAIN
// allows, and no more.
func TestConcurrencyLimit(t *testing.T) {
	site := webtest.New(t, webtest.Config{Hosts: 3, Pages: 60, Latency: 100 * time.Millisecond})
	run(t, crawl(site.Roots(0, 3), unthrottled(), embedded(t.TempDir()), []string{"-s", "CONCURRENT_REQUESTS_PER_DOMAIN=3"})...).finish()
	require.Empty(t, site.Missing())
	for h := range site.Hosts() {
		require.Equal(t, 3, site.MaxInFlight(h))
	}
}

// DOWNLOAD_DELAY holds for the site whatever happens to the crawler: killed and
// started again, interrupted and resumed.
func TestDelayAcrossRestarts(t *testing.T) {
	site := webtest.New(t, webtest.Config{Hosts: 4, Pages: 30})
	dir := t.TempDir()
	file := filepath.Join(dir, "items.jsonl")
	args := crawl(site.Roots(0, 4), fixedDelay(), shortLeases(), embedded(dir), []string{"-o", file})
	n := start(t, args...)
	require.NoError(t, site.WaitCount(within(t), 35))
	n.kill()
	n = start(t, args...)
	require.NoError(t, site.WaitCount(within(t), 70))
	n.signal(syscall.SIGINT)
	require.Equal(t, 130, n.wait())
	run(t, args...).finish()
	requireExact(t, site, lines(t, readFile(t, file)))
	requireGaps(t, site, siteDelay)
}

// Two crawls of one site on one Redis add up to one polite visitor.
func TestTwoCrawlsShareASite(t *testing.T) {
	t.Parallel()
	site := webtest.New(t, webtest.Config{Hosts: 2, Pages: 12})
	where := externalRedis(t)
	var nodes []*node
	for _, name := range []string{"one", "two"} {
		nodes = append(nodes, start(t, crawl(site.Roots(0, 2), fixedDelay(), shortLeases(), where, []string{"--name", name, "-o", "-"})...))
	}
	for _, n := range nodes {
		n.finish()
		requireExact(t, site, lines(t, n.out.String()))
	}
	requireGaps(t, site, siteDelay)
}
