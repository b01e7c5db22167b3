package domain

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"orbweaver/core/robots"
	"orbweaver/core/rqueue"
	"orbweaver/core/throttle"
	"orbweaver/core/weburl"
)

// unreachableFor is after how long a robots.txt that cannot be had binds nobody but
// by the rules that were last had (RFC 9309 §2.3.1.4).
const unreachableFor = 30 * 24 * time.Hour

// robotsFile is what a domain knows of one origin's robots.txt.
type robotsFile struct {
	origin   string
	state    verdict       // unknown, pending, wanted, unreachable; or allowed: then rules decide
	rules    *robots.Group // of the last good answer; nil: none, everything is allowed
	delay    time.Duration // what they ask for between requests
	until    time.Time     // rules are fresh before it
	retryAt  time.Time     // state unreachable: ask again then
	failures int
	status   int       // of the last answer that was a failure; 0: there was none
	since    time.Time // when it became unreachable; zero: it is not, or nobody knows
	problem  string
	crawl    *rqueue.Crawl     // for whose request another host is asked
	meta     []byte            // names that request's proxy; nil: none
	trail    []string          // where redirects led so far, the origin's own first; the last is to be fetched
	peek     *rqueue.RobotsGet // asks for what is stored of another host's; nil: not
	away     *errand           // another host's domain was asked to fetch it; nil: not
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
		f = &robotsFile{origin: origin}
		f.restart()
		d.robots[origin] = f
	}
	return f
}

// restart makes the origin's own robots.txt the next to be fetched.
func (f *robotsFile) restart() {
	f.trail = append(f.trail[:0], f.origin+"/robots.txt")
	f.peek, f.away = nil, nil
}

// url is where it is to be fetched from: the origin's, or a redirect's target.
func (f *robotsFile) url() string { return f.trail[len(f.trail)-1] }

// following reports whether redirects have led somewhere and the end is not known.
func (f *robotsFile) following() bool {
	return len(f.trail) > 1 && (f.state == wanted || f.state == pending)
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

func (d *Domain) onRobotsLoaded(ctx actor.Context, now time.Time, op *rqueue.RobotsGet) {
	if op.Host != d.slot {
		d.onPeeked(ctx, now, op)
		return
	}
	f := d.robots[op.Origin]
	if f == nil || f.state != pending {
		return
	}
	f.state = wanted
	if d.failed(now, op.Err) {
		f.state = unknown
		return
	}
	stored := &op.Robots
	if !op.Found {
		return
	}
	known := d.throttle.Snapshot(now).CrawlDelay
	if stored.Good {
		d.useRules(f, stored.Body)
	}
	switch {
	case stored.UnreachableSince > 0:
		f.since, f.failures, f.status = now.Add(-stored.UnreachableSince), stored.Failures, stored.Status
		if stored.RetryIn > 0 {
			d.unreachableUntil(now, f, now.Add(stored.RetryIn), describe(stored.Status))
		}
	case stored.Age < d.life(stored):
		f.state, f.until = allowed, now.Add(d.life(stored)-stored.Age)
	}
	if delay := d.throttle.Snapshot(now).CrawlDelay; delay > known && d.inherited && d.fetched == 0 {
		// The last owner ended before it stored this delay; it may have sent until then.
		d.throttle.Hold(d.acquired.Add(delay), throttle.ReasonCrawlDelay)
	}
}

// life is how long after its fetch a stored copy may be used.
func (d *Domain) life(stored *rqueue.Robots) time.Duration {
	if stored.Life <= 0 {
		return d.cfg.RobotsMaxAge
	}
	return min(stored.Life, d.cfg.RobotsMaxAge)
}

// useRules takes what a good answer's body asks of this crawler. The longest delay
// of the slot's origins is the floor of its own.
func (d *Domain) useRules(f *robotsFile, body []byte) {
	f.rules, f.delay = nil, 0
	if len(body) > 0 {
		f.rules = robots.Parse(body).For(d.cfg.RobotsAgent)
		f.delay = f.rules.Delay()
	}
	var most time.Duration
	for _, of := range d.robots {
		most = max(most, of.delay)
	}
	d.throttle.SetCrawlDelay(most)
}

// unreachableUntil lets nothing of the origin be fetched before at; after thirty
// days the rules that were last had hold again, or none.
func (d *Domain) unreachableUntil(now time.Time, f *robotsFile, at time.Time, problem string) {
	f.state, f.retryAt, f.problem = unreachable, at, "robots.txt: "+problem
	if now.Sub(f.since) >= unreachableFor {
		f.state, f.until = allowed, at
	}
}

// describe says what an answer that is a failure was.
func describe(status int) string {
	if status == 0 {
		return "no answer"
	}
	return fmt.Sprintf("status %d", status)
}
