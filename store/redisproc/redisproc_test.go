package redisproc

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// program writes an executable shell script and returns its path.
func program(t *testing.T, name, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700)) //nolint:gosec // a program
	return path
}

func TestFind(t *testing.T) {
	t.Parallel()
	redis7 := program(t, "r7", `echo "Redis server v=7.0.15 sha=00000000:0 malloc=libc bits=64 build=0"`)
	valkey := program(t, "v8", `echo "Valkey server v=8.1.1 sha=00000000:0 malloc=libc bits=64 build=0"`)
	redis60 := program(t, "r60", `echo "Redis server v=6.0.16 sha=00000000:0"`)
	other := program(t, "other", `echo "hello"`)
	broken := program(t, "broken", `exit 3`)
	tests := []struct {
		name    string
		names   []string
		version string
		says    string
	}{
		{"redis", []string{redis7}, "7.0.15", ""},
		{"valkey after an old redis", []string{redis60, valkey}, "8.1.1", ""},
		{"too old", []string{redis60}, "", "is version 6.0.16"},
		{"missing", []string{"no-such-program"}, "", "no-such-program is not on PATH"},
		{"something else", []string{other}, "", `says "hello`},
		{"broken", []string{broken}, "", "exit status 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Find(t.Context(), tt.names...)
			if tt.version == "" {
				require.ErrorIs(t, err, ErrNoServer)
				require.ErrorContains(t, err, tt.says)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.version, got.Version)
		})
	}
}

func TestTooOld(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"6.2.0": false, "7.0.15": false, "10.0.0": false, "6.10.1": false, "7": true, "": true, "x.y": true,
		"6.0.16": true, "5.9.9": true, "2.8.4": true, "255.255.255": false,
	} {
		require.Equal(t, want, TooOld(version), version)
	}
}

func TestStopIsClean(t *testing.T) {
	t.Parallel()
	p := start(t, Options{AppendOnly: true})
	require.NoError(t, p.Stop(t.Context()))
	require.NoError(t, p.Err())
	require.NoError(t, p.Stop(t.Context()), "a second stop has nothing to do")
	require.NoError(t, p.Signal(syscall.SIGKILL))
}

func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	p := start(t, Options{})
	require.NoError(t, p.Signal(syscall.SIGSTOP))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, p.Stop(ctx), context.DeadlineExceeded)
	require.Error(t, p.Err())
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	_, err := Start(Options{Path: "redis-server", Dir: t.TempDir(), Socket: "/" + strings.Repeat("x", MaxSocketPath)})
	require.ErrorContains(t, err, "over the limit")
	dir := t.TempDir()
	_, err = Start(Options{Path: filepath.Join(dir, "missing"), Dir: dir, Socket: filepath.Join(dir, "s")})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestWaitReadyTellsWhyItEnded(t *testing.T) {
	t.Parallel()
	server, err := Find(t.Context())
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "appendonlydir"), 0o700))
	manifest := filepath.Join(dir, "appendonlydir", "appendonly.aof.manifest")
	require.NoError(t, os.WriteFile(manifest, []byte("garbage\n"), 0o600))
	p, err := Start(Options{Path: server.Path, Dir: dir, Socket: filepath.Join(dir, "s"), AppendOnly: true})
	require.NoError(t, err)
	err = p.WaitReady(t.Context(), nil)
	require.ErrorContains(t, err, "it ended at once")
	require.ErrorContains(t, err, LogName)
}

// TestWatchdog covers what Linux itself does not need. The end of the parent is
// played by a parent: this test binary, started again, and killed.
func TestWatchdog(t *testing.T) {
	const victimKey = "REDISPROC_TEST_VICTIM"
	if victim := os.Getenv(victimKey); victim != "" {
		pid, err := strconv.Atoi(victim)
		require.NoError(t, err)
		_, err = watch(pid, syscall.SIGKILL)
		require.NoError(t, err)
		_, _ = os.Stdout.WriteString("watching\n")
		_, _ = io.Copy(io.Discard, os.Stdin) // until killed
		return
	}
	t.Parallel()
	sleeper := func(t *testing.T) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "sleep", "60")
		require.NoError(t, cmd.Start())
		return cmd
	}
	t.Run("released", func(t *testing.T) {
		t.Parallel()
		victim := sleeper(t)
		release, err := watch(victim.Process.Pid, syscall.SIGKILL)
		require.NoError(t, err)
		release()
		require.NoError(t, victim.Process.Signal(syscall.Signal(0)), "still there")
		require.NoError(t, victim.Process.Kill())
		require.Error(t, victim.Wait())
	})
	t.Run("parent killed", func(t *testing.T) {
		t.Parallel()
		victim := sleeper(t)
		parent := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWatchdog$") //nolint:gosec // ourselves
		parent.Env = append(os.Environ(), victimKey+"="+strconv.Itoa(victim.Process.Pid))
		_, err := parent.StdinPipe()
		require.NoError(t, err)
		out, err := parent.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, parent.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "watching\n", line)
		require.NoError(t, parent.Process.Kill())
		require.Error(t, parent.Wait())
		require.ErrorContains(t, victim.Wait(), "killed")
	})
}

func start(t *testing.T, o Options) *Process {
	t.Helper()
	server, err := Find(t.Context())
	require.NoError(t, err)
	o.Path, o.Dir, o.DeathSignal = server.Path, t.TempDir(), syscall.SIGKILL
	o.Socket = filepath.Join(o.Dir, "s")
	p, err := Start(o)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = p.Signal(syscall.SIGKILL)
		<-p.Done()
	})
	require.NoError(t, p.WaitReady(t.Context(), nil))
	return p
}
