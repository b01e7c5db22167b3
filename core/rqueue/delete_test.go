package rqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/internal/redistest"
)

// fill leaves something under every key of the crawl.
func (b *bundle) fill() (held []Leased) {
	b.t.Helper()
	for i := range 12 {
		b.enqueue(b.link(host(i), "/1"), b.link(host(i), "/2"), b.link(host(i), "/3"), b.link(host(i), "/4"))
	}
	for i := range 3 {
		le := b.lease(host(i), b.acquire(host(i)).Token, 4)
		done, retry, dead := b.page(le.Requests[0]), b.page(le.Requests[1]), b.page(le.Requests[2])
		done.Items = []crawl.Item{{JSON: []byte("1")}}
		retry.End, retry.RetryIn = EndRetry, time.Hour
		dead.End, dead.Cause = EndDead, "gone"
		b.commit(done, retry, dead)
		held = append(held, le.Requests[3])
	}
	parked, err := b.c.Park(b.ctx, host(1), "why")
	require.NoError(b.t, err)
	require.True(b.t, parked)
	_, err = b.s.Commit(b.ctx, nil, []Stat{{b.c, "x", 1}})
	require.NoError(b.t, err)
	require.NoError(b.t, b.rdb.RPush(b.ctx, b.c.startURLs, "u1", "u2", "u3").Err())
	seeds, err := b.c.ClaimSeeds(b.ctx, 2)
	require.NoError(b.t, err)
	require.NoError(b.t, b.c.RejectSeed(b.ctx, seeds[0], "no"))
	require.NoError(b.t, b.c.AddSeedHosts(b.ctx, []string{"a", "b"}))
	_, err = b.c.ExportRead(b.ctx, "f", 1)
	require.NoError(b.t, err)
	_, err = b.c.ExportAck(b.ctx, 1, "f", 10)
	require.NoError(b.t, err)
	return held
}

// keysOf are the crawl's keys in the store.
func keysOf(t *testing.T, rdb *redis.Client, c string) []string {
	t.Helper()
	var keys []string
	for _, k := range rdb.Keys(t.Context(), "*").Val() {
		if strings.HasPrefix(k, c+":") || strings.HasPrefix(k, "{"+c+":") {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

func everything(_ *Config, s *Spec) { s.Export, s.Filter = true, FilterScrapy }

func TestDelete(t *testing.T) {
	t.Parallel()
	for _, items := range []bool{false, true} {
		t.Run(fmt.Sprint("items ", items), func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, rdb *redis.Client) {
				b := newBundle(t, rdb, everything)
				b.fill()
				other := newBundle(t, rdb, func(c *Config, s *Spec) { c.Node, s.Name = "n2", "cc" })
				other.enqueue(other.link("a.test", "/1"))
				kept := keysOf(t, rdb, "cc")

				require.NoError(t, b.c.Delete(b.ctx, items))
				want := []string{"c:export", "c:export:files", "c:items"}
				if items {
					want = nil
				}
				require.Equal(t, want, keysOf(t, rdb, "c"))
				require.Equal(t, kept, keysOf(t, rdb, "cc"))
				infos, err := b.f.Crawls(b.ctx)
				require.NoError(t, err)
				require.Len(t, infos, 1)
				require.Equal(t, "cc", infos[0].Name)
				require.ErrorIs(t, b.c.Delete(b.ctx, items), ErrStaleRun, "it is gone")

				b.time.pass(time.Second)
				b.c, err = b.f.OpenCrawl(b.ctx, b.c.Spec(), false)
				require.NoError(t, err)
				require.EqualValues(t, 1, b.c.Opening())
				require.Zero(t, b.c.Resumed())
				require.Equal(t, 1, b.enqueue(b.link(host(0), "/1")))
			})
		})
	}
}

