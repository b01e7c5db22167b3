package rqueue

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// node is one more process at a bundle's store and time.
type node struct {
	f  *Frontier
	c  *Crawl
	id identity // what the store says it is
}

func (b *bundle) node(name string) *node {
	b.t.Helper()
	n := &node{id: identity{runID: "first", replID: "first", uptime: time.Hour}}
	f, err := open(b.ctx, b.rdb, b.time.config(name), func() identity { return n.id })
	require.NoError(b.t, err)
	n.f = f
	n.c, err = f.OpenCrawl(b.ctx, b.c.Spec(), false)
	require.NoError(b.t, err)
	return n
}

// live lets time pass as a node lives it, with a Ping every second.
func (b *bundle) live(d time.Duration, nodes ...*node) {
	b.t.Helper()
	for d > 0 {
		step := min(d, time.Second)
		b.time.pass(step)
		d -= step
		for _, n := range nodes {
			require.NoError(b.t, n.f.Ping(b.ctx))
		}
	}
}

func (n *node) acquire(b *bundle, slot string) *Acquire {
	b.t.Helper()
	op := &Acquire{Slot: slot, Crawls: []*Crawl{n.c}}
	require.NoError(b.t, n.f.Do(b.ctx, op))
	return op
}

func (n *node) do(b *bundle, op Op) error {
	b.t.Helper()
	require.NoError(b.t, n.f.Do(b.ctx, op))
	return op.op().Err
}

func TestSlotPassesBetweenNodes(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		n1, n2 := b.node("n1"), b.node("n2")
		b.live(9*time.Second, n1, n2)

		a1 := n1.acquire(b, "a.test")
		require.NoError(t, a1.Err)
		require.LessOrEqual(t, a1.State.NextIn, time.Duration(0))
		a2 := n2.acquire(b, "a.test")
		require.ErrorIs(t, a2.Err, ErrHeld)
		require.Equal(t, 8*time.Second+time.Millisecond, a2.HeldFor)

		state := SlotState{
			Delay: 1.0 / 3, HoldIn: 2500 * time.Millisecond, Reason: "retry-after", Backoff: 0.1,
			Failures: 3, CrawlDelay: 2, Latency: 0.123456789,
		}
		require.NoError(t, n1.do(b, &Reserve{Slot: "a.test", Token: a1.Token, NextIn: 5 * time.Second, State: state}))
		require.NoError(t, n1.do(b, &Reserve{Slot: "a.test", Token: a1.Token, NextIn: time.Second, State: state}))
		require.ErrorIs(t, n2.do(b, &Reserve{Slot: "a.test", Token: "n2.1", NextIn: time.Hour}), ErrLeaseLost)
		b.live(time.Second, n1, n2)
		rn := &Renew{Slot: "a.test", Token: a1.Token, Crawls: []*Crawl{n1.c}, State: state}
		require.NoError(t, n1.do(b, rn))
		require.Equal(t, b.time.local().Add(6500*time.Millisecond), rn.Deadline)

		// Released, the next start is exact and may fall.
		require.NoError(t, n1.do(b, &Release{Slot: "a.test", Token: a1.Token, Crawls: []*Crawl{n1.c}, NextIn: 3 * time.Second, State: state}))
		a2 = n2.acquire(b, "a.test")
		require.NoError(t, a2.Err)
		want := state
		want.NextIn = 3 * time.Second
		require.Equal(t, want, a2.State)

		// Not released: after its expiry another takes it, and starts a delay later.
		b.live(8*time.Second, n1, n2)
		a1 = n1.acquire(b, "a.test")
		require.NoError(t, a1.Err)
		require.Equal(t, 2*time.Second, a1.State.NextIn, "the largest of the delays in force")
		require.ErrorIs(t, n2.do(b, &Renew{Slot: "a.test", Token: a2.Token}), ErrLeaseLost)
		require.ErrorIs(t, n2.do(b, &Release{Slot: "a.test", Token: a2.Token}), ErrLeaseLost)
		require.ErrorIs(t, n2.do(b, &Recover{Slot: "a.test", Token: a2.Token, Crawl: n2.c}), ErrLeaseLost)
		require.ErrorIs(t, n2.do(b, &Lease{Slot: "a.test", Token: a2.Token, Crawl: n2.c, Max: 1}), ErrLeaseLost)

		// An expired lease is not renewed, taken or not.
		b.live(8*time.Second, n1, n2)
		require.ErrorIs(t, n1.do(b, &Renew{Slot: "a.test", Token: a1.Token}), ErrLeaseLost)
	})
}

