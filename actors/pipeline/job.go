package pipeline

import (
	"sync/atomic"

	"orbweaver/core/blocked"
	"orbweaver/core/policy"
	"orbweaver/core/rqueue"
	"orbweaver/core/sitemap"
	"orbweaver/core/spider"
	"orbweaver/core/trap"
	"orbweaver/core/weburl"
)

// Job is how the pages of one crawl are read. Immutable once in use, but for
// Scope, which learns the hosts of seeds.
type Job struct {
	Crawl          *rqueue.Crawl
	Spider         spider.Spider
	Stages         []Stage // each item goes through them in order
	Scope          *weburl.Scope
	Policy         *policy.Policy
	Fingerprint    *weburl.Fingerprinter
	DepthLimit     int32                   // DEPTH_LIMIT; 0: none
	URLLengthLimit int                     // URLLENGTH_LIMIT; 0: none
	Sitemaps       bool                    // pages that read as sitemaps are sitemaps, whoever links them
	RobotsSitemaps bool                    // the sitemaps of the robots.txt of each seed's host are read
	SitemapLimits  sitemap.Limits          // zero: the protocol's
	Blocked        *blocked.Watch          // recognises refusals, and parks their hosts (BLOCKED_PARK); nil: does not
	Traps          *trap.Detector          // TRAP_ENABLED; nil: off
	Cookies        bool                    // the crawl keeps cookies
	CheckHost      func(host string) error // refuses literal addresses that may not be fetched; nil: none
}

// Stage is one step that items go through, as Scrapy's item pipelines. It must be
// safe for concurrent use.
type Stage interface {
	// Process gives the item as it should be stored: one JSON object on one line.
	// ErrDrop drops it (item_dropped_count); another error fails the page, which
	// is tried again.
	Process(page *spider.Page, item []byte) ([]byte, error)
}

// Counters are what the node counts live, for progress and metrics; the statistics
// that outlive it are in Redis.
type Counters struct {
	Pages, Items, Errors, Bytes, Requests, Retries, Dead atomic.Int64
}

func (c *Counters) committed(o *outcome) {
	if o.page.Gone {
		return
	}
	if o.isDoc {
		c.Pages.Add(1)
	}
	c.Items.Add(int64(len(o.page.Items)))
	switch o.page.End {
	case rqueue.EndRetry:
		c.Retries.Add(1)
	case rqueue.EndDead, rqueue.EndParked:
		c.Dead.Add(1)
	case rqueue.EndDone:
	}
}
