package rqueue

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/internal/redistest"
)

var errCut = errors.New("cut off")

// cutOff is a client whose calls fail once left of them were made; before the
// cut they reach the store.
type cutOff struct {
	*redis.Client
	left int
}

func (c *cutOff) Process(ctx context.Context, cmd redis.Cmder) error {
	if c.left == 0 {
		return errCut
	}
	c.left--
	return c.Client.Process(ctx, cmd)
}

// flaky is a connection that breaks at the given call: before it is sent, or
// after it was carried out.
type flaky struct {
	conn
	at    int
	after bool
}

func (c *flaky) Process(ctx context.Context, cmd redis.Cmder) error {
	c.at--
	if c.at == 0 && !c.after {
		return errCut
	}
	err := c.conn.Process(ctx, cmd)
	if c.at == 0 {
		return errCut
	}
	return err
}

func (b *bundle) flaky(at int, after bool) {
	b.t.Helper()
	_ = b.s.Close()
	require.NoError(b.t, b.s.connect(b.ctx))
	b.s.conn = &flaky{conn: b.s.conn, at: at, after: after}
}

func TestConnectionBreaks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		at    int
		after bool
		fails bool // Commit's own error
		gone  bool
	}{
		{"before enqueue", 1, false, true, false},
		{"enqueue's reply lost", 1, true, true, false},
		{"before commit", 2, false, false, false},
		{"commit's reply lost", 2, true, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, rdb *redis.Client) {
				b := newBundle(t, rdb)
				b.enqueue(b.link("a.test", "/1"))
				le := b.lease("a.test", b.acquire("a.test").Token, 1)
				p := b.page(le.Requests[0])
				p.Links = []Link{b.link("b.test", "/1")}
				p.Items = []crawl.Item{{JSON: []byte("1")}}
				b.flaky(tt.at, tt.after)
				_, err := b.s.Commit(b.ctx, []*Page{p}, nil)
				if tt.fails {
					require.ErrorIs(t, err, errCut)
					require.ErrorIs(t, p.Err, errCut)
					require.Zero(t, rdb.LLen(b.ctx, "c:items").Val())
					_, err = b.s.Commit(b.ctx, []*Page{p}, nil)
				}
				require.NoError(t, err)
				require.NoError(t, p.Err)
				require.Equal(t, tt.gone, p.Gone)
				require.EqualValues(t, 1, rdb.LLen(b.ctx, "c:items").Val())
				require.Equal(t, Counts{Done: 1, Waiting: 1, Seen: 2}, b.balanced("a.test", "b.test"))
			})
		})
	}
}

func TestScriptsAreLoadedAgain(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		forget := func() { require.NoError(t, rdb.ScriptFlush(b.ctx).Err()) }
		forget()
		require.Equal(t, 1, b.enqueue(b.link("a.test", "/1")))
		forget()
		acq := b.acquire("a.test")
		forget()
		le := b.lease("a.test", acq.Token, 1)
		require.Len(t, le.Requests, 1)
		forget()
		b.commit(b.page(le.Requests[0]))
		forget()
		done, err := b.c.Finish(b.ctx)
		require.NoError(t, err)
		require.True(t, done)
	})
}

