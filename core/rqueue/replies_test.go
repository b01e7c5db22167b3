package rqueue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/internal/redistest"
)

// What a broken store answers, without doing what it was asked for.
var brokenReplies = []string{
	"OOM command not allowed when used memory > 'maxmemory'.",
	"READONLY You can't write against a read only replica.",
	"LOADING Redis is loading the dataset in memory",
	"TRYAGAIN Multiple keys request during rehashing of slot",
	"NOSCRIPT No matching script. Please use EVAL.",
	"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
	"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
}

// brokenCalls are the calls of a request's life.
var brokenCalls = []string{"seed_claim", "seed_ack", "enqueue", "acquire", "recover", "lease", "renew", "commit", "release", "finish"}

// A store that answers a call with an error, late, or not at all costs a crawl
// time, and never a request or an item.
func TestBrokenReplies(t *testing.T) {
	t.Parallel()
	faults := map[string]redistest.Fault{
		"late": {Late: 150 * time.Millisecond},
		"drop": {Drop: true},
		"cut":  {Cut: true},
	}
	for _, r := range brokenReplies {
		faults[wordOf(r)] = redistest.Fault{Reply: r}
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.New(t)
			proxy := redistest.NewFaulty(t, server)
			for i, call := range brokenCalls {
				for _, times := range []int{1, 3} {
					f := fault
					f.Call, f.Times = call, times
					if call != "seed_claim" && call != "seed_ack" && call != "finish" {
						f.Skip = (i + times) % 4
					}
					before := proxy.Hits()
					proxy.Inject(f)
					w := newWebCrawl(t, server, proxy, fmt.Sprintf("c%s%d", call, times))
					w.crawl()
					proxy.Heal()
					w.requireExact(call)
					require.Positive(t, proxy.Hits()-before, "%s was not hit", call)
				}
			}
		})
	}
}

// wordOf is the word that names an error.
func wordOf(reply string) string {
	word, _, _ := strings.Cut(reply, " ")
	return word
}

// webCrawl crawls a small web, each page linking to two of its host and one of
// another, until nothing is left; errors are tried again.
type webCrawl struct {
	t      *testing.T
	ctx    context.Context //nolint:containedctx // of the test
	direct *redis.Client
	f      *Frontier
	c      *Crawl
	s      *Session
	errs   int
}

const (
	webHosts = 3
	webPages = 9
)

func webURL(h, p int) string { return fmt.Sprintf("http://%s/%d", host(h), p) }

func webLink(c *Crawl, h, p int) Link {
	return Link{Crawl: c, Host: host(h), Request: request(webURL(h, p))}
}

func newWebCrawl(t *testing.T, server *redistest.Server, proxy *redistest.Faulty, name string) *webCrawl {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	w := &webCrawl{t: t, ctx: ctx, direct: server.Client()}
	require.NoError(t, w.direct.RPush(ctx, name+":start_urls", "0", "1", "2").Err())
	var err error
	w.f, err = Open(ctx, proxy.NewClient(10*time.Second), Config{Node: "n1", Shards: 4, Exclusive: true, Prefix: name + "-sys"})
	require.NoError(t, err)
	w.c, err = w.f.OpenCrawl(ctx, Spec{Name: name, Items: true}, false)
	require.NoError(t, err)
	w.f.rdb = proxy.NewClient(100 * time.Millisecond) // less patient than a late answer
	w.s = w.f.NewSession()
	t.Cleanup(func() { _ = w.s.Close() })
	return w
}

// failed counts an error that may come, and reports whether there was one.
func (w *webCrawl) failed(err error) bool {
	if err != nil {
		w.errs++
	}
	return err != nil
}

func (w *webCrawl) crawl() {
	w.t.Helper()
	for range 200 {
		w.seeds()
		for h := range webHosts {
			w.visit(h)
		}
		done, err := w.c.Finish(w.ctx)
		if !w.failed(err) && done {
			return
		}
	}
	w.t.Fatal("the crawl does not end")
}

