package store_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"orbweaver/internal/redistest"
	"orbweaver/store"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentKey); dir != "" {
		os.Exit(parent(dir))
	}
	goleak.VerifyTestMain(m)
}

// patience bounds every wait in these tests; nothing comes near it on a machine
// that is not overloaded.
const patience = 30 * time.Second

// open opens a store that the test closes at its end.
func open(t *testing.T, cfg store.Config) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestOpenURL(t *testing.T) {
	t.Parallel()
	srv := redistest.New(t, redistest.WithTCP())
	s := open(t, store.Config{URL: srv.URL()})
	require.Equal(t, store.KindRedis, s.Kind())
	require.False(t, s.Embedded())
	require.True(t, s.Persistent())
	require.Zero(t, s.Restarts())
	require.Regexp(t, `^redis \d+\.\d+\.\d+ at redis://127\.0\.0\.1:\d+$`, s.Describe())
	require.NoError(t, s.Client().Set(t.Context(), "k", "v", 0).Err())

	srv.Kill()
	require.Error(t, s.Client().Get(t.Context(), "k").Err())
	srv.Restart()
	require.Eventually(t, func() bool { return s.Client().Ping(t.Context()).Err() == nil }, patience, 10*time.Millisecond,
		"the client comes back by itself")
}

func TestOpenUnixURL(t *testing.T) {
	t.Parallel()
	srv := redistest.New(t, redistest.WithArgs("--requirepass", "secret"))
	s := open(t, store.Config{URL: "unix://:secret@" + srv.Addr()})
	require.NoError(t, s.Client().Ping(t.Context()).Err())
	require.NotContains(t, s.Describe(), "secret")
}

func TestOpenURLOfMiniredis(t *testing.T) {
	t.Parallel()
	s := open(t, store.Config{URL: redistest.NewMini(t).URL()})
	require.NoError(t, s.Client().Ping(t.Context()).Err())
}

// TestOpenCluster opens a cluster of one by a single address and by several.
func TestOpenCluster(t *testing.T) {
	t.Parallel()
	srv := redistest.New(t, redistest.WithTCP(), redistest.WithArgs("--cluster-enabled", "yes"))
	addSlots := make([]any, 0, 2+16384)
	addSlots = append(addSlots, "cluster", "addslots")
	for slot := range 16384 {
		addSlots = append(addSlots, slot)
	}
	require.NoError(t, srv.Client().Do(t.Context(), addSlots...).Err())
	require.Eventually(t, func() bool {
		return strings.Contains(srv.Client().ClusterInfo(t.Context()).Val(), "cluster_state:ok")
	}, patience, 10*time.Millisecond)

	for _, url := range []string{srv.URL(), srv.URL() + ",127.0.0.1:1"} {
		s := open(t, store.Config{URL: url})
		require.IsType(t, &redis.ClusterClient{}, s.Client(), url)
		require.NoError(t, s.Client().Set(t.Context(), "{1}:k", "v", 0).Err())
	}
	_, err := store.Open(t.Context(), store.Config{URL: srv.URL() + "/3"})
	require.ErrorIs(t, err, store.ErrConfig)
}

func TestEmbeddedKeepsData(t *testing.T) {
	t.Parallel()
	for _, fsync := range []string{"everysec", "always"} {
		t.Run(fsync, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data dir") // spaces must not matter
			ctx := t.Context()
			first, err := store.Open(ctx, store.Config{DataDir: dir, Fsync: fsync})
			require.NoError(t, err)
			require.Equal(t, store.KindEmbeddedServer, first.Kind())
			require.True(t, first.Embedded())
			require.True(t, first.Persistent())
			require.Contains(t, first.Describe(), dir)
			require.Equal(t, fsync, first.Client().ConfigGet(ctx, "appendfsync").Val()["appendfsync"])
			require.Equal(t, "0", first.Client().ConfigGet(ctx, "port").Val()["port"], "no TCP port")
			require.NoError(t, first.Client().Set(ctx, "k", "v", 0).Err())
			require.NoError(t, first.Close())
			require.NoError(t, first.Close(), "closing twice is harmless")

			second := open(t, store.Config{DataDir: dir})
			require.Equal(t, "v", second.Client().Get(ctx, "k").Val())
			st, err := os.Stat(dir)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o700), st.Mode().Perm(), "the folder is private")
		})
	}
}

func TestEmbeddedInLongFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	link := filepath.Join(dir, "redis", "redis.sock")
	for range 2 {
		s, err := store.Open(t.Context(), store.Config{DataDir: dir})
		require.NoError(t, err)
		require.NoError(t, s.Client().Ping(t.Context()).Err())
		socket, err := os.Readlink(link)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.NoDirExists(t, filepath.Dir(socket), "nothing is left behind")
		require.NoFileExists(t, link)
	}
}

