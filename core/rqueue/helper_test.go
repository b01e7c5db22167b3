package rqueue

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/internal/redistest"
)

// eachStore runs a test on a real redis-server and on miniredis.
func eachStore(t *testing.T, test func(t *testing.T, rdb *redis.Client)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, redistest.New(t).Client())
	})
	t.Run("mini", func(t *testing.T) {
		t.Parallel()
		test(t, redistest.NewMini(t).Client())
	})
}

// clocks is a virtual time that store and nodes share; each may be off by itself.
type clocks struct {
	now   atomic.Int64 // ms
	store atomic.Int64 // the store's clock is so much ahead, ms
}

func newClocks() *clocks {
	c := &clocks{}
	c.now.Store(1_700_000_000_000)
	return c
}

func (c *clocks) local() time.Time     { return time.UnixMilli(c.now.Load()) }
func (c *clocks) server() int64        { return c.now.Load() + c.store.Load() }
func (c *clocks) pass(d time.Duration) { c.now.Add(d.Milliseconds()) }
func (c *clocks) config(n string) Config {
	return Config{Node: n, Shards: 4, Now: c.local, ServerTime: c.server}
}

// bundle is one node with one crawl, alone with its store.
type bundle struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // of the test
	rdb  *redis.Client
	time *clocks
	f    *Frontier
	c    *Crawl
	s    *Session
}

func newBundle(t *testing.T, rdb *redis.Client, change ...func(*Config, *Spec)) *bundle {
	t.Helper()
	b := &bundle{t: t, ctx: t.Context(), rdb: rdb, time: newClocks()}
	cfg := b.time.config("n1")
	cfg.Exclusive = true
	spec := Spec{Name: "c", Items: true}
	for _, ch := range change {
		ch(&cfg, &spec)
	}
	var err error
	b.f, err = Open(b.ctx, rdb, cfg)
	require.NoError(t, err)
	b.c, err = b.f.OpenCrawl(b.ctx, spec, false)
	require.NoError(t, err)
	b.s = b.f.NewSession()
	t.Cleanup(func() { _ = b.s.Close() })
	return b
}

func request(url string) *crawl.Request {
	r := &crawl.Request{ID: crawl.NewID("test", url), URL: url}
	id := crawl.NewID("fp", url)
	copy(r.Fingerprint[:], id[:])
	return r
}

func (b *bundle) link(host, path string) Link {
	return Link{Crawl: b.c, Host: host, Request: request("http://" + host + path)}
}

func (b *bundle) enqueue(links ...Link) int {
	b.t.Helper()
	_, n, err := b.s.Enqueue(b.ctx, links)
	require.NoError(b.t, err)
	return n
}

func (b *bundle) acquire(slot string) *Acquire {
	b.t.Helper()
	op := &Acquire{Slot: slot, Crawls: []*Crawl{b.c}}
	require.NoError(b.t, b.f.Do(b.ctx, op))
	require.NoError(b.t, op.Err)
	return op
}

func (b *bundle) lease(slot, token string, n int) *Lease {
	b.t.Helper()
	op := &Lease{Slot: slot, Token: token, Crawl: b.c, Max: n, State: SlotState{Delay: 1}, Delay: time.Second}
	require.NoError(b.t, b.f.Do(b.ctx, op))
	require.NoError(b.t, op.Err)
	return op
}

// urls are the paths of leased requests, in order.
func urls(ls []Leased) []string {
	out := []string{}
	for _, l := range ls {
		out = append(out, l.Request.URL)
	}
	return out
}

func (b *bundle) page(l Leased) *Page {
	return &Page{Crawl: l.Crawl, Host: l.Host, ID: l.Request.ID, Token: l.Token}
}

func (b *bundle) commit(pages ...*Page) {
	b.t.Helper()
	_, err := b.s.Commit(b.ctx, pages, nil)
	require.NoError(b.t, err)
	for _, p := range pages {
		require.NoError(b.t, p.Err)
	}
}

// balanced checks that the counts of the hosts add up, and to the crawl's.
func (b *bundle) balanced(hosts ...string) Counts {
	b.t.Helper()
	var sum Counts
	for _, h := range hosts {
		n, err := b.c.HostCounts(b.ctx, h)
		require.NoError(b.t, err)
		require.Equal(b.t, n.Seen, n.Waiting+n.Delayed+n.Leased+n.Done+n.Dead, h)
		sum.Waiting += n.Waiting
		sum.Delayed += n.Delayed
		sum.Leased += n.Leased
		sum.Done += n.Done
		sum.Dead += n.Dead
		sum.Seen += n.Seen
		sum.Lost += n.Lost
		sum.Forgotten += n.Forgotten
	}
	all, err := b.c.Counts(b.ctx)
	require.NoError(b.t, err)
	require.Equal(b.t, sum, all)
	return all
}

func host(i int) string { return fmt.Sprintf("h%d.test", i) }
