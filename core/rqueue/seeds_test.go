package rqueue

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// TestStartOrders pops start messages in the orders that live scrapy-redis
// crawlers do (vectors start_list, start_set, start_zset).
func TestStartOrders(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../testdata/vectors/scrapy_redis_wire.json")
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			ID, Kind string
			Settings struct {
				Batch int `json:"CONCURRENT_REQUESTS"`
			}
			Commands  [][]any
			Unordered bool
			Expect    struct{ Batches [][]string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &file))
	ran := map[string]int{}
	for _, c := range file.Cases {
		if c.Kind != "start_zset" && c.Kind != "start_set" && c.Kind != "start_multi_key" {
			continue
		}
		ran[c.Kind]++
		t.Run(c.Kind+"/"+c.ID, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, rdb *redis.Client) {
				batches := map[string][][]string{"myspider:start_urls": c.Expect.Batches}
				if c.Kind == "start_multi_key" { // lists: each key by itself, in the order of its commands
					batches = map[string][][]string{}
				}
				for _, cmd := range c.Commands {
					require.NoError(t, rdb.Do(t.Context(), cmd...).Err())
					if c.Kind == "start_multi_key" {
						key, _ := cmd[1].(string)
						var all []string
						for _, v := range cmd[2:] {
							s, _ := v.(string)
							all = append(all, s)
						}
						batches[key] = [][]string{all, {}}
					}
				}
				for key, want := range batches {
					b := newBundle(t, rdb, func(_ *Config, s *Spec) { s.Name, s.StartURLsKey = "myspider", key })
					for _, batch := range want {
						seeds, err := b.c.ClaimSeeds(b.ctx, c.Settings.Batch)
						require.NoError(t, err)
						got := []string{}
						for _, s := range seeds {
							got = append(got, string(s.Payload))
						}
						if c.Unordered {
							slices.Sort(got)
						}
						require.Equal(t, batch, got)
						require.NoError(t, b.c.AckSeeds(b.ctx, seeds))
					}
					done, err := b.c.Finish(b.ctx)
					require.NoError(t, err)
					require.True(t, done)
				}
			})
		})
	}
	require.Equal(t, map[string]int{"start_zset": 6, "start_set": 1, "start_multi_key": 2}, ran)
}

func TestSeedsAreClaimed(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		n1, n2 := b.node("n1"), b.node("n2")
		raw := []string{"http://a.test/|x", "", "\xff|\x00", "{}"}
		require.NoError(t, rdb.RPush(b.ctx, "c:start_urls", raw[0], raw[1], raw[2], raw[3]).Err())
		seeds, err := n1.c.ClaimSeeds(b.ctx, 10)
		require.NoError(t, err)
		require.Len(t, seeds, 4)
		for i := range raw {
			require.Equal(t, raw[i], string(seeds[i].Payload))
		}
		done, err := n1.c.Finish(b.ctx)
		require.NoError(t, err)
		require.False(t, done, "claimed is not done")

		none, err := n2.c.RetakeSeeds(b.ctx, 30*time.Second, 10)
		require.NoError(t, err)
		require.Empty(t, none)
		b.time.pass(30 * time.Second)
		two, err := n2.c.RetakeSeeds(b.ctx, 30*time.Second, 2)
		require.NoError(t, err)
		require.Len(t, two, 2)
		for _, s := range two {
			i := slices.IndexFunc(seeds, func(x Seed) bool { return x.ID == s.ID })
			require.GreaterOrEqual(t, i, 0, "the claim keeps its id")
			require.Equal(t, seeds[i], s)
		}

		// n1 cannot acknowledge what n2 holds now; both enqueue the same request.
		link := Link{Crawl: n1.c, Host: "a.test", Request: request("http://a.test/")}
		link.Request.Seed = true
		s1, s2 := n1.f.NewSession(), n2.f.NewSession()
		defer func() { _, _ = s1.Close(), s2.Close() }()
		woken, news, err := s1.EnqueueSeeds(b.ctx, n1.c, []Link{link}, seeds)
		require.NoError(t, err)
		require.Equal(t, 1, news)
		require.Len(t, woken, 1)
		require.EqualValues(t, 2, rdb.HLen(b.ctx, "{c:start_urls}:taken").Val())
		link.Crawl = n2.c
		_, news, err = s2.EnqueueSeeds(b.ctx, n2.c, []Link{link}, two[:1])
		require.NoError(t, err)
		require.Zero(t, news)

		require.NoError(t, n2.c.RejectSeed(b.ctx, Seed{ID: two[1].ID, Payload: []byte("\xff")}, "not a URL"))
		require.NoError(t, n2.c.RejectSeed(b.ctx, two[1], "again: it is gone"))
		require.Zero(t, rdb.HLen(b.ctx, "{c:start_urls}:taken").Val())
		rejected := rdb.LRange(b.ctx, "c:start_urls:rejected", 0, -1).Val()
		require.Len(t, rejected, 1)
		require.JSONEq(t, `{"payload":"/w==","base64":true,"reason":"not a URL","at":"2023-11-14T22:13:50Z"}`, rejected[0])
	})
}

func TestClaimsOfAnEarlierProcessAreRetakenAtOnceWhenAlone(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		require.NoError(t, rdb.SAdd(b.ctx, "c:start_urls", "http://a.test/").Err())
		seeds, err := b.c.ClaimSeeds(b.ctx, 1)
		require.NoError(t, err)
		mine, err := b.c.RetakeSeeds(b.ctx, 30*time.Second, 10)
		require.NoError(t, err)
		require.Empty(t, mine)
		b2 := newBundle(t, rdb, func(c *Config, _ *Spec) { c.Node = "n2" })
		got, err := b2.c.RetakeSeeds(b.ctx, 30*time.Second, 10)
		require.NoError(t, err)
		require.Equal(t, seeds, got)
	})
}

func TestStartKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, rdb *redis.Client) {
		b := newBundle(t, rdb)
		require.NoError(t, rdb.Set(b.ctx, "c:start_urls", "http://a.test/", 0).Err())
		_, err := b.c.ClaimSeeds(b.ctx, 1)
		require.EqualError(t, err, "rqueue: claim seeds: c:start_urls is a string: want a list, a set or a zset")
	})
}

func TestTagged(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"c:start_urls": "{c:start_urls}:taken",
		"{c}:start":    "{c}:start:taken",
		"c{}:start":    "{c{}:start}:taken",
		"c}x{:start":   "{c}x{:start}:taken",
	} {
		require.Equal(t, want, tagged(key, ":taken"))
	}
}
