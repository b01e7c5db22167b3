package domain

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/core/throttle"
	"orbweaver/messages"
)

// phase is what a domain may do with its slot:
//
//	acquiring   the slot is not ours yet; nothing is sent
//	holding     the slot is ours until deadline
//	releasing   everything is given back; the actor stops when that is stored
//	ended       the actor waits for its fetchers to stop
type phase uint8

const (
	acquiring phase = iota
	holding
	releasing
	ended
)

func (p phase) String() string { return [...]string{"acquiring", "holding", "releasing", "ended"}[p] }

// Domain is the actor of one slot.
type Domain struct {
	slot string
	cfg  Config
	deps Deps

	phase      phase
	token      string
	acquired   time.Time
	inherited  bool      // the slot was used before
	deadline   time.Time // local; nothing is written to the site after it
	storedNext time.Time // local; the stored next_at is not before it
	store      uint64    // the store's changes when storedNext was written

	asked    asked         // the acquire or reserve under way
	slowness time.Duration // how long the last reserve took
	unsaved  bool          // a hold is not stored, and a successor would come before it ends
	touched  time.Time     // when the lease was last extended
	throttle *throttle.Slot
	conns    messages.Conns

	works  []*work // crawls with something here, in the order of their turns
	worked bool    // there was one
	robots map[string]*robotsFile
	*kept
	idle    []*actor.PID // fetchers without work
	spawned int

	// The steps on the frontier that were asked for and not answered; nil: none.
	acquire *rqueue.Acquire
	lease   *rqueue.Lease
	renew   *rqueue.Renew
	reserve *rqueue.Reserve
	release *rqueue.Release

	cleared   *rqueue.Crawl     // this host was not parked in it at clearedAt: its errands may be sent
	clearedAt time.Time         //
	clearing  *rqueue.ParkedGet // asks for that; nil: not

	draining bool
	cutOff   bool      // draining, and in a hurry
	idleFrom time.Time // since when there is nothing to do; zero: there is
	retryAt  time.Time // no step on the frontier before it: the store failed, or the slot is held
	taken    bool      // another node has the slot, as last seen
	failures int       // of the store, in a row
	reason   throttle.Reason
	waitTo   time.Time // when dispatch should be tried again; zero: an event says
	timer    *time.Timer
	timerAt  time.Time
	timerSeq int

	lastStatus  int
	lastError   string
	lastLatency time.Duration
	fetched     int64
}

// kept is what an incarnation that panicked leaves to the next.
type kept struct {
	flights map[crawl.ID]*flight // at fetchers, whichever incarnation sent them
	errands []*errand            // asked of the domain and not answered
}

// asked is when a step was asked for, and the store's changes then.
type asked struct {
	at    time.Time
	store uint64
}

// work is one crawl's requests at this slot.
type work struct {
	crawl     *rqueue.Crawl
	buf       []rqueue.Leased // leased, not sent, in order
	more      bool            // the queue may hold something that is due
	waiting   int             // as last seen
	delayedAt time.Time       // when the first delayed one is due; zero: none known
	doubt     bool            // there may be leases that nobody holds: recover first
	after     time.Time       // no lease before it: the crawl is paused, or links gather
	woken     bool            // after the slot's release was asked for
	gave      bool            // requests were given back for the next owner
	park      park
	jar       jar // its cookies
}

// flight is one request at a fetcher.
type flight struct {
	lease  rqueue.Leased
	delay  time.Duration // when it was handed over
	bound  time.Time     // the stored next_at then
	work   *work         // nil for a robots.txt fetch and an errand
	file   *robotsFile   // nil for a page and an errand
	errand *errand       // nil for a page and a robots.txt fetch of this host
	sent   bool
	stray  bool // begun by an incarnation that panicked: its fetcher is gone
}

// newDomain makes the actor of a slot with work of the given crawls.
func newDomain(slot string, crawls []*rqueue.Crawl, kept *kept, cfg Config, deps Deps) *Domain {
	d := &Domain{
		slot: slot, cfg: cfg, deps: deps, kept: kept,
		throttle: throttle.New(cfg.Throttle, nil), robots: map[string]*robotsFile{},
	}
	for _, f := range kept.flights {
		f.stray = true
	}
	for _, c := range crawls {
		d.work(c)
	}
	return d
}