func (w *webCrawl) seeds() {
	seeds, err := w.c.ClaimSeeds(w.ctx, 10)
	w.failed(err)
	again, err := w.c.RetakeSeeds(w.ctx, 0, 10)
	w.failed(err)
	links := []Link{}
	seeds = slices.Concat(seeds, again)
	for _, s := range seeds {
		l := webLink(w.c, int(s.Payload[0]-'0'), 0)
		l.Request.Seed, l.Request.ID = true, crawl.NewID(s.ID)
		links = append(links, l)
	}
	if len(seeds) > 0 {
		_, _, err = w.s.EnqueueSeeds(w.ctx, w.c, links, seeds)
		w.failed(err)
	}
}

// visit leases what waits at a host and commits it, every fifth page a retry first.
func (w *webCrawl) visit(h int) {
	acq := &Acquire{Slot: host(h), Crawls: []*Crawl{w.c}}
	if w.failed(w.f.Do(w.ctx, acq)) || w.failed(acq.Err) {
		return
	}
	// In one pipeline: what hits one step must leave the others alone.
	rec := &Recover{Slot: acq.Slot, Token: acq.Token, Crawl: w.c}
	le := &Lease{Slot: acq.Slot, Token: acq.Token, Crawl: w.c, Max: 4, State: acq.State}
	re := &Renew{Slot: acq.Slot, Token: acq.Token, Crawls: []*Crawl{w.c}, State: acq.State}
	if !w.failed(w.f.Do(w.ctx, rec, le, re)) {
		for _, op := range []Op{rec, le, re} {
			w.failed(op.op().Err)
		}
	}
	var pages []*Page
	for _, l := range le.Requests {
		var n int
		_, err := fmt.Sscanf(l.Request.URL, "http://"+l.Host+"/%d", &n)
		require.NoError(w.t, err)
		text, err := json.Marshal(l.Request.URL)
		require.NoError(w.t, err)
		p := &Page{Crawl: w.c, Host: l.Host, ID: l.Request.ID, Token: l.Token, Items: []crawl.Item{{JSON: text}}}
		if n%5 == 3 && l.Request.Attempts == 0 {
			again := *l.Request
			again.Attempts++
			p.End, p.Retry, p.Items = EndRetry, &again, nil
		} else {
			for _, c := range []int{2*n + 1, 2*n + 2} {
				if c < webPages {
					p.Links = append(p.Links, webLink(w.c, h, c))
				}
			}
			p.Links = append(p.Links, webLink(w.c, (h+1)%webHosts, n))
		}
		pages = append(pages, p)
	}
	for range 3 { // as a committer does: those that failed, again
		if len(pages) == 0 {
			break
		}
		_, err := w.s.Commit(w.ctx, pages, nil)
		w.failed(err)
		pages = slices.DeleteFunc(pages, func(p *Page) bool { return p.Err == nil })
	}
	rel := &Release{Slot: acq.Slot, Token: acq.Token, Crawls: []*Crawl{w.c}, State: acq.State}
	if !w.failed(w.f.Do(w.ctx, rel)) {
		w.failed(rel.Err)
	}
}

// requireExact requires every page's item once, whatever came late, and all counts right.
func (w *webCrawl) requireExact(what string) {
	w.t.Helper()
	var want, hosts []string
	for h := range webHosts {
		hosts = append(hosts, host(h))
		for p := range webPages {
			want = append(want, `"`+webURL(h, p)+`"`)
		}
	}
	got := w.direct.LRange(w.ctx, w.c.spec.ItemsKey, 0, -1).Val()
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(w.t, want, got, what)
	direct := w.f.rdb
	w.f.rdb = w.direct
	defer func() { w.f.rdb = direct }()
	audits, err := w.c.Audit(w.ctx, hosts...)
	require.NoError(w.t, err)
	for _, a := range audits {
		require.Empty(w.t, a.Broken, "%s: %+v", what, a)
		require.Zero(w.t, a.Counts.Scheduled(), "%s: %+v", what, a)
	}
}

