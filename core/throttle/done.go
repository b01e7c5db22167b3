package throttle

import "time"

// Result is what became of a request.
type Result struct {
	Status int // HTTP status; 0 when no response came
	// Latency is from the start of connecting to the end of the headers. It counts
	// only with HasLatency: a response that was not downloaded has none.
	Latency    time.Duration
	HasLatency bool
	// RetryAfter is the wait that the response asks for; zero or less: none. It counts
	// on 429 and 503 only.
	RetryAfter time.Duration
	// RateLimit is what the response says of the site's limit; the zero value: nothing.
	RateLimit  RateLimit
	SiteFault  bool // the site did not answer as a site should: timeout, refused, reset, ...
	DontAdjust bool // autothrottle_dont_adjust_delay: AutoThrottle ignores this response
	Unsent     bool // no byte was written: Started was not called for the request
}

// verdict is what a result says about the site's health.
type verdict uint8

const (
	neutral verdict = iota // nothing
	good
	failed // a failure that does not ask to slow down
	busy   // a failure that does
)

func (r *Result) verdict() verdict {
	switch {
	case r.SiteFault, r.Status == 429, r.Status == 503:
		return busy
	case r.Status >= 500:
		return failed
	case r.Status > 0:
		return good
	default:
		return neutral
	}
}

// Done ends a request: its place is free, AutoThrottle adjusts, and holds, back-off
// and circuit take note. A request whose connection failed before it was written
// counts as a start at now, because the site was troubled.
func (s *Slot) Done(now time.Time, r Result) {
	s.expire(now)
	probe := s.finish(&r)
	old := s.echo > 0
	if old {
		s.echo--
	}
	if r.HasLatency && r.Status > 0 && !r.SiteFault && !r.DontAdjust && s.cfg.AutoThrottles() {
		s.delay = s.cfg.adjust(s.delay, max(0, seconds(r.Latency)), r.Status)
	}
	if r.RateLimit.Known && s.cfg.RateLimitObey {
		s.obey(now, r.RateLimit)
	}
	v := r.verdict()
	switch known := old && s.warned; {
	case r.Status == 429 && s.cfg.QuotaMemory > 0 && !now.Before(s.quota.deaf):
		if known {
			v = neutral // one refusal, said once more
		}
		s.refused(now, &r, known)
	case v == busy:
		s.slowDown(now, &r, known)
	case r.Status > 0 && s.cfg.QuotaMemory > 0 && r.Status != 503 && !now.Before(s.quota.deaf):
		s.quota.pass(now, !old, s.base(), seconds(s.cfg.BackoffMax))
	}
	if s.cfg.ErrorShare > 0 && r.Status > 0 && !r.SiteFault {
		s.errors.note(&s.cfg, r.Status)
	}
	s.judge(now, v, probe)
	if v == good && !old {
		s.recover(probe)
	}
	if r.Unsent && r.SiteFault {
		s.count(now)
	}
	if s.InFlight() == 0 {
		s.quota.idleFrom = now
	}
}

// finish frees the request's place and reports whether it was the circuit's probe.
// A result that contradicts what was told before still frees a place: one that leaks
// would stop the slot for good.
func (s *Slot) finish(r *Result) bool {
	switch {
	case s.unwritten > 0 && (r.Unsent || s.written == 0):
		s.unwritten--
	case s.written > 0:
		s.written--
	}
	probe := s.probing
	s.probing = false
	return probe
}
