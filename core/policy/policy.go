// Package policy decides what becomes of a fetch (Decide, Refresh) and of a link
// (Follow): parse, ignore, redirect, retry or give up, by the rules of Scrapy's
// redirect, retry and HTTP error middlewares and with this product's back-off.
// It also names the counters of each outcome as Scrapy does. The main type is
// Policy. Everything is pure: no clock, no chance but the one handed in.
package policy

import (
	"encoding/json"
	"slices"
	"time"

	"orbweaver/core/crawl"
)

// Kind is what to do with a fetch.
type Kind uint8

// The kinds of action.
const (
	Parse    Kind = iota + 1 // hand the page to the spider
	Ignore                   // done, without items: a status that spiders do not get
	Redirect                 // enqueue Request, then done
	Retry                    // fetch again as Request, not before Delay from now
	Dead                     // give up: dead letter with Cause and Reason
	Giveback                 // never sent, or broken off by us: waiting again, uncounted
)

// String is the kind in lower case.
func (k Kind) String() string {
	switch k {
	case Parse:
		return "parse"
	case Ignore:
		return "ignore"
	case Redirect:
		return "redirect"
	case Retry:
		return "retry"
	case Dead:
		return "dead"
	case Giveback:
		return "giveback"
	default:
		return "unknown"
	}
}

// Action is a decision. Fields that its kind does not name are zero.
type Action struct {
	Kind Kind
	// Cause is why, for Retry and Dead; CauseStatus when a response came.
	Cause crawl.Cause
	// Reason is the cause in words, for logs, dead letters and the counters of
	// Retry and Dead: "503 Service Unavailable", "timeout". For Ignore of a
	// redirect that is not followed it says why.
	Reason string
	// Delay is how long a Retry waits at least.
	Delay time.Duration
	// Counted is whether a Retry used up one of RETRY_TIMES (Attempts); false:
	// one of RETRY_BUSY_TIMES (Busy).
	Counted bool
	// Request is what Redirect enqueues (its Fingerprint is not set), or the
	// request with its new counters and priority that Retry stores.
	Request *crawl.Request

	exhausted bool // the retries were used up
}

// Policy holds a Config prepared for quick decisions. It is immutable and safe
// for concurrent use.
type Policy struct {
	cfg         Config
	retryCodes  statusSet
	allowed     statusSet
	statusNames [statusLimit]string // downloader/response_status_count/NNN
}

// New makes a Policy; the error is that of cfg.Validate.
func New(cfg Config) (*Policy, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	p := &Policy{cfg: cfg}
	p.retryCodes.add(cfg.RetryHTTPCodes)
	p.allowed.add(cfg.HTTPErrorAllowedCodes)
	p.nameStatuses()
	return p, nil
}

// Decide says what becomes of the fetch of req that ended in resp. jitter gives
// a number in [0, 1) for the wait of a retry; nil waits the full time.
func (p *Policy) Decide(req *crawl.Request, resp *crawl.Response, jitter func() float64) Action {
	status := resp.Status
	if resp.Cause == crawl.CauseNone && status >= 200 && status < 300 && !p.retryCodes.has(status) {
		return Action{Kind: Parse}
	}
	d := readDirectives(req.Meta)
	if resp.Cause != crawl.CauseNone {
		return p.decideFailure(req, resp, d, jitter)
	}
	if p.retryCodes.has(status) && !d.DontRetry {
		busy := status == 429 || status == 503
		a := p.retry(req, resp, d, failure{cause: crawl.CauseStatus, reason: statusReason(status), busy: busy}, jitter)
		if a.Kind != Dead || !p.isAllowed(status, d) {
			return a
		}
		return Action{Kind: Parse, Cause: a.Cause, Reason: a.Reason, exhausted: a.exhausted}
	}
	if isRedirect(status) && p.cfg.RedirectEnabled && !d.DontRedirect && !d.handles(status) {
		if a, ok := p.redirect(req, resp, d); ok {
			return a
		}
	}
	if p.isAllowed(status, d) {
		return Action{Kind: Parse}
	}
	return Action{Kind: Ignore, Reason: statusReason(status)}
}

// isAllowed reports whether spiders get responses with this status.
func (p *Policy) isAllowed(status int, d directives) bool {
	return status >= 200 && status < 300 || p.cfg.HTTPErrorAllowAll || p.allowed.has(status) || d.handles(status)
}

// directives are the keys of a request's meta that Scrapy's middlewares obey.
type directives struct {
	DontRedirect         bool    `json:"dont_redirect"`
	RedirectTTL          *int    `json:"redirect_ttl"` // redirects allowed in all
	DontRetry            bool    `json:"dont_retry"`
	MaxRetryTimes        *int    `json:"max_retry_times"`
	PriorityAdjust       *int    `json:"priority_adjust"` // of retries
	HandleHTTPStatusAll  bool    `json:"handle_httpstatus_all"`
	HandleHTTPStatusList []int   `json:"handle_httpstatus_list"`
	ReferrerPolicy       *string `json:"referrer_policy"`
}

// readDirectives reads what it can: meta belongs to the user, and a key of
// another type means something else there.
func readDirectives(meta []byte) (d directives) {
	if len(meta) == 0 {
		return d
	}
	_ = json.Unmarshal(meta, &d) // a wrong type leaves the other keys read
	return d
}

func (d *directives) handles(status int) bool {
	return d.HandleHTTPStatusAll || slices.Contains(d.HandleHTTPStatusList, status)
}
