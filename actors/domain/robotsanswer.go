package domain

import (
	"encoding/json"
	"slices"
	"strings"
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

// robotsFlight is the fetch of robots.txt, through the slot like any request, and
// through the proxy of the request that waits for it. Where a redirect led to another
// host it is asked of that host's domain, and nil.
func (d *Domain) robotsFlight(ctx actor.Context, f *robotsFile, waiting rqueue.Leased) *flight {
	url := f.url()
	if weburl.Host(url) != d.slot {
		d.sendAway(ctx, f, waiting)
		return nil
	}
	return &flight{file: f, lease: rqueue.Leased{Host: d.slot, Request: &crawl.Request{ID: crawl.NewID("robots", url), URL: url, Meta: proxyMeta(waiting.Request.Meta)}}}
}

// onRobotsFetched takes the end of a fetch that this domain made for itself, or that
// another made for it.
func (d *Domain) onRobotsFetched(ctx actor.Context, now time.Time, f *robotsFile, o messages.Outcome, resp *crawl.Response) {
	if !answered(o, resp) {
		f.state = wanted
		return
	}
	if len(d.works) > 0 {
		ctx.Send(d.deps.Pipeline, &messages.RobotsFetched{Crawl: d.works[0].crawl, Response: resp})
	}
	d.judgeRobots(ctx, now, f, o, resp)
}

// answered reports whether a fetch came to an end that says something of the site.
func answered(o messages.Outcome, resp *crawl.Response) bool {
	return o.Cause != crawl.CauseCancelled && o.Cause != crawl.CauseTooLate && !o.Stale && resp != nil
}

// judgeRobots decides what an answer means: RFC 9309 §2.3.1.
func (d *Domain) judgeRobots(ctx actor.Context, now time.Time, f *robotsFile, o messages.Outcome, resp *crawl.Response) {
	nowhere := len(f.trail) > 1 && (o.Cause == crawl.CauseForbidden || o.Cause == crawl.CauseBadURL)
	switch {
	case nowhere: // a redirect leads where no crawl may go
		d.haveRobots(ctx, now, f, 0, nil, d.cfg.RobotsMaxAge)
	case o.Cause == crawl.CauseMissing: // nothing of the origin is fetched either
		f.restart()
		f.state, f.until = allowed, now.Add(d.cfg.RobotsRetryTo)
		d.useRules(f, nil)
	case o.Cause != crawl.CauseNone:
		d.robotsUnreachable(ctx, now, f, 0, string(o.Cause)+": "+o.Err, 0)
	case o.Status >= 500 || o.Status == 429:
		wait, _ := throttle.RetryAfter(o.RetryAfter, d.cfg.Wall())
		d.robotsUnreachable(ctx, now, f, o.Status, describe(o.Status), min(wait, d.cfg.Throttle.RetryAfterMax))
	case o.Status >= 300 && o.Status < 400 && f.follow(resp):
	case o.Status >= 200 && o.Status < 300:
		d.haveRobots(ctx, now, f, o.Status, resp.Body, d.lifeOf(resp))
	default: // 4xx, or a redirect that leads nowhere: no rules
		d.haveRobots(ctx, now, f, o.Status, nil, d.lifeOf(resp))
	}
}

// lifeOf is how long an answer may be used.
func (d *Domain) lifeOf(resp *crawl.Response) time.Duration {
	var control []string
	for i := range resp.Headers {
		if strings.EqualFold(resp.Headers[i].Name, "Cache-Control") {
			control = append(control, resp.Headers[i].Value)
		}
	}
	return robots.Lifetime(strings.Join(control, ","), resp.Header("Age"), d.cfg.RobotsMinAge, d.cfg.RobotsMaxAge)
}

// follow turns to a redirect's target, on whatever host. False: there is none that
// can be requested, it was asked already, or it is one too many.
func (f *robotsFile) follow(resp *crawl.Response) bool {
	location := resp.Header("Location")
	if location == "" || len(f.trail) > maxRobotsHops {
		return false
	}
	target, err := weburl.Resolve(f.url(), location)
	if err != nil || weburl.Origin(target) == "" { // not http or https
		return false
	}
	target, _, _ = strings.Cut(target, "#")
	if slices.Contains(f.trail, target) {
		return false
	}
	f.trail, f.state = append(f.trail, target), wanted
	return true
}

// haveRobots takes the answer that says which rules hold, for as long as life.
func (d *Domain) haveRobots(ctx actor.Context, now time.Time, f *robotsFile, status int, body []byte, life time.Duration) {
	f.failures, f.problem, f.since = 0, "", time.Time{}
	f.restart()
	f.state, f.until = allowed, now.Add(life)
	d.useRules(f, body)
	d.ask(ctx, &rqueue.RobotsPut{Host: d.slot, Origin: f.origin, Robots: rqueue.Robots{Body: body, Status: status, Life: life}})
}

// robotsUnreachable: nothing of the origin may be fetched until it can be had. It is
// asked for again after a time that doubles with each failure, and not before wait.
func (d *Domain) robotsUnreachable(ctx actor.Context, now time.Time, f *robotsFile, status int, problem string, wait time.Duration) {
	f.failures++
	if f.since.IsZero() {
		f.since = now
	}
	f.restart()
	f.status = status
	retry := max(wait, min(d.cfg.RobotsRetryTo, d.cfg.RobotsRetry<<min(f.failures-1, 20)))
	if now.Sub(f.since) >= unreachableFor {
		retry = d.cfg.RobotsMaxAge
	}
	at := now.Add(retry)
	if start, _ := d.throttle.LowestNext(now); start.After(at) {
		at = start
	}
	d.unreachableUntil(now, f, at, problem)
	d.lastError = f.problem
	d.log().WithField("err", f.problem).Debug("robots.txt could not be had")
	d.ask(ctx, &rqueue.RobotsPut{Host: d.slot, Origin: f.origin, Robots: rqueue.Robots{
		Status: status, UnreachableSince: max(time.Millisecond, now.Sub(f.since)), Failures: f.failures, RetryIn: at.Sub(now),
	}})
}

// proxyMeta is the part of a meta that names a proxy, nil when there is none.
func proxyMeta(meta []byte) []byte {
	if len(meta) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(meta, &fields) != nil {
		return nil
	}
	proxy, ok := fields["proxy"]
	if !ok {
		return nil
	}
	return append(append([]byte(`{"proxy":`), proxy...), '}')
}
