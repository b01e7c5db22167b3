package rqueue

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// TestDueAfterKill leaves a leased host behind, as a killed process does, and opens
// the crawl again: alone with the store its hosts are due at once, otherwise when
// the lease is over.
func TestDueAfterKill(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		exclusive bool
		want      []string
	}{
		{"alone with the store", true, []string{"a.test"}},
		{"others may hold it", false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, rdb *redis.Client) {
				b := newBundle(t, rdb)
				b.enqueue(b.link("a.test", "/1"), b.link("a.test", "/2"))
				b.lease("a.test", b.acquire("a.test").Token, 1)

				cfg := b.time.config("n2")
				cfg.Exclusive = tt.exclusive
				f, err := Open(b.ctx, rdb, cfg)
				require.NoError(t, err)
				c, err := f.OpenCrawl(b.ctx, b.c.Spec(), false)
				require.NoError(t, err)
				require.EqualValues(t, 2, c.Resumed())
				due, err := c.Due(b.ctx, Cursor{}, 10)
				require.NoError(t, err)
				require.Equal(t, tt.want, due.Hosts)
				again, err := c.Due(b.ctx, due.Next, 10)
				require.NoError(t, err)
				require.Empty(t, again.Hosts, "the entry is not lowered")
				require.Positive(t, again.Later)
			})
		})
	}
}

// TestDueAfterClockWasSetBack: entries made for a time that comes once more do
// not stop the crawl until then.
func TestDueAfterClockWasSetBack(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		require.NoError(t, b.f.Ping(b.ctx))
		b.enqueue(b.link("a.test", "/1"), b.link("b.test", "/1"), b.link("c.test", "/1"))
		b.time.store.Add(-time.Hour.Milliseconds())
		b.time.pass(time.Second)
		require.NoError(t, b.f.Ping(b.ctx))
		got := []string{}
		cur := Cursor{}
		for range 5 {
			d, err := b.c.Due(b.ctx, cur, 2)
			require.NoError(t, err)
			got = append(got, d.Hosts...)
			if cur = d.Next; cur.Done() {
				break
			}
		}
		require.ElementsMatch(t, []string{"a.test", "b.test", "c.test"}, got)
		for _, h := range got {
			acq := b.acquire(h)
			require.Len(t, b.lease(h, acq.Token, 1).Requests, 1)
		}
		d, err := b.c.Due(b.ctx, Cursor{}, 10)
		require.NoError(t, err)
		require.Empty(t, d.Hosts)
		require.Equal(t, 8*time.Second, d.Later, "entries are of the clock as it is")
	})
}

// TestDueLate: an entry that nobody looked at for longer than a lease lives is any
// node's to take.
func TestDueLate(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		b.enqueue(b.link("a.test", "/1"))
		b.time.pass(b.f.cfg.TTL - time.Millisecond)
		b.enqueue(b.link("b.test", "/1"))
		due, err := b.c.Due(b.ctx, Cursor{}, 10)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"a.test", "b.test"}, due.Hosts)
		require.Nil(t, due.Late)
		b.time.pass(2 * time.Millisecond)
		late := map[string]bool{}
		for cursor := (Cursor{}); ; {
			due, err := b.c.Due(b.ctx, cursor, 1)
			require.NoError(t, err)
			for i, host := range due.Hosts {
				late[host] = due.Late != nil && due.Late[i]
			}
			if cursor = due.Next; cursor.Done() {
				break
			}
		}
		require.Equal(t, map[string]bool{"a.test": true, "b.test": false}, late)
	})
}
