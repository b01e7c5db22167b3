package domain

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/core/weburl"
	"orbweaver/messages"
)

// scenario is one crawl in bad weather.
type scenario struct {
	cfg      Config
	credits  int
	hosts    int
	crawls   int
	requests int // at each host, of each crawl
	seed     uint64
	bad      int // in 100 answers
	slowest  time.Duration
	dial     time.Duration
	store    time.Duration // the slowest answer of the store
	led      bool          // the robots.txt of each host is at the next
	events   []event
}

// event is what happens to a node at some time.
type event struct {
	at   time.Duration
	kind string
	host int
	long time.Duration
}

func (e event) String() string { return fmt.Sprintf("%s %s h%d for %s", e.at, e.kind, e.host, e.long) }

var eventKinds = []string{"panic", "panic", "refuses", "loses", "silent", "forgets", "wake", "domains panics", "more"}

func millis(rt *rapid.T, name string, least, most int) time.Duration {
	return time.Duration(rapid.IntRange(least, most).Draw(rt, name)) * time.Millisecond
}

func drawScenario(rt *rapid.T) scenario {
	s := scenario{
		cfg:      exact(0, rapid.IntRange(1, 4).Draw(rt, "concurrency")),
		credits:  rapid.SampledFrom([]int{2, 5, 1000}).Draw(rt, "credits"),
		hosts:    rapid.IntRange(1, 3).Draw(rt, "hosts"),
		crawls:   rapid.IntRange(1, 2).Draw(rt, "crawls"),
		requests: rapid.IntRange(1, 20).Draw(rt, "requests"),
		seed:     rapid.Uint64().Draw(rt, "seed"),
		bad:      rapid.SampledFrom([]int{0, 5, 30}).Draw(rt, "bad"),
		slowest:  millis(rt, "slowest", 1, 4000),
		dial:     millis(rt, "dial", 0, 600),
		store:    millis(rt, "store", 0, 300),
	}
	t := &s.cfg.Throttle
	t.DownloadDelay = rapid.SampledFrom([]time.Duration{0, 50 * time.Millisecond, 700 * time.Millisecond, 2 * time.Second, 12 * time.Second}).Draw(rt, "delay")
	t.AutoThrottleEnabled = rapid.Bool().Draw(rt, "autothrottle")
	t.AutoThrottleStartDelay = rapid.SampledFrom([]time.Duration{10 * time.Millisecond, time.Second, 5 * time.Second}).Draw(rt, "start")
	t.AutoThrottleTargetConcurrency = rapid.SampledFrom([]float64{0.5, 1, 3}).Draw(rt, "target")
	t.RandomizeDownloadDelay = rapid.Bool().Draw(rt, "randomize")
	t.BackoffBase = rapid.SampledFrom([]time.Duration{0, 500 * time.Millisecond}).Draw(rt, "backoff")
	t.BackoffMax, t.CircuitOpenMax = 20*time.Second, 40*time.Second // all ends within the hour
	t.CircuitFailures = rapid.SampledFrom([]int{0, 3}).Draw(rt, "circuit")
	s.cfg.RobotsObey, s.cfg.RobotsAgent = rapid.Bool().Draw(rt, "robots"), "orbweaver"
	s.led = rapid.Bool().Draw(rt, "led")
	s.events = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) event {
		return event{millis(rt, "at", 0, 60_000), rapid.SampledFrom(eventKinds).Draw(rt, "kind"), rapid.IntRange(0, 2).Draw(rt, "host"), millis(rt, "long", 1, 15_000)}
	}), 0, 6).Draw(rt, "events")
	slices.SortFunc(s.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return s
}

// faults collects what the fakes find.
type faults struct {
	mu    sync.Mutex
	found []string // guarded by mu
}

func (f *faults) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.found = append(f.found, fmt.Sprintf(format, args...))
}

// Whatever sites, store and panics do: no request starts sooner than the rule
// allows, there are never more in flight than the limit, the stored next start
// covers every send, and every request ends once.
func TestPoliteAndComplete(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScenario(rt)
		found := &faults{}
		synctest.Test(t, func(t *testing.T) { s.run(t, found) })
		if len(found.found) > 0 {
			rt.Fatalf("%d faults, the first: %s", len(found.found), strings.Join(found.found[:min(3, len(found.found))], "\n"))
		}
	})
}

