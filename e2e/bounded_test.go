package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/webtest"
)

// However many hosts a crawl has, no more domains live at once than MAX_DOMAINS,
// and every host gets its turn.
func TestManyHostsFewDomains(t *testing.T) {
	const hosts, limit = 3000, 200
	site := webtest.New(t, webtest.Config{Hosts: hosts})
	dir := t.TempDir()
	seeds := filepath.Join(dir, "seeds.txt")
	require.NoError(t, os.WriteFile(seeds, []byte(strings.Join(site.Roots(0, hosts), "\n")), 0o600))
	file := filepath.Join(dir, "items.jsonl")
	args := []string{
		"crawl", "--allow-private", "--admin", "127.0.0.1:0", "--log-level", "debug", "--seeds", seeds,
		"-s", "MAX_DOMAINS=200", "-s", "DOMAIN_IDLE=0.1", "-o", file,
	}
	n := start(t, append(args, append(unthrottled(), embedded(dir)...)...)...)
	n.say("admin endpoint is up")
	at := addressIn(t, n.err.String())
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	most := 0.0
	for end := time.Now().Add(patience); !n.ended() && site.Count() < 2*hosts-limit && time.Now().Before(end); <-tick.C {
		live := metric(t, at, "orbweaver_domains")
		require.LessOrEqual(t, live, float64(limit))
		most = max(most, live)
	}
	n.finish()
	require.Positive(t, most)
	requireExact(t, site, lines(t, readFile(t, file)))
	require.Zero(t, site.Refetched())
	if usage, ok := n.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && os.Getenv(raceVar) == "" {
		require.Less(t, usage.Maxrss, int64(150<<10), "KiB of memory")
		t.Logf("%d KiB, at most %.0f domains", usage.Maxrss, most)
	}
}

// addressIn is the URL that a node's log gives for its admin endpoint.
func addressIn(t *testing.T, log string) string {
	t.Helper()
	_, rest, ok := strings.Cut(log, `address="`)
	require.True(t, ok, log)
	address, _, _ := strings.Cut(rest, `"`)
	return address
}
