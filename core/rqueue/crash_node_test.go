package rqueue

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
)

// crasher is one simulated node: what scheduler, domains and committer do, as
// plainly as the rules put it.
type crasher struct {
	w           *world
	inc         int
	f           *Frontier
	c           *Crawl
	s           *Session
	frozen, cut bool
	dom         [crashHosts]crashDomain
	inflight    []crashFetch
	pages       []*Page
	seeds       []Seed
	pinged      int64

	breaks int  // the connection breaks at so many calls from now; 0 does not
	after  bool // once the store has carried the call out
}

// crashDomain is a slot in a node's hands. Times are ms.
type crashDomain struct {
	on                           bool
	token                        string
	deadline, next, stored, last int64
	sent                         bool // in this tenure
	delay                        int64
	changes                      uint64
	buf                          []Leased
	recover                      bool
}

type crashFetch struct {
	l    Leased
	host int
}

func crashHost(h int) string { return "h" + strconv.Itoa(h) + ".test" }
func crashURL(u int) string  { return "http://" + crashHost(u%crashHosts) + "/" + strconv.Itoa(u) }

func crashIndex(url string) int {
	var h, u int
	_, _ = fmt.Sscanf(url, "http://h%d.test/%d", &h, &u)
	return u
}

// start is a new process in the node's place.
func (n *crasher) start() {
	w := n.w
	if n.s != nil {
		_ = n.s.Close()
	}
	w.incs++
	*n = crasher{w: w, inc: w.incs}
	cfg := Config{
		Node: "n" + strconv.Itoa(n.inc), Shards: 4, TTL: crashTTL, Margin: crashMargin, Exclusive: w.alone, MaxLost: 20,
		Now:        func() time.Time { return time.UnixMilli(w.now) },
		ServerTime: func() int64 { return w.now + w.offset },
	}
	f, err := open(w.ctx, w.rdb, cfg, w.identity)
	require.NoError(w.t, err)
	n.f = f
	n.pinged = w.now
	n.open(false)
	f.rdb = &breakingClient{Client: w.rdb, n: n}
	n.s = f.NewSession()
}

func (n *crasher) open(flush bool) {
	spec := Spec{Name: "c", Items: true, Persist: true}
	st, _ := n.w.rdb.HGet(n.w.ctx, "c:state", "state").Result()
	c, err := n.f.OpenCrawl(n.w.ctx, spec, flush)
	if err != nil { // cut off: what it had stays
		return
	}
	n.c = c
	if st == "finished" {
		n.w.reopened++
	}
	if st == "finished" && n.w.quiet {
		n.w.fail("opened a finished crawl")
	}
}

// stale is a crawl that was flushed: open it again, drop what was leased.
func (n *crasher) stale(err error) bool {
	if !errors.Is(err, ErrStaleRun) {
		return false
	}
	n.w.note("n%d is in another run", n.inc)
	for h := range n.dom {
		n.dom[h].buf = nil
	}
	n.open(false)
	return true
}

func (n *crasher) flush() {
	if n.frozen || n.cut {
		return
	}
	w := n.w
	n.breaks, n.after = w.rng.IntN(9), w.rng.IntN(2) == 0
	w.note("n%d flushes, break %d %v", n.inc, n.breaks, n.after)
	run := n.c.runText()
	err := n.c.Flush(w.ctx)
	n.breaks = 0
	now, _ := w.rdb.HMGet(w.ctx, "c:state", "run", "flush").Result()
	w.note("flush of %s: %v, now %v", run, err, now)
	if n.stale(err) {
		return
	}
	if now[0] != run || now[1] != nil {
		w.sow() // the old run is gone, or will be
	}
	if err == nil {
		n.stale(ErrStaleRun)
	}
}

func (n *crasher) thaw() {
	if !n.frozen {
		return
	}
	n.w.note("thaw n%d", n.inc)
	n.frozen = false
	n.alive()
}

// alive is what a running process does by itself as time goes by.
func (n *crasher) alive() {
	if n.frozen {
		return
	}
	for h := range n.dom {
		if n.dom[h].on && n.w.now >= n.dom[h].deadline {
			n.w.note("n%d is past its deadline at %s", n.inc, crashHost(h))
			n.drop(h)
		}
	}
	if !n.cut && n.w.now-n.pinged >= 800 {
		if n.f.Ping(n.w.ctx) == nil {
			n.pinged = n.w.now
		}
	}
}

