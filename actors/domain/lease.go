package domain

import (
	"errors"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/core/throttle"
	"orbweaver/messages"
)

// ask sends steps to the frontier; the answer is a messages.Done.
func (d *Domain) ask(ctx actor.Context, ops ...rqueue.Op) {
	ctx.Request(d.deps.Scheduler, &messages.Do{Ops: ops})
}

func (d *Domain) crawls() []*rqueue.Crawl {
	out := make([]*rqueue.Crawl, len(d.works))
	for i, w := range d.works {
		out[i] = w.crawl
	}
	return out
}

// wantSlot asks for the slot, or stops a domain that has no use for it.
func (d *Domain) wantSlot(ctx actor.Context, now time.Time) {
	if d.acquire != nil {
		return
	}
	if d.draining || len(d.works) == 0 && len(d.errands) == 0 {
		if len(d.flights) == 0 {
			d.phase = releasing
			ctx.Send(ctx.Parent(), &passivate{d.slot})
			ctx.Stop(ctx.Self())
		}
		return
	}
	if d.retryAt.After(now) {
		return
	}
	d.acquire = &rqueue.Acquire{Slot: d.slot, Crawls: d.crawls()}
	d.asked = asked{now, d.deps.StoreChanges()}
	d.ask(ctx, d.acquire)
}

func (d *Domain) onAcquired(ctx actor.Context, now time.Time, op *rqueue.Acquire) {
	if op != d.acquire {
		return
	}
	d.acquire = nil
	d.taken = errors.Is(op.Err, rqueue.ErrHeld)
	switch {
	case d.failed(now, op.Err):
		return
	case d.taken && !d.mine():
		d.draining = true // its owner has it
		return
	case d.taken && len(d.works) == 0:
		d.refuseErrands(ctx, now, "another node has its slot")
		return
	case op.Err != nil:
		d.retryAt = now.Add(max(op.HeldFor, 50*time.Millisecond))
		return
	}
	d.phase = holding
	d.token, d.deadline, d.touched = op.Token, op.Deadline, now
	d.acquired, d.inherited = now, op.State.Delay >= 0
	d.storedNext, d.store = d.asked.at.Add(max(0, op.State.NextIn)), d.asked.store
	d.restore(now, op.State)
	for _, w := range d.works {
		w.doubt, w.more, w.park.looked = true, true, false
		if w.jar.persist { // another owner may have stored cookies
			w.jar.state = jarUnread
		}
	}
}

// restore gives the throttle what the slot's last owner knew. A domain that had
// the slot before keeps what it learned, and obeys what another owner was told.
func (d *Domain) restore(now time.Time, st rqueue.SlotState) {
	if d.fetched == 0 {
		d.throttle.Restore(now, d.throttleState(st))
		if h, ok := d.deps.Table.held(now, d.slot); ok { // an earlier incarnation was told
			d.throttle.Hold(h.until, h.why)
			d.unsaved = d.exposed(h.until) // it may have panicked before that was stored
		}
	} else {
		if st.NextIn > 0 {
			d.throttle.Hold(now.Add(st.NextIn), throttle.ReasonDelay)
		}
		if st.HoldIn > 0 {
			d.throttle.Hold(now.Add(st.HoldIn), throttle.Reason(st.Reason))
		}
	}
	d.throttle.Pause(st.Paused)
}

func (d *Domain) throttleState(st rqueue.SlotState) throttle.State {
	return throttle.State{
		Delay: st.Delay, NextIn: st.NextIn, HoldIn: st.HoldIn, Reason: throttle.Reason(st.Reason),
		Backoff: seconds(st.Backoff), CrawlDelay: seconds(st.CrawlDelay), Failures: st.Failures, Paused: st.Paused,
		Quota: d.quotaState(st.Quota),
	}
}

func (d *Domain) quotaState(q rqueue.Quota) throttle.Quota {
	if q.Until == 0 {
		return throttle.Quota{}
	}
	left := q.Until - d.cfg.Wall().Unix()
	return throttle.Quota{
		Interval: q.Interval, Failed: q.Failed, Borne: q.Borne, Settled: q.Settled, Age: seconds(q.Age),
		Passed: q.Passed, Refused: q.Refused, For: seconds(min(max(0, float64(left)), year.Seconds())),
	}
}

const year = 365 * 24 * time.Hour

