package domain

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/core/throttle"
)

// Table holds the node's requests in flight, from the hand-over to a fetcher
// until the end of their lease is stored, and the credits that bound them.
// It belongs to `domains` and outlives each domain: a restarted domain learns
// from it which leases are still in somebody's hands. Safe for concurrent use.
type Table struct {
	mu      sync.Mutex
	total   int                               // credits in all
	credits int                               // guarded by mu; free ones
	slots   map[string]map[crawl.ID]inHand    // guarded by mu
	waiting []*actor.PID                      // guarded by mu; domains that found no credit, oldest first
	queued  map[string]bool                   // guarded by mu; their ids
	limits  map[*rqueue.Crawl]*pageLimit      // guarded by mu; crawls with CLOSESPIDER_PAGECOUNT
	holds   map[string]held                   // guarded by mu; what sites asked for that may not be stored, by slot
	live    atomic.Int64                      // domains
	waits   map[throttle.Reason]*atomic.Int64 // fixed keys; domains waiting, by reason
}

// inHand is a request in flight. It is there twice when it was leased again
// before the end of its last lease was told.
type inHand struct {
	crawl *rqueue.Crawl
	times int
}

// held is a hold of a slot.
type held struct {
	until time.Time
	why   throttle.Reason
}

// Reasons to wait that are the node's own.
const (
	ReasonCredits   throttle.Reason = "credits"    // CONCURRENT_REQUESTS pages are in memory
	ReasonPageLimit throttle.Reason = "page-limit" // CLOSESPIDER_PAGECOUNT is reached or in flight
)

// pageLimit is a crawl's budget of pages: done plus in flight never exceeds max.
type pageLimit struct{ max, done, inFlight int64 }

// TakeResult says whether a request may be in flight now.
type TakeResult uint8

// The results of Table.Take.
const (
	Taken     TakeResult = iota
	NoCredit             // CreditFree will be sent
	PageLimit            // the crawl's page budget is used up or in flight
)

// NewTable gives a table with so many credits (CONCURRENT_REQUESTS).
func NewTable(credits int) *Table {
	t := &Table{
		total: credits, credits: credits, slots: map[string]map[crawl.ID]inHand{}, queued: map[string]bool{}, holds: map[string]held{},
		limits: map[*rqueue.Crawl]*pageLimit{}, waits: map[throttle.Reason]*atomic.Int64{},
	}
	for _, r := range append(throttle.Reasons(), ReasonCredits, ReasonPageLimit) {
		t.waits[r] = new(atomic.Int64)
	}
	return t
}

// LimitPages bounds a crawl to so many committed pages, of which done are had.
func (t *Table) LimitPages(c *rqueue.Crawl, limit, done int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limits[c] = &pageLimit{max: limit, done: done}
}

// PagesLeft reports how many pages a limited crawl may still commit; ok is false
// when it has no limit.
func (t *Table) PagesLeft(c *rqueue.Crawl) (left int64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.limits[c]
	if l == nil {
		return 0, false
	}
	return max(0, l.max-l.done), true
}

// Take enters a request as in flight. With NoCredit, waiter is told once a credit
// is free.
func (t *Table) Take(slot string, c *rqueue.Crawl, id crawl.ID, waiter *actor.PID) TakeResult {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.limits[c]
	if l != nil && l.done+l.inFlight >= l.max {
		return PageLimit
	}
	if t.credits <= 0 {
		if !t.queued[waiter.Id] {
			t.queued[waiter.Id] = true
			t.waiting = append(t.waiting, waiter)
		}
		return NoCredit
	}
	t.credits--
	if l != nil {
		l.inFlight++
	}
	ids := t.slots[slot]
	if ids == nil {
		ids = make(map[crawl.ID]inHand, 8)
		t.slots[slot] = ids
	}
	ids[id] = inHand{c, ids[id].times + 1}
	return Taken
}

