package throttle

import "time"

// State is what outlives a slot's owner. It holds durations, because owners on two
// machines share no clock. The zero State is a slot that knows nothing.
type State struct {
	Delay      float64       // AutoThrottle's delay, s, exact; zero or less: not learned
	NextIn     time.Duration // no start sooner, by the delay
	HoldIn     time.Duration // no start sooner, by a hold or the open circuit, whichever ends later
	Reason     Reason        // of HoldIn
	Backoff    time.Duration // part of the delay that is back-off, not in Delay
	CrawlDelay time.Duration // zero: none
	Failures   int           // in a row; CircuitFailures or more: the circuit is open
	Paused     bool
	Quota      Quota
}

// Quota is what a slot learned from 429 answers, and how far it had come. The zero
// value: nothing. Intervals are in seconds.
type Quota struct {
	Interval float64       // between starts
	Failed   float64       // the one at the last refusal
	Borne    float64       // the shortest that a long cycle bore; zero: not known
	Settled  bool          // Interval was measured well
	Age      time.Duration // of the cycle under way, when the slot may start again
	Passed   int           // requests let through in it
	Refused  int           // refusals in a row
	For      time.Duration // until it is forgotten; zero or less: nothing is known
}

// Snapshot gives the state for a successor that takes over now. Requests in flight
// are not part of it.
func (s *Slot) Snapshot(now time.Time) State {
	st := State{
		Delay:      s.delay,
		Backoff:    s.backoff,
		CrawlDelay: s.crawlDelay,
		Failures:   s.failures,
		Paused:     s.paused,
		Quota:      s.quota.snapshot(now),
	}
	if s.cfg.BackoffBase > 0 { // a successor takes it for back-off, which it outgrows
		st.Backoff = min(s.backoff+s.errors.extra, s.cfg.BackoffMax)
	}
	next := s.timer
	if s.unwritten > 0 {
		next = now.Add(s.Delay())
	} else if !s.lastStart.IsZero() && s.delayed() {
		next = later(next, s.lastStart.Add(s.Delay()))
	}
	st.NextIn = max(0, next.Sub(now))
	hold, why := s.hold, s.holdWhy
	if s.open && s.openUntil.After(hold) {
		hold, why = s.openUntil, ReasonCircuit
	}
	if hold.After(now) {
		st.HoldIn, st.Reason = hold.Sub(now), why
	}
	if st.Quota.For > 0 {
		st.Quota.Age += max(st.NextIn, st.HoldIn)
	}
	return st
}

// Restore puts a predecessor's state into a new slot. Numbers out of range are
// bounded, and the settings win over a learned delay that they no longer allow.
// Requests still in flight are told to the slot before, by Dispatched and Started.
func (s *Slot) Restore(now time.Time, st State) {
	if st.Delay > 0 {
		s.delay = s.cfg.keep(st.Delay)
	}
	s.SetCrawlDelay(st.CrawlDelay)
	// Starts told before armed the timer by the delay of an untaught slot: it goes.
	s.timer, s.timerWhy = now.Add(max(0, min(st.NextIn, maxSetting))), ReasonDelay
	if s.cfg.BackoffBase > 0 {
		s.backoff = max(0, min(st.Backoff, s.cfg.BackoffMax))
		s.peak = s.backoff
	}
	if s.cfg.QuotaMemory > 0 {
		st.Quota.Age -= max(0, st.NextIn, st.HoldIn)
		s.quota.restore(now, st.Quota, s.cfg.QuotaMemory, seconds(s.cfg.BackoffMax))
	}
	s.failures = max(0, min(st.Failures, maxFailures))
	s.open = s.cfg.CircuitFailures > 0 && s.failures >= s.cfg.CircuitFailures
	if d := min(st.HoldIn, maxSetting); d > 0 {
		if s.open && st.Reason == ReasonCircuit {
			s.openUntil = now.Add(d)
		} else {
			s.hold, s.holdWhy = now.Add(d), st.Reason
		}
	}
	s.paused = st.Paused
	if s.failures > 0 || s.backoff > 0 || st.HoldIn > 0 || s.paused {
		s.slowStart(false)
	}
}

// keep gives the learned delay, s, as far as the settings allow it.
func (c *Config) keep(learned float64) float64 {
	start, least, most := seconds(c.startDelay()), seconds(c.DownloadDelay), seconds(c.AutoThrottleMaxDelay)
	if !c.AutoThrottles() {
		return start
	}
	// Where adjust can end, or at the start delay, which may stand above the maximum.
	return min(max(min(least, most), learned), max(most, start))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
