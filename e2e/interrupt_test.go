package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
	"orbweaver/internal/webtest"
)

// A signal ends a crawl in order: what is in flight is finished and kept, what was
// not sent is given back, slots are free at once, and the same command goes on.
func TestInterruptedCrawlResumes(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			site := webtest.New(t, webtest.Config{Hosts: 4, Pages: 40, Latency: 300 * time.Millisecond})
			server := redistest.New(t)
			file := filepath.Join(t.TempDir(), "items.jsonl")
			args := crawl(site.Roots(0, 4), unthrottled(), []string{"--redis", server.URL(), "-o", file, "-s", "SLOT_TTL=4", "-s", "SLOT_RENEW=1"})
			n := start(t, args...)
			require.NoError(t, site.WaitCount(within(t), 50))
			n.signal(sig)
			require.Equal(t, 130, n.wait())
			require.Contains(t, n.err.String(), "run the same command again to resume")
			require.Contains(t, n.err.String(), "finish_reason: shutdown")

			served := 0
			for _, a := range site.Arrivals(-1) {
				require.NotZero(t, a.Status, "%s was cut off", a.Path)
				if a.Page >= 0 {
					served++
				}
			}
			require.Len(t, lines(t, readFile(t, file)), served, "what was in flight is kept")
			requireNothingHeld(t, server.Client())

			begin := time.Now()
			n = start(t, args...)
			require.NoError(t, site.WaitCount(within(t), site.Count()+1))
			require.Less(t, time.Since(begin), 7*time.Second, "released slots are free at once")
			n.finish()
			require.Regexp(t, `Resuming crawl \([1-9]\d* requests scheduled\)`, n.err.String())
			requireExact(t, site, lines(t, readFile(t, file)))
			require.Zero(t, site.Refetched())
		})
	}
}

// requireNothingHeld requires that no request is leased and no slot owned.
func requireNothingHeld(t *testing.T, rdb *redis.Client) {
	t.Helper()
	ctx := within(t)
	keys, err := rdb.Keys(ctx, "*").Result()
	require.NoError(t, err)
	slots := 0
	for _, k := range keys {
		require.False(t, strings.HasSuffix(k, ":leased"), "%s is left", k)
		if strings.Contains(k, ":slot:") {
			slots++
			owner, err := rdb.HGet(ctx, k, "tok").Result()
			require.True(t, err == redis.Nil || owner == "", "%s is owned by %s", k, owner) //nolint:errorlint,testifylint // as go-redis gives it
		}
	}
	require.Positive(t, slots)
}

// hanging is a site whose pages but for the first answer only after a minute.
func hanging(t *testing.T) *webtest.Site {
	t.Helper()
	return webtest.New(t, webtest.Config{Hosts: 2, Pages: 20, Script: func(v webtest.Visit) *webtest.Answer {
		if v.Page > 0 {
			return &webtest.Answer{Page: true, Delay: time.Minute}
		}
		return nil
	}})
}

// A second signal ends the crawl at once, whatever is in flight.
func TestInterruptedTwice(t *testing.T) {
	t.Parallel()
	site := hanging(t)
	n := start(t, crawl(site.Roots(0, 2), unthrottled(), embedded(t.TempDir()))...)
	require.NoError(t, site.WaitPath(within(t), 0, "/p/1"))
	n.signal(syscall.SIGINT)
	n.say("interrupt again to end at once")
	require.False(t, n.ended())
	begin := time.Now()
	n.signal(syscall.SIGINT)
	require.Equal(t, 130, n.wait())
	require.Less(t, time.Since(begin), 12*time.Second)
}

// One signal is enough: what does not end in SHUTDOWN_TIMEOUT is cut off, and
// fetched again by the next run.
func TestShutdownIsBounded(t *testing.T) {
	t.Parallel()
	site := hanging(t)
	dir := t.TempDir()
	args := crawl(site.Roots(0, 1), unthrottled(), embedded(dir), []string{"-s", "SHUTDOWN_TIMEOUT=1"})
	n := start(t, args...)
	require.NoError(t, site.WaitPath(within(t), 0, "/p/1"))
	begin := time.Now()
	n.signal(syscall.SIGTERM)
	require.Equal(t, 130, n.wait())
	require.Less(t, time.Since(begin), 18*time.Second)
	before := site.Count()
	n = start(t, args...)
	require.NoError(t, site.WaitCount(within(t), before+1))
	n.say("Resuming crawl (")
	n.kill()
}
