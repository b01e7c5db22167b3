package rqueue

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
)

// The crash test: a few simulated nodes crawl a small web through the real
// scripts while processes are killed and frozen, connections cut, replies lost,
// the store restarted without its last moments and its clock set, between any
// two steps. world is the store, the time and the judge; crasher is a node.
//
//	go test -run TestCrashes -crash.seed 17        one schedule again
//	ORBWEAVER_CRASH_RUNS=5000 go test -run TestCrashes

var crashSeed = flag.Uint64("crash.seed", 0, "run this one schedule of TestCrashes")

const (
	crashHosts  = 2
	crashURLs   = 30
	crashSteps  = 800
	crashTTL    = 3 * time.Second
	crashMargin = 500 * time.Millisecond
)

func TestCrashes(t *testing.T) {
	t.Parallel()
	runs := 15
	if s := os.Getenv("ORBWEAVER_CRASH_RUNS"); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		runs = n
	}
	first := uint64(1)
	if *crashSeed != 0 {
		first, runs = *crashSeed, 1
	}
	for _, v := range []struct {
		name        string
		real, alone bool
	}{{"redis", true, false}, {"mini", false, false}, {"alone", true, true}} {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			var rdb *redis.Client
			if v.real {
				rdb = redistest.New(t).Client()
			} else {
				rdb = redistest.NewMini(t).Client()
			}
			runs := runs
			if !v.real { // some twenty times slower
				runs = (runs + 4) / 5
			}
			for i := range runs {
				newWorld(t, rdb, first+uint64(i), v.real, v.alone).run() //nolint:gosec // positive
			}
		})
	}
}

type world struct {
	t     *testing.T
	ctx   context.Context //nolint:containedctx // of the test
	rng   *rand.Rand
	seed  uint64
	rdb   *redis.Client
	real  bool // the store can be restarted: it is a redis-server
	alone bool // one node, alone with its store

	now, offset int64 // ms; the store's clock is ahead by offset
	clockSet    int64 // when
	restarts    int
	restartedAt int64
	snapshot    []string // key, dump, ...: what the store will remember; nil: no restart soon
	finishes    map[string]int
	reopened    int

	links  [crashURLs][]int
	nodes  []*crasher
	incs   int
	quiet  bool        // faults are over
	limit  int         // requests in flight at a host
	lazy   int         // of 8 chances to renew, so many are not taken
	rate   int         // of 500 steps, so many are faults
	faults []faultKind // of these kinds

	lastStart, lastDelay, lastTouch [crashHosts]int64 // of the site's last request
	lastInc                         [crashHosts]int
	trace                           []string
}

type faultKind int

const (
	faultNone faultKind = iota
	faultKill
	faultFreeze
	faultCut
	faultClock
	faultRestart
	faultFlush
)

func newWorld(t *testing.T, rdb *redis.Client, seed uint64, onRedis, alone bool) *world {
	t.Helper()
	w := &world{
		t: t, ctx: t.Context(), rng: rand.New(rand.NewPCG(seed, 7)), seed: seed, rdb: rdb, real: onRedis, alone: alone, //nolint:gosec // replayable
		now: 1_700_000_000_000, finishes: map[string]int{},
	}
	require.NoError(t, rdb.FlushAll(w.ctx).Err())
	require.NoError(t, rdb.ScriptFlush(w.ctx).Err())
	w.restartedAt = w.now - time.Hour.Milliseconds()
	for h := range w.lastStart {
		w.lastStart[h] = w.now - time.Hour.Milliseconds()
	}
	w.limit, w.lazy = 1+w.rng.IntN(2), w.rng.IntN(8)
	w.rate = 2 + w.rng.IntN(20)
	for range 1 + w.rng.IntN(3) {
		w.faults = append(w.faults, faultKill+faultKind(w.rng.IntN(int(faultFlush))))
	}
	for u := range w.links { // each page but the first two has a page that links to it
		if u >= 2 {
			from := w.rng.IntN(u)
			w.links[from] = append(w.links[from], u)
		}
		for w.rng.IntN(3) == 0 {
			w.links[u] = append(w.links[u], w.rng.IntN(crashURLs))
		}
	}
	w.sow()
	n := 2 + w.rng.IntN(2)
	if alone {
		n = 1
	}
	for range n {
		nd := &crasher{w: w}
		nd.start()
		w.nodes = append(w.nodes, nd)
	}
	return w
}

// sow pushes the start messages.
func (w *world) sow() {
	require.NoError(w.t, w.rdb.RPush(w.ctx, "c:start_urls", "0", "1").Err())
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	from := max(len(w.trace)-120, 0)
	require.FailNow(w.t, fmt.Sprintf(format, args...), "seed %d (-crash.seed), after\n%s", w.seed, strings.Join(w.trace[from:], "\n"))
}

func (w *world) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%8d ", w.now-1_700_000_000_000)+fmt.Sprintf(format, args...))
}

