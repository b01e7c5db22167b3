package throttle

import (
	"cmp"
	"math/bits"
	"time"
)

// quota learns the interval between starts that a site allows without saying so:
// all that is known of its limiter is which requests it refuses with 429.
//
// From one refusal to the next is a cycle. A limiter that had nothing left at both
// ends let pass what it grants in that time, be it a token bucket of any size or a
// window of any kind; so the cycle's length over the requests that passed is the
// interval to keep, or a longer one when the slot was slower than it had to be. From
// there the interval shrinks until the next refusal: fast while no cycle was long
// enough to tell, slowly once one was, and slower still close to what failed last.
type quota struct {
	interval float64   // s between starts; 0: nothing learned
	failed   float64   // s, the interval at the last refusal; 0: none yet
	borne    float64   // s, the shortest interval of a cycle that was long; 0: none yet
	calm     bool      // many passed without a refusal since borne was last given up
	settled  bool      // interval comes of a cycle that was long enough to tell
	anchor   float64   // s, the first interval that was measured, or that many requests bore
	vain     int       // refusals since that came far above it
	deaf     time.Time // refusals have nothing to do with the rate: none counts before it

	since   time.Time // the cycle's begin, moved on by idle time; zero: no start yet
	passed  int       // requests let through in the cycle
	run     int       // those since the last refusal: the cycle may span several
	recent  uint64    // the last answers, newest lowest: 1 is a refusal
	refused int       // refusals in a row, each of a request sent after the one before
	last    time.Time // of the refusals
	until   time.Time // when the interval is forgotten

	whole   time.Time // when the cycle before this one began, and what passed in it
	inWhole int

	idleFrom time.Time // when the slot came to have nothing in flight; zero: it has
}

const (
	fewPassed    = 4                // of one that a limiter ended which refused for a while
	fewInterval  = 1.0              // s, the most that fewer can say at first
	enoughPassed = 8                // requests in a cycle that can tell: its error is one request
	longCycle    = 30 * time.Second // length of one that proves that its interval is borne
	calmRun      = 80               // requests without a refusal after which a site is calm
	unrest       = 7                // refusals among the last 64 after which it is not
	lookBack     = 10 * time.Second // of the cycle before the first refusal

	quotaMargin  = 1.05  // how far above the measured interval the slot stays
	quotaStep    = 1.05  // least raise of an interval that failed
	quotaLeap    = 1.5   // most, once settled
	quotaExcess  = 1.3   // most that an interval stands above a borne one
	searchShrink = 0.05  // share of the interval that each good answer takes off, before it settled
	probeShrink  = 0.001 // afterwards
	probeRate    = 0.004 // and no more than this share in a second
	farFaster    = 10    // times that when the interval is far above what failed last
	farAbove     = 1.1
	futile       = 2.5              // times the first measured interval: who refuses still does not count requests
	vainRefusals = 6                // of them in a row
	deafFor      = 10 * time.Minute // how long such refusals teach nothing
	surelyFailed = 0.6              // of an interval that was measured while a limiter kept refusing
	lateFaster   = 64               // requests after which probing is twice as fast, and so on
	closeAbove   = 1.02
)

// start notes a request's start. An idle time before it is no part of the cycle;
// ready is when the slot might have started one.
func (q *quota) start(at, ready time.Time) {
	if q.since.IsZero() {
		q.since = at
	}
	if !q.idleFrom.IsZero() {
		if idle := at.Sub(later(q.idleFrom, ready)); idle > time.Second {
			q.since = q.since.Add(idle)
		}
		q.idleFrom = time.Time{}
	}
}

// pass notes an answer that is no refusal; fresh, that it is of a request sent
// after the last refusal was known. base is the slot's delay without the quota, s;
// most bounds the interval, s.
func (q *quota) pass(now time.Time, fresh bool, base, most float64) {
	q.passed++
	if q.until.IsZero() { // nothing was refused yet: only the last while counts
		if age := now.Sub(q.since); age > lookBack {
			q.since, q.passed = q.since.Add(age/2), q.passed/2
		}
		return
	}
	if !fresh {
		return
	}
	if q.refused > 0 {
		q.reopened(now, most)
	}
	q.run++
	if q.run%calmRun == 0 {
		q.anchor, q.vain = min(q.interval, quotaLeap*q.anchor), max(0, q.vain-vainRefusals/2)
	}
	q.refused = 0
	q.recent <<= 1
	if q.interval < base/2 {
		return // it limits nothing
	}
	shrink := searchShrink
	if q.settled {
		shrink = min(probeShrink, probeRate*q.interval)
		switch {
		case q.interval > farAbove*q.failed:
			shrink *= farFaster
		case q.interval < closeAbove*q.failed:
			shrink *= (1 + float64(q.run)/lateFaster) / 2
		default:
			shrink *= 1 + float64(q.run)/lateFaster
		}
	}
	q.interval *= 1 - shrink
}

