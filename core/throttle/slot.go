package throttle

import (
	"math/rand/v2"
	"time"
)

// Slot is the politeness state of one site. It is not safe for concurrent use;
// make it with New.
//
// A request is either started at once (Started) or first handed to a fetcher
// (Dispatched) and then written (Started) or given up (Abandoned). While one is
// dispatched, Started means a dispatched one. Every request that was not abandoned
// ends with one Done. Ask Next after each of these events, when work
// arrives, and at Decision.At.
type Slot struct {
	cfg    Config
	random func() float64

	delay      float64 // AutoThrottle's delay, s
	crawlDelay time.Duration
	lastStart  time.Time // zero: none yet
	timer      time.Time // no start before it; once set it is not shortened, as Scrapy's timer
	timerWhy   Reason

	hold    time.Time
	holdWhy Reason
	paused  bool

	unwritten int // handed to a fetcher, not written yet
	written   int // written, not done

	backoff time.Duration
	peak    time.Duration // height from which the back-off recovers
	window  int           // slow start: how many at once; 0: over
	fresh   bool          // slow start is that of a new slot
	echo    int           // requests in flight since before slow start began
	warned  bool          // a failure began slow start: others of the echo say the same

	quota  quota         // learned from 429
	spread time.Duration // between starts, by what the site says is left of its limit
	reset  time.Time     // when spread ends
	errors errorShare

	failures  int       // in a row
	open      bool      // the circuit is open, or half-open after openUntil
	openUntil time.Time // zero when not open
	probing   bool      // half-open and the probe is in flight
}

// New makes a slot that has learned nothing yet: its first request starts at
// once. cfg must be valid. random gives numbers in [0, 1) for
// RandomizeDownloadDelay; nil stands for math/rand/v2.
func New(cfg Config, random func() float64) *Slot {
	if random == nil {
		random = rand.Float64 //nolint:gosec // spreads requests, keeps no secret
	}
	s := &Slot{cfg: cfg, random: random, delay: seconds(cfg.startDelay())}
	if cfg.SlowStart {
		s.slowStart(false)
		s.fresh = true
	}
	return s
}

// Next says whether one request may start now, else when to ask again and why.
// Each call that finds the delay over draws the randomized delay anew, as each
// queue processing of Scrapy does. Next permits one request at a time: tell the
// slot of it by Dispatched or Started, then ask again.
func (s *Slot) Next(now time.Time) Decision {
	if s.paused {
		return waitEvent(ReasonPaused)
	}
	s.expire(now)
	// A start that is not written yet has no time to count the delay from.
	delayed := s.delayed()
	if !s.timer.After(now) && delayed && !s.lastStart.IsZero() {
		s.arm()
	}
	at, why := now, ReasonNone
	if s.timer.After(at) {
		at, why = s.timer, s.timerWhy
	}
	if s.hold.After(at) {
		at, why = s.hold, s.holdWhy
	}
	if s.open && s.openUntil.After(at) {
		at, why = s.openUntil, ReasonCircuit
	}
	if why != ReasonNone {
		return waitUntil(now, at, why)
	}
	if delayed && s.unwritten > 0 {
		_, why = s.compose(duration(s.delay))
		return waitEvent(why)
	}
	if limit, why := s.limit(); s.InFlight() >= limit {
		return waitEvent(why)
	}
	return Decision{OK: true}
}

// Dispatched says that a request which Next permitted is with a fetcher and will
// be written soon.
func (s *Slot) Dispatched() {
	s.probing = s.open
	s.unwritten++
}

// Abandoned says that a dispatched request was taken back before any byte of it
// was written and before the site was contacted for it.
func (s *Slot) Abandoned() {
	if s.unwritten == 0 {
		return
	}
	s.unwritten--
	s.echo = min(s.echo, s.InFlight())
	s.probing = false
}

// Started says that a request's bytes were written at the given time, which is
// where the delay counts from. A time before an earlier start is taken for that one.
func (s *Slot) Started(at time.Time) {
	if s.unwritten > 0 {
		s.unwritten--
	} else {
		s.probing = s.open
	}
	s.written++
	s.count(at)
}

