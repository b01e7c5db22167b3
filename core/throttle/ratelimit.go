package throttle

import "time"

// RateLimit is what a response says of the site's limit on requests: Left may be
// sent within Reset. The zero value says nothing.
type RateLimit struct {
	Known bool
	Left  int64
	Reset time.Duration // from the response on; over zero
}

// obey makes the requests that are left last until the reset. Those in flight may
// not be counted yet.
func (s *Slot) obey(now time.Time, l RateLimit) {
	reset := min(l.Reset, s.cfg.RetryAfterMax)
	s.spread = 0
	if reset <= 0 {
		return
	}
	if l.Left <= 0 {
		if until := now.Add(reset); until.After(s.hold) {
			s.holdUntil(until, ReasonRateLimit)
			s.slowStart(false)
		}
		return
	}
	left := max(1, l.Left-int64(s.InFlight()))
	s.spread, s.reset = min(l.Reset/time.Duration(left), reset), now.Add(reset)
}
