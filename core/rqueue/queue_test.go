package rqueue

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
)

func TestQueueOrder(t *testing.T) {
	t.Parallel()
	priorities := []int32{0, 5, -3, 5, math.MaxInt32, math.MinInt32, 0}
	tests := []struct {
		class QueueClass
		want  []int // indexes of priorities
	}{
		{PriorityQueue, []int{4, 1, 3, 0, 6, 2, 5}},
		{FifoQueue, []int{0, 1, 2, 3, 4, 5, 6}},
		{LifoQueue, []int{6, 5, 4, 3, 2, 1, 0}},
	}
	for _, tt := range tests {
		t.Run(string(tt.class), func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, rdb *redis.Client) {
				b := newBundle(t, rdb, func(_ *Config, s *Spec) { s.QueueClass = tt.class })
				var links []Link
				for i, p := range priorities {
					l := b.link("a.test", "/"+strconv.Itoa(i))
					l.Request.Priority = p
					links = append(links, l)
				}
				b.enqueue(links...)
				acq := b.acquire("a.test")
				le := b.lease("a.test", acq.Token, 5)
				require.Equal(t, 2, le.Waiting)
				// What comes back, given back or recovered, takes its old place.
				back := &GiveBack{Leased: le.Requests[1:3]}
				rec := &Recover{Slot: "a.test", Token: acq.Token, Crawl: b.c, Keep: []crawl.ID{le.Requests[0].Request.ID}}
				require.NoError(t, b.f.Do(b.ctx, back, rec))
				require.NoError(t, back.Err)
				require.NoError(t, rec.Err)
				require.Zero(t, back.Gone)
				require.Equal(t, 2, rec.Recovered)
				rest := b.lease("a.test", acq.Token, 10)
				got := urls(append(le.Requests[:1], rest.Requests...))
				want := []string{}
				for _, i := range tt.want {
					want = append(want, "http://a.test/"+strconv.Itoa(i))
				}
				require.Equal(t, want, got)
				require.Equal(t, 0, rest.Requests[0].Lost)
				require.Equal(t, 1, rest.Requests[3].Lost)
				b.balanced("a.test")
			})
		})
	}
}

func TestRetryAndDead(t *testing.T) {
	t.Parallel()
	for _, class := range []QueueClass{PriorityQueue, FifoQueue, LifoQueue} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, rdb *redis.Client) {
				b := newBundle(t, rdb, func(_ *Config, s *Spec) { s.QueueClass = class })
				b.enqueue(b.link("a.test", "/1"))
				acq := b.acquire("a.test")
				le := b.lease("a.test", acq.Token, 5)

				p := b.page(le.Requests[0])
				p.End, p.RetryIn, p.Cause = EndRetry, 3*time.Second, "timeout"
				p.Retry = le.Requests[0].Request
				p.Retry.Attempts, p.Retry.Priority = 1, -1
				b.commit(p)
				require.Equal(t, Counts{Delayed: 1, Seen: 1}, b.balanced("a.test"))
				done, err := b.c.Finish(b.ctx)
				require.NoError(t, err)
				require.False(t, done)

				le = b.lease("a.test", acq.Token, 5)
				require.Empty(t, le.Requests)
				require.Equal(t, 3*time.Second, le.DelayedIn)
				require.True(t, le.StoredNext.IsZero())
				b.time.pass(3 * time.Second)
				le = b.lease("a.test", acq.Token, 5)
				require.Len(t, le.Requests, 1)
				require.EqualValues(t, 1, le.Requests[0].Request.Attempts)
				require.EqualValues(t, -1, le.Requests[0].Request.Priority)
				require.Equal(t, time.Duration(-1), le.DelayedIn)

				p = b.page(le.Requests[0])
				p.End, p.Cause = EndDead, "refused\nagain"
				b.commit(p)
				require.Equal(t, Counts{Dead: 1, Seen: 1}, b.balanced("a.test"))
				dead, err := b.c.Dead(b.ctx, "a.test", 10)
				require.NoError(t, err)
				require.Len(t, dead, 1)
				require.Equal(t, "refused again", dead[0].Cause)
				require.Equal(t, b.time.server(), dead[0].At.UnixMilli())
				require.Equal(t, "http://a.test/1", dead[0].Request.URL)

				n, err := b.c.ReplayDead(b.ctx, "a.test", 10)
				require.NoError(t, err)
				require.Equal(t, 1, n)
				d, err := b.c.Due(b.ctx, Cursor{}, 10)
				require.NoError(t, err)
				require.Equal(t, []string{"a.test"}, d.Hosts)
				le = b.lease("a.test", acq.Token, 5)
				require.Len(t, le.Requests, 1)
				require.Zero(t, le.Requests[0].Request.Attempts)
				b.commit(b.page(le.Requests[0]))
				require.Equal(t, Counts{Done: 1, Seen: 1}, b.balanced("a.test"))
				done, err = b.c.Finish(b.ctx)
				require.NoError(t, err)
				require.True(t, done)
			})
		})
	}
}

