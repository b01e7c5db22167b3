// Package invariant counts, also in production, how often something that must
// always hold did not. The main type is Checks; each assertion has a Name, under
// which a node exports it as a metric. It decides nothing and stops nothing: a
// caller that cannot go on after a violation has to say so itself.
package invariant

import (
	"slices"
	"sync/atomic"
	"time"
)

// Name is one assertion.
type Name string

// The assertions.
const (
	// EpochFell: a slot's new owner token has a smaller epoch than one before it.
	EpochFell Name = "epoch_fell"
	// TokenReused: a slot's new owner token is one that was given out before.
	TokenReused Name = "token_reused"
	// StartNotStored: a request was sent while the store's next start lay before
	// send + delay, so that a successor could start too soon.
	StartNotStored Name = "start_not_stored"
	// SentAfterDeadline: a request was sent after the slot's local deadline.
	SentAfterDeadline Name = "sent_after_deadline"
	// SlotOverfull: more requests in flight at a slot than its limit.
	SlotOverfull Name = "slot_overfull"
	// RequestsLost: waiting + delayed + leased + done + dead of a host is not what
	// was let in (seen).
	RequestsLost Name = "requests_lost"
	// DeadLettersLost: a host's dead letters are not as many as it counts.
	DeadLettersLost Name = "dead_letters_lost"
	// HostUnindexed: a host has scheduled requests and no entry in the due index.
	HostUnindexed Name = "host_unindexed"
	// HostUnknown: a host has requests that a flush would not find.
	HostUnknown Name = "host_unknown"
)

// Names lists every assertion, in a fixed order.
func Names() []Name {
	return []Name{
		EpochFell, TokenReused, StartNotStored, SentAfterDeadline, SlotOverfull,
		RequestsLost, DeadLettersLost, HostUnindexed, HostUnknown,
	}
}

// reportEvery is the least time between two reports of one name.
const reportEvery = time.Second

// Checks counts violations. Make it with New; a nil *Checks counts nothing. All
// methods are safe for concurrent use.
type Checks struct {
	names  []Name
	counts []counter // of names
	report func(n Name, detail string)
	now    func() time.Duration // monotonic
}

// counter is one name's violations.
type counter struct {
	n        atomic.Int64
	reported atomic.Int64 // Checks.now of the last report + 1; 0: never
}

// New makes checks that tell report of a violation, at most once a second for
// each name, the first always. report may be nil; it is called on the goroutine
// that found the violation, by several at once.
func New(report func(n Name, detail string)) *Checks {
	began := time.Now()                                                         //nolint:forbidigo // how often to report, no decision
	return newChecks(report, func() time.Duration { return time.Since(began) }) //nolint:forbidigo // as above
}

func newChecks(report func(Name, string), now func() time.Duration) *Checks {
	names := Names()
	return &Checks{names: names, counts: make([]counter, len(names)), report: report, now: now}
}

// Hold counts a violation of n unless ok, and returns ok. detail says what is
// wrong; it is called only for a report, and may be nil. It does not allocate when ok.
func (c *Checks) Hold(n Name, ok bool, detail func() string) bool {
	if ok || c == nil {
		return ok
	}
	c.violated(n, detail)
	return false
}

func (c *Checks) violated(n Name, detail func() string) {
	i := slices.Index(c.names, n)
	if i < 0 { // the names are this package's constants
		panic("invariant: no such name: " + string(n))
	}
	at := &c.counts[i]
	at.n.Add(1)
	if c.report == nil {
		return
	}
	now, last := int64(c.now())+1, at.reported.Load()
	if last != 0 && now-last < int64(reportEvery) || !at.reported.CompareAndSwap(last, now) {
		return
	}
	text := ""
	if detail != nil {
		text = detail()
	}
	c.report(n, text)
}

// Count is the number of violations of n so far; 0 for an unknown name.
func (c *Checks) Count(n Name) int64 {
	if c == nil {
		return 0
	}
	i := slices.Index(c.names, n)
	if i < 0 {
		return 0
	}
	return c.counts[i].n.Load()
}