func TestSlotPause(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		acq := b.acquire("a.test")
		b.enqueue(b.link("a.test", "/"))
		on, off := true, false
		require.NoError(t, b.f.Do(b.ctx, &Steer{Slot: "a.test", Paused: &on}))
		le := &Lease{Slot: "a.test", Token: acq.Token, Crawl: b.c, Max: 1}
		rn := &Renew{Slot: "a.test", Token: acq.Token, Crawls: []*Crawl{b.c}}
		require.NoError(t, b.f.Do(b.ctx, le, rn))
		require.ErrorIs(t, le.Err, ErrPaused)
		require.NoError(t, rn.Err)
		require.True(t, rn.Paused)
		require.True(t, rn.Ready, "requests came since the last lease")
		require.True(t, b.acquire("a.test").State.Paused)
		require.NoError(t, b.f.Do(b.ctx, &Steer{Slot: "a.test", Paused: &off}))
		require.False(t, b.acquire("a.test").State.Paused)

		acq = b.acquire("a.test")
		for state, want := range map[State]error{StatePaused: ErrPaused, StateStopped: ErrNotRunning} {
			require.NoError(t, b.c.SetState(b.ctx, state))
			le = &Lease{Slot: "a.test", Token: acq.Token, Crawl: b.c, Max: 1}
			require.NoError(t, b.f.Do(b.ctx, le))
			require.ErrorIs(t, le.Err, want)
		}
		require.NoError(t, b.c.SetState(b.ctx, StateRunning))
		require.Len(t, b.lease("a.test", acq.Token, 1).Requests, 1)
	})
}

func TestQuarantine(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		n1 := b.node("n1")
		b.live(9*time.Second, n1)
		state := SlotState{Delay: 2}
		a1 := n1.acquire(b, "mine.test")
		require.NoError(t, a1.Err)
		require.NoError(t, n1.do(b, &Reserve{Slot: "mine.test", Token: a1.Token, State: state}))
		other := n1.acquire(b, "free.test")
		require.NoError(t, n1.do(b, &Release{Slot: "free.test", Token: other.Token, State: state}))
		changes := n1.f.StoreChanges()

		n1.id = identity{runID: "second", replID: "second", uptime: 0}
		b.live(time.Second, n1)
		require.Equal(t, changes+1, n1.f.StoreChanges())
		require.Equal(t, 8*time.Second, n1.f.Health().Quarantine)
		free := n1.acquire(b, "free.test")
		require.ErrorIs(t, free.Err, ErrQuarantine)
		require.Equal(t, 8*time.Second, free.HeldFor)
		// What is this node's own it keeps, and starts a delay after the wait.
		mine := n1.acquire(b, "mine.test")
		require.NoError(t, mine.Err)
		require.Equal(t, 10*time.Second, mine.State.NextIn)
		b.live(8*time.Second, n1)
		free = n1.acquire(b, "free.test")
		require.NoError(t, free.Err)
		require.Equal(t, 2*time.Second, free.State.NextIn)

		// A process that starts now learns from the store when that was.
		n1.id.uptime = time.Hour
		f, err := open(b.ctx, rdb, b.time.config("n2"), func() identity { return n1.id })
		require.NoError(t, err)
		require.LessOrEqual(t, f.Health().Quarantine, time.Duration(0))
		require.Equal(t, 8*time.Second, f.Health().NoTakeOver, "the process is younger than a lease")

		// A replica that was promoted has been up for long; nobody knows since when it leads.
		promoted := identity{runID: "third", replID: "third", second: "second", uptime: time.Hour}
		f, err = open(b.ctx, rdb, b.time.config("n3"), func() identity { return promoted })
		require.NoError(t, err)
		require.Equal(t, 8*time.Second, f.Health().Quarantine)
	})
}

// A store that has been up for long and is used for the first time has forgotten
// nothing: neither its first node waits, nor one that comes a moment later.
func TestNewStoreOfAnOldServerNeedsNoQuarantine(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		require.NoError(t, rdb.Del(b.ctx, "orbweaver:store").Err())
		id := identity{runID: "old", replID: "old", uptime: time.Hour}
		for _, name := range []string{"n1", "n2"} {
			f, err := open(b.ctx, rdb, b.time.config(name), func() identity { return id })
			require.NoError(t, err)
			require.LessOrEqual(t, f.Health().Quarantine, time.Duration(0), name)
		}
	})
}