// drop gives the slot up in memory: its connections close.
func (n *crasher) drop(h int) {
	var left []crashFetch
	for _, f := range n.inflight {
		if f.host != h {
			left = append(left, f)
		}
	}
	n.inflight = left
	n.dom[h] = crashDomain{}
}

type action struct {
	name  string
	store bool // asks the store
	do    func()
}

// actions are the steps that the node may take now.
func (n *crasher) actions() []action {
	if n.frozen {
		return nil
	}
	w := n.w
	var acts []action
	add := func(store bool, name string, do func()) {
		acts = append(acts, action{name: name, store: store, do: do})
	}
	for h := range n.dom {
		d := &n.dom[h]
		at := " " + crashHost(h)
		flying := 0
		for _, f := range n.inflight {
			if f.host == h {
				flying++
			}
		}
		if !d.on {
			continue
		}
		if w.quiet || w.rng.IntN(16) >= 8+w.lazy {
			add(true, "renew"+at, func() { n.renew(h) })
		}
		if d.recover {
			add(true, "recover"+at, func() { n.recoverLost(h) })
			continue
		}
		if len(d.buf) == 0 {
			add(true, "lease"+at, func() { n.lease(h) })
		}
		if len(d.buf) > 0 && w.now >= d.next && flying < w.limit {
			if w.now+d.delay <= d.stored && d.changes == n.f.StoreChanges() {
				add(false, "send"+at, func() { n.send(h) })
			} else {
				add(true, "reserve"+at, func() { n.reserve(h) })
			}
		}
		if len(d.buf) > 0 && !w.quiet && w.rng.IntN(20) == 0 {
			add(true, "give back"+at, func() { n.giveBack(h) })
		}
		if len(d.buf) == 0 && flying == 0 && (w.quiet || w.rng.IntN(4) == 0) {
			add(true, "release"+at, func() { n.release(h) })
		}
	}
	for i := range n.inflight {
		if !w.quiet && w.rng.IntN(3) > 0 {
			continue
		}
		add(false, "answer "+n.inflight[i].l.Request.URL, func() { n.answer(i) })
		break
	}
	if len(n.pages) > 0 {
		add(true, "commit", n.commit)
	}
	for _, a := range []struct {
		name string
		of   int
		do   func()
	}{{"due", 3, n.due}, {"seeds", 8, n.sowSeeds}, {"finish", 20, n.finish}, {"grab", 6, n.grab}, {"unpark", 12, n.unpark}} {
		if w.rng.IntN(a.of) == 0 {
			add(true, a.name, a.do)
		}
	}
	return acts
}

// do carries out one step and tells whether its outcome is known and good.
func (n *crasher) do(h int, op Op) bool {
	err := n.f.Do(n.w.ctx, op)
	e := op.op().Err
	if errors.Is(e, ErrLeaseLost) {
		n.w.note("n%d lost %s", n.inc, crashHost(h))
		n.drop(h)
	}
	if err == nil && e != nil {
		n.stale(e)
	}
	return err == nil && e == nil
}

// due takes slots that are due.
func (n *crasher) due() {
	cur := Cursor{}
	for range 5 {
		d, err := n.c.Due(n.w.ctx, cur, 2)
		if err != nil {
			return
		}
		for _, name := range d.Hosts {
			var h int
			_, _ = fmt.Sscanf(name, "h%d.test", &h)
			if n.dom[h].on || n.w.rng.IntN(3) == 0 {
				continue
			}
			n.acquire(h)
		}
		if cur = d.Next; cur.Done() {
			return
		}
	}
}

// grab tries for a slot that nothing says is due.
func (n *crasher) grab() {
	if h := n.w.rng.IntN(crashHosts); !n.dom[h].on && !n.w.quiet {
		n.acquire(h)
	}
}

// unpark is an operator's: some hosts stay parked until the end.
func (n *crasher) unpark() {
	h := n.w.rng.IntN(crashHosts)
	back, parked, err := n.c.Release(n.w.ctx, crashHost(h))
	n.w.note("n%d released %s: %d back, %v, %v", n.inc, crashHost(h), back, parked, err)
	n.stale(err)
}

