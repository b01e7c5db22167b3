package throttle

import "time"

// Reason names why a slot waits. The names appear in the admin API, in logs, in
// metrics and in Redis.
type Reason string

// Every reason for which a domain waits. The last three are set by the caller, who
// alone can know them.
const (
	ReasonNone        Reason = ""
	ReasonDelay       Reason = "delay"       // the delay between two starts
	ReasonConcurrency Reason = "concurrency" // as many in flight as allowed
	ReasonRetryAfter  Reason = "retry-after" // the site said when to come back
	ReasonBackoff     Reason = "backoff"     // slowed down after failures, or starting slowly after a hold
	ReasonCrawlDelay  Reason = "crawl-delay" // robots.txt asks for a longer delay
	ReasonRateLimit   Reason = "rate-limit"  // the site's RateLimit fields: what is left of its limit is spread, or nothing is
	ReasonQuota       Reason = "quota"       // the rate learned from 429 answers
	ReasonErrors      Reason = "errors"      // too large a share of 500, 502 and 504
	ReasonSlowStart   Reason = "slow-start"  // a new slot: one more at once with each good answer
	ReasonPaused      Reason = "paused"      // someone paused the slot
	ReasonCircuit     Reason = "circuit"     // failed too often in a row
	ReasonRobots      Reason = "robots"      // robots.txt is not known yet
	ReasonNoWork      Reason = "no-work"     // nothing queued
	ReasonRedis       Reason = "redis"       // the store or the slot's lease is out of reach
)

// Reasons lists every reason but ReasonNone.
func Reasons() []Reason {
	return []Reason{
		ReasonDelay, ReasonConcurrency, ReasonRetryAfter, ReasonBackoff, ReasonCrawlDelay,
		ReasonRateLimit, ReasonQuota, ReasonErrors, ReasonSlowStart,
		ReasonPaused, ReasonCircuit, ReasonRobots, ReasonNoWork, ReasonRedis,
	}
}

// Decision says whether a request may start now.
type Decision struct {
	OK     bool
	Reason Reason // why not; ReasonNone when OK
	// At is when to ask again; zero when OK, or when no time is known and only an
	// event (Started, Abandoned, Done, Pause) can change the answer. The answer at
	// At may be another wait: the delay may have risen meanwhile.
	At   time.Time
	Wait time.Duration // At - now; zero when At is zero
}

func waitUntil(now, at time.Time, why Reason) Decision {
	return Decision{Reason: why, At: at, Wait: at.Sub(now)}
}

func waitEvent(why Reason) Decision { return Decision{Reason: why} }