// Receive implements actor.Actor.
func (d *Domain) Receive(ctx actor.Context) {
	defer d.onPanic()
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		d.onStarted(ctx)
	case *wake:
		d.onWake(ctx, msg)
	case *messages.Done:
		d.onDone(ctx, msg)
	case *messages.Sent:
		d.onSent(ctx, msg)
	case *messages.FetchDone:
		d.onFetchDone(ctx, msg)
	case *messages.Parked:
		d.onParked(ctx, msg)
	case *messages.CreditFree:
		d.onCreditFree(ctx)
	case *errand:
		d.onErrand(ctx, msg)
	case *errandDone:
		d.onErrandDone(ctx, msg)
	case *tick:
		d.onTick(ctx, msg)
	case *drain:
		d.onDrain(ctx, msg)
	case orphans:
		d.onOrphans(ctx)
	case *messages.Inspect:
		ctx.Respond(d.snapshot(time.Now()))
	case *actor.Stopping, *actor.Restarting:
		d.onStopping(ctx)
	case *actor.Stopped, *actor.Terminated:
	default:
		d.log().WithField("type", typeName(msg)).Warn("unexpected message")
	}
}

// log is made anew for each line: most domains say nothing, and there are many.
func (d *Domain) log() logrus.FieldLogger {
	return d.deps.Log.WithFields(logrus.Fields{"actor": "domain", "domain": d.slot})
}

func typeName(v any) string { return fmt.Sprintf("%T", v) }

// onPanic closes the connections of a domain that panics at once: it cannot keep
// its deadline while it waits to be restarted.
func (d *Domain) onPanic() {
	reason := recover()
	if reason == nil {
		return
	}
	if d.conns != nil {
		d.conns.Close()
	}
	d.log().WithFields(logrus.Fields{"err": reason, "stack": string(debug.Stack())}).Error("domain panicked")
	panic(reason)
}

func (d *Domain) onStarted(ctx actor.Context) {
	d.conns = d.deps.NewConns()
	if len(d.flights) > 0 { // fetchers stop before their parent restarts
		ctx.Send(ctx.Self(), orphans{})
	}
	d.step(ctx)
}

// onOrphans frees what strays are left: their fetchers stopped before they took
// them up.
func (d *Domain) onOrphans(ctx actor.Context) {
	for _, f := range d.flights {
		if f.stray {
			d.onStray(ctx, f, false)
		}
	}
	d.step(ctx)
}

func (d *Domain) onStopping(ctx actor.Context) {
	d.phase = ended
	if d.timer != nil {
		d.timer.Stop()
	}
	d.setReason(throttle.ReasonNone)
	if d.conns != nil {
		d.conns.Close()
	}
	// A credit that was meant for this domain goes to the next in line.
	if pid := d.deps.Table.Leave(ctx.Self()); pid != nil {
		ctx.Send(pid, &messages.CreditFree{})
	}
}

func (d *Domain) onWake(ctx actor.Context, msg *wake) {
	w := d.work(msg.crawl)
	if d.phase == holding && !w.more && len(d.works) == 1 {
		w.after = time.Now().Add(d.cfg.Gather) // links come in crowds
	}
	w.more, w.woken = true, d.phase == releasing
	if msg.released && d.taken {
		d.taken, d.retryAt = false, time.Time{}
	}
	d.step(ctx)
}

// work finds or adds a crawl's work. What an earlier owner leased of a crawl that
// is new here has not been looked for.
func (d *Domain) work(c *rqueue.Crawl) *work {
	w := d.find(c)
	if w == nil {
		w = &work{crawl: c, more: true, doubt: true, jar: d.jarOf(c)}
		d.worked = true
		d.works = append(d.works, w)
	}
	return w
}

