// Package chaos runs a cluster of nodes through faults and judges it by what the
// site saw and by what Redis holds in the end: no request sooner than the delay,
// none more in flight than the limit, no page lost, no item twice. Run is a whole
// run: it starts a Redis, a website of many hosts in 127.1.0.0/16 and the nodes as
// processes of their own, each behind proxies of its own, draws a fault every few
// seconds from a seed, lets the crawl end, and gives a Report.
//
// Every process it starts dies with it.
package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"orbweaver/internal/faultproxy"
)

// Bounds of a run, beside those of its Config.
const (
	startPatience = 90 * time.Second // for the first nodes to be up
	stopPatience  = 45 * time.Second // for a node to end after SIGTERM
	restartPause  = time.Second      // before a node that ended by itself is started again
	stallPatience = 60 * time.Second // without a new item the drain is given up
)

// codeEvicted is the exit code of a node that the others have given up.
const codeEvicted = 5

// run is a run under way. All but posted is confined to the goroutine of loop.
type run struct {
	cfg     Config
	ctx     context.Context //nolint:containedctx // the run's
	start   time.Time
	cluster bool // the node knows membership
	site    *site
	store   *store
	ns      *namespace // of the store; nil: none
	intake  *intake
	members []*member
	lives   map[*process]*life
	leaving map[*process]*Fault
	metrics *metrics
	report  *Report

	freezes   []freeze
	restarts  []int64 // of the store, CLOCK_MONOTONIC ns
	storeBusy bool
	draining  bool
	err       error

	agenda []entry
	posted chan func()
}

// entry is something to do at a time.
type entry struct {
	at time.Time
	do func()
}

// Run does a whole run. The report is what came of it, violations among it; an
// error says that the run itself could not be done.
func Run(ctx context.Context, cfg Config) (report *Report, err error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	// Longer than that no run takes.
	ctx, cancel := context.WithTimeout(ctx, cfg.Duration+cfg.Drain+startPatience+3*stopPatience)
	defer cancel()
	tb := &testbed{ctx: ctx}
	defer tb.close()
	defer func() {
		switch p := recover().(type) {
		case nil:
		case refusal:
			report, err = nil, errors.New(p.text)
		default:
			panic(p)
		}
	}()
	r := &run{
		cfg: cfg, ctx: ctx, lives: map[*process]*life{}, leaving: map[*process]*Fault{}, posted: make(chan func(), 1024),
		metrics: newMetrics(),
		report:  &Report{Seed: cfg.Seed, Nodes: cfg.Nodes, Hosts: cfg.Hosts, DelayMS: cfg.Delay.Milliseconds(), Concurrency: cfg.Concurrency},
	}
	settings, err := knows(ctx, cfg.Node)
	if err != nil {
		return nil, err
	}
	r.cluster = settings["CLUSTER_BIND"]
	if cfg.Namespaces {
		if r.ns, err = newNamespace(tb); err != nil { //nolint:contextcheck // the testbed has it
			return nil, err
		}
	}
	if r.store, err = newStore(ctx, cfg.Dir, r.ns); err != nil {
		return nil, err
	}
	defer r.store.close()
	if err := r.store.start(); err != nil {
		return nil, err
	}
	if err := r.store.ready(ctx); err != nil {
		return nil, err
	}
	r.site = newSite(tb, cfg.Hosts, cfg.Delay) //nolint:contextcheck // the testbed has it
	r.intake = newIntake(r.site, r.store.client)
	defer r.killAll()
	if err := r.crawl(); err != nil { //nolint:contextcheck // the run has it
		return nil, err
	}
	return r.report, nil
}

