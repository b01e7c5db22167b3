package rqueue

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// exporting opens the bundle's crawl as another node.
func (b *bundle) exporting(node string, exclusive bool) *Crawl {
	b.t.Helper()
	cfg := b.time.config(node)
	cfg.Exclusive = exclusive
	f, err := Open(b.ctx, b.rdb, cfg)
	require.NoError(b.t, err)
	c, err := f.OpenCrawl(b.ctx, b.c.Spec(), false)
	require.NoError(b.t, err)
	return c
}

// heldBy requires that another process writes the items, and gives what is said of it.
func heldBy(t *testing.T, err error) *ExportHeldError {
	t.Helper()
	require.ErrorIs(t, err, ErrExportHeld)
	held, ok := errors.AsType[*ExportHeldError](err)
	require.True(t, ok)
	require.Positive(t, held.For)
	require.LessOrEqual(t, held.For, exportLock)
	return held
}

// TestExportLock: of two processes one writes the items; the other takes over when
// it says so, or has been silent for long, and what the first wrote late counts for
// nothing.
func TestExportLock(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		c1, c2 := b.exporting("n1", false), b.exporting("n2", false)
		list, lock := b.c.Name()+":export", b.c.Name()+":export:lock"
		require.NoError(t, rdb.RPush(b.ctx, list, "a", "b", "c").Err())

		items, err := c1.ExportRead(b.ctx, "f1", 2)
		require.NoError(t, err)
		require.Equal(t, [][]byte{[]byte("a"), []byte("b")}, items)
		require.Equal(t, "n1|f1", rdb.Get(b.ctx, lock).Val())
		require.Positive(t, rdb.PTTL(b.ctx, lock).Val())
		require.LessOrEqual(t, rdb.PTTL(b.ctx, lock).Val(), exportLock)
		_, err = c2.ExportRead(b.ctx, "f2", 2)
		held := heldBy(t, err)
		require.Equal(t, &ExportHeldError{Crawl: "c", Member: "n1", File: "f1", For: held.For, Items: 3}, held)
		_, err = c2.ExportAck(b.ctx, 1, "f2", 10)
		require.ErrorIs(t, err, ErrExportLost)
		require.NoError(t, c2.ExportRelease(b.ctx, "f2"), "not its own: nothing happens")
		require.NoError(t, c1.ExportRelease(b.ctx, "f2"), "of another file: nothing happens")
		require.Equal(t, "n1|f1", rdb.Get(b.ctx, lock).Val())
		left, err := c1.ExportAck(b.ctx, 1, "f1", 10)
		require.NoError(t, err)
		require.EqualValues(t, 2, left)

		require.NoError(t, rdb.Del(b.ctx, lock).Err()) // it has run out
		for _, n := range []int{0, 1} {
			_, err = c1.ExportAck(b.ctx, n, "f1", 20)
			require.ErrorIs(t, err, ErrExportLost, "somebody may have written it meanwhile")
		}
		items, err = c2.ExportRead(b.ctx, "f2", 5)
		require.NoError(t, err)
		require.Len(t, items, 2)
		_, err = c1.ExportAck(b.ctx, 1, "f1", 20)
		require.ErrorIs(t, err, ErrExportLost)
		require.EqualValues(t, 2, rdb.LLen(b.ctx, list).Val(), "nothing was trimmed")
		left, err = c2.ExportAck(b.ctx, 2, "f2", 20)
		require.NoError(t, err)
		require.Zero(t, left)
		require.NoError(t, c2.ExportRelease(b.ctx, "f2"))
		require.Zero(t, rdb.Exists(b.ctx, lock).Val())
		_, err = c1.ExportRead(b.ctx, "f1", 1)
		require.NoError(t, err)
		at, ok, err := c1.ExportPosition(b.ctx, "f1")
		require.NoError(t, err)
		require.True(t, ok)
		require.EqualValues(t, 10, at)

		require.NoError(t, c1.Delete(b.ctx, false))
		require.Zero(t, rdb.Exists(b.ctx, lock).Val())
		_, err = c2.ExportRead(b.ctx, "f2", 1)
		require.NoError(t, err)
		_, err = c2.ExportAck(b.ctx, 0, "f2", 30)
		require.NoError(t, err)
		require.Zero(t, rdb.Exists(b.ctx, lock).Val(), "a deleted crawl is not locked")
	})
}

// TestExportLockRunsOut: a process that says nothing more has the lock for as long as
// the store was told, renewed by each read and ack.
func TestExportLockRunsOut(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		c1, c2 := b.exporting("n1", false), b.exporting("n2", false)
		lock := b.c.Name() + ":export:lock"
		for name, renew := range map[string]func() error{
			"read": func() error { _, err := c1.ExportRead(b.ctx, "f1", 1); return err },
			"ack":  func() error { _, err := c1.ExportAck(b.ctx, 0, "f1", 1); return err },
		} {
			_, err := c1.ExportRead(b.ctx, "f1", 1)
			require.NoError(t, err)
			require.NoError(t, rdb.PExpire(b.ctx, lock, 3*time.Second).Err()) // 7 s pass
			_, err = c2.ExportRead(b.ctx, "f2", 1)
			require.LessOrEqual(t, heldBy(t, err).For, 3*time.Second, name)
			require.NoError(t, renew(), name)
			_, err = c2.ExportRead(b.ctx, "f2", 1)
			require.Greater(t, heldBy(t, err).For, 5*time.Second, name)
		}
		require.NoError(t, rdb.PExpire(b.ctx, lock, 0).Err()) // the rest
		_, err := c2.ExportRead(b.ctx, "f2", 1)
		require.NoError(t, err)
		_, err = c1.ExportRead(b.ctx, "f1", 1)
		require.Equal(t, "n2", heldBy(t, err).Member)
	})
}

// TestExportLockAlone: alone with the store, whoever else had the lock is dead.
func TestExportLockAlone(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		_, err := b.c.ExportRead(b.ctx, "f", 1)
		require.NoError(t, err)
		alone := b.exporting("n2", true)
		_, err = alone.ExportRead(b.ctx, "f", 1)
		require.NoError(t, err)
		require.Equal(t, "n2|f", rdb.Get(b.ctx, b.c.Name()+":export:lock").Val())
	})
}