func TestLostTooOften(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb, func(c *Config, _ *Spec) { c.MaxLost = 2 })
		b.enqueue(b.link("a.test", "/1"))
		for i := range 3 {
			acq := b.acquire("a.test")
			le := b.lease("a.test", acq.Token, 5)
			require.Len(t, le.Requests, 1)
			require.Equal(t, i, le.Requests[0].Lost)
			acq = b.acquire("a.test")
			rec := &Recover{Slot: "a.test", Token: acq.Token, Crawl: b.c}
			require.NoError(t, b.f.Do(b.ctx, rec))
			require.NoError(t, rec.Err)
			require.Equal(t, i == 2, rec.Dead == 1)
		}
		require.Equal(t, Counts{Dead: 1, Seen: 1, Lost: 3}, b.balanced("a.test"))
		done, err := b.c.Finish(b.ctx)
		require.NoError(t, err)
		require.True(t, done, "the index entry goes with the last request")
	})
}

func TestFilterModes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		filter Filter
		again  int // the same URL under another id
		seeded int // a link to a seed's page
	}{
		{FilterCompact, 0, 0},
		{FilterScrapy, 0, 0},
		{FilterOff, 1, 1},
	}
	for _, tt := range tests {
		t.Run(string(tt.filter), func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, rdb *redis.Client) {
				b := newBundle(t, rdb, func(_ *Config, s *Spec) { s.Filter = tt.filter })
				other := func(path string, change func(*crawl.Request)) Link {
					l := b.link("a.test", path)
					l.Request.ID = crawl.NewID("other", path)
					change(l.Request)
					return l
				}
				require.Equal(t, 1, b.enqueue(b.link("a.test", "/1")))
				require.Zero(t, b.enqueue(b.link("a.test", "/1")), "the same id is a no-op in every mode")
				require.Equal(t, tt.again, b.enqueue(other("/1", func(*crawl.Request) {})))
				exempt := other("/1", func(r *crawl.Request) { r.DontFilter, r.ID = true, crawl.NewID("exempt") })
				require.Equal(t, 1, b.enqueue(exempt))
				require.Zero(t, b.enqueue(exempt))
				seed := other("/seed", func(r *crawl.Request) { r.Seed = true })
				require.Equal(t, 1, b.enqueue(seed))
				require.Zero(t, b.enqueue(seed))
				require.Equal(t, tt.seeded, b.enqueue(b.link("a.test", "/seed")))
				b.balanced("a.test")
				if tt.filter != FilterScrapy {
					return
				}
				require.Equal(t, []string{request("http://a.test/1").Fingerprint.String()}, rdb.SMembers(b.ctx, "c:dupefilter").Val())
				python := b.link("a.test", "/python")
				require.NoError(t, rdb.SAdd(b.ctx, "c:dupefilter", python.Request.Fingerprint.String()).Err())
				require.Zero(t, b.enqueue(python), "Python fetched it")
			})
		})
	}
}

// TestCompactFilterSplits takes a host through many bucket splits and asks for
// every member again, extreme ones included.
func TestCompactFilterSplits(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb, func(c *Config, _ *Spec) { c.SeenCache = 1 })
		members := []int64{0, 1, -1, 9, -9, math.MaxInt64, math.MinInt64, 1 << 53, 1<<53 + 1, -(1<<53 + 1), 999999999999999, 1000000000000000}
		for i := range 3000 {
			members = append(members, crawl.NewID("m", strconv.Itoa(i)).Member())
		}
		links := make([]Link, len(members))
		for i, m := range members {
			r := &crawl.Request{ID: crawl.NewID("r", strconv.Itoa(i)), URL: "http://a.test/"}
			binary.BigEndian.PutUint64(r.Fingerprint[:8], uint64(m)) //nolint:gosec // bit pattern
			links[i] = Link{Crawl: b.c, Host: "a.test", Request: r}
		}
		for i := 0; i < len(links); i += 500 {
			part := links[i:min(i+500, len(links))]
			require.Equal(t, len(part), b.enqueue(part...))
		}
		require.Zero(t, b.enqueue(links...))
		meta := rdb.HGetAll(b.ctx, "c:{"+b.shard("a.test")+"}:a.test:meta").Val()
		require.Equal(t, strconv.Itoa(len(members)), meta["members"])
		require.Equal(t, "16", meta["buckets"])
		n := int64(0)
		for i := range 16 {
			card := rdb.SCard(b.ctx, fmt.Sprintf("c:{%s}:a.test:seen:%d", b.shard("a.test"), i)).Val()
			require.Positive(t, card)
			n += card
		}
		require.EqualValues(t, len(members), n)

		// A forgotten one comes in again, others do not.
		ok, err := b.c.Forget(b.ctx, "a.test", links[7].Request.Fingerprint)
		require.ErrorIs(t, err, ErrWaiting)
		require.False(t, ok)
		acq := b.acquire("a.test")
		for range 4 {
			le := b.lease("a.test", acq.Token, 1000)
			_, err = b.c.Forget(b.ctx, "a.test", le.Requests[len(le.Requests)-1].Request.Fingerprint)
			require.ErrorIs(t, err, ErrWaiting)
			var pages []*Page
			for _, l := range le.Requests {
				pages = append(pages, b.page(l))
			}
			b.commit(pages...)
		}
		for i := range links {
			if i%100 > 0 {
				continue
			}
			ok, err = b.c.Forget(b.ctx, "a.test", links[i].Request.Fingerprint)
			require.NoError(t, err)
			require.True(t, ok)
			ok, err = b.c.Forget(b.ctx, "a.test", links[i].Request.Fingerprint)
			require.NoError(t, err)
			require.False(t, ok)
			require.Equal(t, 1, b.enqueue(links[i]))
		}
		require.EqualValues(t, len(links), b.balanced("a.test").Done)
	})
}

