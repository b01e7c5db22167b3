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

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
	"orbweaver/internal/webtest"
)

// lockLife is how long the place of a process that writes items outlives it.
const lockLife = 10 * time.Second

// exports is one crawl that several processes write to a file each.
type exports struct {
	t      *testing.T
	site   *webtest.Site
	server *redistest.Server
	rdb    *redis.Client
	args   []string
	files  []string
}

// newExports is a crawl of 12 hosts whose pages are delay apart.
func newExports(t *testing.T, pages int, delay time.Duration, names ...string) *exports {
	t.Helper()
	site := webtest.New(t, webtest.Config{Hosts: 12, Pages: pages, Latency: 10 * time.Millisecond})
	server := redistest.New(t)
	e := &exports{t: t, site: site, server: server, rdb: server.Client(), args: crawl(site.Roots(0, 12), unthrottled(), shortLeases(), []string{
		"--name", "shop",
		"-s", fmt.Sprint("DOWNLOAD_DELAY=", delay.Seconds()), "-s", "RANDOMIZE_DOWNLOAD_DELAY=false",
	})}
	dir := t.TempDir()
	for _, n := range names {
		e.files = append(e.files, filepath.Join(dir, n))
	}
	return e
}

// start starts the command that writes to file i.
func (e *exports) start(i int, env ...string) *node {
	e.t.Helper()
	return e.startAt(e.server.URL(), i, env...)
}

// startAt is start with another way to the store.
func (e *exports) startAt(url string, i int, env ...string) *node {
	e.t.Helper()
	return startWith(e.t, env, slices.Concat(e.args, []string{"--redis", url, "-o", e.files[i]})...)
}

// writer is who writes the items now: "<member>|<file>", or "".
func (e *exports) writer() string { return e.rdb.Get(within(e.t), "shop:export:lock").Val() }

// writes waits until a process writes the items. A member's id has its process's.
func (e *exports) writes(n *node) {
	e.t.Helper()
	eventually(e.t, func() bool { return strings.Contains(e.writer(), fmt.Sprintf("-%d-", n.cmd.Process.Pid)) }, "it writes the items")
}

// cut requires file i to hold what the store knows of and nothing else, while another
// process writes the items.
func (e *exports) cut(i int) {
	e.t.Helper()
	known, err := e.rdb.HGet(within(e.t), "shop:export:files", e.files[i]).Int64()
	require.NoError(e.t, err)
	info, err := os.Stat(e.files[i])
	require.NoError(e.t, err)
	require.Equal(e.t, known, info.Size())
	require.NotContains(e.t, e.writer(), "|"+e.files[i])
}

// items reads all files.
func (e *exports) items() []item {
	e.t.Helper()
	var all []item
	for _, file := range e.files {
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(e.t, err)
		if strings.HasSuffix(file, ".json") {
			all = append(all, array(e.t, string(text))...)
		} else {
			all = append(all, lines(e.t, string(text))...)
		}
	}
	return all
}

// over requires every page in one of the files, and nothing left in the store.
func (e *exports) over() {
	e.t.Helper()
	requireExact(e.t, e.site, e.items())
	require.Zero(e.t, e.rdb.Exists(within(e.t), "shop:export", "shop:export:lock").Val())
}

// Two processes export one crawl to a file each at once: every page is in exactly one
// of the files.
func TestTwoExports(t *testing.T) {
	t.Parallel()
	e := newExports(t, 40, 100*time.Millisecond, "0.jsonl", "1.json")
	a, b := e.start(0), e.start(1)
	a.finish()
	b.finish()
	e.over()
	require.Empty(t, e.rdb.HKeys(within(t), "shop:export:files").Val(), "the next crawl begins the files anew")
}

// Two processes export one crawl to the same file: it holds every page once.
func TestTwoExportsToOneFile(t *testing.T) {
	t.Parallel()
	e := newExports(t, 40, 100*time.Millisecond, "0.jsonl")
	a := e.start(0)
	e.writes(a)
	b := e.start(0)
	b.say("another process writes the items to " + e.files[0])
	a.kill()
	b.finish()
	e.over()
}

