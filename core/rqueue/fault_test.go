package rqueue

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
)

// Every point of FaultPoints is reached by what its call does, and no other.
func TestFaultPoints(t *testing.T) {
	t.Parallel()
	rdb := redistest.New(t).Client()
	var mu sync.Mutex
	reached := map[string]int{}
	b := newBundle(t, rdb, everything, func(c *Config, _ *Spec) {
		c.Fault = func(point string) {
			mu.Lock()
			reached[point]++
			mu.Unlock()
		}
	})
	held := b.fill()
	_, err := b.c.SeedHosts(b.ctx)
	require.NoError(t, err)
	_, err = b.c.RetakeSeeds(b.ctx, 0, 1)
	require.NoError(t, err)
	_, _, err = b.c.ExportPosition(b.ctx, "f")
	require.NoError(t, err)
	require.NoError(t, b.c.ExportForget(b.ctx, "f"))
	_, err = b.c.ExportRead(b.ctx, "f", 1)
	require.NoError(t, err)
	require.NoError(t, b.c.ExportRelease(b.ctx, "f"))
	_, err = b.c.Due(b.ctx, Cursor{}, 1)
	require.NoError(t, err)
	_, err = b.c.Audit(b.ctx, host(0))
	require.NoError(t, err)
	_, err = b.c.Forget(b.ctx, host(0), held[0].Request.Fingerprint)
	require.ErrorIs(t, err, ErrWaiting)
	_, err = b.c.ReplayDead(b.ctx, host(0), 1)
	require.NoError(t, err)
	_, err = b.c.Park(b.ctx, host(0), "why")
	require.NoError(t, err)
	_, _, err = b.c.Release(b.ctx, host(0))
	require.NoError(t, err)
	slot := b.acquire(host(5))
	before := reached["renew.before"]
	require.NoError(t, b.f.Do(b.ctx,
		&Renew{Slot: host(5), Token: slot.Token}, &Renew{Slot: host(5), Token: slot.Token},
		&Reserve{Slot: host(5), Token: slot.Token},
		&Recover{Slot: host(0), Token: slot.Token, Crawl: b.c}, &GiveBack{Leased: held[:1]},
		&Release{Slot: host(5), Token: slot.Token}, &Steer{Slot: host(5)},
		&RobotsPut{Host: host(5)}, &RobotsGet{Host: host(5)}, &ParkedGet{Crawl: b.c, Host: host(5)},
		&CookiesPut{Crawl: b.c, Host: host(5)}, &CookiesGet{Crawl: b.c, Host: host(5)}))
	require.Equal(t, before+2, reached["renew.before"], "each step has its points")
	require.NoError(t, b.c.SetState(b.ctx, StateRunning))
	_, err = b.c.Finish(b.ctx)
	require.NoError(t, err)
	require.NoError(t, b.c.Flush(b.ctx))
	require.NoError(t, b.c.Delete(b.ctx, true))

	points := FaultPoints()
	require.True(t, slices.IsSorted(points))
	require.Len(t, slices.Compact(slices.Clone(points)), len(points))
	for _, p := range points {
		require.Positive(t, reached[p], p)
		delete(reached, p)
	}
	require.Empty(t, reached, "points that are not listed")
}

func TestTrace(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		var all []Trace
		b := newBundle(t, rdb, func(c *Config, _ *Spec) { c.Trace = func(tr Trace) { all = append(all, tr) } })
		b.enqueue(b.link("a.test", "/1"))
		take := func() []Trace {
			out := all
			all = nil
			for i := range out {
				require.False(t, out[i].Call.After(out[i].Return))
				require.LessOrEqual(t, out[i].CallNS, out[i].ReturnNS)
				require.Equal(t, monotonic() != 0, out[i].CallNS != 0)
				out[i].Call, out[i].Return, out[i].CallNS, out[i].ReturnNS = time.Time{}, time.Time{}, 0, 0
			}
			return out
		}
		tok := b.acquire("a.test").Token
		require.Equal(t, []Trace{{Op: "acquire", Slot: "a.test", Node: "n1", Token: tok}}, take())
		require.NoError(t, b.f.Do(b.ctx,
			&Lease{Slot: "a.test", Token: tok, Crawl: b.c, Max: 1}, &Reserve{Slot: "a.test", Token: tok},
			&RobotsGet{Host: "a.test"}, &Recover{Slot: "a.test", Token: tok, Crawl: b.c},
			&Renew{Slot: "a.test", Token: tok}, &Release{Slot: "a.test", Token: tok}, &Renew{Slot: "a.test", Token: tok}))
		of := func(op, token, err string) Trace {
			return Trace{Op: op, Slot: "a.test", Node: "n1", Held: tok, Token: token, Err: err}
		}
		require.Equal(t, []Trace{
			of("lease", tok, ""), of("reserve", tok, ""), of("recover", tok, ""), of("renew", tok, ""),
			of("release", "", ""), of("renew", "", ErrLeaseLost.Error()),
		}, take())

		over, cancel := context.WithCancel(b.ctx)
		cancel()
		require.Error(t, b.f.Do(over, &Acquire{Slot: "a.test"}))
		lost := take()
		require.Len(t, lost, 1)
		require.True(t, lost[0].Unknown)
		require.NotEmpty(t, lost[0].Err)
		require.Empty(t, lost[0].Token)
	})
}