func (n *crasher) acquire(h int) {
	op := &Acquire{Slot: crashHost(h), Crawls: []*Crawl{n.c}}
	if !n.do(h, op) {
		return
	}
	delay := int64(op.State.Delay * 1000)
	if op.State.Delay < 0 {
		delay = 500
	}
	next := n.w.now + max(ms(op.State.NextIn), 0)
	n.w.note("n%d acquired %s next in %d, delay %d", n.inc, op.Slot, next-n.w.now, delay)
	n.dom[h] = crashDomain{
		on: true, token: op.Token, deadline: op.Deadline.UnixMilli(), next: next, stored: next,
		delay: delay, changes: n.f.StoreChanges(), recover: true,
	}
}

func (d *crashDomain) state() SlotState { return SlotState{Delay: float64(d.delay) / 1000} }

func (n *crasher) renew(h int) {
	d := &n.dom[h]
	op := &Renew{Slot: crashHost(h), Token: d.token, Crawls: []*Crawl{n.c}, State: d.state()}
	if n.do(h, op) {
		d.deadline = op.Deadline.UnixMilli()
	}
}

func (n *crasher) lease(h int) {
	d := &n.dom[h]
	op := &Lease{
		Slot: crashHost(h), Token: d.token, Crawl: n.c, Max: 1 + n.w.rng.IntN(4), State: d.state(),
		StartIn: time.Duration(max(d.next-n.w.now, 0)) * time.Millisecond, Delay: time.Duration(d.delay) * time.Millisecond,
		Slack: time.Duration(n.w.rng.Int64N(300)) * time.Millisecond,
	}
	changes := n.f.StoreChanges()
	if n.do(h, op) {
		d.deadline = op.Deadline.UnixMilli()
		d.buf = op.Requests
		if len(op.Requests) > 0 {
			d.stored, d.changes = op.StoredNext.UnixMilli(), changes
		}
		if op.Parked != "" { // none is sent
			for _, l := range d.buf {
				n.pages = append(n.pages, &Page{Crawl: l.Crawl, Host: l.Host, ID: l.Request.ID, Token: l.Token, End: EndParked, Cause: op.Parked})
			}
			d.buf = nil
		}
		return
	}
	d.recover = d.on // its outcome is unknown
}

// recoverLost returns what this node does not hold.
func (n *crasher) recoverLost(h int) {
	d := &n.dom[h]
	op := &Recover{Slot: crashHost(h), Token: d.token, Crawl: n.c}
	for _, l := range d.buf {
		op.Keep = append(op.Keep, l.Request.ID)
	}
	for _, f := range n.inflight {
		if f.host == h {
			op.Keep = append(op.Keep, f.l.Request.ID)
		}
	}
	for _, p := range n.pages {
		if p.Host == crashHost(h) {
			op.Keep = append(op.Keep, p.ID)
		}
	}
	if n.do(h, op) {
		d.recover = false
		n.w.note("n%d recovered %d", n.inc, op.Recovered)
	}
}

func (n *crasher) reserve(h int) {
	d := &n.dom[h]
	in := time.Duration(d.delay+100) * time.Millisecond
	op := &Reserve{Slot: crashHost(h), Token: d.token, NextIn: in, State: d.state()}
	changes := n.f.StoreChanges()
	if n.do(h, op) {
		d.stored, d.changes = op.StoredNext.UnixMilli(), changes
	}
}

func (n *crasher) send(h int) {
	d := &n.dom[h]
	l := d.buf[0]
	d.buf = d.buf[1:]
	n.w.start(n, h, l.Request.URL)
	n.inflight = append(n.inflight, crashFetch{l: l, host: h})
	d.next, d.last, d.sent = n.w.now+d.delay, n.w.now, true
}

func (n *crasher) giveBack(h int) {
	d := &n.dom[h]
	op := &GiveBack{Leased: d.buf}
	if n.do(h, op) {
		d.buf = nil
		return
	}
	d.buf, d.recover = nil, true
}

func (n *crasher) release(h int) {
	d := &n.dom[h]
	next := d.next
	if d.sent {
		next = d.last + d.delay
	}
	op := &Release{
		Slot: crashHost(h), Token: d.token, Crawls: []*Crawl{n.c}, State: d.state(),
		NextIn: time.Duration(max(next-n.w.now, 0)) * time.Millisecond,
	}
	n.do(h, op)
	n.drop(h)
}

