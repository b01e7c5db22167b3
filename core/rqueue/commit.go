package rqueue

import (
	"time"

	"orbweaver/core/crawl"
)

// Link is one request to enqueue at a host.
type Link struct {
	Crawl   *Crawl
	Host    string         // of Request.URL: lower case, no port
	Request *crawl.Request // ID, Fingerprint and URL set
}

// End says how a leased request leaves its lease.
type End uint8

// The ends of a lease.
const (
	EndDone   End = iota // items stored, request done
	EndRetry             // to the delayed queue as Page.Retry
	EndDead              // to the dead letters with Page.Cause
	EndParked            // the same while its host is parked, else it waits again (rule 23)
)

// Page is the outcome of one leased request: its new links and how its lease ends.
type Page struct {
	Crawl *Crawl
	Host  string
	ID    crawl.ID
	Token string
	Links []Link // enqueued first; may be of other hosts
	Items []crawl.Item
	End   End

	Retry   *crawl.Request // EndRetry: the request with its new counters
	RetryIn time.Duration  // EndRetry
	Cause   string         // EndRetry, EndDead; EndParked: the reason

	// Park puts the page's host aside, with this reason, whatever becomes of the
	// page; "" does not. Of a host that is parked the first reason stays.
	Park string

	// Outputs of Session.Commit.
	Enqueued int   // links that were new
	Filtered int   // links that were not
	Refused  int   // links of hosts that had let in HostLimit requests
	Gone     bool  // the lease was no longer this token's: nothing of End happened
	Err      error // the page is not committed: try again or let the lease lapse
}

// Stat is one counter of <c>:stats to raise.
type Stat struct {
	Crawl *Crawl
	Name  string // Scrapy's stat name
	N     int64
}

// HostRef names one crawl's host.
type HostRef struct {
	Crawl *Crawl
	Host  string
}
