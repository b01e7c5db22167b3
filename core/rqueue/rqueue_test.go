package rqueue

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
)

func TestRequestJourney(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		woken, n, err := b.s.Enqueue(b.ctx, []Link{b.link("a.test", "/1"), b.link("a.test", "/2"), b.link("a.test", "/1")})
		require.NoError(t, err)
		require.Equal(t, 2, n)
		require.Equal(t, []HostRef{{b.c, "a.test"}}, woken)

		d, err := b.c.Due(b.ctx, Cursor{}, 10)
		require.NoError(t, err)
		require.Equal(t, []string{"a.test"}, d.Hosts)

		acq := b.acquire("a.test")
		require.Negative(t, acq.State.Delay)
		le := b.lease("a.test", acq.Token, 5)
		require.Equal(t, []string{"http://a.test/1", "http://a.test/2"}, urls(le.Requests))
		require.Equal(t, b.time.local().Add(2*time.Second), le.StoredNext)
		require.Equal(t, b.time.local().Add(6500*time.Millisecond), le.Deadline)
		require.Equal(t, time.Duration(-1), le.DelayedIn)

		done, err := b.c.Finish(b.ctx)
		require.NoError(t, err)
		require.False(t, done)

		p := b.page(le.Requests[0])
		p.Links = []Link{b.link("a.test", "/2"), b.link("b.test", "/"), b.link("b.test", "/x")}
		p.Items = []crawl.Item{{JSON: []byte(`{"a": 1}`)}}
		woken, err = b.s.Commit(b.ctx, []*Page{p}, []Stat{{b.c, "response_received_count", 1}})
		require.NoError(t, err)
		require.NoError(t, p.Err)
		require.Equal(t, []HostRef{{b.c, "b.test"}}, woken)
		require.Equal(t, [2]int{2, 1}, [2]int{p.Enqueued, p.Filtered})
		require.False(t, p.Gone)
		require.Equal(t, []string{`{"a": 1}`}, rdb.LRange(b.ctx, "c:items", 0, -1).Val())
		b.balanced("a.test", "b.test")

		again := b.page(le.Requests[0])
		again.Items = p.Items
		b.commit(again)
		require.True(t, again.Gone)
		require.EqualValues(t, 1, rdb.LLen(b.ctx, "c:items").Val())

		b.commit(b.page(le.Requests[1]))
		rel := &Release{Slot: "a.test", Token: acq.Token, Crawls: []*Crawl{b.c}, NextIn: time.Second}
		require.NoError(t, b.f.Do(b.ctx, rel))
		require.NoError(t, rel.Err)

		acq = b.acquire("b.test")
		le = b.lease("b.test", acq.Token, 5)
		require.Len(t, le.Requests, 2)
		b.commit(b.page(le.Requests[0]), b.page(le.Requests[1]))
		require.Equal(t, Counts{Done: 4, Seen: 4}, b.balanced("a.test", "b.test"))

		done, err = b.c.Finish(b.ctx)
		require.NoError(t, err)
		require.True(t, done)
		st, err := b.c.Stats(b.ctx)
		require.NoError(t, err)
		require.Equal(t, map[string]int64{"response_received_count": 1}, st)
		infos, err := b.f.Crawls(b.ctx)
		require.NoError(t, err)
		require.Equal(t, StateFinished, infos[0].State)

		require.NoError(t, b.c.Close(b.ctx, false))
		c, err := b.f.OpenCrawl(b.ctx, b.c.Spec(), false)
		require.NoError(t, err)
		require.Zero(t, c.Resumed())
		require.EqualValues(t, 2, c.Opening())
		b.c = c
		require.Equal(t, 1, b.enqueue(b.link("a.test", "/1")))
	})
}