func (w *world) run() {
	w.t.Helper()
	for i := range crashSteps {
		w.step()
		if i%20 == 0 {
			w.check()
		}
	}
	w.quiet = true
	w.note("faults are over")
	for _, n := range w.nodes {
		n.cut = false
		n.thaw()
	}
	for i := 0; ; i++ {
		if w.over() {
			break
		}
		if i == 3000 {
			w.fail("stuck: %s", w.rest())
		}
		w.pass(50 + w.rng.Int64N(150))
		for _, n := range w.nodes {
			for range 4 {
				if acts := n.actions(); len(acts) > 0 {
					acts[w.rng.IntN(len(acts))].do()
				}
			}
		}
	}
	w.check()
	for _, n := range w.nodes {
		_ = n.s.Close()
	}
}

// step does one thing, mostly work, sometimes a fault.
func (w *world) step() {
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	r := w.rng.IntN(1000)
	fault := faultNone
	if r >= 200 && r < 200+2*w.rate {
		fault = w.faults[w.rng.IntN(len(w.faults))]
	}
	switch {
	case r < 200:
		w.pass(1 + w.rng.Int64N(400))
	case fault == faultKill:
		w.note("kill n%d", n.inc)
		n.start()
	case fault == faultFreeze && !w.alone:
		if n.frozen {
			n.thaw()
		} else {
			w.note("freeze n%d", n.inc)
			n.frozen = true
		}
	case fault == faultCut:
		n.cut = !n.cut
		w.note("cut n%d %v", n.inc, n.cut)
	case fault == faultClock && !w.alone && w.now-w.clockSet > crashTTL.Milliseconds()+2000:
		w.offset += []int64{-4000, 4000}[w.rng.IntN(2)]
		w.clockSet = w.now
		w.note("clock of the store %+d", w.offset)
	case fault == faultRestart && w.snapshot != nil:
		w.restart()
	case fault == faultFlush && w.rng.IntN(4) == 0:
		n.flush()
	default:
		acts := n.actions()
		if len(acts) > 0 {
			act := acts[w.rng.IntN(len(acts))]
			for _, a := range acts { // what the site sees is what matters
				if strings.HasPrefix(a.name, "send") && w.rng.IntN(2) == 0 {
					act = a
				}
			}
			if act.store && w.rng.IntN(1000) < 2*w.rate {
				n.breaks = 1 + w.rng.IntN(2)
				n.after = w.rng.IntN(2) == 0
			}
			w.note("n%d %s break %d %v", n.inc, act.name, n.breaks, n.after)
			act.do()
			n.breaks = 0
			if act.store && w.rng.IntN(1000) < w.rate {
				w.note("kill n%d after that", n.inc)
				n.start()
			}
		}
	}
}

// pass lets time go by. The store remembers what was at the end of the last second.
func (w *world) pass(ms int64) {
	for ms > 0 {
		step := min(ms, 200)
		ms -= step
		w.now += step
		for _, n := range w.nodes {
			n.alive()
		}
	}
	w.snapshot = nil
	if w.real && !w.alone && !w.quiet && w.forgets() {
		w.snapshot = w.dump()
	}
}

// forgets tells whether the store may be restarted before time goes on.
func (w *world) forgets() bool {
	return slices.Contains(w.faults, faultRestart) && w.rng.IntN(3) > 0
}

func (w *world) dump() []string {
	all, err := w.rdb.Eval(w.ctx, `local o = {}
		for _, k in ipairs(redis.call('KEYS', '*')) do o[#o + 1] = k; o[#o + 1] = redis.call('DUMP', k) end
		return o`, nil).StringSlice()
	require.NoError(w.t, err)
	return append([]string{""}, all...)
}

// restart is a store that comes back without what it had not written yet.
func (w *world) restart() {
	w.note("restart of the store")
	pipe := w.rdb.TxPipeline()
	pipe.FlushAll(w.ctx)
	for i := 1; i < len(w.snapshot); i += 2 {
		pipe.Restore(w.ctx, w.snapshot[i], 0, w.snapshot[i+1])
	}
	pipe.ScriptFlush(w.ctx)
	_, err := pipe.Exec(w.ctx)
	require.NoError(w.t, err)
	w.restarts++
	w.restartedAt, w.snapshot = w.now, nil
	for _, n := range w.nodes { // their connections are gone; they learn so at the next use
		if n.s != nil && n.s.conn != nil {
			n.wrap().dead = true
		}
	}
}

func (w *world) identity() identity {
	id := strconv.Itoa(w.restarts)
	return identity{runID: "run" + id, replID: "repl" + id, uptime: time.Duration(w.now-w.restartedAt) * time.Millisecond}
}

// start judges a request that is sent.
func (w *world) start(n *crasher, h int, u string) {
	d := &n.dom[h]
	flying := 0
	for _, o := range w.nodes {
		for _, f := range o.inflight {
			if f.host == h && !o.frozen {
				flying++
			}
		}
	}
	if flying >= w.limit {
		w.fail("%d requests in flight at %s when n%d sends %s", flying+1, crashHost(h), n.inc, u)
	}
	if gap, need := w.now-w.lastStart[h], min(w.lastDelay[h], w.lastTouch[h]); gap < need {
		w.fail("n%d sends %s %d ms after the last start at %s, want %d", n.inc, u, gap, crashHost(h), need)
	}
	w.lastStart[h], w.lastDelay[h], w.lastTouch[h], w.lastInc[h] = w.now, d.delay, d.delay, n.inc
}

