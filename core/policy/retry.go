package policy

import (
	"math"
	"time"

	"orbweaver/core/crawl"
	"orbweaver/core/throttle"
)

// failure is why a request is to be tried again.
type failure struct {
	cause  crawl.Cause
	reason string
	busy   bool // the site asked to come later: counted as Busy
}

// decideFailure decides about a fetch that brought no response.
func (p *Policy) decideFailure(req *crawl.Request, resp *crawl.Response, d directives, jitter func() float64) Action {
	f := failure{cause: resp.Cause, reason: string(resp.Cause)}
	switch resp.Cause {
	case crawl.CauseCancelled, crawl.CauseTooLate:
		return Action{Kind: Giveback, Cause: f.cause, Reason: f.reason}
	case crawl.CauseMissing:
		return Action{Kind: Ignore, Cause: f.cause, Reason: f.reason}
	case crawl.CauseRobots:
		f.busy = resp.Status != 0 // it answered, with something that says later
	case crawl.CauseProxy:
		f.busy = true // it says nothing about the request or its site
	case crawl.CauseDNS, crawl.CauseRefused, crawl.CauseTLS, crawl.CauseTimeout, crawl.CauseReset,
		crawl.CauseMalformed, crawl.CausePanic:
	default:
		// Too large, forbidden, not requestable, an unknown coding: the next try
		// would end the same way.
		return Action{Kind: Dead, Cause: f.cause, Reason: f.reason}
	}
	if d.DontRetry {
		return Action{Kind: Dead, Cause: f.cause, Reason: f.reason}
	}
	return p.retry(req, resp, d, f, jitter)
}

// retry gives the next try, or Dead when there is none left.
func (p *Policy) retry(req *crawl.Request, resp *crawl.Response, d directives, f failure, jitter func() float64) Action {
	dead := Action{Kind: Dead, Cause: f.cause, Reason: f.reason}
	if !p.cfg.RetryEnabled {
		return dead
	}
	done, limit := req.Attempts, p.cfg.RetryTimes
	if f.busy {
		done, limit = req.Busy, p.cfg.RetryBusyTimes
	}
	if d.MaxRetryTimes != nil {
		limit = *d.MaxRetryTimes
	}
	if int(done) >= limit {
		dead.exhausted = true
		return dead
	}
	next := *req
	if f.busy {
		next.Busy++
	} else {
		next.Attempts++
	}
	adjust := p.cfg.RetryPriorityAdjust
	if d.PriorityAdjust != nil {
		adjust = *d.PriorityAdjust
	}
	next.Priority = addPriority(req.Priority, adjust)
	return Action{
		Kind: Retry, Cause: f.cause, Reason: f.reason, Counted: !f.busy, Request: &next,
		Delay: max(p.backoff(int(done), jitter), p.retryAfter(resp)),
	}
}

// backoff is the wait before the next try after done earlier ones: between half
// of and all of base*2^done, so that requests that failed together do not come
// back together.
func (p *Policy) backoff(done int, jitter func() float64) time.Duration {
	d := p.cfg.BackoffBase
	for range done {
		if d >= p.cfg.BackoffMax {
			break
		}
		d *= 2
	}
	d = min(d, p.cfg.BackoffMax)
	if jitter == nil {
		return d
	}
	return d/2 + time.Duration(jitter()*float64(d-d/2))
}

// retryAfter is the wait that the site asked for, capped; 0 when it did not. A
// date counts from when the response came.
func (p *Policy) retryAfter(resp *crawl.Response) time.Duration {
	value := resp.Header("Retry-After")
	if value == "" || p.cfg.RetryAfterMax == 0 {
		return 0
	}
	wait, ok := throttle.RetryAfter(value, resp.SentAt.Add(resp.Took))
	if !ok {
		return 0
	}
	return min(wait, p.cfg.RetryAfterMax)
}

// addPriority adds without wrapping around.
func addPriority(priority int32, n int) int32 {
	return int32(min(max(int64(priority)+int64(n), math.MinInt32), math.MaxInt32)) //nolint:gosec // bounded
}
