package domain

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"orbweaver/core/crawl"
	"orbweaver/core/robots"
	"orbweaver/core/rqueue"
	"orbweaver/core/throttle"
	"orbweaver/core/weburl"
	"orbweaver/messages"
)

// maxRobotsHops is how many redirects of a robots.txt are followed (RFC 9309 §2.3.1.2).
const maxRobotsHops = 5

// robotsFile is what a domain knows of one origin's robots.txt.
type robotsFile struct {
	origin   string
	state    verdict       // unknown, pending, wanted, or allowed: then rules decide
	rules    *robots.Group // nil: none, everything is allowed
	delay    time.Duration // Crawl-delay
	until    time.Time     // rules are fresh before it
	retryAt  time.Time     // state unreachable: ask again then
	failures int
	status   int       // of the last answer that was a failure; 0: there was none
	since    time.Time // when it became unreachable; zero: it is not, or nobody knows
	problem  string
	hops     int
	url      string // where to fetch it from: the origin's, or a redirect's target
}

// verdict is what robots.txt says of a request, or what is to be done to know.
type verdict uint8

const (
	unknown     verdict = iota // look into the store
	wanted                     // to be fetched
	pending                    // being loaded or fetched
	allowed                    //
	disallowed                 //
	unreachable                // could not be had; wait until retryAt
)

func (d *Domain) robotsFor(url string) *robotsFile {
	origin := weburl.Origin(url)
	f := d.robots[origin]
	if f == nil {
		f = &robotsFile{origin: origin, url: origin + "/robots.txt"}
		d.robots[origin] = f
	}
	return f
}

// verdict says what to do with a request for url.
func (f *robotsFile) verdict(now time.Time, url string) verdict {
	switch f.state {
	case allowed:
		if now.After(f.until) {
			f.state = wanted
			return wanted
		}
		if f.rules != nil && !f.rules.Allowed(url) {
			return disallowed
		}
		return allowed
	case unreachable:
		if !now.Before(f.retryAt) {
			f.state = wanted
			return wanted
		}
		return unreachable
	default:
		return f.state
	}
}

// loadRobots asks the store what the cluster knows.
func (d *Domain) loadRobots(ctx actor.Context, f *robotsFile) {
	f.state = pending
	d.ask(ctx, &rqueue.RobotsGet{Host: d.slot, Origin: f.origin})
}

func (d *Domain) onRobotsLoaded(now time.Time, op *rqueue.RobotsGet) {
	f := d.robots[op.Origin]
	if f == nil || f.state != pending {
		return
	}
	f.state = wanted
	if d.failed(now, op.Err) {
		f.state = unknown
		return
	}
	switch stored := &op.Robots; {
	case !op.Found:
	case stored.UnreachableSince > 0:
		f.since = now.Add(-stored.UnreachableSince)
	case stored.Age < d.cfg.RobotsMaxAge:
		known := d.throttle.Snapshot(now).CrawlDelay
		d.useRobots(now, f, stored.Body, d.cfg.RobotsMaxAge-stored.Age)
		if delay := d.throttle.Snapshot(now).CrawlDelay; delay > known && d.inherited && d.fetched == 0 {
			// The last owner ended before it stored this delay; it may have sent until then.
			d.throttle.Hold(d.acquired.Add(delay), throttle.ReasonCrawlDelay)
		}
	}
}

// robotsFlight is the fetch of robots.txt, through the slot like any request.
func (d *Domain) robotsFlight(f *robotsFile) *flight {
	req := &crawl.Request{ID: crawl.NewID("robots", f.url), URL: f.url}
	return &flight{file: f, lease: rqueue.Leased{Host: d.slot, Request: req}}
}

// onRobotsFetched judges the answer: RFC 9309 §2.3.1.
func (d *Domain) onRobotsFetched(ctx actor.Context, now time.Time, f *robotsFile, msg *messages.FetchDone) {
	resp := msg.Robots
	o := msg.Outcome
	if o.Cause == crawl.CauseCancelled || o.Cause == crawl.CauseTooLate || o.Stale || resp == nil {
		f.state = wanted
		return
	}
	if len(d.works) > 0 {
		ctx.Send(d.deps.Pipeline, &messages.RobotsFetched{Crawl: d.works[0].crawl, Response: resp})
	}
	switch {
	case o.Cause == crawl.CauseMissing: // nothing of the origin is fetched either
		d.useRobots(now, f, nil, d.cfg.RobotsRetryTo)
	case o.Cause != crawl.CauseNone:
		d.robotsUnreachable(ctx, now, f, 0, string(o.Cause)+": "+o.Err)
	case o.Status >= 500 || o.Status == 429:
		d.robotsUnreachable(ctx, now, f, o.Status, fmt.Sprintf("status %d", o.Status))
	case o.Status >= 300 && o.Status < 400 && d.followRobots(f, resp):
	case o.Status >= 200 && o.Status < 300:
		d.haveRobots(ctx, now, f, o.Status, resp.Body)
	default: // 4xx, or a redirect that leads nowhere we may go from here: no rules
		d.haveRobots(ctx, now, f, o.Status, nil)
	}
}

// followRobots turns to a redirect's target when that is on this slot. Another
// host's robots.txt would need that host's slot: without it, no rules are known.
func (d *Domain) followRobots(f *robotsFile, resp *crawl.Response) bool {
	target, err := weburl.Resolve(f.url, resp.Header("Location"))
	if err != nil || target == f.url || f.hops >= maxRobotsHops || weburl.Host(target) != d.slot {
		return false
	}
	f.hops++
	f.url, f.state = target, wanted
	return true
}

func (d *Domain) haveRobots(ctx actor.Context, now time.Time, f *robotsFile, status int, body []byte) {
	f.failures, f.problem, f.since = 0, "", time.Time{}
	f.hops, f.url = 0, f.origin+"/robots.txt"
	d.useRobots(now, f, body, d.cfg.RobotsMaxAge)
	d.ask(ctx, &rqueue.RobotsPut{Host: d.slot, Origin: f.origin, Robots: rqueue.Robots{Body: body, Status: status}})
}

func (d *Domain) useRobots(now time.Time, f *robotsFile, body []byte, life time.Duration) {
	f.state, f.until, f.rules, f.delay = allowed, now.Add(life), nil, 0
	if len(body) > 0 {
		f.rules = robots.Parse(body).For(d.cfg.RobotsAgent)
		f.delay, _ = f.rules.CrawlDelay()
	}
	var most time.Duration // of the slot's origins
	for _, of := range d.robots {
		most = max(most, of.delay)
	}
	d.throttle.SetCrawlDelay(most)
}

// robotsUnreachable: nothing of the origin may be fetched until it can be had.
func (d *Domain) robotsUnreachable(ctx actor.Context, now time.Time, f *robotsFile, status int, problem string) {
	f.failures++
	if f.since.IsZero() {
		f.since = now
	}
	f.hops, f.url = 0, f.origin+"/robots.txt"
	f.state, f.status, f.problem = unreachable, status, "robots.txt: "+problem
	f.retryAt = now.Add(min(d.cfg.RobotsRetryTo, d.cfg.RobotsRetry<<min(f.failures-1, 20)))
	if start, _ := d.throttle.LowestNext(now); start.After(f.retryAt) {
		f.retryAt = start
	}
	d.lastError = f.problem
	d.log().WithField("err", f.problem).Debug("robots.txt could not be had")
	d.ask(ctx, &rqueue.RobotsPut{Host: d.slot, Origin: f.origin, Robots: rqueue.Robots{Status: status, UnreachableSince: max(1, now.Sub(f.since))}})
}
