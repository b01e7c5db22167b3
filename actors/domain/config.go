package domain

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"orbweaver/core/cookies"
	"orbweaver/core/invariant"
	"orbweaver/core/rqueue"
	"orbweaver/core/throttle"
	"orbweaver/messages"
)

// Config is the settings of `domains` and its domains.
type Config struct {
	MaxDomains    int           // live domain actors (MAX_DOMAINS); default 10,000
	Idle          time.Duration // a domain without work stays so long (DOMAIN_IDLE); default 1 s
	LeaseBatch    int           // most requests leased at once (LEASE_BATCH); default 16
	Gather        time.Duration // a host whose queue was empty is leased from so much after its first new link; default 15 ms
	TTL           time.Duration // of slot leases (SLOT_TTL); default 8 s
	Renew         time.Duration // a held slot is renewed this often (SLOT_RENEW); default 2 s
	Slack         time.Duration // spare time stored with next_at; default 500 ms
	Exclusive     bool          // a slot that an earlier process held is taken over at once, not when its lease is over
	RobotsObey    bool          // ROBOTSTXT_OBEY
	RobotsAgent   string        // product token for robots.txt (ROBOTSTXT_USER_AGENT); required with RobotsObey
	RobotsMaxAge  time.Duration // a robots.txt is used for so long at most (ROBOTSTXT_CACHE_MAX, RFC 9309 §2.4); default 24 h
	RobotsMinAge  time.Duration // and for so long at least, whatever its Cache-Control says (ROBOTSTXT_CACHE_MIN); default 5 min
	RobotsRetry   time.Duration // first wait after robots.txt could not be had, doubling; default 1 s
	RobotsRetryTo time.Duration // its cap; default 1 min
	// RobotsElsewhere is how long another host's slot may take to fetch what a
	// robots.txt redirects to. Default 2 min.
	RobotsElsewhere time.Duration
	Throttle        throttle.Config
	// Wall is the clock for the dates that sites send (Retry-After): the one use of
	// time of day. Default time.Now.
	Wall  func() time.Time
	Debug bool // log every answer and the delay that it leads to (AUTOTHROTTLE_DEBUG)
	// CookiesDebug logs every Cookie field that is sent and every cookie that an answer
	// changes (COOKIES_DEBUG).
	CookiesDebug bool
}

// WithDefaults fills zero fields; Throttle is taken as it is.
func (c Config) WithDefaults() Config {
	c.MaxDomains = cmp.Or(c.MaxDomains, 10_000)
	c.Idle = cmp.Or(c.Idle, time.Second)
	c.LeaseBatch = cmp.Or(c.LeaseBatch, 16)
	c.Gather = cmp.Or(c.Gather, 15*time.Millisecond)
	c.TTL = cmp.Or(c.TTL, 8*time.Second)
	c.Renew = cmp.Or(c.Renew, 2*time.Second)
	c.Slack = cmp.Or(c.Slack, 500*time.Millisecond)
	c.RobotsMaxAge = cmp.Or(c.RobotsMaxAge, 24*time.Hour)
	c.RobotsMinAge = min(cmp.Or(c.RobotsMinAge, 5*time.Minute), c.RobotsMaxAge)
	c.RobotsElsewhere = cmp.Or(c.RobotsElsewhere, 2*time.Minute)
	c.RobotsRetry = cmp.Or(c.RobotsRetry, time.Second)
	c.RobotsRetryTo = cmp.Or(c.RobotsRetryTo, time.Minute)
	if c.Wall == nil {
		c.Wall = time.Now
	}
	return c
}

// Validate reports every problem of a config that has its defaults.
func (c Config) Validate() error {
	var errs []error
	if c.MaxDomains < 1 {
		errs = append(errs, fmt.Errorf("domain: MAX_DOMAINS %d: want 1 or more", c.MaxDomains))
	}
	if c.LeaseBatch < 1 {
		errs = append(errs, fmt.Errorf("domain: LEASE_BATCH %d: want 1 or more", c.LeaseBatch))
	}
	if c.Renew >= c.TTL/2 {
		errs = append(errs, fmt.Errorf("domain: SLOT_RENEW %s: want less than half of SLOT_TTL %s", c.Renew, c.TTL))
	}
	if c.RobotsObey && c.RobotsAgent == "" {
		errs = append(errs, errors.New("domain: ROBOTSTXT_USER_AGENT is empty"))
	}
	return errors.Join(append(errs, c.Throttle.Validate())...)
}

// Deps is who `domains` and its domains talk to. All but Checks and Cookies are required.
type Deps struct {
	Scheduler *actor.PID
	Pipeline  *actor.PID
	Fetcher   *actor.Props          // of one fetcher child
	NewConns  func() messages.Conns // the connections of one slot
	// StoreChanges counts the times the store became one that may have forgotten
	// its last second.
	StoreChanges func() uint64
	Places       Places
	// Crawl finds a crawl that this node serves, in its incarnation; nil: none.
	Crawl func(name string, run int64) *rqueue.Crawl
	// Cookies gives the jars of a crawl, shared by all its hosts on the node, and
	// whether they are kept in the store; nil: it keeps none. The func is nil when no
	// crawl does.
	Cookies func(c *rqueue.Crawl) (jars *cookies.Jars, persist bool)
	Checks  *invariant.Checks // nil checks nothing
	Table   *Table
	Log     logrus.FieldLogger
}

// Places knows which slots are whose. It is a hint that nodes may differ about: the
// slot's lease is what counts. Safe for concurrent use.
type Places interface {
	// Mine reports whether this node should own a slot for a crawl: not every node
	// serves every crawl.
	Mine(slot, crawl string) bool
	// Forward tells the owners of hosts that are not this node's that they have work
	// due. It does not block; what is lost the due index has.
	Forward(refs []rqueue.HostRef, released bool)
	// Fence is the time, by the local clock, after which this node may have been
	// given up by the others: nothing is sent to a site then.
	Fence() time.Time
}

func (d Deps) check() {
	if d.Scheduler == nil || d.Pipeline == nil || d.Fetcher == nil || d.NewConns == nil || d.StoreChanges == nil ||
		d.Places == nil || d.Crawl == nil || d.Table == nil || d.Log == nil {
		panic("domain: Deps has a nil field")
	}
}