// crawl is the run between the start of the store and its end.
func (r *run) crawl() error {
	if err := r.gather(); err != nil {
		return err
	}
	feeding, stopFeeding := context.WithCancel(r.ctx)
	watching, stopWatching := context.WithCancel(r.ctx)
	var wg sync.WaitGroup
	wg.Go(func() { r.intake.run(feeding) })
	wg.Go(func() { r.metrics.run(watching) })
	defer wg.Wait()
	defer stopWatching()
	defer stopFeeding()

	kinds, missing := possible(r.cfg.Kinds, r.cluster, r.store.shim != "", r.ns != nil)
	r.report.Missing = missing
	for _, k := range Kinds() {
		if why := missing[k]; why != "" {
			fmt.Fprintf(r.cfg.Log, "chaos: no %s: %s\n", k, why)
		}
	}
	d := newDeck(r.cfg.Seed, kinds)
	end := r.start.Add(r.cfg.Duration)
	var tick func()
	tick = func() {
		if time.Now().After(end) || r.cfg.Requests > 0 && r.site.web.Count() >= r.cfg.Requests {
			r.draining = true
			return
		}
		if len(kinds) > 0 {
			r.fault(d.draw())
		}
		r.after(r.cfg.Every, tick)
	}
	r.after(r.cfg.Every, tick)
	r.loop(func() bool { return r.draining })
	stopFeeding()
	r.report.ChaosMS = time.Since(r.start).Milliseconds()
	fmt.Fprintf(r.cfg.Log, "chaos: %7.1fs no more faults after %d requests; the crawl may end\n", time.Since(r.start).Seconds(), r.site.web.Count())
	r.drain()
	r.metrics.scrape(r.ctx)
	r.stopAll()
	if r.err != nil {
		return r.err
	}
	if err := context.Cause(r.ctx); err != nil {
		return fmt.Errorf("chaos: run: %w", err)
	}
	return r.judge()
}

// gather starts the first members and waits until they are up.
func (r *run) gather() error {
	for id := 1; id <= r.cfg.MostNodes; id++ {
		m, err := r.newMember(id)
		if err != nil {
			return err
		}
		r.members = append(r.members, m)
	}
	for _, m := range r.members {
		for _, o := range r.members {
			if o != m && o.peers != nil {
				m.others = append(m.others, o.peers)
			}
		}
	}
	r.start = time.Now()
	for _, m := range r.members[:r.cfg.Nodes] {
		m.wanted = true
		if r.revive(m); r.err != nil {
			return r.err
		}
	}
	deadline := time.Now().Add(startPatience)
	r.loop(func() bool {
		up := 0
		for _, m := range r.members {
			if m.proc != nil && m.proc.out.adminAddr() != "" {
				up++
			}
		}
		return up >= r.cfg.Nodes || time.Now().After(deadline)
	})
	for _, m := range r.members[:r.cfg.Nodes] {
		if m.proc == nil || m.proc.out.adminAddr() == "" {
			return fmt.Errorf("chaos: node %d is not up after %s; its log is in %s", m.id, time.Since(r.start).Round(time.Second), m.dir)
		}
	}
	r.start = time.Now()
	r.report.Began = r.start.UTC()
	return nil
}

