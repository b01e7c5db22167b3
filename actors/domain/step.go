package domain

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"orbweaver/core/crawl"
	"orbweaver/core/invariant"
	"orbweaver/core/rqueue"
	"orbweaver/core/throttle"
	"orbweaver/messages"
)

// minSpare is how much later than now + delay the stored next_at must be before a
// request is handed over: the time that dialling may take before it is written.
const minSpare = 50 * time.Millisecond

// fenceLook is how often a fenced node looks whether it is let in again.
const fenceLook = 250 * time.Millisecond

func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) } //nolint:gosec // spreads load

// step does all that can be done now and arms the timer for the rest. It is
// called after every event.
func (d *Domain) step(ctx actor.Context) {
	if d.phase == ended {
		return
	}
	now := time.Now()
	d.waitTo = time.Time{}
	if d.phase == holding && !now.Before(d.deadline) {
		d.loseSlot()
	}
	why := ""
	if d.draining {
		why = "its domain ends"
	}
	d.refuseErrands(ctx, now, why)
	switch d.phase {
	case acquiring:
		d.setReason(throttle.ReasonRedis)
		d.wantSlot(ctx, now)
	case holding:
		if !d.retryAt.After(now) {
			for _, w := range d.works {
				d.saveCookies(ctx, w)
			}
		}
		if d.draining {
			d.setReason(throttle.ReasonNoWork)
			d.keepSlot(ctx, now)
			d.giveUp(ctx, now)
			break
		}
		d.dispatch(ctx, now)
		d.refill(ctx, now)
		d.keepSlot(ctx, now)
		d.restOrGiveUp(ctx, now)
	case releasing, ended:
	}
	d.arm(ctx, now)
}

// dispatch hands requests to fetchers as long as politeness, credits and the
// stored next_at allow.
func (d *Domain) dispatch(ctx actor.Context, now time.Time) {
	for {
		f := d.next(ctx, now)
		if f == nil {
			return
		}
		if dec := d.throttle.Next(now); !dec.OK {
			d.wait(dec.Reason, dec.At)
			return
		}
		if f.errand != nil && !d.clear(ctx, now, f.errand) {
			return
		}
		delay := d.throttle.Delay()
		notAfter := d.deadline
		if fence := d.deps.Places.Fence(); fence.Before(notAfter) {
			if !now.Before(fence) {
				d.wait(throttle.ReasonRedis, now.Add(fenceLook))
				return
			}
			notAfter = fence
		}
		if delay > 0 {
			stored := d.stored()
			if now.Add(delay + minSpare).After(stored) {
				d.wantReserve(ctx, now, delay)
				d.wait(throttle.ReasonRedis, time.Time{})
				return
			}
			if t := stored.Add(-delay); t.Before(notAfter) {
				notAfter = t
			}
			f.delay, f.bound = delay, stored
		}
		if !d.take(ctx, f) {
			return
		}
		d.send(ctx, f, notAfter)
	}
}

// stored is the next_at that is surely stored: a store that may have forgotten its
// last second is not believed.
func (d *Domain) stored() time.Time {
	if d.deps.StoreChanges() != d.store {
		return time.Time{}
	}
	return d.storedNext
}

// next is the flight that should leave now, or nil; then the reason is set. The
// request stays in its buffer until send.
func (d *Domain) next(ctx actor.Context, now time.Time) *flight {
	if f := d.errandFlight(); f != nil {
		return f
	}
	reason, at := throttle.ReasonNoWork, time.Time{}
	for i := range d.works {
		w := d.works[i]
		for len(w.buf) > 0 {
			if w.park.reason != "" {
				if !d.leave(ctx, w) {
					return nil
				}
				continue
			}
			lease := w.buf[0]
			if w.jar.state != jarReady {
				d.readCookies(ctx, w)
				reason = throttle.ReasonRedis
				break
			}
			if !d.cfg.RobotsObey {
				return &flight{lease: lease, work: w}
			}
			file := d.robotsFor(lease.Request.URL)
			switch file.verdict(now, lease.Request.URL) {
			case allowed:
				return &flight{lease: lease, work: w}
			case unknown:
				d.loadRobots(ctx, file)
				reason = throttle.ReasonRobots
			case wanted:
				if !d.fetching(file.url()) { // as an errand: its answer is ours too
					if f := d.robotsFlight(ctx, file, lease); f != nil {
						return f
					}
				}
				reason = throttle.ReasonRobots
			case pending:
				reason = throttle.ReasonRobots
				if until := d.awaited(ctx, now, file); file.state != pending {
					continue
				} else if at.IsZero() || !until.IsZero() && until.Before(at) {
					at = until
				}
			case disallowed, unreachable:
				if !d.reject(ctx, now, w, file) {
					return nil
				}
				continue
			}
			break
		}
	}
	switch {
	case reason != throttle.ReasonNoWork:
	case d.failures > 0:
		reason = throttle.ReasonRedis
	case len(d.flights) > 0:
		reason = throttle.ReasonConcurrency
	}
	d.wait(reason, at)
	return nil
}