// What nodes do with a crawl that was deleted under them is refused, and leaves
// no key behind.
func TestDeletedCrawlStaysDeleted(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb, everything)
		held := b.fill()
		seeds, err := b.c.ClaimSeeds(b.ctx, 1)
		require.NoError(t, err)
		slot := b.acquire(host(9))
		by := newBundle(t, rdb, everything, func(c *Config, _ *Spec) { c.Node = "n2" })
		require.NoError(t, by.c.Delete(b.ctx, true))
		require.Empty(t, keysOf(t, rdb, "c"))

		_, _, err = b.s.Enqueue(b.ctx, []Link{b.link(host(0), "/1"), b.link("new.test", "/1")})
		require.ErrorIs(t, err, ErrStaleRun)
		_, _, err = b.s.EnqueueSeeds(b.ctx, b.c, []Link{b.link(host(0), "/seed")}, seeds)
		require.ErrorIs(t, err, ErrStaleRun)
		page := b.page(held[0])
		page.Items = []crawl.Item{{JSON: []byte("2")}}
		retry := b.page(held[1])
		retry.End = EndRetry
		linking := b.page(held[2])
		linking.Links = []Link{b.link(host(1), "/9")}
		_, err = b.s.Commit(b.ctx, []*Page{page, retry, linking}, []Stat{{b.c, "x", 1}})
		require.NoError(t, err)
		require.True(t, page.Gone)
		require.True(t, retry.Gone)
		require.ErrorIs(t, linking.Err, ErrStaleRun)
		_, err = b.c.ClaimSeeds(b.ctx, 1)
		require.ErrorIs(t, err, ErrStaleRun)
		_, err = b.c.RetakeSeeds(b.ctx, 0, 1)
		require.ErrorIs(t, err, ErrStaleRun)
		require.NoError(t, b.c.RejectSeed(b.ctx, seeds[0], "no"))
		require.NoError(t, b.c.AckSeeds(b.ctx, seeds))
		require.NoError(t, b.c.AddSeedHosts(b.ctx, []string{"c"}))
		_, err = b.c.ExportAck(b.ctx, 1, "f", 20)
		if err != nil { // items are left, and nobody writes them now
			require.ErrorIs(t, err, ErrExportLost)
		}
		require.ErrorIs(t, b.c.SetState(b.ctx, StatePaused), ErrStaleRun)
		require.ErrorIs(t, b.c.Flush(b.ctx), ErrStaleRun)
		_, err = b.c.Finish(b.ctx)
		require.ErrorIs(t, err, ErrStaleRun)
		_, err = b.c.Forget(b.ctx, host(0), held[0].Request.Fingerprint)
		require.NoError(t, err)
		_, err = b.c.Park(b.ctx, host(0), "why")
		require.ErrorIs(t, err, ErrStaleRun)
		_, _, err = b.c.Release(b.ctx, host(0))
		require.ErrorIs(t, err, ErrStaleRun)
		_, err = b.c.ReplayDead(b.ctx, host(0), 10)
		require.NoError(t, err)
		_, err = b.c.Due(b.ctx, Cursor{shard: 1, score: "5", host: host(0)}, 10)
		require.NoError(t, err)

		le := &Lease{Slot: host(9), Token: slot.Token, Crawl: b.c, Max: 1}
		re := &Renew{Slot: host(9), Token: slot.Token, Crawls: []*Crawl{b.c}}
		rc := &Recover{Slot: host(9), Token: slot.Token, Crawl: b.c}
		gb := &GiveBack{Leased: held[:1]}
		rl := &Release{Slot: host(9), Token: slot.Token, Crawls: []*Crawl{b.c}}
		ac := &Acquire{Slot: host(9), Crawls: []*Crawl{b.c}}
		require.NoError(t, b.f.Do(b.ctx, le, re, rc, gb, rl, ac))
		require.ErrorIs(t, le.Err, ErrStaleRun)
		for _, op := range []Op{re, rc, gb, rl, ac} {
			require.NoError(t, op.op().Err)
		}
		require.Empty(t, keysOf(t, rdb, "c"))
	})
}

// A delete that is stopped after each of its calls is completed by another, or
// ended by an opening.
func TestDeleteCutShort(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		for cut := range 6 {
			for _, again := range []bool{true, false} {
				name := fmt.Sprintf("c%d%t", cut, again)
				b := newBundle(t, rdb, everything, func(_ *Config, s *Spec) { s.Name = name })
				b.fill()
				limited := newBundle(t, rdb, everything, func(c *Config, s *Spec) { c.Node, s.Name = "n2", name })
				limited.f.rdb = &cutOff{Client: rdb, left: cut}
				require.Error(t, limited.c.Delete(b.ctx, true), cut)
				if again {
					require.NoError(t, b.c.Delete(b.ctx, true), cut)
					require.Empty(t, keysOf(t, rdb, name))
					continue
				}
				c, err := b.f.OpenCrawl(b.ctx, b.c.Spec(), false)
				require.NoError(t, err)
				b.c = c
				if cut > 0 {
					require.Zero(t, c.Resumed())
					b.enqueue(b.link(host(0), "/1"))
				}
				limited.f.rdb = rdb
				if cut > 0 {
					require.ErrorIs(t, limited.c.Delete(b.ctx, true), ErrStaleRun)
				}
				n, err := c.Counts(b.ctx)
				require.NoError(t, err)
				require.Positive(t, n.Scheduled(), cut)
			}
		}
	})
}