func TestClockInDoubt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(b *bundle, n2 *node)
		want error
	}{
		{"clock well", func(b *bundle, n2 *node) { b.live(9*time.Second, n2) }, nil},
		{"silence", func(b *bundle, n2 *node) { b.live(6*time.Second, n2); b.time.pass(3 * time.Second) }, ErrQuarantine},
		{"step forward", func(b *bundle, n2 *node) { b.live(time.Second, n2); b.time.store.Add(9000) }, ErrQuarantine},
		{"step back", func(b *bundle, n2 *node) { b.live(9*time.Second, n2); b.time.store.Add(-600) }, ErrQuarantine},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, rdb *redis.Client) {
				b := newBundle(t, rdb)
				n1, n2 := b.node("n1"), b.node("n2")
				b.live(9*time.Second, n1, n2)
				require.NoError(t, n1.acquire(b, "a.test").Err) // and dies
				tt.do(b, n2)
				a := n2.acquire(b, "a.test")
				require.ErrorIs(t, a.Err, tt.want)
				if tt.want == nil {
					return
				}
				require.Positive(t, a.HeldFor)
				for range 30 { // and it ends
					if a.Err == nil {
						return
					}
					b.live(min(a.HeldFor, 8*time.Second), n2)
					a = n2.acquire(b, "a.test")
				}
				require.NoError(t, a.Err)
			})
		})
	}
}

// TestClockWentBack: nobody waits for times that a clock gave before it was set back.
func TestClockWentBack(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		n1, n2 := b.node("n1"), b.node("n2")
		b.live(9*time.Second, n1, n2)
		a := n1.acquire(b, "held.test")
		require.NoError(t, a.Err)
		r := n1.acquire(b, "free.test")
		require.NoError(t, n1.do(b, &Release{
			Slot: "free.test", Token: r.Token, NextIn: 3 * time.Second,
			State: SlotState{Delay: 3, HoldIn: 4 * time.Second},
		}))
		b.time.store.Add(-time.Hour.Milliseconds())
		b.live(9*time.Second, n2)
		require.ErrorIs(t, n2.acquire(b, "held.test").Err, ErrHeld)
		got := n2.acquire(b, "free.test")
		require.NoError(t, got.Err)
		require.Equal(t, 3*time.Second, got.State.NextIn)
		require.Equal(t, 4*time.Second, got.State.HoldIn)
		b.live(8*time.Second, n2)
		require.NoError(t, n2.acquire(b, "held.test").Err)
	})
}

func TestReleaseSetsTheNextUsefulStart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		prep func(b *bundle, token string)
		want time.Duration // < 0: no entry
	}{
		{"nothing left", func(b *bundle, token string) {
			le := b.lease("a.test", token, 2)
			b.commit(b.page(le.Requests[0]), b.page(le.Requests[1]))
		}, -1},
		{"waiting", func(*bundle, string) {}, 3 * time.Second},
		{"leased only", func(b *bundle, token string) { b.lease("a.test", token, 2) }, 8 * time.Second},
		{"delayed only", func(b *bundle, token string) {
			le := b.lease("a.test", token, 2)
			p := b.page(le.Requests[0])
			p.End, p.RetryIn = EndRetry, 20*time.Second
			b.commit(p, b.page(le.Requests[1]))
		}, 20 * time.Second},
		{"delayed, due before the slot is", func(b *bundle, token string) {
			le := b.lease("a.test", token, 2)
			p := b.page(le.Requests[0])
			p.End, p.RetryIn = EndRetry, time.Second
			b.commit(p, b.page(le.Requests[1]))
		}, 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, rdb *redis.Client) {
				b := newBundle(t, rdb)
				b.enqueue(b.link("a.test", "/1"), b.link("a.test", "/2"))
				acq := b.acquire("a.test")
				tt.prep(b, acq.Token)
				rel := &Release{Slot: "a.test", Token: acq.Token, Crawls: []*Crawl{b.c}, NextIn: 3 * time.Second}
				require.NoError(t, b.f.Do(b.ctx, rel))
				require.NoError(t, rel.Err)
				d, err := b.c.Due(b.ctx, Cursor{}, 10)
				require.NoError(t, err)
				require.Empty(t, d.Hosts)
				if tt.want < 0 {
					require.Negative(t, d.Later)
					return
				}
				require.Equal(t, tt.want, d.Later)
				b.time.pass(tt.want)
				d, err = b.c.Due(b.ctx, Cursor{}, 10)
				require.NoError(t, err)
				require.Equal(t, []string{"a.test"}, d.Hosts)
			})
		})
	}
}

func TestSlotStateText(t *testing.T) {
	t.Parallel()
	for _, s := range []SlotState{
		{Delay: 1, Quota: Quota{Interval: 0.1 + 0.2, Failed: 1e-9, Borne: 3, Settled: true, Age: 12.5, Passed: 7, Refused: 2, Until: 1 << 40}, Reason: "quota"},
		{Delay: -1},
		{Delay: 5},
		{Delay: 0.1 + 0.2, Backoff: 1e-300, Failures: -1, CrawlDelay: 1e10, Latency: 5e-324, Reason: "retry after a while"},
	} {
		var got SlotState
		got.parse(string(s.append(nil)))
		require.Equal(t, s, got)
	}
	for _, text := range []string{"", " ", "1 2 3", "a 0 0 0 0 ", "NaN 0 0 0 0 ", "1 0 1.5 0 0 ", "1 +Inf 0 0 0 "} {
		var got SlotState
		got.parse(text)
		require.Equal(t, SlotState{Delay: -1}, got, text)
	}
}

