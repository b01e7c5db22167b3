package rqueue

import (
	"time"

	"orbweaver/core/crawl"
)

// Op is one step on a slot or on leases. Frontier.Do runs many in one pipeline;
// each Op's outputs and Err are its own, so one refusal disturbs no other.
// An Op must not be reused.
type Op interface{ op() *OpBase }

// OpBase holds what every Op answers with.
type OpBase struct {
	// Err is nil, one of the package's sentinels, or the store's error. After a
	// connection error the step may have been carried out all the same.
	Err error

	unknown bool // Err is that of the call, not of the script: see Trace.Unknown
}

func (b *OpBase) op() *OpBase { return b }

// SlotState is what a slot's key remembers between owners. Durations are from
// the store's now; the zero value is a slot never used.
type SlotState struct {
	Delay      float64       // seconds, the AutoThrottle delay, exact; < 0 when never set
	NextIn     time.Duration // until a request may start; <= 0: now
	HoldIn     time.Duration // until a Retry-After, back-off or circuit ends; <= 0: none
	Reason     string        // why it is held: a throttle reason; "" none
	Backoff    float64       // seconds added by back-off
	Failures   int           // consecutive failures, for the circuit
	CrawlDelay float64       // seconds, the floor that robots.txt asks for; 0 none
	Paused     bool
	Latency    float64 // seconds, of the last answer
	Quota      Quota
}

// Quota is what a slot learned from 429 answers: the throttle's to read. Only
// Interval means something here. The zero value is a slot that learned nothing.
type Quota struct {
	Interval float64 // seconds between starts
	Failed   float64 // seconds
	Borne    float64 // seconds
	Settled  bool
	Age      float64 // seconds
	Passed   int
	Refused  int
	Until    int64 // unix s, by its owner's time of day, when it is to be forgotten
}

// Acquire takes a slot: free, expired or this node's own. Rules 5 to 8, 12.
type Acquire struct {
	OpBase
	Slot   string   // slot key: a host name
	Crawls []*Crawl // crawls whose due entry moves to the slot's expiry

	Token    string        // out: the owner's token
	State    SlotState     // out; NextIn already holds rule 7's and 8's waits
	Deadline time.Time     // out: local; no send after it
	HeldFor  time.Duration // out, with ErrHeld and ErrQuarantine: when to ask again

	known int64 // the slot's greatest epoch known when the call was written
}

// Renew extends a slot lease. Refused after the local deadline (rule 5): the
// caller must not send it then.
type Renew struct {
	OpBase
	Slot, Token string
	Crawls      []*Crawl
	State       SlotState // written: all but NextIn and Paused

	Paused   bool      // out: the slot's pause as steered
	Ready    bool      // out: requests came to an empty queue since the last Lease: lease again
	Deadline time.Time // out
}

// Reserve raises the stored upper bound of the next start to now + NextIn (rule 4).
// It never lowers it. Also used for a robots.txt fetch (rule 19).
type Reserve struct {
	OpBase
	Slot, Token string
	NextIn      time.Duration
	State       SlotState // written: all but NextIn and Paused

	StoredNext time.Time // out: local; the stored bound is not before it
}

// Lease takes up to Max waiting requests of one crawl at a slot's host; due
// delayed ones become waiting first. With n taken (n >= 1) next_at becomes
// now + StartIn + n*Delay + Slack, and the slot lease is renewed. Rules 4, 11, 12.
type Lease struct {
	OpBase
	Slot, Token string
	Crawl       *Crawl
	Max         int
	StartIn     time.Duration // until the first of them may start
	Delay       time.Duration // delay in force
	Slack       time.Duration // spare time on top, so that most sends need no Reserve
	State       SlotState     // written: all but NextIn and Paused

	Requests   []Leased      // out
	Waiting    int           // out: still waiting at this crawl's host
	DelayedIn  time.Duration // out: until the first delayed one is due; < 0: none
	StoredNext time.Time     // out: as Reserve's; zero when nothing was leased
	Deadline   time.Time     // out
	Parked     string        // out: why the host is parked: nothing may be sent; "": it is not (rule 23)
}

// Leased is one request in this node's hands.
type Leased struct {
	Crawl   *Crawl
	Host    string
	Request *crawl.Request
	Token   string // the request's own token: commit, retry and give back check it (rule 10)
	Lost    int    // times its lease was recovered before
}

// Recover returns to waiting every leased request of one crawl at the slot's
// host whose id is not in Keep (rule 11).
type Recover struct {
	OpBase
	Slot, Token string
	Crawl       *Crawl
	Keep        []crawl.ID

	Recovered int // out: waiting again
	Dead      int // out: over MaxLost
}

// Release gives a slot up. NextIn is exact: last send + delay. The due entry of
// each crawl becomes the slot's next useful start, or goes when nothing is left.
type Release struct {
	OpBase
	Slot, Token string
	Crawls      []*Crawl
	NextIn      time.Duration
	State       SlotState // written: all but NextIn and Paused
}

// GiveBack returns unsent requests to waiting, in their old order, uncounted.
type GiveBack struct {
	OpBase
	Leased []Leased // of one crawl and host
	Gone   int      // out: leases that were no longer held
}

// Steer sets a slot's pause, or a floor for its delay, from outside; the owner
// sees it at its next Renew or Lease.
type Steer struct {
	OpBase
	Slot   string
	Paused *bool
}

// RobotsGet reads the stored robots.txt of one origin (rule 19).
type RobotsGet struct {
	OpBase
	Host, Origin string

	Found  bool // out
	Robots Robots
}

// RobotsPut stores it, for 31 days. While it is unreachable Body, Age and Life are
// not written: those of the last good answer stay.
type RobotsPut struct {
	OpBase
	Host, Origin string
	Robots       Robots
}

// Robots is one origin's robots.txt as the cluster knows it.
type Robots struct {
	Good             bool          // out of RobotsGet: there was an answer that Body, Age and Life are of
	Body             []byte        // its rules; nil when it had none
	Age              time.Duration // since that answer
	Life             time.Duration // how long after it the rules may be used; 0: as long as any
	Status           int           // of the last answer; 0: no answer
	UnreachableSince time.Duration // how long ago it became unreachable; 0: it is reachable
	Failures         int           // in a row, while unreachable
	RetryIn          time.Duration // until it is to be asked for again, while unreachable
}
