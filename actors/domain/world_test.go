package domain

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"orbweaver/core/cookies"
	"orbweaver/core/invariant"
	"orbweaver/core/rqueue"
	"orbweaver/core/throttle"
	"orbweaver/internal/actortest"
	"orbweaver/messages"
)

// world is a node in a bubble: real `domains` and domains, and a scheduler, sites
// and a pipeline of the tests.
type world struct {
	*testing.T
	sys     *actor.ActorSystem
	cfg     Config
	table   *Table
	store   *store
	site    *site
	door    *door
	pipe    *pipe
	domains *actor.PID
	logs    *logtest.Hook
	start   time.Time
	places  *places
	jars    *cookies.Jars // of every crawl; nil: none. Set before the first wake
	persist bool

	scheduler, pipeline *actor.PID
}

// exact is a config whose delay is fixed.
func exact(delay time.Duration, concurrency int) Config {
	c := Config{}.WithDefaults()
	c.Throttle = throttle.Default()
	c.Throttle.SlowStart = false // tests of the ramp turn it on
	c.Throttle.AutoThrottleEnabled, c.Throttle.RandomizeDownloadDelay = false, false
	c.Throttle.DownloadDelay, c.Throttle.ConcurrentRequestsPerDomain = delay, concurrency
	return c
}

// inBubble runs a test with a node. When it ends everything is stopped, and the
// table must be empty unless abandoned says that the test cut fetches off.
func inBubble(t *testing.T, cfg Config, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, cfg, 1000)
		defer w.end()
		test(w)
	})
}

func newWorld(t *testing.T, cfg Config, credits int) *world {
	log, hook := logtest.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	w := &world{T: t, sys: actortest.NewSystem(), cfg: cfg, table: NewTable(credits), store: newStore(t, cfg.TTL), logs: hook, start: time.Now(), places: newPlaces()}
	w.site = &site{
		t: t, store: w.store, open: map[string]int{}, tries: map[string]int{},
		behave: func(string, int) answer { return answer{latency: 100 * time.Millisecond, status: 200} },
	}
	w.domains = w.sys.NewLocalPID(messages.DomainsName)
	w.door = &door{store: w.store, domains: w.domains}
	w.pipe = &pipe{store: w.store, domains: w.domains, settle: func(p *messages.Page) (time.Duration, time.Duration) { return time.Millisecond, 0 }}
	w.scheduler = w.sys.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return w.door }))
	w.pipeline = w.sys.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return w.pipe }))
	deps := Deps{
		Scheduler: w.scheduler, Pipeline: w.pipeline, Table: w.table, Log: log, StoreChanges: w.store.storeChanges,
		Fetcher:  actor.PropsFromProducer(func() actor.Actor { return &fetcher{w.site, w.pipeline} }),
		NewConns: func() messages.Conns { return newConns() },
		Places:   w.places,
		Crawl:    w.store.crawlOf,
		Cookies:  func(*rqueue.Crawl) (*cookies.Jars, bool) { return w.jars, w.persist },
		Checks:   invariant.New(func(n invariant.Name, detail string) { t.Errorf("%s: %s", n, detail) }),
	}
	require.NoError(t, cfg.Validate())
	_, err := w.sys.Root.SpawnNamed(actor.PropsFromProducer(func() actor.Actor { return NewSupervisor(cfg, deps) }), messages.DomainsName)
	require.NoError(t, err)
	return w
}

// end stops the actors, those that are asked last.
func (w *world) end() {
	actortest.Stop(w, w.sys, w.domains)
	actortest.Stop(w, w.sys, w.scheduler)
	w.pass(time.Minute) // what is on its way arrives nowhere
	actortest.Stop(w, w.sys, w.pipeline)
	w.pass(time.Minute)
	require.Empty(w, w.table.Waits(), "nobody waits any more")
}