// answer is the site's answer to a request in flight.
func (n *crasher) answer(i int) {
	w := n.w
	f := n.inflight[i]
	n.inflight = append(n.inflight[:i:i], n.inflight[i+1:]...)
	r := f.l.Request
	p := &Page{Crawl: f.l.Crawl, Host: f.l.Host, ID: r.ID, Token: f.l.Token}
	switch {
	case !w.quiet && w.rng.IntN(30) == 0:
		p.End, p.Cause, p.Park = EndParked, "wall", "wall"
	case !w.quiet && w.rng.IntN(5) == 0:
		p.Retry, p.RetryIn, p.Cause, p.End = r, time.Duration(w.rng.Int64N(4000))*time.Millisecond, "timeout", EndRetry
		r.Attempts++
		if r.Attempts > 2 {
			p.End = EndDead
		}
	default:
		for i, v := range w.links[crashIndex(r.URL)] {
			req := request(crashURL(v))
			req.ID = crawl.DeriveID(r.ID, uint32(i)) //nolint:gosec // small
			p.Links = append(p.Links, Link{Crawl: f.l.Crawl, Host: crashHost(v % crashHosts), Request: req})
		}
		p.Items = []crawl.Item{{JSON: []byte(f.l.Crawl.runText() + " " + r.ID.String() + " " + r.URL)}}
	}
	n.pages = append(n.pages, p)
	if d := &n.dom[f.host]; d.on { // the throttle learns
		d.delay = []int64{200, 500, 1500, 2500}[w.rng.IntN(4)]
		if d.sent {
			d.next = max(d.last+d.delay, 0)
		}
		if w.lastInc[f.host] == n.inc {
			w.lastTouch[f.host] = d.delay
		}
	}
}

func (n *crasher) commit() {
	if !n.session() {
		return
	}
	k := 1 + n.w.rng.IntN(len(n.pages))
	held := map[*Page]bool{}
	for _, p := range n.pages[:k] {
		v := n.w.rdb.HGet(n.w.ctx, text(n.c.keys.host(p.Host).leased), string(p.ID[:])).Val()
		held[p] = strings.HasPrefix(v, p.Token)
	}
	_, err := n.s.Commit(n.w.ctx, n.pages[:k], nil)
	var left []*Page
	for _, p := range n.pages[:k] {
		if p.Err == nil && !p.Gone && !held[p] {
			n.w.fail("n%d committed %s, which it does not hold", n.inc, p.ID)
		}
		n.w.note("  %s gone %v err %v", p.ID, p.Gone, p.Err)
		if p.Err != nil && !errors.Is(p.Err, ErrStaleRun) {
			left = append(left, p)
		}
		if errors.Is(p.Err, ErrStaleRun) {
			err = p.Err
		}
	}
	n.pages = append(left, n.pages[k:]...)
	n.stale(err)
}

func (n *crasher) sowSeeds() {
	w := n.w
	if len(n.seeds) == 0 {
		seeds, err := n.c.RetakeSeeds(w.ctx, 10*time.Second, 1)
		if err == nil && len(seeds) == 0 {
			seeds, err = n.c.ClaimSeeds(w.ctx, 1+w.rng.IntN(2))
		}
		if err != nil {
			n.stale(err)
			return
		}
		n.seeds = seeds
		return
	}
	var links []Link
	for _, s := range n.seeds {
		u, err := strconv.Atoi(string(s.Payload))
		require.NoError(w.t, err)
		r := request(crashURL(u))
		r.Seed, r.ID = true, crawl.NewID("seed", s.ID)
		links = append(links, Link{Crawl: n.c, Host: crashHost(u % crashHosts), Request: r})
	}
	if !n.session() {
		return
	}
	_, _, err := n.s.EnqueueSeeds(w.ctx, n.c, links, n.seeds)
	if err == nil {
		n.seeds = nil
	}
	n.stale(err)
}

func (n *crasher) finish() {
	before, err := n.w.rdb.HGet(n.w.ctx, "c:state", "state").Result()
	require.NoError(n.w.t, err)
	run := n.c.runText()
	ok, err := n.c.Finish(n.w.ctx)
	n.stale(err)
	now, err := n.w.rdb.HGet(n.w.ctx, "c:state", "state").Result()
	require.NoError(n.w.t, err)
	if before != "finished" && now == "finished" {
		n.w.note("n%d declares run %s finished", n.inc, run)
		n.w.declared(run)
	}
	if ok && now != "finished" {
		n.w.fail("n%d was told of an end that is not", n.inc)
	}
}
