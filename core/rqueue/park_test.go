package rqueue

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// parkedEnd is how a leased request of a parked host ends.
func (b *bundle) parkedEnd(l Leased, reason string) *Page {
	p := b.page(l)
	p.End, p.Cause = EndParked, reason
	return p
}

func TestPark(t *testing.T) {
	t.Parallel()
	for _, class := range []QueueClass{PriorityQueue, FifoQueue, LifoQueue} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, rdb *redis.Client) {
				b := newBundle(t, rdb, func(_ *Config, s *Spec) { s.QueueClass = class })
				b.enqueue(b.link("a.test", "/1"), b.link("a.test", "/2"), b.link("a.test", "/3"), b.link("a.test", "/4"), b.link("b.test", "/1"))
				acq := b.acquire("a.test")
				le := b.lease("a.test", acq.Token, 2)
				require.Empty(t, le.Parked)
				order := urls(le.Requests)

				// A page parks its host, whatever becomes of the page; the first reason stays.
				retry := b.page(le.Requests[0])
				retry.End, retry.RetryIn, retry.Park = EndRetry, time.Hour, "first\nreason"
				dead := b.parkedEnd(le.Requests[1], "second")
				dead.Park = "second"
				b.commit(retry, dead)
				b.balanced("a.test", "b.test")
				parked, err := b.c.Parked(b.ctx)
				require.NoError(t, err)
				require.Len(t, parked, 1)
				require.Equal(t, Parked{Host: "a.test", Reason: "first reason", Since: parked[0].Since, Letters: 1}, parked[0])
				is, not := &ParkedGet{Crawl: b.c, Host: "a.test"}, &ParkedGet{Crawl: b.c, Host: "b.test"}
				require.NoError(t, b.f.Do(b.ctx, is, not))
				require.NoError(t, errors.Join(is.Err, not.Err))
				require.Equal(t, "first reason", is.Reason)
				require.Empty(t, not.Reason)
				require.EqualValues(t, 1, rdb.HGet(b.ctx, "c:stats", "parked/hosts").Val()[0]-'0')

				// Retries are due at once; each lease tells the reason.
				le = b.lease("a.test", acq.Token, 10)
				require.Equal(t, "first reason", le.Parked)
				require.Len(t, le.Requests, 3)
				require.Negative(t, le.DelayedIn)
				var pages []*Page
				for _, l := range le.Requests {
					pages = append(pages, b.parkedEnd(l, le.Parked))
				}
				other := b.lease("b.test", b.acquire("b.test").Token, 10)
				require.Empty(t, other.Parked)
				b.commit(append(pages, b.page(other.Requests[0]))...)
				n := b.balanced("a.test", "b.test")
				require.EqualValues(t, 4, n.Dead)
				require.Zero(t, n.Scheduled())
				done, err := b.c.Finish(b.ctx)
				require.NoError(t, err)
				require.True(t, done, "the crawl ends all the same")
				b.c, err = b.f.OpenCrawl(b.ctx, b.c.Spec(), false)
				require.NoError(t, err)
				require.EqualValues(t, 1, b.c.Opening(), "and goes on in its opening")
				letters, err := b.c.Dead(b.ctx, "a.test", 10)
				require.NoError(t, err)
				require.Equal(t, "parked: first reason", letters[1].Cause)

				back, was, err := b.c.Release(b.ctx, "a.test")
				require.NoError(t, err)
				require.True(t, was)
				require.Equal(t, 4, back)
				n = b.balanced("a.test", "b.test")
				require.EqualValues(t, 4, n.Waiting)
				parked, err = b.c.Parked(b.ctx)
				require.NoError(t, err)
				require.Empty(t, parked)
				require.Equal(t, "0", rdb.HGet(b.ctx, "c:{"+b.shard("a.test")+"}:a.test:meta", "parked").Val())
				le = b.lease("a.test", acq.Token, 10)
				require.Empty(t, le.Parked)
				require.Len(t, le.Requests, 4)
				require.ElementsMatch(t, order, urls(le.Requests)[:2], "in their old order")
				audits, err := b.c.Audit(b.ctx, "a.test", "b.test")
				require.NoError(t, err)
				for _, a := range audits {
					require.Empty(t, a.Broken)
				}
			})
		})
	}
}

// Only letters that a park made wait again; others stay, in their order.
func TestReleaseLeavesOtherLetters(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		var links []Link
		for i := range 1500 { // more than one call looks at
			links = append(links, b.link("a.test", "/"+string(rune('a'+i%26))+strings.Repeat("x", i/26)))
		}
		require.Equal(t, 1500, b.enqueue(links...))
		acq := b.acquire("a.test")
		ok, err := b.c.Park(b.ctx, "a.test", "")
		require.NoError(t, err)
		require.True(t, ok)
		ok, err = b.c.Park(b.ctx, "a.test", "again")
		require.NoError(t, err)
		require.False(t, ok)
		var others []string
		for range 2 {
			le := b.lease("a.test", acq.Token, 1000)
			require.Equal(t, "no reason given", le.Parked)
			var pages []*Page
			for i, l := range le.Requests {
				p := b.parkedEnd(l, le.Parked)
				if i%3 == 0 {
					p.End, p.Cause = EndDead, "404"
					others = append(others, l.Request.URL)
				}
				pages = append(pages, p)
			}
			b.commit(pages...)
		}
		parked, err := b.c.Parked(b.ctx)
		require.NoError(t, err)
		require.EqualValues(t, 1500-len(others), parked[0].Letters)
		back, was, err := b.c.Release(b.ctx, "a.test")
		require.NoError(t, err)
		require.True(t, was)
		require.Equal(t, 1500-len(others), back)
		letters, err := b.c.Dead(b.ctx, "a.test", 2000)
		require.NoError(t, err)
		var left []string
		for _, d := range letters {
			left = append(left, d.Request.URL)
		}
		require.Equal(t, others, left)
		b.balanced("a.test")
		back, was, err = b.c.Release(b.ctx, "a.test")
		require.NoError(t, err)
		require.False(t, was)
		require.Zero(t, back)
	})
}