// take enters the flight into the table of requests in flight.
func (d *Domain) take(ctx actor.Context, f *flight) bool {
	var c *rqueue.Crawl
	if f.work != nil {
		c = f.work.crawl
	}
	switch d.deps.Table.Take(d.slot, c, f.lease.Request.ID, ctx.Self()) {
	case NoCredit:
		d.wait(ReasonCredits, time.Time{})
		return false
	case PageLimit:
		d.wait(ReasonPageLimit, time.Now().Add(d.cfg.Renew))
		return false
	case Taken:
	}
	return true
}

func (d *Domain) send(ctx actor.Context, f *flight, notAfter time.Time) {
	if f.work != nil {
		f.work.buf = f.work.buf[1:]
		if len(d.works) > 1 {
			d.rotate()
		}
	} else if f.file != nil {
		f.file.state = pending
	}
	d.throttle.Dispatched()
	d.flights[f.lease.Request.ID] = f
	d.deps.Checks.Hold(invariant.SlotOverfull, len(d.flights) <= d.cfg.Throttle.Concurrency(), func() string {
		return fmt.Sprintf("%s has %d requests in flight", d.slot, len(d.flights))
	})
	fetch := &messages.Fetch{Lease: f.lease, Slot: d.slot, Conns: d.conns, Delay: f.delay, NotAfter: notAfter, Robots: f.work == nil}
	if f.work != nil {
		fetch.Cookie, fetch.Cookies = d.cookie(f.work, f.lease.Request), f.work.jar.jars
	}
	ctx.Request(d.fetcher(ctx), fetch)
}

// checkSent asserts what a successor relies on: the start after this one, at the delay
// that was in force, is not after the stored one.
func (d *Domain) checkSent(f *flight, at time.Time) {
	if f.delay == 0 {
		return
	}
	bound := f.bound
	if d.storedNext.After(bound) {
		bound = d.storedNext
	}
	late := at.Add(f.delay).Sub(bound)
	d.deps.Checks.Hold(invariant.StartNotStored, late <= 0, func() string {
		return fmt.Sprintf("%s: next start is stored %s too early", d.slot, late)
	})
}

// rotate gives the next crawl its turn.
func (d *Domain) rotate() {
	first := d.works[0]
	copy(d.works, d.works[1:])
	d.works[len(d.works)-1] = first
}

func (d *Domain) fetcher(ctx actor.Context) *actor.PID {
	if n := len(d.idle); n > 0 {
		pid := d.idle[n-1]
		d.idle = d.idle[:n-1]
		return pid
	}
	d.spawned++
	return ctx.Spawn(d.deps.Fetcher)
}

// reject hands a request that robots.txt forbids, or cannot answer for, to the
// pipeline without a fetch. False: no credit.
func (d *Domain) reject(ctx actor.Context, now time.Time, w *work, file *robotsFile) bool {
	lease := w.buf[0]
	if !d.take(ctx, &flight{lease: lease, work: w}) {
		return false
	}
	w.buf = w.buf[1:]
	page := &messages.Page{Lease: lease, Slot: d.slot, Disallowed: true, Response: &crawl.Response{URL: lease.Request.URL}}
	if file.verdict(now, lease.Request.URL) == unreachable {
		page.Disallowed = false
		page.RetryIn = file.retryAt.Sub(now)
		page.Response.Cause, page.Response.Status, page.Response.Err = crawl.CauseRobots, file.status, file.problem
	}
	ctx.Send(d.deps.Pipeline, page)
	return true
}

// wait notes why nothing is sent, and when to look again.
func (d *Domain) wait(why throttle.Reason, at time.Time) {
	d.setReason(why)
	d.waitTo = at
}

func (d *Domain) setReason(why throttle.Reason) {
	d.deps.Table.reason(d.reason, why)
	d.reason = why
}

// arm sets the timer to the earliest time at which something is to be done. What is
// due already was done by step, or waits for an answer, which is an event.
func (d *Domain) arm(ctx actor.Context, now time.Time) {
	at := d.waitTo
	earlier := func(t time.Time) {
		if t.After(now) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	earlier(d.retryAt)
	for _, e := range d.errands {
		earlier(e.until)
	}
	if d.phase == holding {
		earlier(d.touched.Add(d.cfg.Renew))
		earlier(d.deadline)
		if !d.idleFrom.IsZero() {
			earlier(d.idleFrom.Add(d.idleFor()))
		}
		for _, w := range d.works {
			earlier(w.delayedAt)
			earlier(w.after)
		}
	}
	if at.IsZero() || (!d.timerAt.IsZero() && !at.Before(d.timerAt)) {
		return // the timer that is armed comes first
	}
	if d.timer != nil {
		d.timer.Stop()
	}
	d.timerSeq++
	d.timerAt = at
	root, self, msg := ctx.ActorSystem().Root, ctx.Self(), &tick{seq: d.timerSeq}
	d.timer = time.AfterFunc(max(0, at.Sub(now)), func() { root.Send(self, msg) })
}
