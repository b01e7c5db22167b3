package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
	"orbweaver/internal/webtest"
)

// Two processes export one crawl to a file each: every item is in one of the files, once,
// also when the one that writes is killed or frozen.
func TestTwoExports(t *testing.T) {
	for _, end := range []string{"finished", "killed", "frozen"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			site := webtest.New(t, webtest.Config{Hosts: 12, Pages: 40, Latency: 10 * time.Millisecond})
			server := redistest.New(t)
			dir := t.TempDir()
			var nodes []*node
			for i := range 2 {
				nodes = append(nodes, start(t, crawl(site.Roots(0, 12), unthrottled(), shortLeases(), []string{
					"--redis", server.URL(), "--name", "shop", "-o", filepath.Join(dir, fmt.Sprint(i, ".jsonl")),
					"-s", "DOWNLOAD_DELAY=0.1", "-s", "RANDOMIZE_DOWNLOAD_DELAY=false",
				})...))
			}
			if end != "finished" {
				require.NoError(t, site.WaitCount(within(t), 150))
				// A member's id has its process's.
				holder := server.Client().Get(within(t), "shop:export:lock").Val()
				writes := slices.IndexFunc(nodes, func(n *node) bool { return strings.Contains(holder, fmt.Sprintf("-%d-", n.cmd.Process.Pid)) })
				require.GreaterOrEqual(t, writes, 0, holder)
				if end == "killed" {
					nodes[writes].kill()
				} else {
					nodes[writes].signal(syscall.SIGSTOP)
				}
				nodes[1-writes].finish()
				if end == "frozen" {
					nodes[writes].signal(syscall.SIGCONT)
					require.Contains(t, []int{0, 5}, nodes[writes].wait())
				}
			} else {
				for _, n := range nodes {
					n.finish()
				}
			}
			var all []item
			for i := range 2 {
				file := filepath.Join(dir, fmt.Sprint(i, ".jsonl"))
				if _, err := os.Stat(file); err == nil {
					all = append(all, lines(t, readFile(t, file))...)
				}
			}
			requireExact(t, site, all)
		})
	}
}