// reopened notes that a limiter which refused lets requests through again. Of a
// window, what passed before is all that it grants until about now: an interval that is
// sometimes too short, never too long but for the time waited in vain.
func (q *quota) reopened(now time.Time, most float64) {
	if q.inWhole < fewPassed {
		return
	}
	whole := now.Sub(q.whole)
	if q.refused > 1 {
		n, in := float64(q.inWhole), now.Sub(q.last) // it opened in this time
		q.failed = max(q.failed, q.bound(surelyFailed*seconds(whole-in)/n))
		q.interval = max(q.interval, min(q.bound(quotaMargin*seconds(whole-in/2)/n), most))
		if q.refused > 2 {
			q.settled = true
			q.since = q.since.Add(in / 2)
		}
	}
	if borne := seconds(whole) / float64(q.inWhole); q.inWhole >= enoughPassed && q.settled && whole >= longCycle {
		q.borne = min(cmp.Or(q.borne, borne), borne)
	}
}

// bound keeps an interval from rising without end at a site whose refusals have
// nothing to do with it.
func (q *quota) bound(interval float64) float64 {
	if q.borne > 0 {
		return min(interval, quotaExcess*q.borne)
	}
	return interval
}

// refuse notes a refusal of a request that was sent after the last one was known,
// or the first. base is the slot's delay without the quota, s; most bounds the interval, s.
func (q *quota) refuse(now, until time.Time, base, most float64) {
	first := q.until.IsZero()
	q.until, q.last = until, now
	q.recent = q.recent<<1 | 1
	if q.refused = min(q.refused+1, maxFailures); q.refused > 1 {
		return // nothing passed since: only waiting tells more
	}
	q.calm = q.calm || q.run >= calmRun
	if q.calm && bits.OnesCount64(q.recent) >= unrest {
		q.calm, q.borne, q.recent = false, 0, 0 // it may grant less than it did
	}
	measured := max(0, seconds(now.Sub(q.since))) / float64(max(1, q.passed))
	inForce := max(q.interval, base)
	next := max(quotaMargin*measured, quotaStep*inForce)
	if q.settled && q.run >= calmRun/2 { // close to it
		next = min(max(measured, quotaStep*inForce), quotaLeap*inForce)
	}
	switch {
	case q.settled && q.anchor > 0:
		next = min(next, quotaLeap*inForce)
	case q.passed < fewPassed: // hardly measured
		next = min(next, max(quotaLeap*inForce, fewInterval))
	}
	enough := q.passed >= enoughPassed && !first // before the first there may have been credit
	q.failed, q.interval = inForce, min(q.bound(next), most)
	short := q.run < calmRun/2
	q.run = 0
	q.whole, q.inWhole = q.since, q.passed
	if first || enough {
		q.settled = enough
		q.since, q.passed = now, 0
	}
	if q.settled && q.anchor == 0 {
		q.anchor = max(q.interval, base)
	}
	// Who counts requests refuses no more at the interval that was measured, and lets
	// many through before it finds one that is a little short.
	if enough && short && q.interval > futile*max(q.anchor, base) {
		if q.vain++; q.vain >= vainRefusals {
			*q = quota{deaf: now.Add(deafFor), idleFrom: q.idleFrom}
		}
	}
}

// wait is how long to stay away after a refusal: doubled with each in a row. One
// that was only a little too soon waits for a few intervals.
func (q *quota) wait(base, most time.Duration) time.Duration {
	if q.settled && q.refused == 1 {
		return min(base, duration(2*q.interval))
	}
	d := base
	for range q.refused - 1 {
		if d >= most/2 {
			return most
		}
		d *= 2
	}
	return min(d, most)
}

// rest takes a wait out of the cycle that was no limiter's.
func (q *quota) rest(d time.Duration) {
	if !q.since.IsZero() && d > 0 {
		q.since, q.whole = q.since.Add(d), q.whole.Add(d)
	}
}

// expire forgets an interval whose time is over.
func (q *quota) expire(now time.Time) {
	if !q.until.IsZero() && !now.Before(q.until) {
		*q = quota{deaf: q.deaf, idleFrom: q.idleFrom}
	}
}

// snapshot gives what a successor needs to go on.
func (q *quota) snapshot(now time.Time) Quota {
	if q.until.IsZero() || !q.until.After(now) {
		return Quota{}
	}
	return Quota{
		Interval: q.interval, Failed: q.failed, Borne: q.borne, Settled: q.settled,
		Age: now.Sub(q.since), Passed: q.passed, Refused: q.refused, For: q.until.Sub(now),
	}
}

// restore takes a predecessor's. Numbers that no slot can have come to mean that
// nothing is known.
func (q *quota) restore(now time.Time, from Quota, memory time.Duration, most float64) {
	for _, f := range []float64{from.Interval, from.Failed, from.Borne} {
		if !(f >= 0 && f <= seconds(maxSetting)) {
			return
		}
	}
	if from.For <= 0 || from.Passed < 0 || from.Refused < 0 {
		return
	}
	age := max(0, min(from.Age, maxSetting))
	*q = quota{
		interval: min(from.Interval, most), failed: from.Failed, borne: from.Borne, settled: from.Settled,
		since: now.Add(-age), passed: min(from.Passed, maxFailures), refused: min(from.Refused, maxFailures),
		last: now, whole: now.Add(-age), until: now.Add(min(from.For, memory)),
		idleFrom: now,
	}
}