func TestSecondOpenIsRefused(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]string{"redis-server": "", "miniredis": store.ServerNone} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, err := store.Open(t.Context(), store.Config{DataDir: dir, Server: server})
			require.NoError(t, err)
			_, err = store.Open(t.Context(), store.Config{DataDir: dir, Server: server})
			require.ErrorIs(t, err, store.ErrLocked)
			require.ErrorContains(t, err, dir)
			require.ErrorContains(t, err, "by process "+pid(os.Getpid()))
			require.NoError(t, s.Client().Ping(t.Context()).Err(), "the first is not disturbed")
			require.NoError(t, s.Close())
			again, err := store.Open(t.Context(), store.Config{DataDir: dir, Server: server})
			require.NoError(t, err)
			require.NoError(t, again.Close())
		})
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	log, hook := logtest.NewNullLogger()
	s := open(t, store.Config{DataDir: t.TempDir(), Server: store.ServerNone, Log: log})
	require.Equal(t, store.KindEmbeddedMemory, s.Kind())
	require.True(t, s.Embedded())
	require.False(t, s.Persistent())
	require.Contains(t, s.Describe(), "nothing outlives this run")
	require.Len(t, hook.AllEntries(), 1)
	require.Equal(t, logrus.WarnLevel, hook.LastEntry().Level)
	require.Contains(t, hook.LastEntry().Message, "nothing outlives this run")

	ctx := t.Context()
	require.NoError(t, s.Client().Set(ctx, "k", "v", 50*time.Millisecond).Err())
	require.Eventually(t, func() bool { return s.Client().Exists(ctx, "k").Val() == 0 }, patience, 10*time.Millisecond,
		"times to live run")
	now, err := s.Client().Time(ctx).Result()
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), now, patience, "TIME is the wall clock")

	stranger := redis.NewClient(&redis.Options{Addr: s.Client().(*redis.Client).Options().Addr, MaxRetries: -1})
	defer stranger.Close()
	require.ErrorContains(t, stranger.Ping(ctx).Err(), "NOAUTH", "other users of the machine stay out")
}

func TestFolderWithDataNeedsItsServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Config{DataDir: dir})
	require.NoError(t, err)
	require.NoError(t, s.Client().Set(t.Context(), "k", "v", 0).Err())
	require.NoError(t, s.Close())

	_, err = store.Open(t.Context(), store.Config{DataDir: dir, Server: store.ServerNone})
	require.ErrorIs(t, err, store.ErrServerNeeded)
	require.ErrorContains(t, err, dir)

	_, err = store.Open(t.Context(), store.Config{DataDir: t.TempDir(), Server: "no-such-server"})
	require.ErrorIs(t, err, store.ErrServerNeeded, "a server that was asked for by name is not replaced")
}

// TestWithoutServerOnPath is the newcomer's machine.
func TestWithoutServerOnPath(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s := open(t, store.Config{DataDir: t.TempDir()})
	require.Equal(t, store.KindEmbeddedMemory, s.Kind())
}

func TestBrokenDataFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	aof := filepath.Join(dir, "redis", "appendonlydir")
	require.NoError(t, os.MkdirAll(aof, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(aof, "appendonly.aof.manifest"), []byte("garbage\n"), 0o600))
	_, err := store.Open(t.Context(), store.Config{DataDir: dir})
	require.ErrorIs(t, err, store.ErrServerFailed)
	require.ErrorContains(t, err, "redis.log", "the way to the details")
	require.NotContains(t, err.Error(), "\n")

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = store.Open(t.Context(), store.Config{DataDir: file})
	require.ErrorIs(t, err, store.ErrConfig)
}

func TestConfigReportsEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := store.Open(t.Context(), store.Config{URL: "ftp://h", Fsync: "never", PoolSize: -1, Timeout: -1})
	require.ErrorIs(t, err, store.ErrConfig)
	for _, want := range []string{"ftp://h", `"never"`, "pool size -1", "timeouts"} {
		require.ErrorContains(t, err, want)
	}
}

// TestOpenAndCloseOften also shows under -race that closing waits for everything.
func TestOpenAndCloseOften(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 10 {
		s, err := store.Open(t.Context(), store.Config{DataDir: dir})
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := store.Open(ctx, store.Config{DataDir: dir})
	require.ErrorIs(t, err, context.Canceled)
	open(t, store.Config{DataDir: dir}) // and nothing of the failed one is left
}
