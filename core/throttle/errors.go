package throttle

import (
	"math/bits"
	"time"
)

// errorShare slows a slot while a large share of its answers are the errors of an
// overloaded server: 500, 502, 504. One alone, or a broken page now and then, does
// nothing.
type errorShare struct {
	last  uint32 // the last answers, newest lowest: 1 is an error
	had   int    // of them, up to their number
	extra time.Duration
}

const (
	lookedAt     = 32 // answers
	leastLooked  = 10 // before which no share is told
	leastErrors  = 3
	errorsRaise  = 1.25
	errorsLower  = 0.9
	errorsFirst  = 8 // part of BackoffBase that the first raise gives
	errorsMost   = 4 // times BackoffBase that all may come to
	errorsIgnore = 32
)

// note takes an answer. While the share is too large each error raises the extra
// delay; once it is not, each good answer takes some away.
func (e *errorShare) note(c *Config, status int) {
	failed := status == 500 || status == 502 || status == 504
	e.last <<= 1
	if failed {
		e.last |= 1
	}
	e.had = min(e.had+1, lookedAt)
	if e.last == 0 && e.extra == 0 {
		return
	}
	n := bits.OnesCount32(e.last)
	high := e.had >= leastLooked && n >= leastErrors && float64(n) >= c.ErrorShare*float64(e.had)
	switch {
	case high && failed:
		raised := max(c.BackoffBase/errorsFirst, time.Duration(errorsRaise*float64(e.extra)))
		e.extra = min(raised, errorsMost*c.BackoffBase, c.BackoffMax)
	case !high && !failed && e.extra > 0:
		if e.extra = time.Duration(errorsLower * float64(e.extra)); e.extra < c.BackoffBase/errorsIgnore {
			e.extra = 0
		}
	}
}
