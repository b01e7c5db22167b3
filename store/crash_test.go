package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"orbweaver/store"
)

// parentKey in the environment makes this test binary a process that opens the
// store in the folder it names, and waits to be killed.
const parentKey = "STORE_TEST_PARENT"

// parent prints "ready <pid of redis-server>" or "error: ...", then writes a
// counter for as long as it lives.
func parent(dir string) int {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Config{DataDir: dir})
	if err != nil {
		fmt.Println("error:", err) //nolint:forbidigo // the answer to the test
		return 1
	}
	fmt.Println("ready", infoField(s.Client(), "process_id")) //nolint:forbidigo // the answer to the test
	for {
		n, err := s.Client().Incr(ctx, "n").Result()
		if err != nil {
			return 1
		}
		fmt.Println(n) //nolint:forbidigo // an acknowledged write
	}
}

func pid(n int) string { return strconv.Itoa(n) }

func infoField(c redis.UniversalClient, name string) string {
	for line := range strings.Lines(c.Info(context.Background()).Val()) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), ":"); key == name {
			return value
		}
	}
	return ""
}

func serverPID(t *testing.T, s *store.Store) int {
	t.Helper()
	n, err := strconv.Atoi(infoField(s.Client(), "process_id"))
	require.NoError(t, err)
	return n
}

// ended reports whether no process of this number runs any more; one that
// nobody has waited for yet has ended.
func ended(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// TestKilledParent kills the process that owns an embedded server with SIGKILL:
// the server ends, the folder opens again at once, and every write that was
// answered is there.
func TestKilledParent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for round := range 3 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$") //nolint:gosec // ourselves
		cmd.Env = append(os.Environ(), parentKey+"="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		require.True(t, lines.Scan())
		ready, server, _ := strings.Cut(lines.Text(), " ")
		require.Equal(t, "ready", ready, lines.Text())
		serverPID, err := strconv.Atoi(server)
		require.NoError(t, err)
		if round == 0 {
			_, err := store.Open(t.Context(), store.Config{DataDir: dir})
			require.ErrorIs(t, err, store.ErrLocked)
			require.ErrorContains(t, err, "by process "+pid(cmd.Process.Pid))
		}
		last := int64(0)
		for range 200 {
			require.True(t, lines.Scan())
			last, err = strconv.ParseInt(lines.Text(), 10, 64)
			require.NoError(t, err)
		}
		require.NoError(t, cmd.Process.Kill())

		// Not waited for: the next run starts while the old server is dying.
		start := time.Now()
		s, err := store.Open(t.Context(), store.Config{DataDir: dir})
		require.NoError(t, err)
		t.Logf("open again after kill -9: %s", time.Since(start).Round(time.Millisecond))
		require.Eventually(t, func() bool { return ended(serverPID) }, patience, time.Millisecond)
		for lines.Scan() {
			if n, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
				last = n
			}
		}
		require.Error(t, cmd.Wait())
		n, err := s.Client().Get(t.Context(), "n").Int64()
		require.NoError(t, err)
		require.GreaterOrEqual(t, n, last, "an answered write is kept")
		require.NoError(t, s.Close())
	}
}

func TestKilledServerComesBack(t *testing.T) {
	t.Parallel()
	log, hook := logtest.NewNullLogger()
	ctx := t.Context()
	s := open(t, store.Config{DataDir: t.TempDir(), Log: log})
	require.NoError(t, s.Client().Set(ctx, "k", "v", 0).Err())
	for round := range int64(3) {
		old := serverPID(t, s)
		require.NoError(t, syscall.Kill(old, syscall.SIGKILL))
		require.Eventually(t, func() bool {
			v, err := s.Client().Get(ctx, "k").Result()
			return err == nil && v == "v" && s.Restarts() == round+1
		}, patience, 5*time.Millisecond)
		require.NotEqual(t, old, serverPID(t, s))
	}
	var texts []string
	for _, e := range hook.AllEntries() {
		texts = append(texts, e.Message)
	}
	require.Contains(t, texts, "redis-server ended, starting it again")
	require.Contains(t, texts, "redis-server is back")
}

func TestCloseWhileServerIsDead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Config{DataDir: dir})
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(serverPID(t, s), syscall.SIGKILL))
	require.NoError(t, s.Close())
	open(t, store.Config{DataDir: dir})
}

// TestOwnProcessGroup: the terminal's Ctrl-C goes to the group of the node.
func TestOwnProcessGroup(t *testing.T) {
	t.Parallel()
	s := open(t, store.Config{DataDir: t.TempDir()})
	server := serverPID(t, s)
	group, err := syscall.Getpgid(server)
	require.NoError(t, err)
	require.Equal(t, server, group)
}

// TestOrphanHoldsTheFolder: a lock whose writer is dead while a child of it
// lives on is waited for, until it is free.
func TestOrphanHoldsTheFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := os.OpenFile(dir+"/lock", os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	dead := exec.CommandContext(t.Context(), "true")
	require.NoError(t, dead.Run())
	_, err = io.WriteString(lock, pid(dead.Process.Pid)+"\n")
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	orphan := exec.CommandContext(t.Context(), "sleep", "0.3")
	orphan.ExtraFiles = []*os.File{lock}
	require.NoError(t, orphan.Start())
	require.NoError(t, lock.Close())

	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = store.Open(short, store.Config{DataDir: dir, Server: store.ServerNone})
	require.ErrorIs(t, err, context.DeadlineExceeded)

	s, err := store.Open(t.Context(), store.Config{DataDir: dir, Server: store.ServerNone})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, orphan.Wait())
}
