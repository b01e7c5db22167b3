package domain

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

// park is what a domain knows of a crawl that puts the host aside. The mark is in
// the store, and each lease tells it; a parse worker that finds the reason tells it
// before that is stored. Then a lease that was asked for earlier says nothing yet.
type park struct {
	reason string // "": not parked
	stored bool   // the store knows
	asked  bool   // stored, when the lease under way was asked for
	looked bool   // a lease has told since the slot was acquired
}

// learn takes what a lease told.
func (p *park) learn(reason string) {
	p.looked = true
	switch {
	case reason != "":
		p.reason, p.stored = reason, true
	case p.asked: // released
		*p = park{looked: true}
	}
}

func (d *Domain) onParked(ctx actor.Context, msg *messages.Parked) {
	w := d.find(msg.Crawl)
	if w == nil {
		return
	}
	if w.park.reason == "" {
		w.park.reason = msg.Reason
	}
	w.park.stored = w.park.reason != "" && (w.park.stored || msg.Stored)
	w.more = true // what waits and what is delayed is to end as well
	d.step(ctx)
}

// leave hands the first request of a parked host to the pipeline without a fetch.
// False: no credit.
func (d *Domain) leave(ctx actor.Context, w *work) bool {
	lease := w.buf[0]
	if !d.take(ctx, &flight{lease: lease, work: w}) {
		return false
	}
	w.buf = w.buf[1:]
	ctx.Send(d.deps.Pipeline, &messages.Page{Lease: lease, Slot: d.slot, Response: &crawl.Response{
		URL: lease.Request.URL, Cause: crawl.CauseParked, Err: w.park.reason,
	}})
	return true
}

// parkedLease is a lease of requests that will not be sent: the pace of the slot
// does not matter to them. nil: none.
func (d *Domain) parkedLease(now time.Time) (*work, *rqueue.Lease) {
	for _, w := range d.works {
		if w.park.reason != "" && len(w.buf) == 0 && w.due(now) {
			return w, &rqueue.Lease{Slot: d.slot, Token: d.token, Crawl: w.crawl, Max: d.cfg.LeaseBatch, State: d.state(now)}
		}
	}
	return nil, nil
}

// emptiesParked reports whether requests of a parked host are still to be ended.
func (d *Domain) emptiesParked(now time.Time) bool {
	for _, w := range d.works {
		if w.park.reason != "" && (len(w.buf) > 0 || w.due(now)) {
			return true
		}
	}
	return false
}
