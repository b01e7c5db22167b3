package rqueue

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
)

func TestLayoutIsKept(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		cfg := b.time.config("n2")
		cfg.Shards = 8
		_, err := Open(b.ctx, rdb, cfg)
		require.ErrorIs(t, err, ErrLayout)
		require.ErrorContains(t, err, "orbweaver:layout has version and shards [1 4], this node wants [1 8]")
		cfg.Prefix = "another"
		_, err = Open(b.ctx, rdb, cfg)
		require.NoError(t, err)
	})
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), nil, Config{Node: "a.b", Shards: -1, TTL: time.Millisecond, MaxLost: 255, SeenCache: -1})
	for _, part := range []string{"a.b", "SHARDS -1", "SLOT_TTL 1ms", "SLOT_MARGIN", "MaxLost 255", "SeenCache -1"} {
		require.ErrorContains(t, err, part)
	}
	err = Spec{Name: "a{b", QueueClass: "x", Filter: "y", StartURLsType: "z", Weight: -1, Settings: json.RawMessage("{")}.Validate()
	for _, part := range []string{"a{b", `"x"`, `"y"`, `"z"`, "-1", "JSON"} {
		require.ErrorContains(t, err, part)
	}
}

func TestCrawlIsResumed(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		b.enqueue(b.link("a.test", "/1"), b.link("b.test", "/1"), b.link("b.test", "/2"))
		acq := b.acquire("b.test")
		b.commit(b.page(b.lease("b.test", acq.Token, 1).Requests[0]))
		require.NoError(t, b.c.SetState(b.ctx, StateStopped))
		_, err := b.c.Finish(b.ctx)
		require.ErrorIs(t, err, ErrNotRunning)

		c, err := b.f.OpenCrawl(b.ctx, b.c.Spec(), false)
		require.NoError(t, err)
		require.EqualValues(t, 2, c.Resumed())
		require.Equal(t, b.c.Run(), c.Run())
		require.EqualValues(t, 1, c.Opening())
		st, err := c.State(b.ctx)
		require.NoError(t, err)
		require.Equal(t, StateRunning, st)

		b.time.pass(time.Second)
		c2, err := b.f.OpenCrawl(b.ctx, b.c.Spec(), true)
		require.NoError(t, err)
		require.Zero(t, c2.Resumed())
		require.Greater(t, c2.Run(), c.Run())
		keys := rdb.Keys(b.ctx, "c:*test*").Val()
		require.Empty(t, keys)

		// The old incarnation is refused everywhere.
		_, _, err = b.s.Enqueue(b.ctx, []Link{b.link("a.test", "/1")})
		require.ErrorIs(t, err, ErrStaleRun)
		_, err = c.Finish(b.ctx)
		require.ErrorIs(t, err, ErrStaleRun)
		require.ErrorIs(t, c.SetState(b.ctx, StatePaused), ErrStaleRun)
		le := &Lease{Slot: "b.test", Token: acq.Token, Crawl: c, Max: 1}
		require.NoError(t, b.f.Do(b.ctx, le))
		require.ErrorIs(t, le.Err, ErrStaleRun)
		require.ErrorIs(t, c.Flush(b.ctx), ErrStaleRun)
		b.c = c2
		require.Equal(t, 1, b.enqueue(b.link("a.test", "/1")))
	})
}

func TestFinishedCrawlBeginsAgain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		end     func(b *bundle) error
		opening int64
		want    int // requests let in the second time
		stats   map[string]int64
	}{
		{"closed", func(b *bundle) error { return b.c.Close(b.ctx, false) }, 2, 1, map[string]int64{}},
		{"kept", func(b *bundle) error { return b.c.Close(b.ctx, true) }, 2, 0, map[string]int64{}},
		{"died before it was closed", func(*bundle) error { return nil }, 1, 0, map[string]int64{"x": 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, rdb *redis.Client) {
				b := newBundle(t, rdb)
				b.enqueue(b.link("a.test", "/1"))
				le := b.lease("a.test", b.acquire("a.test").Token, 1)
				p := b.page(le.Requests[0])
				p.Items = []crawl.Item{{JSON: []byte("1")}}
				_, err := b.s.Commit(b.ctx, []*Page{p}, []Stat{{b.c, "x", 1}})
				require.NoError(t, err)
				done, err := b.c.Finish(b.ctx)
				require.NoError(t, err)
				require.True(t, done)
				done, err = b.c.Finish(b.ctx)
				require.NoError(t, err)
				require.True(t, done, "said once, true ever after")
				require.NoError(t, tt.end(b))
				stats, err := b.c.Stats(b.ctx)
				require.NoError(t, err)
				require.Equal(t, map[string]int64{"x": 1}, stats, "they outlive the end")

				b.c, err = b.f.OpenCrawl(b.ctx, b.c.Spec(), false)
				require.NoError(t, err)
				require.Equal(t, tt.opening, b.c.Opening())
				require.Zero(t, b.c.Resumed())
				require.Equal(t, tt.want, b.enqueue(b.link("a.test", "/1")))
				stats, err = b.c.Stats(b.ctx)
				require.NoError(t, err)
				require.Equal(t, tt.stats, stats)
				require.Equal(t, []string{"1"}, rdb.LRange(b.ctx, "c:items", 0, -1).Val())
				st, err := b.c.State(b.ctx)
				require.NoError(t, err)
				require.Equal(t, StateRunning, st)
			})
		})
	}
}