// TestOneBadKey: what is wrong with one host's keys disturbs no other page.
func TestOneBadKey(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"requests", "meta", "seen:0"} {
		t.Run("enqueue/"+key, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, rdb *redis.Client) {
				b := newBundle(t, rdb)
				var pages []*Page
				for i := range 3 {
					b.enqueue(b.link(host(i), "/1"))
					p := b.page(b.lease(host(i), b.acquire(host(i)).Token, 1).Requests[0])
					p.Links = []Link{b.link(host(10+i), "/1")}
					p.Items = []crawl.Item{{JSON: []byte("1")}}
					pages = append(pages, p)
				}
				bad := b.c.keys.host(host(11)).prefix + key
				require.NoError(t, rdb.Set(b.ctx, bad, "x", 0).Err())
				_, err := b.s.Commit(b.ctx, pages, []Stat{{b.c, "x", 1}})
				require.NoError(t, err)
				require.NoError(t, pages[0].Err)
				require.ErrorContains(t, pages[1].Err, "WRONGTYPE")
				require.NoError(t, pages[2].Err)
				require.EqualValues(t, 2, rdb.LLen(b.ctx, "c:items").Val())

				require.NoError(t, rdb.Del(b.ctx, bad).Err())
				b.commit(pages[1])
				require.False(t, pages[1].Gone)
				require.EqualValues(t, 3, rdb.LLen(b.ctx, "c:items").Val())
				b.balanced(host(0), host(1), host(2), host(10), host(11), host(12))
			})
		})
	}
	for _, key := range []string{"leased", "delayed", "dead"} {
		t.Run("commit/"+key, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, rdb *redis.Client) {
				b := newBundle(t, rdb)
				var pages []*Page
				for i := range 3 {
					b.enqueue(b.link(host(i), "/1"))
					p := b.page(b.lease(host(i), b.acquire(host(i)).Token, 1).Requests[0])
					p.Items = []crawl.Item{{JSON: []byte("1")}}
					pages = append(pages, p)
				}
				switch key {
				case "delayed":
					pages[1].End = EndRetry
				case "dead":
					pages[1].End = EndDead
				}
				bad := b.c.keys.host(host(1)).prefix + key
				require.NoError(t, rdb.Del(b.ctx, bad).Err())
				require.NoError(t, rdb.Set(b.ctx, bad, "x", 0).Err())
				_, err := b.s.Commit(b.ctx, pages, nil)
				require.NoError(t, err)
				require.NoError(t, pages[0].Err)
				require.ErrorContains(t, pages[1].Err, "WRONGTYPE")
				require.NoError(t, pages[2].Err)
				require.EqualValues(t, 2, rdb.LLen(b.ctx, "c:items").Val())
			})
		})
	}
	t.Run("commit/items", func(t *testing.T) {
		t.Parallel()
		eachStore(t, func(t *testing.T, rdb *redis.Client) {
			b := newBundle(t, rdb)
			b.enqueue(b.link("a.test", "/1"))
			p := b.page(b.lease("a.test", b.acquire("a.test").Token, 1).Requests[0])
			p.Items = []crawl.Item{{JSON: []byte("1")}}
			require.NoError(t, rdb.Set(b.ctx, "c:items", "x", 0).Err())
			_, err := b.s.Commit(b.ctx, []*Page{p}, nil)
			require.ErrorContains(t, err, "c:items holds a string, want a list")
			require.Error(t, p.Err)
			require.NoError(t, rdb.Del(b.ctx, "c:items").Err())
			b.commit(p)
			require.False(t, p.Gone)
			require.EqualValues(t, 1, rdb.LLen(b.ctx, "c:items").Val())
		})
	})
}

// TestStoreFull: without memory nothing is enqueued and no page with links is
// committed; pages without are, since that frees memory.
func TestStoreFull(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t).Client())
	b.enqueue(b.link("a.test", "/1"), b.link("a.test", "/2"))
	le := b.lease("a.test", b.acquire("a.test").Token, 2)
	p, q := b.page(le.Requests[0]), b.page(le.Requests[1])
	p.Links = []Link{b.link("b.test", "/1")}
	require.NoError(t, b.rdb.ConfigSet(b.ctx, "maxmemory", "1").Err())
	_, err := b.s.Commit(b.ctx, []*Page{p, q}, nil)
	require.NoError(t, err)
	require.ErrorContains(t, p.Err, "OOM")
	require.NoError(t, q.Err)
	require.False(t, q.Gone)
	require.NoError(t, b.rdb.ConfigSet(b.ctx, "maxmemory", "0").Err())
	b.commit(p)
	require.False(t, p.Gone)
	require.Equal(t, Counts{Done: 2, Waiting: 1, Seen: 3}, b.balanced("a.test", "b.test"))
}

// TestStoreKilled: a session lives through a restart of its store.
func TestStoreKilled(t *testing.T) {
	t.Parallel()
	srv := redistest.New(t, redistest.WithAppendOnly("always"))
	b := newBundle(t, srv.Client())
	b.enqueue(b.link("a.test", "/1"))
	le := b.lease("a.test", b.acquire("a.test").Token, 1)
	changes := b.f.StoreChanges()
	srv.Kill()
	p := b.page(le.Requests[0])
	p.Links = []Link{b.link("b.test", "/1")}
	_, err := b.s.Commit(b.ctx, []*Page{p}, nil)
	require.Error(t, err)
	require.Error(t, p.Err)
	srv.Restart()
	b.commit(p)
	require.False(t, p.Gone)
	require.Greater(t, b.f.StoreChanges(), changes)
	require.Equal(t, Counts{Done: 1, Waiting: 1, Seen: 2}, b.balanced("a.test", "b.test"))
}
