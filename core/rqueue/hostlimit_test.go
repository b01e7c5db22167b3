package rqueue

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A host lets in as many requests as the limit says, whoever enqueues them; seeds
// and what was let in before are no matter of it.
func TestHostLimit(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb, func(_ *Config, s *Spec) { s.HostLimit = 3 })
		require.Equal(t, 2, b.enqueue(b.link("a.test", "/1"), b.link("a.test", "/2")))
		le := b.lease("a.test", b.acquire("a.test").Token, 1)

		p := b.page(le.Requests[0])
		p.Links = []Link{b.link("a.test", "/1"), b.link("a.test", "/3"), b.link("a.test", "/4"), b.link("b.test", "/"), b.link("a.test", "/3")}
		b.commit(p)
		require.Equal(t, [3]int{2, 2, 1}, [3]int{p.Enqueued, p.Filtered, p.Refused})

		again := b.link("a.test", "/4")
		require.Zero(t, b.enqueue(again), "not believed to be seen")
		seed := b.link("a.test", "/4")
		seed.Request.Seed = true
		require.Equal(t, 1, b.enqueue(seed))
		require.Zero(t, b.enqueue(b.link("a.test", "/4"), b.link("a.test", "/5")))
		require.EqualValues(t, 5, b.balanced("a.test", "b.test").Seen)
		n, err := b.c.HostCounts(b.ctx, "a.test")
		require.NoError(t, err)
		require.EqualValues(t, 4, n.Seen)
	})
	require.ErrorContains(t, Spec{Name: "c", HostLimit: -1}.WithDefaults().Validate(), "host limit -1")
}