// find gives a crawl's work, or nil.
func (d *Domain) find(c *rqueue.Crawl) *work {
	for _, w := range d.works {
		if w.crawl == c {
			return w
		}
	}
	return nil
}

func (d *Domain) onSent(ctx actor.Context, msg *messages.Sent) {
	if f := d.flights[msg.ID]; f != nil && !f.sent {
		f.sent = true
		d.throttle.Started(msg.At)
		d.checkSent(f, msg.At)
		d.step(ctx)
	}
}

func (d *Domain) onFetchDone(ctx actor.Context, msg *messages.FetchDone) {
	f := d.flights[msg.ID]
	if f == nil {
		return
	}
	if f.stray || d.phase == ended {
		d.onStray(ctx, f, msg.PageSent)
		d.step(ctx)
		return
	}
	delete(d.flights, msg.ID)
	d.idle = append(d.idle, msg.Fetcher)
	now := time.Now()
	d.learn(now, f, msg.Outcome)
	if len(msg.Outcome.Cookies) > 0 {
		d.onCookies(ctx, f, msg.Outcome)
	}
	switch {
	case f.file != nil:
		d.putCredit(ctx, f.lease.Request.ID)
		d.onRobotsFetched(ctx, now, f.file, msg.Outcome, msg.Robots)
		d.answerErrands(ctx, now, f, msg.Outcome, msg.Robots)
	case f.errand != nil:
		d.putCredit(ctx, f.lease.Request.ID)
		d.answerErrands(ctx, now, f, msg.Outcome, msg.Robots)
	case !msg.PageSent:
		// Not the request's fault: it waits again, first in line. When the slot is
		// lost, the next recovery finds it.
		d.putCredit(ctx, f.lease.Request.ID)
		switch {
		case d.find(f.work.crawl) == nil:
			d.ask(ctx, &rqueue.GiveBack{Leased: []rqueue.Leased{f.lease}})
		case d.phase == holding:
			f.work.buf = append([]rqueue.Leased{f.lease}, f.work.buf...)
		}
	}
	d.step(ctx)
}

// onStray ends a fetch that an earlier incarnation of this domain began, or that
// this one cut off by stopping: if it did not hand the page on, the request must
// be recovered.
func (d *Domain) onStray(ctx actor.Context, f *flight, pageSent bool) {
	delete(d.flights, f.lease.Request.ID)
	if pageSent {
		return
	}
	d.putCredit(ctx, f.lease.Request.ID)
	for _, w := range d.works {
		w.doubt, w.more = true, true
	}
}

// learn tells the throttle how a fetch ended.
func (d *Domain) learn(now time.Time, f *flight, o messages.Outcome) {
	if o.Cached {
		d.throttle.Abandoned()
		return
	}
	d.fetched++
	unsent := !f.sent && o.SentAt.IsZero()
	if !f.sent && !unsent {
		d.throttle.Started(o.SentAt)
	}
	if unsent && (o.Cause == crawl.CauseTooLate || o.Cause == crawl.CauseCancelled || o.Cause == crawl.CauseForbidden || o.Cause == crawl.CauseBadURL) {
		d.throttle.Abandoned()
		return
	}
	r := throttle.Result{
		Status: o.Status, Latency: o.Latency, HasLatency: o.Latency > 0,
		SiteFault: o.Cause.SiteFault(), Unsent: unsent,
	}
	if o.RetryAfter != "" {
		r.RetryAfter, _ = throttle.RetryAfter(o.RetryAfter, d.cfg.Wall())
	}
	if o.RateLimit != nil {
		r.RateLimit = o.RateLimit.Read(d.cfg.Wall())
	}
	before := d.throttle.Delay()
	d.throttle.Done(now, r)
	if d.cfg.Debug {
		delay := d.throttle.Delay()
		d.log().WithFields(logrus.Fields{
			"conc": len(d.flights), "delay_ms": delay.Milliseconds(), "change_ms": (delay - before).Milliseconds(),
			"latency_ms": o.Latency.Milliseconds(), "bytes": o.Bytes, "status": o.Status,
		}).Info("autothrottle")
	}
	d.noteHold(now)
	if o.Cause == crawl.CauseCancelled || o.Stale {
		return
	}
	d.lastStatus, d.lastLatency = o.Status, o.Latency
	if o.Cause != crawl.CauseNone {
		d.lastError = string(o.Cause) + ": " + o.Err
	}
}

