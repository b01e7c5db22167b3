package rqueue

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// TestExportLock: of two processes one writes the items; the other takes over when
// it says so, or has been silent for long, and what the first wrote late counts for
// nothing.
func TestExportLock(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		other, err := Open(b.ctx, rdb, b.time.config("n2"))
		require.NoError(t, err)
		c2, err := other.OpenCrawl(b.ctx, b.c.Spec(), false)
		require.NoError(t, err)
		list, lock := b.c.Name()+":export", b.c.Name()+":export:lock"
		require.NoError(t, rdb.RPush(b.ctx, list, "a", "b", "c").Err())

		items, err := b.c.ExportRead(b.ctx, 2)
		require.NoError(t, err)
		require.Equal(t, [][]byte{[]byte("a"), []byte("b")}, items)
		require.Positive(t, rdb.PTTL(b.ctx, lock).Val())
		require.LessOrEqual(t, rdb.PTTL(b.ctx, lock).Val(), exportLock)
		_, err = c2.ExportRead(b.ctx, 2)
		require.ErrorIs(t, err, ErrExportHeld)
		_, err = c2.ExportAck(b.ctx, 1, "f2", 10)
		require.ErrorIs(t, err, ErrExportHeld)
		require.EqualValues(t, 3, rdb.LLen(b.ctx, list).Val())
		require.NoError(t, c2.ExportRelease(b.ctx), "not its own: nothing happens")
		left, err := b.c.ExportAck(b.ctx, 1, "f1", 10)
		require.NoError(t, err)
		require.EqualValues(t, 2, left)

		require.NoError(t, rdb.Del(b.ctx, lock).Err()) // it has run out
		_, err = b.c.ExportAck(b.ctx, 1, "f1", 20)
		require.ErrorIs(t, err, ErrExportHeld, "somebody may have written it meanwhile")
		items, err = c2.ExportRead(b.ctx, 5)
		require.NoError(t, err)
		require.Len(t, items, 2)
		_, err = b.c.ExportAck(b.ctx, 1, "f1", 20)
		require.ErrorIs(t, err, ErrExportHeld)
		left, err = c2.ExportAck(b.ctx, 2, "f2", 20)
		require.NoError(t, err)
		require.Zero(t, left)
		require.NoError(t, c2.ExportRelease(b.ctx))
		require.Zero(t, rdb.Exists(b.ctx, lock).Val())
		_, err = b.c.ExportRead(b.ctx, 1)
		require.NoError(t, err)
		at, ok, err := b.c.ExportPosition(b.ctx, "f1")
		require.NoError(t, err)
		require.True(t, ok)
		require.EqualValues(t, 10, at)

		require.NoError(t, b.c.Delete(b.ctx, false))
		_, err = c2.ExportRead(b.ctx, 1)
		require.NoError(t, err)
		require.Zero(t, rdb.Exists(b.ctx, lock).Val(), "a deleted crawl is not locked")
	})
}

// TestExportLockAlone: alone with the store, whoever else had the lock is dead.
func TestExportLockAlone(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		_, err := b.c.ExportRead(b.ctx, 1)
		require.NoError(t, err)
		cfg := b.time.config("n2")
		cfg.Exclusive = true
		f, err := Open(b.ctx, rdb, cfg)
		require.NoError(t, err)
		c, err := f.OpenCrawl(b.ctx, b.c.Spec(), false)
		require.NoError(t, err)
		begin := time.Now()
		_, err = c.ExportRead(b.ctx, 1)
		require.NoError(t, err)
		require.Less(t, time.Since(begin), exportLock)
	})
}
