package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds every wait for something that must happen.
const patience = 90 * time.Second

// node is a process of the program under test.
type node struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  *capture
	err  *capture
	done chan struct{}
	code int // once done is closed; -1: ended by a signal

	heard int // how much of err say ignores
}

// start runs the node with args; what still runs when the test ends is killed.
func start(t *testing.T, args ...string) *node { return startWith(t, nil, args...) }

// startWith is start with more environment.
func startWith(t *testing.T, env []string, args ...string) *node {
	t.Helper()
	return launch(t, "", env, args...)
}

func launch(t *testing.T, stdin string, env []string, args ...string) *node {
	t.Helper()
	n := &node{t: t, out: newCapture(), err: newCapture(), done: make(chan struct{})}
	n.cmd = exec.Command(nodePath, args...) //nolint:gosec,noctx // the program under test, ended by kill
	n.cmd.Dir = t.TempDir()
	n.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + n.cmd.Dir, "TMPDIR=" + os.TempDir(), "GORACE=halt_on_error=1 exitcode=66"}, env...)
	n.cmd.Stdin = strings.NewReader(stdin)
	n.cmd.Stdout, n.cmd.Stderr = n.out, n.err
	n.cmd.WaitDelay = 5 * time.Second // a grandchild may hold the pipes
	require.NoError(t, n.cmd.Start())
	go func() {
		err := n.cmd.Wait()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			n.err.note("e2e: " + err.Error())
		}
		n.code = n.cmd.ProcessState.ExitCode()
		close(n.done)
	}()
	t.Cleanup(func() {
		_ = n.cmd.Process.Kill()
		<-n.done
		if t.Failed() {
			t.Logf("%s\n--- exit %d, standard error:\n%s", strings.Join(args, " "), n.code, tail(n.err.String(), 6000))
		}
	})
	return n
}

// run runs the node to its end and gives it, for its exit code and output.
func run(t *testing.T, args ...string) *node {
	t.Helper()
	n := start(t, args...)
	n.wait()
	return n
}

// wait waits for the process to end and gives its exit code.
func (n *node) wait() int {
	n.t.Helper()
	select {
	case <-n.done:
	case <-time.After(patience):
		_ = n.cmd.Process.Signal(syscall.SIGQUIT) // shows where it hangs
		<-time.After(time.Second)
		n.t.Fatalf("node has not ended after %s:\n%s", patience, tail(n.err.String(), 30000))
	}
	require.NotEqual(n.t, 66, n.code, "the race detector found a race")
	return n.code
}

// finish requires exit code 0.
func (n *node) finish() *node {
	n.t.Helper()
	require.Equal(n.t, 0, n.wait())
	return n
}

// kill is kill -9; the process has ended when it returns.
func (n *node) kill() {
	_ = n.cmd.Process.Kill()
	<-n.done
}

func (n *node) signal(sig os.Signal) {
	n.t.Helper()
	require.NoError(n.t, n.cmd.Process.Signal(sig))
}

// ended reports whether the process has ended.
func (n *node) ended() bool {
	select {
	case <-n.done:
		return true
	default:
		return false
	}
}

// forget makes say look only at what comes from now on.
func (n *node) forget() { n.heard = len(n.err.String()) }

// say waits until standard error holds text.
func (n *node) say(text string) {
	n.t.Helper()
	deadline := time.After(patience)
	for {
		s, changed := n.err.state()
		if strings.Contains(s[n.heard:], text) {
			return
		}
		select {
		case <-changed:
		case <-n.done:
			require.Contains(n.t, n.err.String()[n.heard:], text, "node has ended with %d", n.code)
			return
		case <-deadline:
			require.Contains(n.t, n.err.String()[n.heard:], text, "not said in %s", patience)
			return
		}
	}
}

// capture is what a process writes. Safe for concurrent use.
type capture struct {
	mu      sync.Mutex
	buf     bytes.Buffer  // guarded by mu
	changed chan struct{} // guarded by mu; closed at the next write
}

func newCapture() *capture { return &capture{changed: make(chan struct{})} }

func (c *capture) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.changed)
	c.changed = make(chan struct{})
	return c.buf.Write(b)
}

func (c *capture) note(s string) { _, _ = c.Write([]byte(s + "\n")) }

func (c *capture) state() (string, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.String(), c.changed
}

func (c *capture) String() string {
	s, _ := c.state()
	return s
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "...\n" + s[len(s)-n:]
}

// within is a context with the tests' patience.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits until ok, asking ten times a second.
func eventually(t *testing.T, ok func() bool, what string) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		if ok() {
			return
		}
	}
	t.Fatalf("not in %s: %s", patience, what)
}

// unthrottled are the settings of a crawl at full speed.
func unthrottled() []string { return []string{"-s", "AUTOTHROTTLE_ENABLED=false"} }

// shortLeases make a slot free soon after the death of its owner.
func shortLeases() []string {
	return []string{"-s", "SLOT_TTL=2", "-s", "SLOT_RENEW=0.5", "-s", "SLOT_MARGIN=0.5"}
}

// crawl is a command line of `node crawl` on the loopback: seeds and settings.
func crawl(seeds []string, args ...[]string) []string {
	out := append([]string{"crawl", "--allow-private", "--admin", "off"}, seeds...)
	for _, a := range args {
		out = append(out, a...)
	}
	return out
}

func embedded(dir string) []string { return []string{"--data-dir", filepath.Join(dir, "store")} }

// killProcess is kill -9 of a process that the node started.
func killProcess(t *testing.T, pid int) {
	t.Helper()
	require.Greater(t, pid, 1)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
}
