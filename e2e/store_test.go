package e2e

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
	"orbweaver/internal/webtest"
)

// siteDelay is the politeness delay of the tests that measure it at the site. The
// site has its times from the kernel: slack is for rounding, not for a busy machine.
const (
	siteDelay = 200 * time.Millisecond
	slack     = time.Millisecond
)

// fixedDelay are the settings of a crawl that waits siteDelay between requests.
func fixedDelay() []string {
	return []string{"-s", "AUTOTHROTTLE_ENABLED=false", "-s", "DOWNLOAD_DELAY=0.2", "-s", "RANDOMIZE_DOWNLOAD_DELAY=false"}
}

func requireGaps(t *testing.T, site *webtest.Site, delay time.Duration) {
	t.Helper()
	for h := range site.Hosts() {
		all := site.Arrivals(h)
		for i := 1; i < len(all); i++ {
			require.GreaterOrEqual(t, all[i].Start.Sub(all[i-1].Start), delay-slack,
				"host %d: request %d (%s) came too soon after %s", h, i, all[i].Path, all[i-1].Path)
		}
	}
}

// When redis-server is killed in mid-crawl and comes back, the crawl goes on by
// itself: nothing is lost or doubled, and no site is visited sooner than its delay.
func TestRedisKilled(t *testing.T) {
	for _, fsync := range []string{"always", "everysec"} {
		t.Run(fsync, func(t *testing.T) {
			t.Parallel()
			site := webtest.New(t, webtest.Config{Hosts: 6, Pages: 40})
			server := redistest.New(t, redistest.WithAppendOnly(fsync))
			file := filepath.Join(t.TempDir(), "items.jsonl")
			n := start(t, crawl(site.Roots(0, 6), fixedDelay(), shortLeases(), []string{"--redis", server.URL(), "-o", file})...)
			for _, count := range []int{50, 130} {
				require.NoError(t, site.WaitCount(within(t), count))
				server.Kill()
				n.say("store failed")
				server.Restart()
			}
			n.finish()
			require.Contains(t, n.err.String(), "store answers again")
			requireExact(t, site, lines(t, readFile(t, file)))
			requireGaps(t, site, siteDelay)
			if fsync == "always" {
				require.LessOrEqual(t, site.Refetched(), 2*6*8, "only what was in flight is fetched again")
			}
		})
	}
}

// A Redis that hangs stops the crawl, which says why, and goes on when it answers
// again; pages that were in flight are not fetched twice.
func TestRedisHangs(t *testing.T) {
	t.Parallel()
	site := webtest.New(t, webtest.Config{Hosts: 4, Pages: 40})
	server := redistest.New(t)
	file := filepath.Join(t.TempDir(), "items.jsonl")
	n := start(t, crawl(site.Roots(0, 4), fixedDelay(), shortLeases(),
		[]string{"--redis", server.URL(), "-o", file, "-s", "LOGSTATS_INTERVAL=0.5"})...)
	require.NoError(t, site.WaitCount(within(t), 40))
	n.forget()
	server.Pause()
	n.say("waiting=redis")
	<-time.After(2 * time.Second) // the slots' TTL
	before := site.Count()
	<-time.After(8 * time.Second) // longer than every timeout
	require.Equal(t, before, site.Count(), "nothing may be sent without a lease")
	server.Resume()
	n.finish()
	requireExact(t, site, lines(t, readFile(t, file)))
	requireGaps(t, site, siteDelay)
	require.LessOrEqual(t, site.Refetched(), 4*8)
}

// The embedded redis-server is started again when it dies, and the crawl goes on.
func TestEmbeddedRedisKilled(t *testing.T) {
	t.Parallel()
	site := webtest.New(t, webtest.Config{Hosts: 4, Pages: 30})
	dir := t.TempDir()
	file := filepath.Join(dir, "items.jsonl")
	n := start(t, crawl(site.Roots(0, 4), fixedDelay(), shortLeases(), embedded(dir), []string{"-o", file})...)
	require.NoError(t, site.WaitCount(within(t), 40))
	killProcess(t, serverOf(t, dir))
	n.say("redis-server is back")
	n.finish()
	requireExact(t, site, lines(t, readFile(t, file)))
	requireGaps(t, site, siteDelay)
}
