package domain

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/core/throttle"
	"orbweaver/messages"
)

// wake tells a domain that a crawl has work due at its host; released, that another
// node gave the slot up just now.
type wake struct {
	crawl    *rqueue.Crawl
	released bool
}

// tick is a domain's timer; seq tells a superseded one.
type tick struct{ seq int }

// passivate tells `domains` that a domain is about to release its slot and stop:
// wakes are kept until it has.
type passivate struct{ slot string }

// stay takes passivate back: the slot could not be released.
type stay struct{ slot string }

// orphans tells a restarted domain that every answer of the fetchers which its
// last incarnation had is in: what they did not answer never will be.
type orphans struct{}

// errand asks the domain of a host, by way of `domains`, to fetch url, to which the
// robots.txt of another host redirects. It is answered by one errandDone, or not at
// all; nobody waits for it after until.
type errand struct {
	host  string // url's
	url   string
	asker string        // slot of the domain that asks
	crawl *rqueue.Crawl // that it is asked for: where the host is parked in it, nothing is sent
	meta  []byte        // names the proxy to go by; nil: the settings'
	until time.Time
}

// errandDone answers an errand, by way of `domains`.
type errandDone struct {
	errand   *errand
	refused  string // why the slot could not be had; "": it was fetched
	outcome  messages.Outcome
	response *crawl.Response
}

// drain tells a domain to give its work back and stop; now cuts what is in flight.
type drain struct{ now bool }

// Snapshot is what a domain answers messages.Inspect with.
type Snapshot struct {
	Slot         string
	Crawls       []string
	Phase        string
	Delay        time.Duration
	Concurrency  int
	InUse        int
	NextIn       time.Duration // until the next start; 0: now
	Reason       throttle.Reason
	Buffered     int // leased, not sent
	Waiting      int // in the queue as last seen
	LastStatus   int
	LastError    string
	LastLatency  time.Duration
	Fetched      int64
	Fetchers     int
	LeaseExpires time.Duration
}

// SupervisorSnapshot is what `domains` answers messages.Inspect with.
type SupervisorSnapshot struct {
	Domains []Child // by slot
	Cap     int
	Capped  int64 // wakes refused because the cap was reached
}

// Child is one live domain.
type Child struct {
	Slot     string
	PID      *actor.PID
	Mailbox  int
	Restarts int
	Leaving  bool
}
