package rqueue

import (
	"testing"

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