// shard is the hash tag of a host.
func (b *bundle) shard(host string) string {
	return strconv.Itoa(shardIn(b.f.cfg.ShardOf, host, b.f.cfg.Shards))
}

func TestManyLinksInOneCall(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		var links []Link
		for i := range 5000 { // more than one call and one unpack take
			links = append(links, b.link(host(i%2), "/"+strconv.Itoa(i/2)))
		}
		require.Equal(t, 5000, b.enqueue(links...))
		require.EqualValues(t, 5000, b.balanced(host(0), host(1)).Waiting)
		acq := b.acquire(host(0))
		le := b.lease(host(0), acq.Token, 1000)
		require.Len(t, le.Requests, 1000)
		var pages []*Page
		for _, l := range le.Requests {
			p := b.page(l)
			p.Items = []crawl.Item{{JSON: []byte("{}")}, {JSON: []byte("{}")}}
			pages = append(pages, p)
		}
		b.commit(pages...)
		require.EqualValues(t, 2000, rdb.LLen(b.ctx, "c:items").Val())
	})
}

func TestSeenCacheSparesLinks(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		l := b.link("a.test", "/1")
		fp := l.Request.Fingerprint.Member()
		require.False(t, b.c.Known(fp))
		b.enqueue(l)
		require.True(t, b.c.Known(fp))
		require.NoError(t, b.c.Flush(b.ctx))
		require.False(t, b.c.Known(fp), "a flush empties it")
		require.Equal(t, 1, b.enqueue(l))

		acq := b.acquire("a.test")
		le := b.lease("a.test", acq.Token, 1)
		p := b.page(le.Requests[0])
		p.Links = []Link{l}
		b.commit(p)
		require.Equal(t, 1, p.Filtered)

		_, err := b.c.Forget(b.ctx, "a.test", l.Request.Fingerprint)
		require.NoError(t, err)
		require.False(t, b.c.Known(fp), "so does Forget")

		// Another node learns of it at its next lease.
		b.enqueue(l)
		cfg := b.time.config("n2")
		cfg.Exclusive = true
		f2, err := Open(b.ctx, rdb, cfg)
		require.NoError(t, err)
		c2, err := f2.OpenCrawl(b.ctx, b.c.Spec(), false)
		require.NoError(t, err)
		s2 := f2.NewSession()
		defer func() { _ = s2.Close() }()
		l2 := l
		l2.Crawl = c2
		_, _, err = s2.Enqueue(b.ctx, []Link{l2})
		require.NoError(t, err)
		require.True(t, c2.Known(fp))
		le = b.lease("a.test", acq.Token, 1)
		b.commit(b.page(le.Requests[0]))
		_, err = b.c.Forget(b.ctx, "a.test", l.Request.Fingerprint)
		require.NoError(t, err)
		acq2 := &Acquire{Slot: "a.test", Crawls: []*Crawl{c2}}
		require.NoError(t, f2.Do(b.ctx, acq2))
		require.NoError(t, acq2.Err, "alone with the store, a slot of an earlier process is taken at once")
		le2 := &Lease{Slot: "a.test", Token: acq2.Token, Crawl: c2, Max: 1}
		require.NoError(t, f2.Do(b.ctx, le2))
		require.NoError(t, le2.Err)
		require.False(t, c2.Known(fp))
	})
}
