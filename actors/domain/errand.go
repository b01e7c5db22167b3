package domain

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/core/throttle"
	"orbweaver/core/weburl"
	"orbweaver/messages"
)

// A robots.txt may redirect to another host, whose politeness is not this slot's to
// keep. What the store knows of that host is taken; else its own domain fetches one
// URL for us, an errand, through its slot like any request of its own:
//
//	asker --errand--> `domains` --errand--> the host's domain --errandDone--> `domains` --> asker
//
// It goes by the proxy of the request that waits for it, and not at all where the host
// is parked in that request's crawl. An errand follows no redirect: each is another errand of the asker, so that no two
// domains wait for each other. It ends by its time, whoever forgets it.

// sendAway asks for a redirect's target on another host: the store first, when the
// target is what every crawler of that host asks for.
func (d *Domain) sendAway(ctx actor.Context, f *robotsFile, waiting rqueue.Leased) {
	f.state = pending
	url := f.url()
	f.crawl, f.meta = waiting.Crawl, proxyMeta(waiting.Request.Meta)
	if origin := weburl.Origin(url); url == origin+"/robots.txt" {
		f.peek = &rqueue.RobotsGet{Host: weburl.Host(url), Origin: origin}
		d.ask(ctx, f.peek)
		return
	}
	d.sendErrand(ctx, f)
}

// onPeeked uses what is stored of another host's robots.txt, or has it fetched.
func (d *Domain) onPeeked(ctx actor.Context, now time.Time, op *rqueue.RobotsGet) {
	for _, f := range d.robots {
		if f.peek != op {
			continue
		}
		f.peek = nil
		stored := &op.Robots
		switch {
		case d.failed(now, op.Err):
			f.state = wanted
		case op.Found && stored.Good && stored.UnreachableSince == 0 && stored.Age < d.life(stored):
			d.haveRobots(ctx, now, f, stored.Status, stored.Body, d.life(stored)-stored.Age)
		default:
			d.sendErrand(ctx, f)
		}
		return
	}
}

// sendErrand sends an errand for the request that waits.
func (d *Domain) sendErrand(ctx actor.Context, f *robotsFile) {
	url := f.url()
	f.away = &errand{
		host: weburl.Host(url), url: url, asker: d.slot, crawl: f.crawl, meta: f.meta,
		until: time.Now().Add(d.cfg.RobotsElsewhere),
	}
	ctx.Send(ctx.Parent(), f.away)
}

// onErrandDone takes the answer to this domain's own errand.
func (d *Domain) onErrandDone(ctx actor.Context, msg *errandDone) {
	now := time.Now()
	for _, f := range d.robots {
		if f.away != msg.errand {
			continue
		}
		f.away = nil
		if msg.refused != "" {
			d.refused(ctx, now, f, msg.refused)
		} else {
			d.onRobotsFetched(ctx, now, f, msg.outcome, msg.response)
		}
		break
	}
	d.step(ctx)
}

// refused: the site has answered, by a redirect, but its target could not be asked.
func (d *Domain) refused(ctx actor.Context, now time.Time, f *robotsFile, why string) {
	d.robotsUnreachable(ctx, now, f, 302, "redirect to "+weburl.Host(f.url())+": "+why, 0)
}

// awaited says until when an errand for f is waited for; one whose time is over ends
// here. Zero: there is none.
func (d *Domain) awaited(ctx actor.Context, now time.Time, f *robotsFile) time.Time {
	if f.away == nil {
		return time.Time{}
	}
	if now.Before(f.away.until) {
		return f.away.until
	}
	d.refused(ctx, now, f, "no answer in time")
	return time.Time{}
}

// busyElsewhere reports whether the requests here wait for a robots.txt of which
// redirects were followed: to give the slot up would be to forget them.
func (d *Domain) busyElsewhere() bool {
	for _, w := range d.works {
		if len(w.buf) > 0 && d.cfg.RobotsObey && d.robotsFor(w.buf[0].Request.URL).following() {
			return true
		}
	}
	return false
}