// store reads the ends of all requests of a run: urls done, urls dead.
func (w *world) ends(run string) (done, dead map[string]bool) {
	done, dead = map[string]bool{}, map[string]bool{}
	items, err := w.rdb.LRange(w.ctx, "c:items", 0, -1).Result()
	require.NoError(w.t, err)
	seen := map[string]bool{}
	for _, it := range items {
		if seen[it] {
			w.fail("item %s is stored twice", it)
		}
		seen[it] = true
		f := strings.Fields(it)
		if f[0] == run {
			done[f[2]] = true
		}
	}
	c := w.nodes[0].c
	for h := range crashHosts {
		letters, err := c.Dead(w.ctx, crashHost(h), 1000)
		require.NoError(w.t, err)
		for _, l := range letters {
			dead[l.Request.URL] = true
		}
	}
	return done, dead
}

// check compares the store with its invariants.
func (w *world) check() {
	w.t.Helper()
	run, err := w.rdb.HGet(w.ctx, "c:state", "run").Result()
	require.NoError(w.t, err)
	if w.rdb.HExists(w.ctx, "c:state", "flush").Val() { // in pieces, until somebody completes it
		return
	}
	done, _ := w.ends(run)
	_ = done
	c := w.nodes[0].c
	var sum Counts
	for h := range crashHosts {
		n, err := c.HostCounts(w.ctx, crashHost(h))
		require.NoError(w.t, err)
		if n.Waiting+n.Delayed+n.Leased+n.Done+n.Dead != n.Seen {
			w.fail("%s is out of balance: %+v", crashHost(h), n)
		}
		letters, err := c.Dead(w.ctx, crashHost(h), 1000)
		require.NoError(w.t, err)
		parked := 0
		for _, l := range letters {
			if strings.HasPrefix(l.Cause, parkedCause) {
				parked++
			}
		}
		if got, _ := w.rdb.HGet(w.ctx, text(c.keys.host(crashHost(h)).meta), "parked").Int(); got != parked {
			w.fail("%s has %d parked letters and counts %d", crashHost(h), parked, got)
		}
		sh := shardIn(fnvShard(4), crashHost(h), 4)
		_, err = w.rdb.ZScore(w.ctx, fmt.Sprintf("c:{%d}:hosts", sh), crashHost(h)).Result()
		if indexed := err == nil; indexed != (n.Scheduled() > 0) {
			w.fail("%s is indexed %v with %+v", crashHost(h), indexed, n)
		}
		sum.Waiting += n.Waiting
		sum.Delayed += n.Delayed
		sum.Leased += n.Leased
		sum.Done += n.Done
		sum.Dead += n.Dead
		sum.Seen += n.Seen
		sum.Lost += n.Lost
	}
	all, err := c.Counts(w.ctx)
	require.NoError(w.t, err)
	if all != sum {
		w.fail("totals %+v, hosts add up to %+v", all, sum)
	}
}

// declared judges a crawl that a node finished.
func (w *world) declared(run string) {
	w.check()
	done, dead := w.ends(run)
	owed := map[int]bool{0: true, 1: true}
	for again := true; again; {
		again = false
		for u := range owed {
			if !done[crashURL(u)] {
				continue
			}
			for _, v := range w.links[u] {
				if !owed[v] {
					owed[v], again = true, true
				}
			}
		}
	}
	for u := range owed {
		if !done[crashURL(u)] && !dead[crashURL(u)] {
			w.fail("finished, and %s is neither done nor dead", crashURL(u))
		}
	}
	n, err := w.nodes[0].c.Counts(w.ctx)
	require.NoError(w.t, err)
	if n.Scheduled() != 0 || w.rdb.Exists(w.ctx, "c:start_urls", "{c:start_urls}:taken").Val() != 0 {
		w.fail("finished with %+v", n)
	}
	key := fmt.Sprint(run, w.restarts, w.reopened) // what may make a finished crawl run again
	w.finishes[key]++
	if w.finishes[key] > 1 {
		w.fail("finished twice")
	}
}

func (w *world) over() bool {
	s, err := w.rdb.HGet(w.ctx, "c:state", "state").Result()
	require.NoError(w.t, err)
	return s == "finished"
}

// rest describes what a stuck crawl still holds.
func (w *world) rest() string {
	out := fmt.Sprint(w.rdb.HGetAll(w.ctx, "c:state").Val(), w.rdb.HGetAll(w.ctx, "{c:start_urls}:taken").Val())
	for h := range crashHosts {
		n, _ := w.nodes[0].c.HostCounts(w.ctx, crashHost(h))
		out += fmt.Sprintf("\n%s %+v %v", crashHost(h), n, w.rdb.HGetAll(w.ctx, text(w.nodes[0].f.slotKey(crashHost(h)))).Val())
		for _, nd := range w.nodes {
			out += fmt.Sprintf("\n  n%d %+v", nd.inc, nd.dom[h])
		}
	}
	return out
}