func (s *scenario) run(t *testing.T, found *faults) {
	w := newWorld(t, s.cfg, s.credits)
	defer w.end()
	w.store.t, w.site.t = found, found
	s.weather(w)
	crawls := []*rqueue.Crawl{newCrawl(), newCrawl()}[:s.crawls]
	host := func(i int) string { return fmt.Sprintf("h%d.test", i%s.hosts) }
	for i := range s.hosts {
		for j, c := range crawls {
			w.store.enqueue(c, host(i), urls(fmt.Sprintf("http://%s/%d-", host(i), j), s.requests)...)
		}
	}
	w.sys.Root.Send(w.scheduler, startPoll{100 * time.Millisecond})
	var panics []time.Duration
	restarted := false
	for n, e := range s.events {
		w.pass(max(0, e.at-time.Since(w.start)))
		switch e.kind {
		case "panic":
			panics = append(panics, time.Since(w.start))
			for _, c := range w.live() {
				if c.Slot == host(e.host) {
					w.panics(c.Slot)
				}
			}
		case "domains panics":
			restarted = true
			panics = append(panics, time.Since(w.start))
			w.sys.Root.Send(w.domains, (*messages.Settled)(nil))
		case "refuses", "loses", "silent":
			f := map[string]fault{"refuses": refuses, "loses": loses, "silent": silent}[e.kind]
			w.setFault(f)
			w.pass(e.long)
			w.setFault(works)
		case "forgets":
			w.store.change(func() { w.store.forget(time.Second) })
		case "wake":
			w.wake(crawls[0], host(e.host))
		case "more":
			w.store.enqueue(crawls[0], host(e.host), fmt.Sprintf("http://%s/more%d", host(e.host), n))
		}
	}
	if !w.ends() {
		waiting, delayed, leased, done := w.store.left()
		found.Errorf("after an hour waiting %d, delayed %d, leased %d, done %d, in flight %d", waiting, delayed, leased, done, w.table.InFlight())
		for _, c := range w.live() {
			found.Errorf("%+v: %+v", c, w.snapshot(c.Slot))
		}
		return
	}
	w.pass(s.cfg.TTL) // the lease of a domain that was cut off lapses
	s.judge(w, found, panics, restarted)
}

// forget undoes what was stored of every slot's next start in the last while.
func (s *store) forget(while time.Duration) {
	s.changes++
	s.quarantine = time.Now().Add(s.ttl)
	for _, k := range s.slots {
		k.next = k.next.Add(-while)
	}
}

// ends waits until everything is done and every domain has left.
func (w *world) ends() bool {
	for range 3600 {
		w.pass(time.Second)
		waiting, delayed, leased, _ := w.store.left()
		if waiting+delayed+leased == 0 && len(w.live()) == 0 {
			return true
		}
	}
	return false
}

// weather makes sites, store and pipeline behave by chance.
func (s *scenario) weather(w *world) {
	rnd := rand.New(rand.NewPCG(s.seed, 1)) //nolint:gosec // a test
	var mu sync.Mutex
	upTo := func(d time.Duration) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(rnd.Int64N(int64(d) + 1))
	}
	w.door.took = func() time.Duration { return upTo(s.store) }
	w.site.behave = func(url string, _ int) answer {
		a := answer{dial: upTo(s.dial), latency: upTo(s.slowest) + 1, status: 200}
		switch name := url[strings.LastIndexByte(url, '/')+1:]; {
		case name == "robots.txt" && s.led:
			a.status, a.location = 301, fmt.Sprintf("http://h%c.test/rules", '0'+(url[len("http://h")]-'0'+1)%3)
		case name == "robots.txt", name == "rules":
			a.body = "User-agent: *\nDisallow: /0-3\nCrawl-delay: 1\n"
		}
		if int(upTo(99)) >= s.bad {
			return a
		}
		switch upTo(6) {
		case 0:
			a.status, a.retryAfter = 503, strconv.Itoa(int(upTo(20)))
		case 1:
			a.status = 429
		case 2:
			a.status = 500
		case 3:
			a.cause = crawl.CauseTimeout
		case 4:
			a.cause, a.unsent = crawl.CauseRefused, true
		case 5:
			a.stale = true
		default:
			a.status = 404
		}
		return a
	}
	w.pipe.settle = func(p *messages.Page) (time.Duration, time.Duration) {
		if p.Response.Cause != crawl.CauseNone || p.Response.Status >= 429 {
			return upTo(200*time.Millisecond) + 1, max(p.RetryIn, upTo(5*time.Second)+1)
		}
		return upTo(200*time.Millisecond) + 1, 0
	}
}

