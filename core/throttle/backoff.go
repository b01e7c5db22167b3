package throttle

import "time"

// limit is how many requests may be in flight now, and the reason to give when
// they are.
func (s *Slot) limit() (int, Reason) {
	n := s.cfg.Concurrency()
	switch {
	case s.open:
		return 1, ReasonCircuit
	case s.window > 0 && s.window < n && s.fresh:
		return s.window, ReasonSlowStart
	case s.window > 0 && s.window < n:
		return s.window, ReasonBackoff
	default:
		return n, ReasonConcurrency
	}
}

// slowStart lets one request at a time through until good answers come, so that
// no burst follows a wait. While requests from before are in flight no other is let
// through, hence the next echo results are theirs.
func (s *Slot) slowStart(failure bool) {
	s.warned = failure || (s.warned && s.echo > 0)
	s.window, s.fresh = 1, false
	s.echo = s.InFlight()
}

// refused answers a 429 of a slot that learns quotas. A request that was in flight
// when the last one came (known) says nothing new but for the wait that it asks for.
func (s *Slot) refused(now time.Time, r *Result, known bool) {
	if !known {
		s.quota.refuse(now, now.Add(s.cfg.QuotaMemory), s.base(), seconds(s.cfg.BackoffMax))
	}
	asked := r.RetryAfter > 0 && s.cfg.RetryAfterMax > 0
	if asked {
		s.holdUntil(now.Add(min(r.RetryAfter, s.cfg.RetryAfterMax)), ReasonRetryAfter)
	}
	// A site that refuses again when the time that it named is over named too little.
	if told := asked || s.hold.After(now); !known && (!told || s.quota.refused > 2) {
		s.holdUntil(now.Add(s.quota.wait(s.cfg.BackoffBase, s.cfg.BackoffMax)), ReasonQuota)
	}
	if !known {
		s.slowStart(true)
	}
}

// base is the delay that the learned quota is the floor of, s.
func (s *Slot) base() float64 {
	return max(s.delay, seconds(max(s.crawlDelay, s.spread)))
}

func (s *Slot) holdUntil(until time.Time, why Reason) {
	if until.After(s.hold) {
		s.hold, s.holdWhy = until, why
	}
}

// slowDown answers a 429, a 503 or a site fault. A request that was in flight when
// the last one came (known) cannot double the back-off again.
func (s *Slot) slowDown(now time.Time, r *Result, known bool) {
	if !r.SiteFault && r.RetryAfter > 0 && s.cfg.RetryAfterMax > 0 {
		s.quota.rest(min(r.RetryAfter, s.cfg.RetryAfterMax) - max(0, s.hold.Sub(now)))
		s.holdUntil(now.Add(min(r.RetryAfter, s.cfg.RetryAfterMax)), ReasonRetryAfter)
		if !known {
			s.slowStart(true)
		}
		return
	}
	if known || s.cfg.BackoffBase <= 0 {
		return
	}
	s.backoff = min(max(s.cfg.BackoffBase, 2*s.backoff), s.cfg.BackoffMax)
	s.peak = s.backoff
	s.slowStart(true)
}

// recover takes a share of the back-off away after a good answer and widens slow
// start by one. The probe that closes the circuit leaves slow start where it begins.
func (s *Slot) recover(probe bool) {
	if s.backoff > 0 {
		step := time.Duration(s.cfg.BackoffRecovery * float64(max(s.peak, s.cfg.BackoffBase)))
		s.backoff = max(0, s.backoff-max(step, 1))
		if s.backoff == 0 {
			s.peak = 0
		}
	}
	if s.window > 0 && !probe {
		if s.window++; s.window >= s.cfg.Concurrency() {
			s.window, s.fresh = 0, false
		}
	}
}

// judge moves the circuit. While it is open only the probe's result counts: others
// are of requests sent before it opened.
func (s *Slot) judge(now time.Time, v verdict, probe bool) {
	if s.open && !probe {
		return
	}
	switch v {
	case neutral:
	case good:
		s.failures = 0
		s.open, s.openUntil = false, time.Time{} // slow start goes on from the opening
	case failed, busy:
		s.failures = min(s.failures+1, maxFailures)
		if s.cfg.CircuitFailures > 0 && s.failures >= s.cfg.CircuitFailures {
			s.open, s.openUntil = true, now.Add(s.cfg.openFor(s.failures))
			s.slowStart(true)
		}
	}
}

// maxFailures stops the count of a site that is never up again.
const maxFailures = 1 << 30

// openFor is how long the circuit stays open after so many failures in a row:
// doubled for each beyond the first that opened it.
func (c *Config) openFor(failures int) time.Duration {
	d := c.CircuitOpenFor
	for range failures - c.CircuitFailures {
		if d >= c.CircuitOpenMax/2 {
			return c.CircuitOpenMax
		}
		d *= 2
	}
	return min(d, c.CircuitOpenMax)
}
