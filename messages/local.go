// Package messages holds what crosses an actor's or a node's border. crawl.proto
// says what may leave a node; local.go holds plain structs that never do.
//
// Local messages carry values of core/crawl and core/rqueue as they are: a copy
// of each type would only be one more place to forget a field in.
package messages

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"orbweaver/core/cookies"
	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/core/throttle"
)

// Do asks the scheduler to run steps on the frontier; it answers with Done.
type Do struct {
	Ops []rqueue.Op
}

// Done answers Do: the same ops, their outputs filled.
type Done struct {
	Ops []rqueue.Op
}

// Wake tells `domains` that hosts have work due. Those that another node should own
// are passed on to it.
type Wake struct {
	Refs     []rqueue.HostRef
	Here     bool // they are for this node, whoever should own them
	Released bool // their slots were given up just now: whoever waits for one may have it
}

// Moved tells `domains` that slots may have another owner than before.
type Moved struct{}

// Fetch asks a fetcher child for one request. The answer to its sender is one
// FetchDone, after a Sent if the request was written to the site.
type Fetch struct {
	Lease    rqueue.Leased
	Slot     string
	Conns    Conns
	Delay    time.Duration // in force at the hand-over
	NotAfter time.Time     // the request's bytes must be written before; zero: no limit
	Robots   bool          // a robots.txt fetch: the body goes to the domain, no Page is made
	Cookie   string        // the Cookie field to send; "" is none, or the request's own
	// Cookies takes what the answer sets, before its Page is sent, so that what the page
	// leads to has it; nil: nothing is kept.
	Cookies *cookies.Jars
}

// Conns are the connections of one slot, made and owned by the fetcher package's
// client; a domain passes them on and closes them when its lease ends.
type Conns interface {
	// Close closes every connection, also those in use. Final.
	Close()
}

// Sent tells the domain that the request's last byte was written.
type Sent struct {
	ID crawl.ID
	At time.Time
}

// FetchDone tells the domain how a fetch ended. A Page for the same request has
// gone to the pipeline if PageSent is set; if not, the domain settles the lease.
type FetchDone struct {
	ID       crawl.ID
	Fetcher  *actor.PID // the child that is free again
	Outcome  Outcome
	PageSent bool
	Robots   *crawl.Response // of a robots.txt fetch
}

// Outcome is what the throttle learns from a fetch.
type Outcome struct {
	Status     int           // 0 when Cause is set
	Cause      crawl.Cause   // "" when a response came
	Err        string        // detail of Cause
	Latency    time.Duration // 0: none measured
	RetryAfter string        // the header's value
	// RateLimit is what the header says of a limit on requests; nil: nothing.
	RateLimit *throttle.RateLimitFields
	SentAt    time.Time // zero: never written
	Cached    bool      // the HTTP cache answered: the site was not asked
	Stale     bool      // a kept connection was closed by the peer before any answer: send again, uncounted
	Bytes     int64
	Cookies   []cookies.Change // that the answer made
}

// Page is a fetch for the pipeline to judge: parse, retry, redirect or drop.
// Also how a domain reports requests that were never sent: then Response holds
// only a Cause (robots, parked), or Disallowed is set.
type Page struct {
	Lease      rqueue.Leased
	Slot       string
	Response   *crawl.Response
	Disallowed bool          // robots.txt forbids it: done without items
	RetryIn    time.Duration // with cause robots: when robots.txt is asked for again
}

// RobotsFetched tells the pipeline of a robots.txt fetch, for the statistics of the
// crawl that it was made for.
type RobotsFetched struct {
	Crawl    *rqueue.Crawl
	Response *crawl.Response // its body is not looked at
}

// Settled tells `domains` that leased requests are in nobody's hands any more:
// their credits are free.
type Settled struct {
	Pages []SettledPage
}

// SettledPage is one of them.
type SettledPage struct {
	Crawl *rqueue.Crawl
	Slot  string
	ID    crawl.ID
	Page  bool // a page was committed, for CLOSESPIDER_PAGECOUNT

	Parked bool // the mark that this page set on its host is stored
}

// Parked tells `domains` that a crawl puts a host aside: what is not sent to it yet
// is not to be.
type Parked struct {
	Crawl  *rqueue.Crawl
	Slot   string
	Reason string
	Stored bool // the mark is in the store: from now on the store's word counts
}

// CreditFree tells a domain that waited for one that it may try to fetch again.
type CreditFree struct{}

// Drain asks an actor to stop taking work, finish what is in flight and answer
// Drained; now set: cancel what is in flight first.
type Drain struct {
	Now bool
}

// Drained answers Drain.
type Drained struct{}

// SeedsPushed tells the scheduler that start_urls has new entries.
type SeedsPushed struct {
	Crawl string
}

// Inspect asks an actor for its Inspection.
type Inspect struct{}