// loop does what is due or posted until over says so, the run fails or its context
// ends. over is asked at least ten times a second.
func (r *run) loop(over func() bool) {
	for !over() && r.err == nil {
		wait := 100 * time.Millisecond
		if len(r.agenda) > 0 {
			wait = min(wait, max(time.Until(r.agenda[0].at), 0))
		}
		timer := time.NewTimer(wait)
		select {
		case do := <-r.posted:
			do()
		case <-timer.C:
			if len(r.agenda) > 0 && !time.Now().Before(r.agenda[0].at) {
				do := r.agenda[0].do
				r.agenda = r.agenda[1:]
				do()
			}
		case <-r.ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// after does something in the loop, later.
func (r *run) after(d time.Duration, do func()) {
	e := entry{time.Now().Add(d), do}
	i, _ := slices.BinarySearchFunc(r.agenda, e, func(a, b entry) int { return a.at.Compare(b.at) })
	for i < len(r.agenda) && !r.agenda[i].at.After(e.at) {
		i++
	}
	r.agenda = slices.Insert(r.agenda, i, e)
}

// post does something in the loop, from any goroutine.
func (r *run) post(do func()) {
	select {
	case r.posted <- do:
	case <-r.ctx.Done():
	}
}

// fail ends the run.
func (r *run) fail(err error) { r.err = errors.Join(r.err, err) }

// now is the time since the start of the run.
func (r *run) now() time.Duration { return time.Since(r.start) }

// revive starts a process for a member that should have one and has none.
func (r *run) revive(m *member) {
	if !m.wanted || m.held || m.proc != nil {
		return
	}
	if err := r.launch(m); err != nil {
		r.fail(err)
		return
	}
	r.metrics.watch(m.proc)
}

// ended is told by a process that has ended.
func (r *run) ended(m *member, p *process) {
	if m.proc == p {
		m.proc = nil
	}
	l := r.lives[p]
	if crash := p.out.crash(); crash != "" {
		r.report.Crashes = append(r.report.Crashes, p.name+": "+crash)
		l.killedNS = monotonicNS()
	}
	if f := r.leaving[p]; f != nil {
		f.end(r.now())
	}
	if p.code == codeEvicted {
		l.evictedNS = monotonicNS()
	}
	killed := l.killedNS != 0
	if !killed && r.leaving[p] == nil && !r.draining {
		f := r.note(Evicted, p.name, fmt.Sprintf("ended by itself with %d", p.code))
		f.end(r.now())
		r.report.Exits = append(r.report.Exits, Exit{p.name, p.code, r.now().Milliseconds(), p.out.last(400)})
	}
	if m.wanted && !m.held {
		r.after(restartPause, func() { r.revive(m) })
	}
}

// drain lets the crawl end.
func (r *run) drain() {
	want := 0
	for _, sure := range r.intake.expected() {
		if sure {
			want++
		}
	}
	begin, grown := time.Now(), time.Now()
	most, next := int64(0), time.Now()
	r.loop(func() bool {
		if time.Now().Before(next) {
			return false
		}
		next = time.Now().Add(500 * time.Millisecond)
		ctx, cancel := context.WithTimeout(r.ctx, 2*time.Second)
		defer cancel()
		n, err := r.store.client.LLen(ctx, crawlName+":items").Result()
		if err == nil && n > most {
			most, grown = n, time.Now()
		}
		faults := slices.ContainsFunc(r.members, func(m *member) bool { return m.busy }) || r.storeBusy
		if faults {
			grown = time.Now()
		}
		return !faults && (most >= int64(want) || time.Since(grown) > stallPatience) || time.Since(begin) > r.cfg.Drain
	})
	r.report.DrainMS = time.Since(begin).Milliseconds()
}

// stopAll ends all nodes in good order, or at the end of its patience.
func (r *run) stopAll() {
	var procs []*process
	for _, m := range r.members {
		m.wanted = false
		m.redis.Heal()
		if m.peers != nil {
			m.peers.Heal()
		}
		if m.proc != nil {
			m.proc.signal(syscall.SIGCONT)
			m.proc.signal(syscall.SIGTERM)
			procs = append(procs, m.proc)
		}
	}
	end := time.Now().Add(stopPatience)
	running := func(p *process) bool { return p.alive() }
	r.loop(func() bool { return !slices.ContainsFunc(procs, running) || time.Now().After(end) })
	for _, p := range procs {
		if p.alive() {
			r.report.Hangs = append(r.report.Hangs, fmt.Sprintf("%s has not ended %s after SIGTERM", p.name, stopPatience))
		}
	}
	r.killAll()
}

// killAll ends every node and proxy at once.
func (r *run) killAll() {
	for p := range r.lives {
		if p.alive() {
			r.kill(p)
			<-p.done
		}
	}
	for _, m := range r.members {
		for _, p := range []*faultproxy.Proxy{m.redis, m.peers} {
			if p != nil {
				p.Close()
			}
		}
	}
}

// writeWhole replaces a file at once: a reader sees the old text or the new.
func writeWhole(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