func TestSlotStateTextQuota(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Quota{
		"1 0 0 0 0 ":                                   {},
		"1 0 0 0 0 \t":                                 {},
		"1 0 0 0 0 quota\t1 2 3 4 true 5 6":            {},
		"1 0 0 0 0 quota\t1 NaN 3 4 true 5 6 7":        {},
		"1 0 0 0 0 quota\t1 2 3 4 5 5 6 7":             {},
		"1 0 0 0 0 quota\t1 2 3 4 true 5 6 7":          {Interval: 1, Failed: 2, Borne: 3, Age: 4, Settled: true, Passed: 5, Refused: 6, Until: 7},
		"1 0 0 0 0 quota\t1 2 3 4 true 5 6 7 and more": {Interval: 1, Failed: 2, Borne: 3, Age: 4, Settled: true, Passed: 5, Refused: 6, Until: 7},
	} {
		var got SlotState
		got.parse(text)
		require.Equal(t, want, got.Quota, text)
		require.InDelta(t, 1, got.Delay, 0)
	}
	require.Equal(t, 3*time.Second, (&SlotState{Delay: 1, Quota: Quota{Interval: 3}}).gap(0))
}

func TestRobots(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		get := func() *RobotsGet {
			op := &RobotsGet{Host: "a.test", Origin: "http://a.test"}
			require.NoError(t, b.f.Do(b.ctx, op))
			require.NoError(t, op.Err)
			return op
		}
		require.False(t, get().Found)
		put := func(r Robots) {
			op := &RobotsPut{Host: "a.test", Origin: "http://a.test", Robots: r}
			require.NoError(t, b.f.Do(b.ctx, op))
			require.NoError(t, op.Err)
			b.time.pass(time.Second)
		}
		for _, want := range []Robots{
			{Body: []byte("User-agent: *\r\nDisallow: /\x00"), Status: 200, Age: time.Minute, Life: time.Hour},
			{Body: []byte{}, Status: 200},
			{Status: 404, Life: 24 * time.Hour},
		} {
			put(want)
			got := get()
			require.True(t, got.Found)
			want.Age += time.Second
			want.Good = true
			require.Equal(t, want, got.Robots)
		}
		ttl := rdb.PTTL(b.ctx, text(b.f.robotsKey("a.test", "http://a.test"))).Val()
		require.InDelta(t, (31 * 24 * time.Hour).Seconds(), ttl.Seconds(), 60)

		// While it is unreachable the last good copy stays.
		good := Robots{Body: []byte("rules"), Status: 200, Life: time.Hour}
		put(good)
		put(Robots{Body: []byte("not this"), Status: 503, Life: time.Minute, UnreachableSince: 5 * time.Second, Failures: 3, RetryIn: 10 * time.Second})
		require.Equal(t, Robots{
			Good: true, Body: good.Body, Age: 2 * time.Second, Life: time.Hour,
			Status: 503, UnreachableSince: 6 * time.Second, Failures: 3, RetryIn: 9 * time.Second,
		}, get().Robots)
		b.time.pass(time.Hour)
		require.Zero(t, get().Robots.RetryIn)
		b.time.pass(-2 * time.Hour) // the clock went back
		require.Equal(t, 10*time.Second, get().Robots.RetryIn, "never longer than was asked for")
		b.time.pass(time.Hour)

		good.Status = 204
		put(good) // and the failures are over
		require.Equal(t, Robots{Good: true, Body: good.Body, Age: time.Second, Life: time.Hour, Status: 204}, get().Robots)

		// It may never have been had.
		op := &RobotsPut{Host: "b.test", Origin: "http://b.test", Robots: Robots{UnreachableSince: time.Millisecond, Failures: 1, RetryIn: time.Second}}
		require.NoError(t, b.f.Do(b.ctx, op))
		require.NoError(t, op.Err)
		never := &RobotsGet{Host: "b.test", Origin: "http://b.test"}
		require.NoError(t, b.f.Do(b.ctx, never))
		require.NoError(t, never.Err)
		require.True(t, never.Found)
		require.Equal(t, Robots{UnreachableSince: time.Millisecond, Failures: 1, RetryIn: time.Second}, never.Robots)
	})
}
