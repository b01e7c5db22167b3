package throttle

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"
)

// Config is the settings of a slot. Build it from Default and change fields: in
// many fields zero has a meaning (a rule that is off), so it cannot stand for
// the default. Config is comparable.
type Config struct {
	// AutoThrottleEnabled is AUTOTHROTTLE_ENABLED: adjust the delay to the site's
	// latency. Default true (Scrapy: false). False keeps the delay at DownloadDelay.
	AutoThrottleEnabled bool
	// AutoThrottleStartDelay is AUTOTHROTTLE_START_DELAY: the delay of a slot that
	// has learned nothing yet, unless DownloadDelay is higher. Default 5 s.
	AutoThrottleStartDelay time.Duration
	// AutoThrottleMaxDelay is AUTOTHROTTLE_MAX_DELAY: no adjustment goes above it,
	// not even to reach DownloadDelay (as in Scrapy). It bounds neither the start
	// delay nor back-off and Crawl-delay. Default 60 s.
	AutoThrottleMaxDelay time.Duration
	// AutoThrottleTargetConcurrency is AUTOTHROTTLE_TARGET_CONCURRENCY: how many
	// requests the site should be busy with on average. Default 1.0; zero or less
	// turns AutoThrottle off (as in Scrapy).
	AutoThrottleTargetConcurrency float64
	// DownloadDelay is DOWNLOAD_DELAY: the least delay between two starts. Default 0:
	// none.
	DownloadDelay time.Duration
	// RandomizeDownloadDelay is RANDOMIZE_DOWNLOAD_DELAY: wait 0.5 to 1.5 times the
	// delay, drawn anew each time. Crawl-delay and back-off are not shortened.
	// Default true.
	RandomizeDownloadDelay bool
	// ConcurrentRequestsPerDomain is CONCURRENT_REQUESTS_PER_DOMAIN: requests in
	// flight at once. Default 8; at least 1.
	ConcurrentRequestsPerDomain int
	// ConcurrentRequestsPerIP is CONCURRENT_REQUESTS_PER_IP: when not zero it replaces
	// ConcurrentRequestsPerDomain, and slots are addresses (see SlotKey). Default 0.
	ConcurrentRequestsPerIP int

	// RetryAfterMax is the longest hold that a Retry-After can cause. Default 1 h;
	// zero: Retry-After is not obeyed, and the answer backs off instead.
	RetryAfterMax time.Duration
	// BackoffBase is what the first 429, 503 or site fault adds to the delay; each
	// further one doubles it. Default 1 s; zero: no back-off.
	BackoffBase time.Duration
	// BackoffMax is the most that back-off adds to the delay. Default 10 min, also
	// for zero.
	BackoffMax time.Duration
	// BackoffRecovery is the share of the height reached that each good answer takes
	// away from the back-off, over 0 up to 1: with 0.1 it is gone after ten. Low
	// values come back to a troubled site more slowly. Default 0.1, also for zero.
	BackoffRecovery float64
	// RateLimitObey spreads requests over what the RateLimit fields of answers say is
	// left, and stays away when nothing is, for RetryAfterMax at most. Default true.
	RateLimitObey bool
	// QuotaMemory is how long the interval learned from 429 answers is kept after the
	// last of them. Default 6 h; zero: none is learned, and a 429 backs off instead.
	QuotaMemory time.Duration
	// ErrorShare is the share of 500, 502 and 504 among the last answers from which
	// the slot slows down gently. Default 0.2; zero: never.
	ErrorShare float64
	// SlowStart lets a new slot send one request at a time at first, and one more at
	// once with each good answer. Default true.
	SlowStart bool
	// CrawlDelayMax is the most that a Crawl-delay or Request-rate of robots.txt is
	// taken for. Default 60 s; zero: neither is obeyed.
	CrawlDelayMax time.Duration
	// CircuitFailures is after how many failures in a row (site faults, 429, 5xx) the
	// circuit opens. Default 10; zero: never.
	CircuitFailures int
	// CircuitOpenFor is how long the circuit stays open at first; it doubles with
	// each failed probe. Default 30 s, also for zero.
	CircuitOpenFor time.Duration
	// CircuitOpenMax caps that doubling. Default 30 min, also for zero.
	CircuitOpenMax time.Duration

	slotDelay    time.Duration // the slot's own delay, when hasSlotDelay
	hasSlotDelay bool
}

// Default gives the settings of a polite crawl.
func Default() Config {
	return Config{
		AutoThrottleEnabled:           true,
		AutoThrottleStartDelay:        5 * time.Second,
		AutoThrottleMaxDelay:          60 * time.Second,
		AutoThrottleTargetConcurrency: 1,
		RandomizeDownloadDelay:        true,
		ConcurrentRequestsPerDomain:   8,
		RetryAfterMax:                 time.Hour,
		BackoffBase:                   time.Second,
		BackoffMax:                    10 * time.Minute,
		BackoffRecovery:               0.1,
		RateLimitObey:                 true,
		QuotaMemory:                   6 * time.Hour,
		ErrorShare:                    0.2,
		SlowStart:                     true,
		CrawlDelayMax:                 60 * time.Second,
		CircuitFailures:               10,
		CircuitOpenFor:                30 * time.Second,
		CircuitOpenMax:                30 * time.Minute,
	}
}