// A broken reply in the middle of a pipeline is that step's alone.
func TestBrokenReplyInAPipeline(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	proxy := redistest.NewFaulty(t, server)
	for i, r := range brokenReplies {
		w := newWebCrawl(t, server, proxy, fmt.Sprint("c", i))
		for h := range webHosts {
			_, _, err := w.s.Enqueue(w.ctx, []Link{webLink(w.c, h, 0)})
			require.NoError(t, err)
		}
		var ops []Op
		var tokens []string
		for h := range webHosts {
			acq := &Acquire{Slot: host(h), Crawls: []*Crawl{w.c}}
			require.NoError(t, w.f.Do(w.ctx, acq))
			require.NoError(t, acq.Err)
			tokens = append(tokens, acq.Token)
		}
		for h := range webHosts {
			ops = append(ops, &Lease{Slot: host(h), Token: tokens[h], Crawl: w.c, Max: 4})
		}
		proxy.Inject(redistest.Fault{Call: "lease", Skip: 1, Reply: r})
		require.NoError(t, w.f.Do(w.ctx, ops...))
		for h, op := range ops {
			le, _ := op.(*Lease)
			word := wordOf(r)
			if h == 1 && word != "NOSCRIPT" { // that is loaded and done again
				require.ErrorContains(t, le.Err, word)
				require.Empty(t, le.Requests)
				continue
			}
			require.NoError(t, le.Err, r)
			require.Len(t, le.Requests, 1, r)
		}
	}
}

// A page whose links are refused is not committed, and the others are.
func TestBrokenReplyStopsThePagesConcerned(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	proxy := redistest.NewFaulty(t, server)
	w := newWebCrawl(t, server, proxy, "c")
	_, _, err := w.s.Enqueue(w.ctx, []Link{webLink(w.c, 0, 0), webLink(w.c, 0, 1)})
	require.NoError(t, err)
	acq := &Acquire{Slot: host(0), Crawls: []*Crawl{w.c}}
	require.NoError(t, w.f.Do(w.ctx, acq))
	le := &Lease{Slot: host(0), Token: acq.Token, Crawl: w.c, Max: 4}
	require.NoError(t, w.f.Do(w.ctx, le))
	require.Len(t, le.Requests, 2)
	pages := make([]*Page, 2)
	for i, l := range le.Requests {
		pages[i] = &Page{Crawl: w.c, Host: l.Host, ID: l.Request.ID, Token: l.Token, Items: []crawl.Item{{JSON: []byte("1")}}}
	}
	pages[0].Links = []Link{webLink(w.c, 1, 0)}
	for _, r := range brokenReplies {
		if wordOf(r) == "NOSCRIPT" {
			continue
		}
		w.f.seen = newSeenCache(0)
		proxy.Inject(redistest.Fault{Call: "enqueue", Reply: r})
		_, err = w.s.Commit(w.ctx, pages, nil)
		require.NoError(t, err)
		var se *StoreError
		require.ErrorAs(t, pages[0].Err, &se)
		require.Equal(t, r, se.Reply)
		require.NoError(t, pages[1].Err)
	}
	require.True(t, pages[1].Gone, "it was committed the first time")
	_, err = w.s.Commit(w.ctx, pages[:1], nil)
	require.NoError(t, err)
	require.NoError(t, pages[0].Err)
	require.False(t, pages[0].Gone)
	require.EqualValues(t, 2, w.direct.LLen(w.ctx, "c:items").Val())
}

// A store that is full refuses what is new and lets go of what is done; with more
// memory the crawl is complete and exact.
func TestStoreIsFull(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	proxy := redistest.NewFaulty(t, server)
	for _, full := range []int{0, 1, 2, 3, 5} { // rounds of visits before it is
		w := newWebCrawl(t, server, proxy, fmt.Sprint("c", full))
		w.seeds()
		for range full {
			for h := range webHosts {
				w.visit(h)
			}
		}
		before := w.errs
		require.NoError(t, w.direct.ConfigSet(w.ctx, "maxmemory", "1").Err())
		for range 3 {
			w.seeds()
			for h := range webHosts {
				w.visit(h)
			}
			_, err := w.c.Finish(w.ctx)
			w.failed(err)
		}
		require.Greater(t, w.errs, before)
		_, _, err := w.s.Enqueue(w.ctx, []Link{webLink(w.c, 0, 99)})
		var se *StoreError
		require.ErrorAs(t, err, &se)
		require.Contains(t, se.Reply, "OOM")
		require.NoError(t, w.direct.ConfigSet(w.ctx, "maxmemory", "0").Err())
		w.crawl()
		w.requireExact(fmt.Sprint("full after ", full))
	}
}
