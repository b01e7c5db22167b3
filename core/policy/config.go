package policy

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Config holds the settings under Scrapy's names. Start from Default and change
// fields: zero is a meaningful value of most of them, so it never stands for a
// default.
type Config struct {
	// RetryEnabled: RETRY_ENABLED, default true. When false every failure is final.
	RetryEnabled bool
	// RetryTimes: RETRY_TIMES, tries after the first. Default 5 (Scrapy 2: ours
	// wait longer each time); 0 none.
	RetryTimes int
	// RetryBusyTimes: RETRY_BUSY_TIMES, tries after answers of 429 and 503 and
	// while robots.txt cannot be had, counted apart: the site said later, not no.
	// Default 20.
	RetryBusyTimes int
	// RetryHTTPCodes: RETRY_HTTP_CODES, default 408 429 500 502 503 504 522 524.
	RetryHTTPCodes []int
	// RetryPriorityAdjust: RETRY_PRIORITY_ADJUST, default -1.
	RetryPriorityAdjust int
	// BackoffBase: RETRY_BACKOFF_BASE, the wait before the first retry; it
	// doubles with each further one. Default 500 ms; 0 does not wait.
	BackoffBase time.Duration
	// BackoffMax: RETRY_BACKOFF_MAX, the longest such wait. Default 10 min.
	BackoffMax time.Duration
	// RetryAfterMax: RETRY_AFTER_MAX, the most that a Retry-After header is
	// believed. Default 1 h; 0 ignores the header.
	RetryAfterMax time.Duration

	// RedirectEnabled: REDIRECT_ENABLED, default true. When false a redirect is
	// a status like any other.
	RedirectEnabled bool
	// RedirectMaxTimes: REDIRECT_MAX_TIMES, redirects in a row. Default 20; 0
	// follows none and gives the request up.
	RedirectMaxTimes int
	// RedirectPriorityAdjust: REDIRECT_PRIORITY_ADJUST, default +2.
	RedirectPriorityAdjust int

	// MetaRefreshEnabled: METAREFRESH_ENABLED, default true: the meta refresh of an
	// HTML page is followed as a redirect is.
	MetaRefreshEnabled bool
	// MetaRefreshMaxDelay: METAREFRESH_MAXDELAY, a refresh after so long or longer is
	// not followed. Default 100 s; 0 follows none.
	MetaRefreshMaxDelay time.Duration
	// MetaRefreshIgnoreTags: METAREFRESH_IGNORE_TAGS, elements in which a refresh does
	// not count. Default noscript.
	MetaRefreshIgnoreTags []string

	// RefererEnabled: REFERER_ENABLED, default true: requests name the page that led
	// to them, as ReferrerPolicy has it.
	RefererEnabled bool
	// ReferrerPolicy: REFERRER_POLICY, where a page has no Referrer-Policy field.
	ReferrerPolicy ReferrerPolicy

	// HTTPErrorAllowAll: HTTPERROR_ALLOW_ALL, default false: only 2xx are parsed.
	HTTPErrorAllowAll bool
	// HTTPErrorAllowedCodes: HTTPERROR_ALLOWED_CODES, statuses parsed all the same.
	HTTPErrorAllowedCodes []int

	// DepthLimit: DEPTH_LIMIT, links from a seed. Default 0, no limit.
	DepthLimit int
	// DepthPriority: DEPTH_PRIORITY, taken off the priority times the depth;
	// positive crawls breadth first. Default 0.
	DepthPriority int
	// URLLengthLimit: URLLENGTH_LIMIT, bytes of a link's URL. Default 2083; 0 no limit.
	URLLengthLimit int
}

// Default is the product's configuration.
func Default() Config {
	return Config{
		RetryEnabled:           true,
		RetryTimes:             5,
		RetryBusyTimes:         20,
		RetryHTTPCodes:         []int{408, 429, 500, 502, 503, 504, 522, 524},
		RetryPriorityAdjust:    -1,
		BackoffBase:            500 * time.Millisecond,
		BackoffMax:             10 * time.Minute,
		RetryAfterMax:          time.Hour,
		RedirectEnabled:        true,
		RedirectMaxTimes:       20,
		RedirectPriorityAdjust: 2,
		MetaRefreshEnabled:     true,
		MetaRefreshMaxDelay:    100 * time.Second,
		MetaRefreshIgnoreTags:  []string{"noscript"},
		RefererEnabled:         true,
		URLLengthLimit:         2083,
	}
}

// Validate reports all problems.
func (c Config) Validate() error {
	var problems []error
	count := func(name string, n int) {
		if n < 0 {
			problems = append(problems, fmt.Errorf("policy: %s is %d: want 0 or more", name, n))
		}
	}
	count("RETRY_TIMES", c.RetryTimes)
	count("RETRY_BUSY_TIMES", c.RetryBusyTimes)
	count("REDIRECT_MAX_TIMES", c.RedirectMaxTimes)
	count("DEPTH_LIMIT", c.DepthLimit)
	count("URLLENGTH_LIMIT", c.URLLengthLimit)
	wait := func(name string, d time.Duration) {
		if d < 0 {
			problems = append(problems, fmt.Errorf("policy: %s is %s: want 0 or more", name, d))
		}
	}
	wait("RETRY_BACKOFF_BASE", c.BackoffBase)
	wait("RETRY_BACKOFF_MAX", c.BackoffMax)
	wait("RETRY_AFTER_MAX", c.RetryAfterMax)
	wait("METAREFRESH_MAXDELAY", c.MetaRefreshMaxDelay)
	if c.ReferrerPolicy > UnsafeURL {
		problems = append(problems, fmt.Errorf("policy: REFERRER_POLICY is %d: want a policy", c.ReferrerPolicy))
	}
	if c.BackoffBase > c.BackoffMax {
		problems = append(problems, fmt.Errorf("policy: RETRY_BACKOFF_BASE is %s, more than RETRY_BACKOFF_MAX, %s", c.BackoffBase, c.BackoffMax))
	}
	codes := func(name string, codes []int) {
		if i := slices.IndexFunc(codes, func(s int) bool { return s < 100 || s >= statusLimit }); i >= 0 {
			problems = append(problems, fmt.Errorf("policy: %s holds %d: want statuses from 100 to %d", name, codes[i], statusLimit-1))
		}
	}
	codes("RETRY_HTTP_CODES", c.RetryHTTPCodes)
	codes("HTTPERROR_ALLOWED_CODES", c.HTTPErrorAllowedCodes)
	return errors.Join(problems...)
}