// pass lets virtual time pass and waits until everything that is due has happened.
func (w *world) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// until lets time pass, at most an hour, until cond holds.
func (w *world) until(what string, cond func() bool) {
	w.Helper()
	for range 3600 * 20 {
		synctest.Wait()
		if cond() {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	w.Fatalf("not within an hour: %s", what)
}

// done waits until every request is done or dead.
func (w *world) allDone() {
	w.Helper()
	w.until("all requests are done", func() bool {
		w.store.mu.Lock()
		defer w.store.mu.Unlock()
		for _, r := range w.store.all {
			if !r.done && !r.dead {
				return false
			}
		}
		return true
	})
}

// seed enqueues n requests at a host and wakes its domain.
func (w *world) seed(c *rqueue.Crawl, host string, n int) {
	urls := make([]string, n)
	for i := range urls {
		urls[i] = fmt.Sprintf("http://%s/%d", host, i)
	}
	w.store.enqueue(c, host, urls...)
	w.wake(c, host)
}

func (w *world) wake(c *rqueue.Crawl, host string) {
	w.sys.Root.Send(w.domains, &messages.Wake{Refs: []rqueue.HostRef{{Crawl: c, Host: host}}})
}

// snapshot asks a domain; the domain must live.
func (w *world) snapshot(host string) *Snapshot {
	w.Helper()
	for _, c := range w.live() {
		if c.Slot == host {
			return actortest.Ask[*Snapshot](w, w.sys, c.PID, &messages.Inspect{})
		}
	}
	w.Fatalf("no domain %s", host)
	return nil
}

func (w *world) live() []Child {
	w.Helper()
	return actortest.Ask[*SupervisorSnapshot](w, w.sys, w.domains, &messages.Inspect{}).Domains
}

// send gives a message to a domain as one of its neighbours would.
func (w *world) send(host string, msg any) {
	w.Helper()
	for _, c := range w.live() {
		if c.Slot == host {
			w.sys.Root.Send(c.PID, msg)
			return
		}
	}
	w.Fatalf("no domain %s", host)
}

// panics makes a domain panic: no step is nil.
func (w *world) panics(host string) {
	w.Helper()
	w.send(host, &messages.Done{Ops: []rqueue.Op{(*rqueue.GiveBack)(nil)}})
}

// fault is what the store does to a pipeline of steps.
type fault uint8

const (
	works   fault = iota
	refuses       // an error, and nothing is carried out
	loses         // carried out, and the answer is lost
	silent        // no answer for ten seconds, and nothing is carried out
)

// door stands for the scheduler. With poll it wakes the domains that are due.
type door struct {
	store   *store
	domains *actor.PID
	fault   atomic.Uint32
	took    func() time.Duration // of one pipeline; nil: none
	poll    time.Duration
	timer   *time.Timer
}

// pollDue is the door's timer.
type pollDue struct{}

// startPoll starts reading the due index.
type startPoll struct{ every time.Duration }

func (d *door) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *messages.Do:
		d.do(ctx, msg)
	case startPoll:
		d.poll = msg.every
		d.arm(ctx)
	case pollDue:
		if refs := d.store.due(time.Now()); len(refs) > 0 {
			ctx.Send(d.domains, &messages.Wake{Refs: refs})
		}
		d.arm(ctx)
	case *actor.Stopping:
		if d.timer != nil {
			d.timer.Stop()
		}
	}
}

func (d *door) arm(ctx actor.Context) {
	root, self := ctx.ActorSystem().Root, ctx.Self()
	d.timer = time.AfterFunc(d.poll, func() { root.Send(self, pollDue{}) })
}

func (d *door) do(ctx actor.Context, msg *messages.Do) {
	asked, to, root := time.Now(), ctx.Sender(), ctx.ActorSystem().Root
	var took time.Duration
	if d.took != nil {
		took = d.took()
	}
	run := func(f fault) {
		if f == works || f == loses {
			d.store.do(msg.Ops, asked)
		}
		if f != works {
			for _, op := range msg.Ops {
				setErr(op, errStore)
			}
		}
	}
	answer := func() { root.Send(to, &messages.Done{Ops: msg.Ops}) }
	f := fault(d.fault.Load())
	switch {
	case f == silent:
		time.AfterFunc(10*time.Second, func() { run(refuses); answer() })
	case took <= 0:
		run(f)
		answer()
	default:
		time.AfterFunc(took/2, func() {
			run(f)
			time.AfterFunc(took-took/2, answer)
		})
	}
}

func (w *world) setFault(f fault) { w.door.fault.Store(uint32(f)) }

// pipe stands for the pipeline: a page that is good is done, another waits again.
type pipe struct {
	store   *store
	domains *actor.PID
	// settle says how long a page takes to be committed, and after how long it is
	// tried again; 0: it is done.
	settle func(*messages.Page) (took, retryIn time.Duration)
	held   atomic.Bool // pages are kept and never committed
	pages  []*messages.Page
	gone   int
}

// settled is a page whose commit is over.
type settled struct {
	page    *messages.Page
	retryIn time.Duration
}

func (p *pipe) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *messages.Page:
		p.pages = append(p.pages, msg)
		if p.held.Load() {
			return
		}
		took, retryIn := p.settle(msg)
		root, self := ctx.ActorSystem().Root, ctx.Self()
		time.AfterFunc(took, func() { root.Send(self, &settled{msg, retryIn}) })
	case *settled:
		l := msg.page.Lease
		if !p.store.commit(l, msg.retryIn) {
			p.gone++
		}
		ctx.Send(p.domains, &messages.Settled{Pages: []messages.SettledPage{{Crawl: l.Crawl, Slot: msg.page.Slot, ID: l.Request.ID, Page: msg.retryIn == 0}}})
	case *messages.Inspect:
		ctx.Respond(append([]*messages.Page(nil), p.pages...))
	}
}

// pages gives the pages that reached the pipeline.
func (w *world) pages() []*messages.Page {
	w.Helper()
	return actortest.Ask[[]*messages.Page](w, w.sys, w.pipeline, &messages.Inspect{})
}

// seconds are times from the start.
func secs(s ...float64) []time.Duration {
	out := make([]time.Duration, len(s))
	for i := range s {
		out[i] = time.Duration(math.Round(s[i] * float64(time.Second)))
	}
	return out
}

// newCrawl is a crawl as far as domains know it: a pointer.
func newCrawl() *rqueue.Crawl { return new(rqueue.Crawl) }

var _ messages.Conns = (*conns)(nil)