// A flush that slept while others flushed and crawled on takes nothing of theirs,
// nor does one that slept through a delete leave anything.
func TestFlushThatSlept(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		for call := 1; call <= 4; call++ { // of its calls of flush_shard
			for _, deleted := range []bool{false, true} {
				name := fmt.Sprintf("c%d%t", call, deleted)
				b := newBundle(t, rdb, func(_ *Config, s *Spec) { s.Name = name })
				for i := range 20 {
					b.enqueue(b.link(host(i), "/1"))
				}
				calls := 0
				sleeper := newBundle(t, rdb, func(c *Config, s *Spec) {
					c.Node, s.Name = "n2", name
					c.Fault = func(point string) {
						if point != "flush_shard.before" {
							return
						}
						if calls++; calls != call {
							return
						}
						for range 2 {
							b.time.pass(time.Second)
							c, err := b.f.OpenCrawl(b.ctx, b.c.Spec(), true)
							require.NoError(t, err)
							b.c = c
						}
						if deleted {
							require.NoError(t, b.c.Delete(b.ctx, true))
							return
						}
						for i := range 20 {
							require.Equal(t, 1, b.enqueue(b.link(host(i), "/1")))
						}
					}
				})
				_ = sleeper.c.Flush(b.ctx)
				require.GreaterOrEqual(t, calls, call)
				if deleted {
					require.Empty(t, keysOf(t, rdb, name), call)
					continue
				}
				n, err := b.c.Counts(b.ctx)
				require.NoError(t, err)
				require.EqualValues(t, 20, n.Waiting)
				for i := range 20 {
					require.Equal(t, 1, b.enqueue(b.link(host(i), "/2"), b.link(host(i), "/1")), "call %d host %d", call, i)
				}
				require.Equal(t, 4, b.enqueue(b.link("n1.test", "/"), b.link("n2.test", "/"), b.link("n3.test", "/"), b.link("n4.test", "/")))
			}
		}
	})
}

