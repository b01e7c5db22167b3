package rqueue

import (
	"context"
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/internal/redistest"
)

// BenchmarkFrontier is the store's part of a crawl of 50 hosts: batches of 64
// pages, each with one new link, one item, and links already seen. It reports the
// CPU time of redis-server and of this process a page.
func BenchmarkFrontier(b *testing.B) {
	srv := redistest.New(b)
	rdb := srv.Client()
	ctx := context.Background()
	f, err := Open(ctx, rdb, Config{Node: "bench", Exclusive: true, TTL: time.Hour})
	require.NoError(b, err)
	c, err := f.OpenCrawl(ctx, Spec{Name: "bench", Items: true}, false)
	require.NoError(b, err)
	s := f.NewSession()
	defer func() { _ = s.Close() }()

	const hosts, perBatch, perLease = 50, 64, 8
	next := 0
	newLink := func(h int) Link {
		next++
		u := "http://" + host(h) + "/p/" + strconv.Itoa(next)
		r := &crawl.Request{ID: crawl.DeriveID(crawl.ID{1}, uint32(next)), URL: u, Depth: 3, Referer: "http://" + host(h) + "/"} //nolint:gosec // small
		id := crawl.NewID(u)
		copy(r.Fingerprint[:], id[:])
		return Link{Crawl: c, Host: host(h), Request: r}
	}
	tokens := make([]string, hosts)
	var links []Link
	for h := range hosts {
		acq := &Acquire{Slot: host(h), Crawls: []*Crawl{c}}
		require.NoError(b, f.Do(ctx, acq))
		require.NoError(b, acq.Err)
		tokens[h] = acq.Token
		for range 2 * perLease {
			links = append(links, newLink(h))
		}
	}
	_, _, err = s.Enqueue(ctx, links)
	require.NoError(b, err)
	item := []byte(`{"url": "http://example.com/some/page", "status": 200, "title": "A page like any other", "depth": 3, "fetched_at": "2026-11-30T21:00:00Z"}`)

	var ready []Leased
	at := 0
	lease := func() {
		var ops []Op
		for len(ready)+len(ops)*perLease < perBatch {
			h := at % hosts
			at++
			ops = append(ops, &Lease{Slot: host(h), Token: tokens[h], Crawl: c, Max: perLease, State: SlotState{Delay: 0.5}, Slack: time.Second})
		}
		require.NoError(b, f.Do(ctx, ops...))
		for _, op := range ops {
			l, _ := op.(*Lease)
			require.NoError(b, l.Err)
			ready = append(ready, l.Requests...)
		}
	}
	pages := make([]Page, perBatch)
	refs := make([]*Page, perBatch)
	batch := func() {
		for len(ready) < perBatch {
			lease()
		}
		for i := range pages {
			l := ready[i]
			h := (at + i) % hosts
			pages[i] = Page{
				Crawl: c, Host: l.Host, ID: l.Request.ID, Token: l.Token,
				Links: []Link{newLink(h), {Crawl: c, Host: l.Host, Request: l.Request}},
				Items: []crawl.Item{{JSON: item}},
			}
			refs[i] = &pages[i]
		}
		ready = append(ready[:0], ready[perBatch:]...)
		_, err := s.Commit(ctx, refs, []Stat{{c, "response_received_count", perBatch}, {c, "item_scraped_count", perBatch}})
		require.NoError(b, err)
		for i := range pages {
			require.NoError(b, pages[i].Err)
			require.False(b, pages[i].Gone)
		}
	}
	for range 5 {
		batch()
	}
	redisBefore, selfBefore := redisCPU(b, rdb), selfCPU(b)
	b.ReportAllocs()
	b.ResetTimer()
	n := 0
	for b.Loop() {
		batch()
		n += perBatch
	}
	b.StopTimer()
	b.ReportMetric((redisCPU(b, rdb)-redisBefore)/float64(n)*1e6, "redis-us/page")
	b.ReportMetric((selfCPU(b)-selfBefore)/float64(n)*1e6, "node-us/page")
	if testing.Verbose() {
		for _, sc := range []*script{f.scripts.enqueue, f.scripts.commit, f.scripts.lease} {
			b.Log(sc.name, sc.sha)
		}
		b.Log(rdb.Info(ctx, "commandstats").Val())
	}
}

// redisCPU is the server's CPU time, in seconds.
func redisCPU(b *testing.B, rdb *redis.Client) float64 {
	b.Helper()
	info := rdb.Info(context.Background(), "cpu")
	require.NoError(b, info.Err())
	user, err := strconv.ParseFloat(infoField(info, "used_cpu_user"), 64)
	require.NoError(b, err)
	sys, err := strconv.ParseFloat(infoField(info, "used_cpu_sys"), 64)
	require.NoError(b, err)
	return user + sys
}

func selfCPU(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// BenchmarkFilterMemory fills the compact filter of one host and reports what a
// URL costs in memory and in the store's CPU.
func BenchmarkFilterMemory(b *testing.B) {
	srv := redistest.New(b)
	rdb := srv.Client()
	ctx := context.Background()
	f, err := Open(ctx, rdb, Config{Node: "bench", Exclusive: true})
	require.NoError(b, err)
	c, err := f.OpenCrawl(ctx, Spec{Name: "bench"}, false)
	require.NoError(b, err)
	s := f.NewSession()
	defer func() { _ = s.Close() }()
	h := c.keys.host("big.test")
	total := 0
	links := make([]Link, 1000)
	for b.Loop() {
		for i := range links {
			total++
			u := fmt.Sprintf("http://big.test/%d", total)
			r := &crawl.Request{ID: crawl.NewID("i", u), URL: u}
			id := crawl.NewID(u)
			copy(r.Fingerprint[:], id[:])
			links[i] = Link{Crawl: c, Host: "big.test", Request: r}
		}
		_, n, err := s.Enqueue(ctx, links)
		require.NoError(b, err)
		require.Equal(b, len(links), n)
	}
	require.NoError(b, rdb.Del(ctx, text(h.request)).Err())
	keys, err := rdb.Keys(ctx, h.prefix+"seen:*").Result()
	require.NoError(b, err)
	var bytes int64
	for _, k := range keys {
		n, err := rdb.MemoryUsage(ctx, k).Result()
		require.NoError(b, err)
		require.Equal(b, "intset", rdb.ObjectEncoding(ctx, k).Val())
		bytes += n
	}
	b.ReportMetric(float64(bytes)/float64(total), "bytes/url")
	b.ReportMetric(float64(len(keys)), "buckets")
}