// noteHold keeps a new hold for the next incarnation, and has it stored at once when that
// must not wait.
func (d *Domain) noteHold(now time.Time) {
	until := d.throttle.Held()
	if !until.After(now.Add(d.cfg.Slack)) {
		return
	}
	_, why := d.throttle.LowestNext(now)
	if d.deps.Table.hold(now, d.slot, until, why) {
		d.unsaved = d.unsaved || d.exposed(until)
	}
}

// exposed reports whether the slot's next owner could come before a hold ends: nobody comes
// while the lease lasts, unless leases of an earlier process are taken over.
func (d *Domain) exposed(hold time.Time) bool { return d.cfg.Exclusive || hold.After(d.deadline) }

func (d *Domain) putCredit(ctx actor.Context, id crawl.ID) {
	if pid := d.deps.Table.Put(d.slot, id, false); pid != nil {
		ctx.Send(pid, &messages.CreditFree{})
	}
}

func (d *Domain) onCreditFree(ctx actor.Context) {
	d.step(ctx)
	if d.reason == ReasonCredits {
		return // this domain is in line again
	}
	if pid := d.deps.Table.NextWaiting(); pid != nil { // it had no use for the credit
		ctx.Send(pid, &messages.CreditFree{})
	}
}

func (d *Domain) onTick(ctx actor.Context, msg *tick) {
	if msg.seq != d.timerSeq {
		return
	}
	d.timerAt = time.Time{}
	d.step(ctx)
}

func (d *Domain) onDrain(ctx actor.Context, msg *drain) {
	d.draining = true
	if msg.now {
		d.cutOff = true
		d.conns.Close()
		d.conns = d.deps.NewConns()
	}
	d.step(ctx)
}

// onDone takes the answers of the frontier.
func (d *Domain) onDone(ctx actor.Context, msg *messages.Done) {
	if d.phase == ended {
		return
	}
	now := time.Now()
	for _, op := range msg.Ops {
		switch op := op.(type) {
		case *rqueue.Acquire:
			d.onAcquired(ctx, now, op)
		case *rqueue.Recover:
			d.onRecovered(op)
		case *rqueue.Lease:
			d.onLeased(ctx, now, op)
		case *rqueue.Renew:
			d.onRenewed(now, op)
		case *rqueue.Reserve:
			d.onReserved(now, op)
		case *rqueue.RobotsGet:
			d.onRobotsLoaded(ctx, now, op)
		case *rqueue.ParkedGet:
			d.onCleared(ctx, now, op)
		case *rqueue.Release:
			if d.onReleased(ctx, now, op) {
				return
			}
		case *rqueue.GiveBack:
			d.onGivenBack(now, op)
		case *rqueue.CookiesGet:
			d.onCookiesRead(now, op)
		case *rqueue.RobotsPut:
			d.failed(now, op.Err)
		case *rqueue.CookiesPut:
			d.onCookiesSaved(now, op)
		}
	}
	d.step(ctx)
}

// failed notes an error of the store; it reports whether err was one. Answers
// that the protocol foresees are none.
func (d *Domain) failed(now time.Time, err error) bool {
	switch {
	case err == nil:
		d.failures = 0
		return false
	case errors.Is(err, rqueue.ErrLeaseLost), errors.Is(err, rqueue.ErrHeld), errors.Is(err, rqueue.ErrQuarantine),
		errors.Is(err, rqueue.ErrPaused), errors.Is(err, rqueue.ErrStaleRun), errors.Is(err, rqueue.ErrNotRunning):
		return false
	}
	d.failures++
	d.retryAt = now.Add(jitter(min(2*time.Second, 100*time.Millisecond<<min(d.failures, 5))))
	d.log().WithField("err", err).Debug("store failed")
	return true
}