// Flushed and deleted while other nodes enqueue, lease and commit at full speed, a
// crawl leaves no key behind but its shards' runs. -crash.seed is another schedule.
func TestFlushAndDeleteUnderLoad(t *testing.T) {
	t.Parallel()
	const nodes, rounds = 3, 12
	seed := cmp.Or(*crashSeed, 11)
	rdb := redistest.New(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	spec := Spec{Name: "c", Items: true, Export: true, Filter: FilterScrapy}
	opened := func(n int) (*Frontier, *Crawl) {
		f, err := Open(ctx, rdb.NewClient(), Config{Node: fmt.Sprint("n", n), Shards: 4, Exclusive: true})
		require.NoError(t, err)
		c, err := f.OpenCrawl(ctx, spec, false)
		require.NoError(t, err)
		return f, c
	}
	f, c := opened(0)
	var pages, stale atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for n := 1; n <= nodes; n++ {
		nf, nc := opened(n)
		w := &loader{f: nf, c: nc, s: nf.NewSession(), rng: rand.New(rand.NewPCG(seed, uint64(n))), pages: &pages, stale: &stale} //nolint:gosec // replayable
		wg.Go(func() {
			defer w.s.Close() //nolint:errcheck // the test is over
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := w.step(ctx, spec); err != nil {
					t.Errorf("seed %d: %v", seed, err)
					return
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // replayable
	for round := range rounds {
		for until := pages.Load() + 20 + rng.Int64N(40); pages.Load() < until && ctx.Err() == nil && !t.Failed(); {
			require.NoError(t, f.Ping(ctx)) // a round trip of waiting
		}
		require.NoError(t, ctx.Err())
		var err error
		if round%3 == 2 {
			err = c.Delete(ctx, true)
		} else {
			err = c.Flush(ctx)
		}
		if !errors.Is(err, ErrStaleRun) {
			require.NoError(t, err)
		}
		if c, err = f.OpenCrawl(ctx, spec, false); err != nil {
			require.ErrorIs(t, err, ErrStaleRun)
			c, err = f.OpenCrawl(ctx, spec, false)
			require.NoError(t, err)
		}
	}
	close(stop)
	wg.Wait()
	require.Positive(t, stale.Load(), "something was refused")

	for shard := range 4 { // what was counted is right to the last
		hosts := rdb.Client().SMembers(ctx, fmt.Sprintf("c:{%d}:known", shard)).Val()
		audits, err := c.Audit(ctx, hosts...)
		require.NoError(t, err)
		for _, a := range audits {
			require.NoError(t, a.Err)
			require.Empty(t, a.Broken, "seed %d: %+v", seed, a)
		}
	}
	require.NoError(t, c.Flush(ctx))
	left := slices.DeleteFunc(keysOf(t, rdb.Client(), "c"), func(k string) bool { return !strings.HasPrefix(k, "c:{") })
	require.Equal(t, []string{"c:{0}:run", "c:{1}:run", "c:{2}:run", "c:{3}:run"}, left)
	require.NoError(t, c.Delete(ctx, true))
	require.Empty(t, keysOf(t, rdb.Client(), "c"))
}

// loader is one node that crawls as fast as it can.
type loader struct {
	f            *Frontier
	c            *Crawl
	s            *Session
	rng          *rand.Rand
	pages, stale *atomic.Int64
	n            int
}

// step enqueues some links, then leases and commits at one of their hosts.
func (w *loader) step(ctx context.Context, spec Spec) error {
	link := func() Link {
		w.n++
		h := host(w.rng.IntN(30))
		return Link{Crawl: w.c, Host: h, Request: request(fmt.Sprintf("http://%s/%s/%d", h, w.f.cfg.Node, w.n))}
	}
	links := []Link{link(), link(), link(), link()}
	_, _, err := w.s.Enqueue(ctx, links)
	if errors.Is(err, ErrStaleRun) { // another's doing: open it again, or not yet
		w.stale.Add(1)
		if w.rng.IntN(3) == 0 {
			c, err := w.f.OpenCrawl(ctx, spec, false)
			if err == nil {
				w.c = c
			} else if !errors.Is(err, ErrStaleRun) {
				return err
			}
		}
	} else if err != nil {
		return err
	}
	acq := &Acquire{Slot: links[0].Host, Crawls: []*Crawl{w.c}}
	if err := w.f.Do(ctx, acq); err != nil || acq.Err != nil {
		return err
	}
	le := &Lease{Slot: acq.Slot, Token: acq.Token, Crawl: w.c, Max: 4, State: acq.State}
	if err := w.f.Do(ctx, le); err != nil {
		return err
	}
	pages := make([]*Page, 0, len(le.Requests))
	for _, l := range le.Requests {
		p := &Page{Crawl: l.Crawl, Host: l.Host, ID: l.Request.ID, Token: l.Token, Links: []Link{link()}, Items: []crawl.Item{{JSON: []byte("1")}}}
		switch w.rng.IntN(4) {
		case 0:
			p.End, p.RetryIn = EndRetry, time.Millisecond
		case 1:
			p.End, p.Cause = EndDead, "x"
		}
		pages = append(pages, p)
	}
	if _, err := w.s.Commit(ctx, pages, []Stat{{w.c, "pages", int64(len(pages))}}); err != nil {
		return err
	}
	w.pages.Add(int64(len(pages)))
	if err := w.c.AddSeedHosts(ctx, []string{acq.Slot}); err != nil {
		return err
	}
	if _, err := w.c.ExportRead(ctx, "f", 1); err != nil && !errors.Is(err, ErrExportHeld) {
		return err
	}
	if _, err := w.c.ExportAck(ctx, w.rng.IntN(3), "f", int64(w.n)); err != nil && !errors.Is(err, ErrExportLost) {
		return err
	}
	return w.f.Do(ctx, &Release{Slot: acq.Slot, Token: acq.Token, Crawls: []*Crawl{w.c}})
}

// A store that is full can be emptied.
func TestFlushAndDeleteInAFullStore(t *testing.T) {
	t.Parallel()
	rdb := redistest.New(t).Client()
	b := newBundle(t, rdb, everything)
	b.fill()
	full := func(limit string) { require.NoError(t, rdb.ConfigSet(b.ctx, "maxmemory", limit).Err()) }
	full("1")
	b.time.pass(time.Second)
	require.NoError(t, b.c.Flush(b.ctx))
	require.Empty(t, rdb.Keys(b.ctx, "c:*test*").Val())
	full("0")
	b.enqueue(b.link(host(0), "/1"))
	full("1")
	require.NoError(t, b.c.Delete(b.ctx, true))
	require.Empty(t, keysOf(t, rdb, "c"))
}