// The process that writes is interrupted: what it has is written, and the other goes on
// at once.
func TestTwoExportsInterrupted(t *testing.T) {
	t.Parallel()
	e := newExports(t, 40, 200*time.Millisecond, "0.jsonl", "1.jsonl")
	a := e.start(0)
	e.writes(a)
	b := e.start(1)
	b.say("another process writes the items to " + e.files[0])
	require.NoError(t, e.site.WaitCount(within(t), 100))
	a.signal(syscall.SIGINT)
	require.Equal(t, 130, a.wait())
	begin := time.Now()
	e.writes(b)
	require.Less(t, time.Since(begin), lockLife-2*time.Second, "it was told")
	b.finish()
	e.over()
}

// The process that writes is killed -9, also between the file and the store: the other
// takes over in 10 s. Started again, the first cuts off what the other has written too.
func TestTwoExportsKilled(t *testing.T) {
	for name, fault := range map[string]string{
		"at any moment": "", "written, not acknowledged": "export_ack.before:4", "acknowledged": "export_ack.after:4", "read": "export_read.after:6",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newExports(t, 40, 600*time.Millisecond, "0.jsonl", "1.jsonl")
			var env []string
			if fault != "" {
				env = []string{"ORBWEAVER_TEST_FAULT=" + fault}
			}
			a := e.start(0, env...)
			e.writes(a)
			b := e.start(1)
			if fault == "" {
				require.NoError(t, e.site.WaitCount(within(t), 100))
				a.kill()
			}
			require.Equal(t, -1, a.wait())
			begin := time.Now()
			e.writes(b)
			require.Less(t, time.Since(begin), 2*lockLife)
			a = e.start(0)
			a.say("another process writes the items to " + e.files[1])
			e.cut(0)
			a.finish()
			b.finish()
			e.over()
			require.NotEmpty(t, readFile(t, e.files[1]))
		})
	}
}

// The process that writes is frozen for longer than its place lives, also between the
// file and the store, which hears of it late: the other takes over, and what the first
// has written beyond or still writes when it wakes is not in both files. Given up by the
// cluster meanwhile, it is started again.
func TestTwoExportsFrozen(t *testing.T) {
	for name, late := range map[string]bool{"at any moment": false, "written, acknowledged too late": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newExports(t, 40, 800*time.Millisecond, "0.jsonl", "1.jsonl")
			proxy := redistest.NewFaulty(t, e.server)
			a := e.startAt(proxy.URL(), 0)
			e.writes(a)
			b := e.start(1)
			b.say("another process writes the items to " + e.files[0])
			require.NoError(t, e.site.WaitCount(within(t), 60))
			if late {
				proxy.Inject(redistest.Fault{Call: "export_ack", Late: 14 * time.Second})
				eventually(t, func() bool { return proxy.Hits() > 0 }, "items are acknowledged")
			}
			a.signal(syscall.SIGSTOP)
			frozen := time.Now()
			if late {
				info, err := os.Stat(e.files[0])
				require.NoError(t, err)
				known, err := e.rdb.HGet(within(t), "shop:export:files", e.files[0]).Int64()
				require.NoError(t, err)
				require.Greater(t, info.Size(), known)
			}
			e.writes(b)
			require.Less(t, time.Since(frozen), 2*lockLife)
			<-time.After(time.Until(frozen.Add(12 * time.Second)))
			a.signal(syscall.SIGCONT)
			if code := a.wait(); code != 0 {
				require.Equal(t, 5, code)
				require.False(t, b.ended(), "the crawl was over too soon")
				a = e.start(0)
				a.say("another process writes the items to " + e.files[1])
				e.cut(0)
				a.finish()
			}
			b.finish()
			e.over()
			require.NotEmpty(t, readFile(t, e.files[1]))
		})
	}
}