// judge looks at what the sites saw.
func (s *scenario) judge(w *world, found *faults, panics []time.Duration, restarted bool) {
	byHost := map[string][]arrival{}
	fetched := map[string]int{}
	for _, a := range w.site.seen() {
		byHost[weburl.Host(a.url)] = append(byHost[weburl.Host(a.url)], a)
		if !a.cancel && !a.answer.stale {
			fetched[a.url]++
		}
	}
	share := 1.0
	if s.cfg.Throttle.RandomizeDownloadDelay {
		share = 0.5
	}
	for host, all := range byHost {
		for i, a := range all {
			if a.inFlight > s.cfg.Throttle.Concurrency() {
				found.Errorf("%s: %d in flight", host, a.inFlight)
			}
			if i == 0 {
				continue
			}
			gap, least := a.at.Sub(all[i-1].at), time.Duration(share*float64(max(a.delay, s.cfg.Throttle.DownloadDelay)))
			if gap < least {
				found.Errorf("%s: %s at %s, %s after the one before, want %s", host, a.url, a.at.Sub(w.start), gap, least)
			}
		}
		s.judgeHolds(w, found, host, all, panics)
	}
	for _, r := range w.store.all {
		if !r.done && !r.dead {
			found.Errorf("%s is not done", r.req.URL)
		}
		if got, want := w.store.commits[r.req.ID], 1+r.tries; got != want {
			found.Errorf("%s ended %d times, want %d", r.req.URL, got, want)
		}
		if n := fetched[r.req.URL]; !restarted && n > 1+r.tries {
			found.Errorf("%s was fetched %d times for %d tries", r.req.URL, n, 1+r.tries)
		}
	}
	if !restarted && w.pipe.gone > 0 {
		found.Errorf("%d pages had lost their lease", w.pipe.gone)
	}
	if n := w.table.InFlight(); n != 0 {
		found.Errorf("%d in flight at the end", n)
	}
	for name, k := range w.store.slots {
		if k.token != "" && k.exp.After(time.Now()) {
			found.Errorf("slot %s is not released", name)
		}
	}
	for name, all := range w.store.hosts {
		for _, h := range all {
			if !h.index.IsZero() {
				found.Errorf("host %s is still in the index", name)
			}
		}
	}
}

// judgeHolds checks that nothing is handed over while a Retry-After lasts, unless
// who was told has panicked since.
func (s *scenario) judgeHolds(w *world, found *faults, host string, all []arrival, panics []time.Duration) {
	for _, a := range all {
		n, _ := strconv.Atoi(a.answer.retryAfter)
		if n == 0 || a.cancel {
			continue
		}
		until := a.ended.Add(time.Duration(n) * time.Second)
		for _, p := range panics {
			if at := w.start.Add(p); !at.Before(a.ended) && at.Before(until) {
				until = at
			}
		}
		for _, b := range all {
			if b.handed.After(a.ended) && b.handed.Before(until) {
				found.Errorf("%s: %s handed over %s after Retry-After: %d", host, b.url, b.handed.Sub(a.ended), n)
			}
		}
	}
}

func TestScenarioIsFair(t *testing.T) {
	// The checks see a crawl that is impolite.
	found := &faults{}
	synctest.Test(t, func(t *testing.T) {
		s := &scenario{cfg: exact(time.Second, 1), credits: 10, hosts: 1, crawls: 1, requests: 3, slowest: 1}
		w := newWorld(t, s.cfg, s.credits)
		defer w.end()
		w.site.arrivals = []*arrival{{url: "http://a.test/1", at: w.start, inFlight: 2}, {url: "http://a.test/2", at: w.start.Add(time.Millisecond)}}
		w.store.enqueue(newCrawl(), "a.test", "http://a.test/1")
		s.judge(w, found, nil, false)
	})
	require.Len(t, found.found, 5, "%q", found.found)
}
