package e2e

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
	"orbweaver/internal/webtest"
)

// Killed with -9 at random moments and started again by the same command, a crawl
// loses no page, stores no item twice, and fetches again at most what was in
// flight. It says what it goes on with.
func TestNodeKilled(t *testing.T) {
	const kills, inFlight = 6, 16
	for _, store := range []string{"embedded", "external"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			site := webtest.New(t, webtest.Config{Hosts: 10, Pages: 60, Latency: 20 * time.Millisecond})
			dir := t.TempDir()
			file := filepath.Join(dir, "items.jsonl")
			where := embedded(dir)
			if store == "external" {
				where = append(shortLeases(), "--redis", redistest.New(t).URL())
			}
			args := crawl(site.Roots(0, 10), unthrottled(), where,
				[]string{"-o", file, "-s", fmt.Sprint("CONCURRENT_REQUESTS=", inFlight)})
			random := rand.New(rand.NewPCG(seed(t), uint64(len(store)))) //nolint:gosec // the same moments each time
			for range kills {
				n := start(t, args...)
				if store == "embedded" { // nobody else can hold a slot: no lease is waited for
					begin := time.Now()
					require.NoError(t, site.WaitCount(within(t), site.Count()+1))
					require.Less(t, time.Since(begin), 7*time.Second)
				}
				require.NoError(t, site.WaitCount(within(t), site.Count()+30+random.IntN(60)))
				require.False(t, n.ended(), "the crawl was over before the kill")
				server := 0
				if store == "embedded" {
					server = serverOf(t, dir)
				}
				n.kill()
				if server != 0 {
					eventually(t, func() bool { return gone(server) }, "the embedded redis-server has ended")
				}
			}
			n := run(t, args...).finish()
			require.Regexp(t, `Resuming crawl \([1-9]\d* requests scheduled\)`, n.err.String())
			requireExact(t, site, lines(t, readFile(t, file)))
			require.LessOrEqual(t, site.Refetched(), kills*inFlight)
			require.Empty(t, site.Under(webtest.RobotsDisallow))
		})
	}
}

// Killed while it ends, a crawl is ended by the same command: it does not begin anew,
// and its last items are in the file once.
func TestNodeKilledAtTheEnd(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(seed(t), 0)) //nolint:gosec // the same moments each time
	const pages = 30
	killed := 0
	for range 8 {
		site := webtest.New(t, webtest.Config{Pages: pages})
		dir := t.TempDir()
		file := filepath.Join(dir, "items.jsonl")
		args := crawl(site.Roots(0, 1), unthrottled(), embedded(dir), []string{"-o", file})
		n := start(t, args...)
		require.NoError(t, site.WaitCount(within(t), pages+1))
		select {
		case <-n.done:
		case <-time.After(time.Duration(random.Int64N(int64(500 * time.Millisecond)))):
		}
		n.kill()
		if !strings.Contains(n.err.String(), "Crawl statistics") { // else it was quicker
			killed++
			run(t, args...).finish()
			require.LessOrEqual(t, site.Refetched(), 8)
		}
		requireExact(t, site, lines(t, readFile(t, file)))
	}
	require.Positive(t, killed)
}

// seed is where the random moments come from: ORBWEAVER_E2E_SEED, or always the same.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := uint64(7)
	if s := os.Getenv("ORBWEAVER_E2E_SEED"); s != "" {
		var err error
		n, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("ORBWEAVER_E2E_SEED=%d", n)
	return n
}

// gone reports whether a process has ended, waited for by its parent or not.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) != nil
	}
	return strings.Contains(string(stat), ") Z ")
}

// serverOf is the process id of the embedded redis-server under a data folder.
func serverOf(t *testing.T, dir string) int {
	t.Helper()
	c := redis.NewClient(&redis.Options{Network: "unix", Addr: socketOf(dir)})
	defer c.Close()
	info, err := c.Info(within(t), "server").Result()
	require.NoError(t, err)
	sc := bufio.NewScanner(strings.NewReader(info))
	for sc.Scan() {
		if v, ok := strings.CutPrefix(sc.Text(), "process_id:"); ok {
			pid, err := strconv.Atoi(v)
			require.NoError(t, err)
			return pid
		}
	}
	t.Fatal("INFO names no process_id")
	return 0
}

func socketOf(dir string) string { return filepath.Join(dir, "store", "redis", "redis.sock") }

// A data folder serves one node at a time; the second is refused and told why, the
// first is not disturbed.
func TestDataFolderInUse(t *testing.T) {
	site := webtest.New(t, webtest.Config{Hosts: 2, Pages: 20, Latency: 50 * time.Millisecond})
	dir := t.TempDir()
	first := start(t, crawl(site.Roots(0, 1), unthrottled(), embedded(dir), []string{"-s", "DOWNLOAD_DELAY=0.1"})...)
	require.NoError(t, site.WaitCount(within(t), 2))
	second := run(t, crawl(site.Roots(1, 2), unthrottled(), embedded(dir))...)
	require.Equal(t, 3, second.code)
	require.Contains(t, second.err.String(), strconv.Itoa(first.cmd.Process.Pid))
	require.Contains(t, second.err.String(), "--data-dir")
	first.finish()
	require.Equal(t, 20, site.PagesOf(0))
	require.Zero(t, site.PagesOf(1))
}