// onErrand takes an errand of another host's domain.
func (d *Domain) onErrand(ctx actor.Context, msg *errand) {
	d.errands = append(d.errands, msg)
	d.step(ctx)
}

// refuseErrands ends the errands that cannot be done: all of them with why, else
// those whose time is over before the slot's next start.
func (d *Domain) refuseErrands(ctx actor.Context, now time.Time, why string) {
	if len(d.errands) == 0 {
		return
	}
	start := now
	if d.phase == holding {
		start, _ = d.throttle.LowestNext(now)
	}
	d.errands = slices.DeleteFunc(d.errands, func(e *errand) bool {
		switch {
		case why != "":
			d.answer(ctx, &errandDone{errand: e, refused: why})
		case d.fetching(e.url):
			return false
		case start.Before(e.until):
			return false
		default:
			d.answer(ctx, &errandDone{errand: e, refused: "no turn in time"})
		}
		return true
	})
}

// clearFor is how long the store's word counts that a host is not parked: longer than the
// answers take that the send may still need.
const clearFor = 3 * time.Second

// clear reports whether an errand whose turn it is may be sent: the store is asked
// whether the host is parked in its crawl.
func (d *Domain) clear(ctx actor.Context, now time.Time, e *errand) bool {
	if d.cleared == e.crawl && now.Sub(d.clearedAt) < clearFor {
		return true
	}
	if d.clearing == nil && !d.retryAt.After(now) {
		d.clearing = &rqueue.ParkedGet{Crawl: e.crawl, Host: d.slot}
		d.ask(ctx, d.clearing)
	}
	d.wait(throttle.ReasonRedis, time.Time{}) // for the answer, or retryAt
	return false
}

// onCleared takes the store's word.
func (d *Domain) onCleared(ctx actor.Context, now time.Time, op *rqueue.ParkedGet) {
	if op != d.clearing {
		return
	}
	d.clearing = nil
	switch {
	case d.failed(now, op.Err):
	case op.Reason == "":
		d.cleared, d.clearedAt = op.Crawl, now
	default:
		d.cleared = nil
		d.errands = slices.DeleteFunc(d.errands, func(e *errand) bool {
			if e.crawl != op.Crawl || d.fetching(e.url) {
				return false
			}
			d.answer(ctx, &errandDone{errand: e, refused: "it is parked: " + op.Reason})
			return true
		})
	}
}

func (d *Domain) answer(ctx actor.Context, done *errandDone) { ctx.Send(ctx.Parent(), done) }

// errandFlight is the flight of the oldest errand that is not under way, or nil.
func (d *Domain) errandFlight() *flight {
	for _, e := range d.errands {
		if !d.fetching(e.url) {
			return &flight{errand: e, lease: rqueue.Leased{Host: d.slot, Request: &crawl.Request{ID: crawl.NewID("robots", e.url), URL: e.url, Meta: e.meta}}}
		}
	}
	return nil
}

// fetching reports whether a robots.txt is being fetched from url.
func (d *Domain) fetching(url string) bool {
	return d.flights[crawl.NewID("robots", url)] != nil
}

// answerErrands gives an answer to everybody who asked for its URL. A good one counts
// for this host itself too when it is its own robots.txt.
func (d *Domain) answerErrands(ctx actor.Context, now time.Time, f *flight, o messages.Outcome, resp *crawl.Response) {
	if !answered(o, resp) {
		return // it is tried again while there is time
	}
	url := f.lease.Request.URL
	d.errands = slices.DeleteFunc(d.errands, func(e *errand) bool {
		if e.url != url {
			return false
		}
		d.answer(ctx, &errandDone{errand: e, outcome: o, response: resp})
		return true
	})
	good := o.Cause == crawl.CauseNone && (o.Status < 300 || o.Status >= 400 && o.Status < 500 && o.Status != 429)
	if f.errand == nil || !d.cfg.RobotsObey || !good {
		return
	}
	if own := d.robotsFor(url); own.url() == url && own.state != pending {
		d.judgeRobots(ctx, now, own, o, resp)
	}
}
