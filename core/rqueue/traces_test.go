package rqueue

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/internal/redistest"
)

// Directed traces: the defects that the rules were made for, each replayed
// against the real scripts. What TestCrashes meets only by luck is here for sure.

// snapshot remembers the store; the function it gives puts that back, as a
// restart does that lost its last moments: scripts and connections are gone.
func (b *bundle) snapshot() (restart func()) {
	b.t.Helper()
	w := &world{t: b.t, ctx: b.ctx, rdb: b.rdb}
	dump := w.dump()
	return func() {
		b.t.Helper()
		w.snapshot = dump
		w.restart()
		if b.s.conn != nil {
			b.s.conn = &flaky{conn: b.s.conn, at: 1}
		}
	}
}

// onRedis gives a bundle on a redis-server, whose keys can be dumped.
func onRedis(t *testing.T) *bundle {
	t.Helper()
	return newBundle(t, redistest.New(t).Client())
}

func (b *bundle) leasedPage(host, path string) *Page {
	b.t.Helper()
	b.enqueue(b.link(host, path))
	le := b.lease(host, b.acquire(host).Token, 1)
	require.Len(b.t, le.Requests, 1)
	return b.page(le.Requests[0])
}

// Rule 3: the store forgets the links between the two round trips.
func TestTraceLinksForgottenBeforeCommit(t *testing.T) {
	t.Parallel()
	b := onRedis(t)
	p := b.leasedPage("a.test", "/1")
	p.Links = []Link{b.link("b.test", "/1")}
	restart := b.snapshot()
	require.NoError(t, b.s.connect(b.ctx))
	b.s.conn = &restarting{conn: b.s.conn, at: 2, restart: restart}
	b.commit(p)
	require.False(t, p.Gone)
	require.Equal(t, Counts{Done: 1, Waiting: 1, Seen: 2}, b.balanced("a.test", "b.test"))
}

// restarting is a connection during whose at-th call the store is restarted.
type restarting struct {
	conn

	at      int
	restart func()
}

func (c *restarting) Process(ctx context.Context, cmd redis.Cmder) error {
	if c.at--; c.at == 0 {
		c.restart()
		return errCut
	}
	return c.conn.Process(ctx, cmd)
}

// Rule 2: the store forgets a seed's request before the claim is acknowledged.
func TestTraceSeedForgottenBeforeAck(t *testing.T) {
	t.Parallel()
	b := onRedis(t)
	require.NoError(t, b.rdb.RPush(b.ctx, "c:start_urls", "x").Err())
	seeds, err := b.c.ClaimSeeds(b.ctx, 1)
	require.NoError(t, err)
	restart := b.snapshot()
	require.NoError(t, b.s.connect(b.ctx))
	b.s.conn = &restarting{conn: b.s.conn, at: 2, restart: restart}
	links := []Link{b.link("a.test", "/")}
	_, _, err = b.s.EnqueueSeeds(b.ctx, b.c, links, seeds)
	require.ErrorIs(t, err, errCut)
	require.EqualValues(t, 1, b.rdb.HLen(b.ctx, b.c.taken).Val(), "the claim is still there")
	_, news, err := b.s.EnqueueSeeds(b.ctx, b.c, links, seeds)
	require.NoError(t, err)
	require.Equal(t, 1, news)
}

// Rule 7: a fingerprint in a node's memory was seen by a store that forgot it.
func TestTraceCacheOutlivesTheStore(t *testing.T) {
	t.Parallel()
	b := onRedis(t)
	id := identity{runID: "1", replID: "1", uptime: time.Hour}
	b.f.identify = func() identity { return id }
	require.NoError(t, b.f.Ping(b.ctx))
	p := b.leasedPage("a.test", "/1")
	restart := b.snapshot()
	b.enqueue(b.link("b.test", "/1"))
	require.True(t, b.c.Known(request("http://b.test/1").Fingerprint.Member()))
	restart()
	id = identity{runID: "2", replID: "2"}
	p.Links = []Link{b.link("b.test", "/1")}
	_, err := b.s.Commit(b.ctx, []*Page{p}, nil)
	require.NoError(t, err)
	require.NoError(t, p.Err)
	require.Equal(t, Counts{Done: 1, Waiting: 1, Seen: 2}, b.balanced("a.test", "b.test"))
}