// count makes a start of the given time and sets the timer from it.
func (s *Slot) count(at time.Time) {
	if s.cfg.QuotaMemory > 0 {
		s.quota.start(at, later(s.timer, s.hold))
	}
	if at.After(s.lastStart) {
		s.lastStart = at
	}
	if s.delayed() {
		s.arm()
	}
}

// arm sets the timer to a newly drawn delay after the last start.
func (s *Slot) arm() {
	d, why := s.draw()
	if at := s.lastStart.Add(d); at.After(s.timer) {
		s.timer, s.timerWhy = at, why
	}
}

// Pause stops starts until Pause(false). Requests in flight go on.
func (s *Slot) Pause(on bool) {
	if s.paused == on {
		return
	}
	s.paused = on
	s.slowStart(false)
}

// Hold lets no request start before until, with the given reason. A later hold
// that is already there stays. The zero time lifts every hold.
func (s *Slot) Hold(until time.Time, why Reason) {
	if until.IsZero() {
		s.hold, s.holdWhy = until, ReasonNone
		return
	}
	if until.After(s.hold) {
		s.hold, s.holdWhy = until, why
		s.slowStart(false)
	}
}

// Held is until when the slot stays away from the site, by a hold or the open
// circuit; the delay between starts is no part of it. It may be past.
func (s *Slot) Held() time.Time {
	if s.open {
		return later(s.hold, s.openUntil)
	}
	return s.hold
}

// SetCrawlDelay sets the time between requests that robots.txt asks for as a lower
// bound of the delay, capped at CrawlDelayMax. Zero or less means none.
func (s *Slot) SetCrawlDelay(d time.Duration) {
	s.crawlDelay = max(0, min(d, s.cfg.CrawlDelayMax))
}

// Configure replaces the settings and keeps what was learned as far as they allow.
// cfg must be valid.
func (s *Slot) Configure(cfg Config) {
	learned := s.delay
	s.cfg = cfg
	s.delay = s.cfg.keep(learned)
	s.crawlDelay = min(s.crawlDelay, cfg.CrawlDelayMax)
	if cfg.BackoffBase == 0 {
		s.backoff, s.peak = 0, 0
		s.errors = errorShare{}
	}
	if cfg.QuotaMemory == 0 {
		s.quota = quota{}
	}
	if !cfg.RateLimitObey {
		s.spread = 0
	}
	s.backoff, s.peak = min(s.backoff, cfg.BackoffMax), min(s.peak, cfg.BackoffMax)
	if cfg.CircuitFailures == 0 {
		s.open, s.probing, s.openUntil = false, false, time.Time{}
	}
}

// expire drops what was said or learned for a time that is over.
func (s *Slot) expire(now time.Time) {
	if s.spread > 0 && !now.Before(s.reset) {
		s.spread = 0
	}
	s.quota.expire(now)
}

// Delay is the delay between two starts now in force, before randomizing:
// AutoThrottle's, or the longest of the floors under it (Crawl-delay, the spread of
// the site's rate limit, the learned quota), plus back-off.
func (s *Slot) Delay() time.Duration {
	d, _ := s.compose(duration(s.delay))
	return d
}

// InFlight is how many requests are dispatched or started and not done.
func (s *Slot) InFlight() int { return s.unwritten + s.written }

// LowestNext is the earliest time at which another request can start, and why not
// sooner, as far as times are known: pause and requests in flight may delay it
// further. It is never before now and changes nothing.
func (s *Slot) LowestNext(now time.Time) (time.Time, Reason) {
	at, why := now, ReasonNone
	if d, because := s.shortest(); d > 0 {
		switch next := s.lastStart.Add(d); {
		case s.unwritten > 0:
			at, why = now.Add(d), because
		case !s.lastStart.IsZero() && next.After(at):
			at, why = next, because
		}
	}
	if s.timer.After(at) {
		at, why = s.timer, s.timerWhy
	}
	if s.hold.After(at) {
		at, why = s.hold, s.holdWhy
	}
	if s.open && s.openUntil.After(at) {
		at, why = s.openUntil, ReasonCircuit
	}
	return at, why
}

// Batch is how many requests may be leased at once so that their delays add up to
// no more than limit: at least 1, at most most.
func (s *Slot) Batch(limit time.Duration, most int) int {
	d := s.Delay()
	if d <= 0 {
		return max(1, most)
	}
	return max(1, int(min(int64(limit/d), int64(most))))
}
