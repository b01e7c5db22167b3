package throttle

import (
	"math"
	"time"
)

// seconds is the float64 nearest to d in seconds: the value that Python reads from
// the same decimal. Duration.Seconds adds two roundings and is not.
func seconds(d time.Duration) float64 { return float64(d) / 1e9 }

// duration rounds seconds to nanoseconds and bounds them.
func duration(sec float64) time.Duration {
	ns := math.Round(sec * 1e9)
	if !(ns > 0) { // NaN too
		return 0
	}
	if ns >= float64(maxSetting) {
		return maxSetting
	}
	return time.Duration(ns)
}

// startDelay is the delay of a slot that has learned nothing yet. A slot's own
// delay wins as it stands; AutoThrottle's start is not clamped by its maximum.
func (c Config) startDelay() time.Duration {
	switch {
	case c.hasSlotDelay:
		return c.slotDelay
	case c.AutoThrottles():
		return max(c.DownloadDelay, c.AutoThrottleStartDelay)
	default:
		return c.DownloadDelay
	}
}

// adjust is Scrapy's AutoThrottle._adjust_delay: same operations, same order, in
// seconds. The upper clamp comes last, and an answer that is not exactly 200 can
// only raise the delay.
func (c *Config) adjust(delay, latency float64, status int) float64 {
	target := latency / c.AutoThrottleTargetConcurrency
	next := max(target, (delay+target)/2)
	next = min(max(seconds(c.DownloadDelay), next), seconds(c.AutoThrottleMaxDelay))
	if status != 200 && next <= delay {
		return delay
	}
	return next
}

// delayed reports whether any delay between starts is in force.
func (s *Slot) delayed() bool {
	return s.delay > 0 || s.crawlDelay > 0 || s.backoff > 0 || s.spread > 0 || s.quota.interval > 0 || s.errors.extra > 0
}

// compose makes a wait out of a base delay: Crawl-delay, rate limit and quota are
// floors under it, back-off comes on top. None is ever randomized.
func (s *Slot) compose(base time.Duration) (time.Duration, Reason) {
	why := ReasonDelay
	if s.crawlDelay > base {
		base, why = s.crawlDelay, ReasonCrawlDelay
	}
	if s.spread > base {
		base, why = s.spread, ReasonRateLimit
	}
	if s.quota.interval > 0 {
		if d := duration(s.quota.interval); d > base {
			base, why = d, ReasonQuota
		}
	}
	if extra := s.errors.extra; extra > 0 {
		base, why = base+extra, ReasonErrors
	}
	if s.backoff > 0 {
		base, why = base+s.backoff, ReasonBackoff
	}
	return base, why
}

// draw is the wait between two starts, randomized when the settings say so.
func (s *Slot) draw() (time.Duration, Reason) {
	base := s.delay
	if s.cfg.RandomizeDownloadDelay && base > 0 {
		low, high := 0.5*base, 1.5*base
		base = low + (high-low)*s.random() // Python's random.uniform
	}
	return s.compose(duration(base))
}

// shortest is the least that draw can give.
func (s *Slot) shortest() (time.Duration, Reason) {
	if s.cfg.RandomizeDownloadDelay {
		return s.compose(duration(0.5 * s.delay))
	}
	return s.compose(duration(s.delay))
}