func storedQuota(q throttle.Quota, wall time.Time) rqueue.Quota {
	return rqueue.Quota{
		Interval: q.Interval, Failed: q.Failed, Borne: q.Borne, Settled: q.Settled, Age: q.Age.Seconds(),
		Passed: q.Passed, Refused: q.Refused, Until: wall.Add(q.For).Unix(),
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// state is what is stored of the throttle with each step on the slot.
func (d *Domain) state(now time.Time) rqueue.SlotState {
	d.unsaved = false
	st := d.throttle.Snapshot(now)
	out := rqueue.SlotState{
		Delay: st.Delay, NextIn: st.NextIn, HoldIn: st.HoldIn, Reason: string(st.Reason),
		Backoff: st.Backoff.Seconds(), CrawlDelay: st.CrawlDelay.Seconds(), Failures: st.Failures, Latency: d.lastLatency.Seconds(),
	}
	if st.Quota.For > 0 {
		out.Quota = storedQuota(st.Quota, d.cfg.Wall())
	}
	return out
}

// loseSlot ends the use of a slot whose lease is over: its connections are closed,
// what was leased and not sent is left to the next owner's recovery. Pages that
// were received may still be committed.
func (d *Domain) loseSlot() {
	d.conns.Close()
	d.conns = d.deps.NewConns()
	d.phase, d.token = acquiring, ""
	d.lease, d.renew, d.reserve = nil, nil, nil
	for _, w := range d.works {
		w.buf, w.more = nil, true
	}
	d.idleFrom = time.Time{}
}

// refill leases more requests for a crawl of which few are left.
func (d *Domain) refill(ctx actor.Context, now time.Time) {
	if d.lease != nil || d.retryAt.After(now) {
		return
	}
	w, op := d.wanted(now)
	if op == nil {
		w, op = d.parkedLease(now)
	}
	if op == nil {
		return
	}
	d.lease = op
	w.more = false
	w.park.asked = w.park.stored
	if w.doubt {
		w.doubt = false
		d.ask(ctx, &rqueue.Recover{Slot: d.slot, Token: d.token, Crawl: w.crawl, Keep: d.held(w)}, op)
		return
	}
	d.ask(ctx, op)
}

// wanted is the lease that the pace of the slot asks for; nil: none.
func (d *Domain) wanted(now time.Time) (*work, *rqueue.Lease) {
	most := d.throttle.Batch(d.cfg.TTL/2, d.cfg.LeaseBatch)
	share := max(1, most/max(1, len(d.works)))
	w, buffered := d.hungriest(now)
	if w == nil || len(w.buf) > share/4 || buffered >= most {
		return nil, nil
	}
	if c := d.cfg.Throttle.Concurrency(); c >= 4 && 2*len(d.flights) > c {
		return nil, nil // busy: the longer the queue grows, the fewer leases it takes
	}
	start, _ := d.throttle.LowestNext(now)
	far := start.Sub(now) > d.cfg.TTL/2
	if far && w.park.looked {
		return nil, nil // too far off to hold requests for it
	}
	delay := d.throttle.Delay()
	lead := time.Duration(buffered) * delay // those already here leave first
	op := &rqueue.Lease{
		Slot: d.slot, Token: d.token, Crawl: w.crawl, Max: share, StartIn: start.Sub(now) + lead,
		Delay: delay, State: d.state(now),
	}
	if delay > 0 {
		op.Slack = d.cfg.Slack
	}
	if far {
		op.Max = 1 // only to learn whether the host is parked: then nothing waits for that time
	}
	return w, op
}

// hungriest is the work that has the fewest requests here of those that may have
// something due, the first in turn among equals; nil: none may. Parked ones wait for none of it. buffered counts
// the requests of all.
func (d *Domain) hungriest(now time.Time) (hungry *work, buffered int) {
	for _, w := range d.works {
		buffered += len(w.buf)
		if w.park.reason != "" || !w.due(now) || hungry != nil && len(hungry.buf) <= len(w.buf) {
			continue
		}
		hungry = w
	}
	return hungry, buffered
}

// due reports whether the queue may hold something that can be leased now.
func (w *work) due(now time.Time) bool {
	return (w.more || !w.delayedAt.IsZero() && !w.delayedAt.After(now)) && !w.after.After(now)
}

// held lists a crawl's requests that are in this node's hands.
func (d *Domain) held(w *work) []crawl.ID {
	ids := d.deps.Table.Held(d.slot, w.crawl)
	for i := range w.buf {
		ids = append(ids, w.buf[i].Request.ID)
	}
	return ids
}

func (d *Domain) onRecovered(op *rqueue.Recover) {
	if op.Err != nil {
		if w := d.find(op.Crawl); w != nil {
			w.doubt = true
		}
		return
	}
	if op.Recovered > 0 {
		d.log().WithField("requests", op.Recovered).Debug("leases recovered")
	}
}

func (d *Domain) onLeased(ctx actor.Context, now time.Time, op *rqueue.Lease) {
	if op != d.lease || op.Token != d.token {
		return
	}
	d.lease = nil
	w := d.find(op.Crawl)
	switch {
	case w == nil:
	case d.failed(now, op.Err):
		w.more, w.doubt = true, true
	case errors.Is(op.Err, rqueue.ErrLeaseLost):
		d.loseSlot()
	case errors.Is(op.Err, rqueue.ErrPaused):
		w.more, w.after = true, now.Add(d.cfg.Renew)
	case op.Err != nil: // stale run, not running
		d.forget(ctx, w)
	default:
		d.extended(now, op.Deadline)
		if op.StoredNext.After(d.storedNext) { // a lease never lowers it
			d.storedNext = op.StoredNext
		}
		w.park.learn(op.Parked)
		w.buf = append(w.buf, op.Requests...)
		w.waiting, w.more = op.Waiting, w.more || op.Waiting > 0
		w.delayedAt = time.Time{}
		if op.DelayedIn >= 0 {
			w.delayedAt = now.Add(op.DelayedIn)
		}
	}
}

// forget drops a crawl that is over, was stopped or flushed; what was not sent of
// it waits again.
func (d *Domain) forget(ctx actor.Context, w *work) {
	d.works = slices.DeleteFunc(d.works, func(x *work) bool { return x == w })
	if len(w.buf) > 0 {
		d.ask(ctx, &rqueue.GiveBack{Leased: w.buf})
	}
}

func (d *Domain) onGivenBack(now time.Time, op *rqueue.GiveBack) {
	if !d.failed(now, op.Err) || len(op.Leased) == 0 {
		return
	}
	if w := d.find(op.Leased[0].Crawl); w != nil { // they may be leased still
		w.doubt, w.more = true, true
	}
}

func (d *Domain) extended(now, deadline time.Time) {
	if deadline.After(d.deadline) {
		d.deadline, d.touched = deadline, now
	}
}

// mine reports whether this node should own the slot for any of the crawls here.
func (d *Domain) mine() bool {
	for _, w := range d.works {
		if d.deps.Places.Mine(d.slot, w.crawl.Name()) {
			return true
		}
	}
	return len(d.works) == 0
}

// strangerFor is how many lives of a lease a node keeps a slot that another should own.
const strangerFor = 4

// keepSlot renews the lease when no other step has done so lately, and at once
// when a hold must not wait for that (exposed). Never after the deadline: step has seen to that.
func (d *Domain) keepSlot(ctx actor.Context, now time.Time) {
	if d.renew != nil || d.lease != nil || !d.unsaved && now.Sub(d.touched) < d.cfg.Renew || d.retryAt.After(now) {
		return
	}
	if now.Sub(d.acquired) > strangerFor*d.cfg.TTL && !d.mine() {
		d.draining = true // taken when its owner did not; let that try again
	}
	d.renew = &rqueue.Renew{Slot: d.slot, Token: d.token, Crawls: d.crawls(), State: d.state(now)}
	d.ask(ctx, d.renew)
}

func (d *Domain) onRenewed(now time.Time, op *rqueue.Renew) {
	if op != d.renew {
		return
	}
	d.renew = nil
	switch {
	case d.failed(now, op.Err):
	case errors.Is(op.Err, rqueue.ErrLeaseLost):
		d.loseSlot()
	case op.Err == nil:
		d.extended(now, op.Deadline)
		d.throttle.Pause(op.Paused)
		if op.Ready {
			for _, w := range d.works {
				w.more = true
			}
		}
	}
}

func (d *Domain) wantReserve(ctx actor.Context, now time.Time, delay time.Duration) {
	if d.reserve != nil || d.retryAt.After(now) {
		return
	}
	d.asked = asked{now, d.deps.StoreChanges()}
	spare := minSpare + d.cfg.Slack + 2*d.slowness // or a slow store's answer would always come too late
	d.reserve = &rqueue.Reserve{Slot: d.slot, Token: d.token, NextIn: delay + spare, State: d.state(now)}
	d.ask(ctx, d.reserve)
}

func (d *Domain) onReserved(now time.Time, op *rqueue.Reserve) {
	if op != d.reserve {
		return
	}
	d.reserve = nil
	d.slowness = now.Sub(d.asked.at)
	switch {
	case d.failed(now, op.Err):
	case errors.Is(op.Err, rqueue.ErrLeaseLost):
		d.loseSlot()
	case op.Err != nil:
	case d.store != d.asked.store:
		d.store, d.storedNext = d.asked.store, op.StoredNext
	case op.StoredNext.After(d.storedNext):
		d.storedNext = op.StoredNext
	}
}

// restOrGiveUp releases a slot that has had nothing to do for a while, or whose
// next start is far off.
func (d *Domain) restOrGiveUp(ctx actor.Context, now time.Time) {
	if len(d.flights) > 0 || d.lease != nil {
		d.idleFrom = time.Time{}
		return
	}
	if d.renew != nil || d.reserve != nil {
		return
	}
	start, why := d.throttle.LowestNext(now)
	if start.Sub(now) > d.cfg.TTL && !d.emptiesParked(now) && len(d.errands) == 0 && !d.busyElsewhere() {
		d.giveUp(ctx, now)
		return
	}
	if len(d.errands) > 0 {
		d.idleFrom = time.Time{}
		return
	}
	for _, w := range d.works {
		if len(w.buf) > 0 || w.more {
			d.idleFrom = time.Time{}
			return
		}
	}
	if d.idleFrom.IsZero() {
		d.idleFrom = now
		if why == throttle.ReasonRetryAfter && !d.crowded() { // what was refused is due then: to come back for it costs more
			d.idleFrom = start
		}
	}
	if !d.worked || now.Sub(d.idleFrom) >= d.idleFor() { // it came for an errand, and others may want the slot
		d.giveUp(ctx, now)
	}
}

// idleFor is how long a domain without work stays: not long when more than half of
// the node's domains live, for others want the room.
func (d *Domain) idleFor() time.Duration {
	if d.crowded() {
		return d.cfg.Idle / 10
	}
	return d.cfg.Idle
}

func (d *Domain) crowded() bool { return d.deps.Table.Live() > d.cfg.MaxDomains/2 }

// settleLook is how often a domain that leaves looks whether its pages are committed.
const settleLook = 5 * time.Millisecond

// giveUp gives unsent requests back and, when nothing is in flight, the slot.
func (d *Domain) giveUp(ctx actor.Context, now time.Time) {
	if d.lease != nil || d.retryAt.After(now) {
		return // its requests must come back first
	}
	var ops []rqueue.Op
	for _, w := range d.works {
		if len(w.buf) > 0 {
			ops = append(ops, &rqueue.GiveBack{Leased: w.buf})
			w.buf, w.gave = nil, true
		}
	}
	if len(d.flights) == 0 && d.draining && !d.cutOff && d.deps.Table.Holds(d.slot) {
		// The next owner, another node, would recover what is not committed yet, and
		// fetch it again.
		d.waitTo = now.Add(settleLook)
	} else if len(d.flights) == 0 {
		start, _ := d.throttle.LowestNext(now)
		d.phase = releasing
		d.release = &rqueue.Release{Slot: d.slot, Token: d.token, Crawls: d.crawls(), NextIn: start.Sub(now), State: d.state(now)}
		ops = append(ops, d.release)
		ctx.Send(ctx.Parent(), &passivate{d.slot})
	}
	if len(ops) > 0 {
		d.ask(ctx, ops...)
	}
}

// onReleased stops the domain; true when it did. One whose release could not be
// stored stays, for it knows of holds that the store does not; only a node that
// ends leaves its leases to lapse.
func (d *Domain) onReleased(ctx actor.Context, now time.Time, op *rqueue.Release) bool {
	if op != d.release {
		return false
	}
	if d.failed(now, op.Err) && !d.draining {
		d.phase, d.release, d.idleFrom = holding, nil, time.Time{}
		ctx.Send(ctx.Parent(), &stay{d.slot})
		return false
	}
	for _, w := range d.works {
		if w.woken || d.draining && (w.gave || w.more || w.waiting > 0) {
			ctx.Send(ctx.Parent(), &messages.Wake{Refs: []rqueue.HostRef{{Crawl: w.crawl, Host: d.slot}}, Released: true})
		}
	}
	d.deps.Table.unhold(d.slot)
	ctx.Stop(ctx.Self())
	return true
}

func (d *Domain) snapshot(now time.Time) *Snapshot {
	s := &Snapshot{
		Slot: d.slot, Phase: d.phase.String(), Delay: d.throttle.Delay(), Concurrency: d.cfg.Throttle.Concurrency(),
		InUse: len(d.flights), Reason: d.reason, LastStatus: d.lastStatus, LastError: d.lastError, LastLatency: d.lastLatency,
		Fetched: d.fetched, Fetchers: d.spawned, LeaseExpires: max(0, d.deadline.Sub(now)),
	}
	if start, _ := d.throttle.LowestNext(now); start.After(now) {
		s.NextIn = start.Sub(now)
	}
	for _, w := range d.works {
		s.Crawls = append(s.Crawls, w.crawl.Name())
		s.Buffered += len(w.buf)
		s.Waiting += w.waiting
	}
	return s
}