// A request that was leased while its host was parked, and ends after the release,
// waits again: no letter is left behind.
func TestReleaseWhileRequestsAreInHand(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		b.enqueue(b.link("a.test", "/1"), b.link("a.test", "/2"))
		acq := b.acquire("a.test")
		_, err := b.c.Park(b.ctx, "a.test", "why")
		require.NoError(t, err)
		le := b.lease("a.test", acq.Token, 10)
		require.Len(t, le.Requests, 2)
		_, was, err := b.c.Release(b.ctx, "a.test")
		require.NoError(t, err)
		require.True(t, was)
		b.commit(b.parkedEnd(le.Requests[0], le.Parked), b.parkedEnd(le.Requests[1], le.Parked))
		n := b.balanced("a.test")
		require.EqualValues(t, 2, n.Waiting)
		require.Zero(t, n.Dead)
		audits, err := b.c.Audit(b.ctx, "a.test")
		require.NoError(t, err)
		require.True(t, audits[0].Indexed)
		require.Len(t, b.lease("a.test", acq.Token, 10).Requests, 2)
	})
}

// Parking a host that only has retries, or none at all.
func TestParkWakesItsHost(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		b.enqueue(b.link("a.test", "/1"))
		acq := b.acquire("a.test")
		le := b.lease("a.test", acq.Token, 1)
		p := b.page(le.Requests[0])
		p.End, p.RetryIn = EndRetry, time.Hour
		b.commit(p)
		rel := &Release{Slot: "a.test", Token: acq.Token, Crawls: []*Crawl{b.c}}
		require.NoError(t, b.f.Do(b.ctx, rel))
		require.NoError(t, rel.Err)
		key := "c:{" + b.shard("a.test") + "}:hosts"
		require.Greater(t, rdb.ZScore(b.ctx, key, "a.test").Val(), float64(b.time.server()))
		_, err := b.c.Park(b.ctx, "a.test", "why")
		require.NoError(t, err)
		require.LessOrEqual(t, rdb.ZScore(b.ctx, key, "a.test").Val(), float64(b.time.server()))
		_, err = b.c.Park(b.ctx, "never.test", "why")
		require.NoError(t, err)
		audits, err := b.c.Audit(b.ctx, "a.test", "never.test")
		require.NoError(t, err)
		for _, a := range audits {
			require.Empty(t, a.Broken, a.Host)
		}
	})
}

// A flush forgets who was parked, a handle of an earlier run parks nobody.
func TestFlushReleases(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		stale := newBundle(t, rdb, func(c *Config, _ *Spec) { c.Node = "n2" })
		b.enqueue(b.link("a.test", "/1"))
		_, err := b.c.Park(b.ctx, "a.test", "why")
		require.NoError(t, err)
		b.time.pass(time.Second)
		require.NoError(t, b.c.Flush(b.ctx))
		parked, err := b.c.Parked(b.ctx)
		require.NoError(t, err)
		require.Empty(t, parked)
		_, err = stale.c.Park(b.ctx, "a.test", "why")
		require.ErrorIs(t, err, ErrStaleRun)
		_, _, err = stale.c.Release(b.ctx, "a.test")
		require.ErrorIs(t, err, ErrStaleRun)
		p := &Page{Crawl: stale.c, Host: "a.test", Park: "why"}
		stale.commit(p)
		require.True(t, p.Gone)
		parked, err = b.c.Parked(b.ctx)
		require.NoError(t, err)
		require.Empty(t, parked)
	})
}

// A page that parks its host after the slot was released for long: what waits is to
// end now.
func TestParkingPageWakesItsHost(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		b.enqueue(b.link("a.test", "/1"), b.link("a.test", "/2"), b.link("b.test", "/1"))
		acq := b.acquire("a.test")
		le := b.lease("a.test", acq.Token, 1)
		rel := &Release{Slot: "a.test", Token: acq.Token, Crawls: []*Crawl{b.c}, NextIn: time.Hour}
		require.NoError(t, b.f.Do(b.ctx, rel))
		require.NoError(t, rel.Err)
		key := "c:{" + b.shard("a.test") + "}:hosts"
		require.Greater(t, rdb.ZScore(b.ctx, key, "a.test").Val(), float64(b.time.server()))
		p := b.parkedEnd(le.Requests[0], "wall")
		p.Park = "wall"
		b.commit(p)
		require.LessOrEqual(t, rdb.ZScore(b.ctx, key, "a.test").Val(), float64(b.time.server()))
		acq = b.acquire("a.test")
		le = b.lease("a.test", acq.Token, 5)
		require.Equal(t, "wall", le.Parked)
		last := b.parkedEnd(le.Requests[0], "wall")
		last.Park = "wall"
		b.commit(last)
		require.ErrorIs(t, rdb.ZScore(b.ctx, key, "a.test").Err(), redis.Nil)
		b.balanced("a.test", "b.test")
	})
}