// TestFlushCutShort stops a flush after each of its calls, and opens the crawl.
func TestFlushCutShort(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		for cut := range 6 {
			b := newBundle(t, rdb, func(_ *Config, s *Spec) { s.Name = fmt.Sprint("c", cut) })
			for i := range 20 {
				b.enqueue(b.link(host(i), "/1"))
			}
			limited := newBundle(t, rdb, func(c *Config, s *Spec) { c.Node, s.Name = "n2", fmt.Sprint("c", cut) })
			limited.f.rdb = &cutOff{Client: rdb, left: cut}
			require.Error(t, limited.c.Flush(b.ctx))

			c, err := b.f.OpenCrawl(b.ctx, b.c.Spec(), false)
			require.NoError(t, err)
			if cut == 0 {
				require.EqualValues(t, 20, c.Resumed())
				continue
			}
			require.Zero(t, c.Resumed())
			b.c = c
			for i := range 20 {
				require.Equal(t, 1, b.enqueue(b.link(host(i), "/1")), "cut %d host %d", cut, i)
			}
			// The other's flush does not take what came since.
			limited.f.rdb = rdb
			require.ErrorIs(t, limited.c.Flush(b.ctx), ErrStaleRun)
			n, err := c.Counts(b.ctx)
			require.NoError(t, err)
			require.EqualValues(t, 20, n.Waiting)
		}
	})
}

func TestDuePages(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		want := map[string]bool{}
		for i := range 100 {
			if i%40 == 0 {
				b.time.pass(time.Second)
			}
			b.enqueue(b.link(host(i), "/"))
			want[host(i)] = true
		}
		d, err := b.c.Due(b.ctx, Cursor{}, 1000)
		require.NoError(t, err)
		require.Len(t, d.Hosts, 100)
		require.True(t, d.Next.Done())

		for _, disturb := range []func(h string){
			func(string) {},
			func(h string) { // the last of each page moves on
				rdb.ZAdd(b.ctx, "c:{"+b.shard(h)+"}:hosts", redis.Z{Score: float64(b.time.server() + 5000), Member: h})
			},
			func(h string) { // or goes
				rdb.ZRem(b.ctx, "c:{"+b.shard(h)+"}:hosts", h)
			},
			func(h string) { // or moves to the front
				rdb.ZAdd(b.ctx, "c:{"+b.shard(h)+"}:hosts", redis.Z{Score: 1, Member: h})
			},
		} {
			got := map[string]bool{}
			for cur, turns := (Cursor{}), 0; ; turns++ {
				require.Less(t, turns, 100)
				d, err := b.c.Due(b.ctx, cur, 7)
				require.NoError(t, err)
				require.LessOrEqual(t, len(d.Hosts), 7)
				for _, h := range d.Hosts {
					require.False(t, got[h], h)
					got[h] = true
				}
				if d.Next.Done() {
					break
				}
				disturb(d.Hosts[len(d.Hosts)-1])
				cur = d.Next
			}
			require.Equal(t, want, got)
			for h := range want { // all due again, in one moment
				rdb.ZAdd(b.ctx, "c:{"+b.shard(h)+"}:hosts", redis.Z{Score: float64(b.time.server()), Member: h})
			}
		}
		b.time.pass(-1500 * time.Millisecond)
		d, err = b.c.Due(b.ctx, Cursor{}, 7)
		require.NoError(t, err)
		require.Empty(t, d.Hosts)
		require.Equal(t, 1500*time.Millisecond, d.Later)
	})
}

func TestExport(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb, func(_ *Config, s *Spec) { s.Export = true })
		b.enqueue(b.link("a.test", "/1"))
		p := b.page(b.lease("a.test", b.acquire("a.test").Token, 1).Requests[0])
		for _, s := range []string{"1", "2", "3"} {
			p.Items = append(p.Items, crawl.Item{JSON: []byte(s)})
		}
		b.commit(p)
		require.EqualValues(t, 3, rdb.LLen(b.ctx, "c:items").Val())
		items, err := b.c.ExportRead(b.ctx, "out.jsonl", 2)
		require.NoError(t, err)
		require.Equal(t, [][]byte{[]byte("1"), []byte("2")}, items)
		_, ok, err := b.c.ExportPosition(b.ctx, "out.jsonl")
		require.NoError(t, err)
		require.False(t, ok)
		left, err := b.c.ExportAck(b.ctx, 2, "out.jsonl", 4)
		require.NoError(t, err)
		require.EqualValues(t, 1, left)
		at, ok, err := b.c.ExportPosition(b.ctx, "out.jsonl")
		require.NoError(t, err)
		require.True(t, ok)
		require.EqualValues(t, 4, at)
		items, err = b.c.ExportRead(b.ctx, "out.jsonl", 2)
		require.NoError(t, err)
		require.Equal(t, [][]byte{[]byte("3")}, items)
	})
}

func TestScriptsStateTheirContract(t *testing.T) {
	t.Parallel()
	files, err := luaFiles.ReadDir("lua")
	require.NoError(t, err)
	sc, err := newScripts("n")
	require.NoError(t, err)
	require.Len(t, sc.all, len(files)-1, "every file but the prelude is a script")
	for _, f := range files {
		text, err := luaFiles.ReadFile("lua/" + f.Name())
		require.NoError(t, err)
		name := strings.TrimSuffix(f.Name(), ".lua")
		require.True(t, strings.HasPrefix(string(text), "-- "+name+": "), name)
		if name != "prelude" {
			require.Contains(t, string(text), "-- Returns ", name)
		}
	}
}