// Rule 6: the store forgets who took a slot; the next to take it gets another token.
func TestTraceEpochIsNotGivenTwice(t *testing.T) {
	t.Parallel()
	b := onRedis(t)
	first := b.acquire("a.test")
	rel := &Release{Slot: "a.test", Token: first.Token}
	require.NoError(t, b.f.Do(b.ctx, rel))
	require.NoError(t, rel.Err)
	restart := b.snapshot()
	b.time.pass(10 * time.Millisecond)
	lost := b.acquire("a.test")
	restart()
	b.time.pass(10 * time.Millisecond)
	again := b.acquire("a.test")
	require.NotEqual(t, lost.Token, again.Token)
	rn := &Renew{Slot: "a.test", Token: lost.Token}
	require.NoError(t, b.f.Do(b.ctx, rn))
	require.ErrorIs(t, rn.Err, ErrLeaseLost)
}

// Rule 10: who no longer holds a request can neither end it nor give it back.
func TestTraceStaleRequestToken(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		for _, end := range []End{EndDone, EndRetry, EndDead} {
			b := newBundle(t, rdb, func(_ *Config, s *Spec) { s.Name = "c" + string(rune('0'+end)) })
			b.enqueue(b.link("a.test", "/1"))
			old := b.lease("a.test", b.acquire("a.test").Token, 1)
			acq := b.acquire("a.test")
			rec := &Recover{Slot: "a.test", Token: acq.Token, Crawl: b.c}
			require.NoError(t, b.f.Do(b.ctx, rec))
			require.NoError(t, rec.Err)
			held := b.lease("a.test", acq.Token, 1)
			require.Len(t, held.Requests, 1)

			p := b.page(old.Requests[0])
			p.End, p.Items = end, []crawl.Item{{JSON: []byte("1")}}
			b.commit(p)
			require.True(t, p.Gone)
			back := &GiveBack{Leased: old.Requests}
			require.NoError(t, b.f.Do(b.ctx, back))
			require.NoError(t, back.Err)
			require.Equal(t, 1, back.Gone)
			require.Equal(t, Counts{Leased: 1, Seen: 1, Lost: 1}, b.balanced("a.test"))
			require.Zero(t, rdb.LLen(b.ctx, text(b.c.items)).Val())

			p = b.page(held.Requests[0])
			b.commit(p)
			require.False(t, p.Gone)
		}
	})
}

// Rule 4: what a lease promised of the next start binds whoever comes next.
func TestTraceNextStartIsStored(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		b.enqueue(b.link("a.test", "/1"), b.link("a.test", "/2"), b.link("a.test", "/3"))
		acq := b.acquire("a.test")
		le := &Lease{
			Slot: "a.test", Token: acq.Token, Crawl: b.c, Max: 2, State: SlotState{Delay: 1},
			StartIn: 300 * time.Millisecond, Delay: time.Second, Slack: 70 * time.Millisecond,
		}
		require.NoError(t, b.f.Do(b.ctx, le))
		require.NoError(t, le.Err)
		b.time.pass(100 * time.Millisecond)
		require.Equal(t, 2270*time.Millisecond, b.acquire("a.test").State.NextIn)
	})
}

// Rule 8: a slot was released just before the store's clock jumped ahead: the
// time stored as its next start has come, and has not.
func TestTraceClockJumpsOverTheNextStart(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		n1, n2 := b.node("n1"), b.node("n2")
		b.live(9*time.Second, n1, n2)
		a := n1.acquire(b, "a.test")
		require.NoError(t, a.Err)
		rel := &Release{Slot: "a.test", Token: a.Token, NextIn: 3 * time.Second, State: SlotState{Delay: 3}}
		require.NoError(t, n1.do(b, rel))
		b.time.store.Add(10_000)
		b.live(time.Second, n2)
		got := n2.acquire(b, "a.test")
		require.NoError(t, got.Err, "it was released")
		require.GreaterOrEqual(t, got.State.NextIn, 2*time.Second)
	})
}

// Rule 14: a crawl is not finished while a flush is half done, nor are seeds
// taken into the half that goes.
func TestTraceFinishDuringFlush(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		b.f.rdb = &cutOff{Client: rdb, left: 3}
		require.ErrorIs(t, b.c.Flush(b.ctx), errCut)
		b.f.rdb = rdb
		require.NoError(t, rdb.RPush(b.ctx, "c:start_urls", "x").Err())
		_, err := b.c.ClaimSeeds(b.ctx, 1)
		require.ErrorIs(t, err, ErrStaleRun)
		_, err = b.c.RetakeSeeds(b.ctx, 0, 1)
		require.ErrorIs(t, err, ErrStaleRun)
		require.NoError(t, rdb.Del(b.ctx, "c:start_urls").Err())
		_, err = b.c.Finish(b.ctx)
		require.ErrorIs(t, err, ErrStaleRun)
		c, err := b.f.OpenCrawl(b.ctx, b.c.Spec(), false)
		require.NoError(t, err)
		done, err := c.Finish(b.ctx)
		require.NoError(t, err)
		require.True(t, done)
	})
}