// Put takes a request out again; page says that it was committed as a page.
// It returns the domain to be told CreditFree, or nil. Unknown ids are ignored.
func (t *Table) Put(slot string, id crawl.ID, page bool) *actor.PID {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := t.slots[slot]
	h, ok := ids[id]
	if !ok {
		return nil
	}
	if h.times--; h.times > 0 {
		ids[id] = h
	} else {
		delete(ids, id)
	}
	if len(ids) == 0 {
		delete(t.slots, slot)
	}
	if l := t.limits[h.crawl]; l != nil {
		l.inFlight--
		if page {
			l.done++
		}
	}
	t.credits++
	return t.nextLocked()
}

// NextWaiting takes the domain that has waited longest for a credit out of the
// line, when a credit is free; nil when not, or when none waits.
func (t *Table) NextWaiting() *actor.PID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nextLocked()
}

func (t *Table) nextLocked() *actor.PID {
	if len(t.waiting) == 0 || t.credits <= 0 {
		return nil
	}
	pid := t.waiting[0]
	t.waiting = t.waiting[1:]
	delete(t.queued, pid.Id)
	return pid
}

// Held lists a crawl's requests in flight at a slot: what Recover must keep.
func (t *Table) Held(slot string, c *rqueue.Crawl) []crawl.ID {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []crawl.ID
	for id, h := range t.slots[slot] {
		if h.crawl == c {
			out = append(out, id)
		}
	}
	return out
}

// Holds reports whether any request of a slot is in flight.
func (t *Table) Holds(slot string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.slots[slot]) > 0
}

// Leave takes a domain that stops out of the line for credits. It returns the
// domain to be told CreditFree instead, should this one have been told, or nil.
func (t *Table) Leave(pid *actor.PID) *actor.PID {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queued[pid.Id] {
		delete(t.queued, pid.Id)
		t.waiting = slices.DeleteFunc(t.waiting, func(w *actor.PID) bool { return w.Id == pid.Id })
	}
	return t.nextLocked()
}

// spareHolds is how many holds beyond two a live domain there may be before those that
// are over are looked for: of slots that were lost, not released.
const spareHolds = 1000

// hold notes a slot's hold; false: it is no longer than the one known.
func (t *Table) hold(now time.Time, slot string, until time.Time, why throttle.Reason) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !until.After(t.holds[slot].until) {
		return false
	}
	if len(t.holds) > 2*t.Live()+spareHolds {
		maps.DeleteFunc(t.holds, func(_ string, h held) bool { return !h.until.After(now) })
	}
	t.holds[slot] = held{until, why}
	return true
}

// held gives a slot's hold; false: none, or it is over.
func (t *Table) held(now time.Time, slot string) (held, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.holds[slot]
	return h, h.until.After(now)
}

// unhold forgets a slot's hold: it is stored.
func (t *Table) unhold(slot string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.holds, slot)
}

// reset empties the table; page limits and holds stay.
func (t *Table) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.credits, t.waiting = t.total, nil
	clear(t.slots)
	clear(t.queued)
	for _, l := range t.limits {
		l.inFlight = 0
	}
	t.live.Store(0)
}

// InFlight is the number of requests in flight.
func (t *Table) InFlight() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total - t.credits
}

// Live is the number of live domains.
func (t *Table) Live() int { return int(t.live.Load()) }

// crowdFactor is how many domains for each credit may wait for one before no more
// are started: they would only hold memory and leases.
const crowdFactor = 2

// Room is how many more domains may be started, of at most so many.
func (t *Table) Room(most int) int {
	t.mu.Lock()
	crowd := crowdFactor*t.total - len(t.waiting)
	t.mu.Unlock()
	return max(0, min(most-t.Live(), crowd))
}

// Waits counts the domains that wait, by reason.
func (t *Table) Waits() map[throttle.Reason]int64 {
	out := make(map[throttle.Reason]int64, len(t.waits))
	for r, n := range t.waits {
		if v := n.Load(); v > 0 {
			out[r] = v
		}
	}
	return out
}

// reason moves one domain from one reason's count to another's; "" is none.
func (t *Table) reason(from, to throttle.Reason) {
	if from == to {
		return
	}
	if n := t.waits[from]; n != nil {
		n.Add(-1)
	}
	if n := t.waits[to]; n != nil {
		n.Add(1)
	}
}
