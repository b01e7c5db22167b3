package redistest_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
)

func TestServer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		start func(t *testing.T) *redistest.Server
		url   string
		keeps bool // the data outlives Kill
	}{
		{"redis-server", func(t *testing.T) *redistest.Server { return redistest.New(t) }, "unix://", false},
		{"append-only", func(t *testing.T) *redistest.Server { return redistest.New(t, redistest.WithAppendOnly("always")) }, "unix://", true},
		{"tcp", func(t *testing.T) *redistest.Server { return redistest.New(t, redistest.WithTCP()) }, "redis://127.0.0.1:", false},
		{"miniredis", func(t *testing.T) *redistest.Server { return redistest.NewMini(t) }, "redis://127.0.0.1:", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s := tt.start(t)
			require.True(t, strings.HasPrefix(s.URL(), tt.url), s.URL())
			require.NoError(t, s.Client().Set(ctx, "k", "v", 0).Err())

			s.Pause()
			short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			require.Error(t, s.Client().Get(short, "k").Err(), "a paused server does not answer")
			s.Resume()
			require.NoError(t, s.NewClient().Get(ctx, "k").Err())

			s.Kill()
			require.Error(t, s.NewClient().Ping(ctx).Err())
			s.Restart()
			n, err := s.NewClient().Exists(ctx, "k").Result()
			require.NoError(t, err)
			require.Equal(t, tt.keeps, n == 1)
		})
	}
}

func TestMiniClockMoves(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := redistest.NewMini(t).Client()
	require.NoError(t, c.Set(ctx, "k", "v", 20*time.Millisecond).Err())
	require.Eventually(t, func() bool { return c.Exists(ctx, "k").Val() == 0 }, 5*time.Second, 5*time.Millisecond)
}

func TestLongFolderNames(t *testing.T) {
	t.Setenv("TMPDIR", longDir(t))
	s := redistest.New(t)
	require.NoError(t, s.Client().Ping(t.Context()).Err())
}

func longDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir() + "/" + strings.Repeat("long", 30)
	require.NoError(t, os.Mkdir(dir, 0o700))
	return dir
}
