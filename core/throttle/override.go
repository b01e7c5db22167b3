package throttle

import "time"

// Override is a slot's own settings: an entry of DOWNLOAD_SLOTS. Nil fields leave
// the general setting.
type Override struct {
	Concurrency    *int
	Delay          *time.Duration // where a slot starts; AutoThrottle may go below it, as in Scrapy
	RandomizeDelay *bool
}

// Override gives a copy with the slot's own settings in place of the general ones.
func (c Config) Override(o Override) Config {
	if o.Concurrency != nil {
		c.ConcurrentRequestsPerDomain, c.ConcurrentRequestsPerIP = *o.Concurrency, 0
	}
	if o.Delay != nil {
		c.slotDelay, c.hasSlotDelay = *o.Delay, true
	}
	if o.RandomizeDelay != nil {
		c.RandomizeDownloadDelay = *o.RandomizeDelay
	}
	return c
}

// Gentler gives settings under which a slot shared by two crawls is at least as
// polite as under either's: longer delays, fewer requests at once, every rule on
// that one of them has on.
func (c Config) Gentler(o Config) Config {
	// Without AutoThrottle the delay is fixed at what the settings say; beside one
	// that adjusts it must remain the floor.
	floor := max(c.fixedFloor(), o.fixedFloor(), c.DownloadDelay, o.DownloadDelay)
	target := c.AutoThrottleTargetConcurrency
	switch {
	case !c.AutoThrottles():
		target = o.AutoThrottleTargetConcurrency
	case o.AutoThrottles():
		target = min(target, o.AutoThrottleTargetConcurrency)
	}
	g := Config{
		AutoThrottleEnabled:           c.AutoThrottles() || o.AutoThrottles(),
		AutoThrottleStartDelay:        max(c.AutoThrottleStartDelay, o.AutoThrottleStartDelay),
		AutoThrottleMaxDelay:          max(c.AutoThrottleMaxDelay, o.AutoThrottleMaxDelay, floor),
		AutoThrottleTargetConcurrency: target,
		DownloadDelay:                 floor,
		RandomizeDownloadDelay:        c.RandomizeDownloadDelay && o.RandomizeDownloadDelay,
		ConcurrentRequestsPerDomain:   min(c.Concurrency(), o.Concurrency()),
		RetryAfterMax:                 max(c.RetryAfterMax, o.RetryAfterMax),
		BackoffBase:                   max(c.BackoffBase, o.BackoffBase),
		BackoffMax:                    max(c.BackoffMax, o.BackoffMax),
		BackoffRecovery:               min(c.BackoffRecovery, o.BackoffRecovery),
		RateLimitObey:                 c.RateLimitObey || o.RateLimitObey,
		QuotaMemory:                   max(c.QuotaMemory, o.QuotaMemory),
		ErrorShare:                    leastPositive(c.ErrorShare, o.ErrorShare),
		SlowStart:                     c.SlowStart || o.SlowStart,
		CrawlDelayMax:                 max(c.CrawlDelayMax, o.CrawlDelayMax),
		CircuitFailures:               leastPositive(c.CircuitFailures, o.CircuitFailures),
		CircuitOpenFor:                max(c.CircuitOpenFor, o.CircuitOpenFor),
		CircuitOpenMax:                max(c.CircuitOpenMax, o.CircuitOpenMax),
		hasSlotDelay:                  c.hasSlotDelay || o.hasSlotDelay,
	}
	if g.hasSlotDelay {
		g.slotDelay = max(c.startDelay(), o.startDelay())
	}
	// A slot stays an address only if both crawls count by address.
	if c.ConcurrentRequestsPerIP > 0 && o.ConcurrentRequestsPerIP > 0 {
		g.ConcurrentRequestsPerIP = g.ConcurrentRequestsPerDomain
	}
	return g
}

func (c Config) fixedFloor() time.Duration {
	if c.AutoThrottles() {
		return 0
	}
	return c.startDelay()
}

// leastPositive is the lower of two, where zero stands for none.
func leastPositive[T int | float64](a, b T) T {
	if a <= 0 || (b > 0 && b < a) {
		return b
	}
	return a
}