// WithDefaults gives a copy with the default in every zero field whose zero has
// no meaning of its own; the zero Config becomes Default.
func (c Config) WithDefaults() Config {
	d := Default()
	if c == (Config{}) {
		return d
	}
	c.ConcurrentRequestsPerDomain = cmp.Or(c.ConcurrentRequestsPerDomain, d.ConcurrentRequestsPerDomain)
	c.BackoffMax = cmp.Or(c.BackoffMax, max(d.BackoffMax, c.BackoffBase))
	c.BackoffRecovery = cmp.Or(c.BackoffRecovery, d.BackoffRecovery)
	c.CircuitOpenFor = cmp.Or(c.CircuitOpenFor, d.CircuitOpenFor)
	c.CircuitOpenMax = cmp.Or(c.CircuitOpenMax, max(d.CircuitOpenMax, c.CircuitOpenFor))
	return c
}

// maxSetting bounds every duration, so that sums and doublings cannot overflow.
const maxSetting = 365 * 24 * time.Hour

// Validate reports every setting that a Slot cannot work with, all at once. Call
// it on what WithDefaults gave.
func (c Config) Validate() error {
	var errs []error
	for _, s := range []struct {
		name string
		d    time.Duration
	}{
		{"AUTOTHROTTLE_START_DELAY", c.AutoThrottleStartDelay},
		{"AUTOTHROTTLE_MAX_DELAY", c.AutoThrottleMaxDelay},
		{"DOWNLOAD_DELAY", c.DownloadDelay},
		{"RETRY_AFTER_MAX", c.RetryAfterMax},
		{"BACKOFF_BASE", c.BackoffBase},
		{"BACKOFF_MAX", c.BackoffMax},
		{"QUOTA_MEMORY", c.QuotaMemory},
		{"CRAWL_DELAY_MAX", c.CrawlDelayMax},
		{"CIRCUIT_OPEN_FOR", c.CircuitOpenFor},
		{"CIRCUIT_OPEN_MAX", c.CircuitOpenMax},
		{"the slot's delay", c.slotDelay},
	} {
		if s.d < 0 || s.d > maxSetting {
			errs = append(errs, fmt.Errorf("throttle: validate %s: %v is not between 0 and %v", s.name, s.d, maxSetting))
		}
	}
	if f := c.AutoThrottleTargetConcurrency; math.IsNaN(f) || math.IsInf(f, 0) {
		errs = append(errs, fmt.Errorf("throttle: validate AUTOTHROTTLE_TARGET_CONCURRENCY: %v is not a finite number", f))
	}
	if c.ConcurrentRequestsPerDomain < 1 {
		errs = append(errs, fmt.Errorf("throttle: validate CONCURRENT_REQUESTS_PER_DOMAIN: %d is below 1", c.ConcurrentRequestsPerDomain))
	}
	if c.ConcurrentRequestsPerIP < 0 {
		errs = append(errs, fmt.Errorf("throttle: validate CONCURRENT_REQUESTS_PER_IP: %d is below 0", c.ConcurrentRequestsPerIP))
	}
	if c.BackoffBase > c.BackoffMax {
		errs = append(errs, fmt.Errorf("throttle: validate BACKOFF_MAX: %v is below BACKOFF_BASE %v", c.BackoffMax, c.BackoffBase))
	}
	if f := c.BackoffRecovery; !(f > 0 && f <= 1) {
		errs = append(errs, fmt.Errorf("throttle: validate BACKOFF_RECOVERY: %v is not over 0 and up to 1", f))
	}
	if f := c.ErrorShare; !(f >= 0 && f <= 1) {
		errs = append(errs, fmt.Errorf("throttle: validate ERROR_SHARE: %v is not between 0 and 1", f))
	}
	if c.CircuitFailures < 0 {
		errs = append(errs, fmt.Errorf("throttle: validate CIRCUIT_FAILURES: %d is below 0", c.CircuitFailures))
	}
	if c.CircuitOpenFor > c.CircuitOpenMax {
		errs = append(errs, fmt.Errorf("throttle: validate CIRCUIT_OPEN_MAX: %v is below CIRCUIT_OPEN_FOR %v", c.CircuitOpenMax, c.CircuitOpenFor))
	}
	return errors.Join(errs...)
}

// AutoThrottles reports whether the delay follows the site's latency.
func (c Config) AutoThrottles() bool {
	return c.AutoThrottleEnabled && c.AutoThrottleTargetConcurrency > 0
}

// Concurrency is how many requests may be in flight at once.
func (c Config) Concurrency() int {
	return max(1, cmp.Or(c.ConcurrentRequestsPerIP, c.ConcurrentRequestsPerDomain))
}
