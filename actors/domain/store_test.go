package domain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
)

// maxLost is after how many recoveries a request is dead, as in package rqueue.
const maxLost = 20

var errStore = errors.New("store: connection refused")

// store is the frontier in memory: what the scripts of package rqueue do, in the
// time of the bubble. Requests are kept until the end, so that each can be
// accounted for.
type store struct {
	t           reporter
	ttl, margin time.Duration

	mu         sync.Mutex
	slots      map[string]*slotKey      // guarded by mu
	hosts      map[string][]*hostKeys   // guarded by mu; by host, one a crawl
	robots     map[string]storedRobots  // guarded by mu; by origin
	all        map[crawl.ID]*request    // guarded by mu
	ops        []rqueue.Op              // guarded by mu; carried out, in order
	sum        map[string]int           // guarded by mu; ops by type
	changes    uint64                   // guarded by mu; StoreChanges
	quarantine time.Time                // guarded by mu; nothing is taken before it (rule 7)
	commits    map[crawl.ID]int         // guarded by mu; by request, retries included
	before     func(op rqueue.Op) error // guarded by mu; an error refuses the op
	puts       []rqueue.RobotsPut       // guarded by mu
	cookies    []rqueue.Cookie          // guarded by mu; as they were put
}

// slotKey is a slot's key.
type slotKey struct {
	token  string
	epoch  int64
	exp    time.Time
	next   time.Time
	hold   time.Time
	state  rqueue.SlotState
	gap    time.Duration
	paused bool
	leases int
}

// hostKeys are the keys of one crawl's host.
type hostKeys struct {
	crawl   *rqueue.Crawl
	state   error // of the crawl: what Lease is refused with
	waiting []*request
	delayed []*request
	leased  map[crawl.ID]*request
	index   time.Time // zero: no entry
	parked  string
}

// request is one request of the frontier, wherever it is.
type request struct {
	req   *crawl.Request
	order int
	token string // while leased
	due   time.Time
	lost  int
	dead  bool
	done  bool
	given int // times given back
	tries int // times retried
}

type storedRobots struct {
	robots rqueue.Robots
	at     time.Time // fetched
	since  time.Time // unreachable
	retry  time.Time // while it is
}

// reporter is what the fakes need of a test.
type reporter interface {
	Errorf(format string, args ...any)
}

func newStore(t reporter, ttl time.Duration) *store {
	return &store{
		t: t, ttl: ttl, margin: 1500 * time.Millisecond, slots: map[string]*slotKey{}, hosts: map[string][]*hostKeys{},
		robots: map[string]storedRobots{}, all: map[crawl.ID]*request{}, commits: map[crawl.ID]int{}, sum: map[string]int{},
	}
}

func (s *store) storeChanges() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

func (s *store) slot(name string) *slotKey {
	k := s.slots[name]
	if k == nil {
		k = &slotKey{state: rqueue.SlotState{Delay: -1}}
		s.slots[name] = k
	}
	return k
}

func (s *store) host(c *rqueue.Crawl, name string) *hostKeys {
	for _, h := range s.hosts[name] {
		if h.crawl == c {
			return h
		}
	}
	h := &hostKeys{crawl: c, leased: map[crawl.ID]*request{}}
	s.hosts[name] = append(s.hosts[name], h)
	return h
}

// enqueue lets n requests in at a host and gives their URLs.
func (s *store) enqueue(c *rqueue.Crawl, host string, urls ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.host(c, host)
	for _, url := range urls {
		id := crawl.NewID("test", fmt.Sprintf("%p", c), url)
		r := &request{req: &crawl.Request{ID: id, URL: url}, order: len(s.all)}
		s.all[id] = r
		if len(h.waiting) == 0 {
			h.wake(time.Now())
		}
		h.waiting = append(h.waiting, r)
	}
}

// wake lowers the index entry.
func (h *hostKeys) wake(at time.Time) {
	if h.index.IsZero() || at.Before(h.index) {
		h.index = at
	}
}

// due gives the hosts that someone must look at.
func (s *store) due(now time.Time) (refs []rqueue.HostRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, all := range s.hosts {
		for _, h := range all {
			if !h.index.IsZero() && !h.index.After(now) {
				refs = append(refs, rqueue.HostRef{Crawl: h.crawl, Host: name})
			}
		}
	}
	return refs
}

// do carries out steps; executed false: an error without any effect.
func (s *store) do(ops []rqueue.Op, asked time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, op := range ops {
		s.ops = append(s.ops, op)
		s.sum[fmt.Sprintf("%T", op)]++
		if s.before != nil {
			if err := s.before(op); err != nil {
				setErr(op, err)
				continue
			}
		}
		s.one(op, time.Now(), asked)
	}
}

// setErr makes every step of a pipeline fail.
func setErr(op rqueue.Op, err error) {
	switch op := op.(type) {
	case *rqueue.Acquire:
		op.Err = err
	case *rqueue.Renew:
		op.Err = err
	case *rqueue.Reserve:
		op.Err = err
	case *rqueue.Lease:
		op.Err, op.Requests = err, nil
	case *rqueue.Recover:
		op.Err = err
	case *rqueue.Release:
		op.Err = err
	case *rqueue.GiveBack:
		op.Err = err
	case *rqueue.RobotsGet:
		op.Err = err
	case *rqueue.ParkedGet:
		op.Err = err
	case *rqueue.RobotsPut:
		op.Err = err
	case *rqueue.CookiesGet:
		op.Err = err
	case *rqueue.CookiesPut:
		op.Err = err
	}
}

func (s *store) one(op rqueue.Op, now, asked time.Time) {
	switch op := op.(type) {
	case *rqueue.Acquire:
		op.Err = s.acquire(op, now, asked)
	case *rqueue.Renew:
		op.Err = s.renew(op, now, asked)
	case *rqueue.Reserve:
		op.Err = s.reserve(op, now, asked)
	case *rqueue.Lease:
		op.Err = s.lease(op, now, asked)
	case *rqueue.Recover:
		op.Err = s.recover(op, now)
	case *rqueue.Release:
		op.Err = s.release(op, now)
	case *rqueue.GiveBack:
		s.giveBack(op, now)
	case *rqueue.RobotsGet:
		s.robotsGet(op, now)
	case *rqueue.ParkedGet:
		op.Reason = s.host(op.Crawl, op.Host).parked
	case *rqueue.RobotsPut:
		s.puts = append(s.puts, *op)
		r := s.robots[op.Origin]
		r.robots.Status = op.Robots.Status
		if op.Robots.UnreachableSince > 0 {
			r.robots.Failures = op.Robots.Failures
			r.since, r.retry = now.Add(-op.Robots.UnreachableSince), now.Add(op.Robots.RetryIn)
		} else {
			r = storedRobots{robots: op.Robots, at: now.Add(-op.Robots.Age)}
			r.robots.Good = true
		}
		s.robots[op.Origin] = r
	case *rqueue.CookiesPut:
		s.cookies = append(s.cookies, op.Cookies...)
	case *rqueue.CookiesGet:
		for _, c := range s.cookies {
			if slices.Contains(op.Domains, c.Domain) {
				op.Cookies = append(op.Cookies, c)
			}
		}
	default:
		s.t.Errorf("store: unknown step %T", op)
	}
}

func (s *store) robotsGet(op *rqueue.RobotsGet, now time.Time) {
	r, ok := s.robots[op.Origin]
	if !ok {
		return
	}
	op.Found, op.Robots = true, r.robots
	op.Robots.Age, op.Robots.UnreachableSince, op.Robots.RetryIn = now.Sub(r.at), 0, max(0, r.retry.Sub(now))
	if !r.since.IsZero() {
		op.Robots.UnreachableSince = max(1, now.Sub(r.since))
	}
}

func (s *store) acquire(op *rqueue.Acquire, now, asked time.Time) error {
	k := s.slot(op.Slot)
	mine := len(k.token) > 3 && k.token[:3] == "n1."
	if k.token != "" && !mine && k.exp.After(now) {
		op.HeldFor = k.exp.Sub(now)
		return rqueue.ErrHeld
	}
	if !mine && s.quarantine.After(now) {
		op.HeldFor = s.quarantine.Sub(now)
		return rqueue.ErrQuarantine
	}
	if !s.quarantine.IsZero() {
		k.next = later(k.next, s.quarantine.Add(k.gap))
	}
	if k.token != "" { // not released: when it last sent is unknown
		k.next = later(k.next, now.Add(k.gap))
	}
	k.epoch = max(k.epoch+1, now.UnixMilli())
	k.token = fmt.Sprintf("n1.%d", k.epoch)
	k.exp = now.Add(s.ttl)
	for _, c := range op.Crawls {
		if h := s.host(c, op.Slot); !h.index.IsZero() {
			h.index = k.exp
		}
	}
	op.Token, op.State = k.token, k.state
	op.State.NextIn, op.State.HoldIn, op.State.Paused = k.next.Sub(now), max(0, k.hold.Sub(now)), k.paused
	op.Deadline = asked.Add(s.ttl - s.margin)
	return nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// current checks the slot's token.
func (k *slotKey) current(token string, now time.Time) error {
	if k.token != token || token == "" || !k.exp.After(now) {
		return rqueue.ErrLeaseLost
	}
	return nil
}

// keep stores what a step says of the throttle.
func (k *slotKey) keep(st rqueue.SlotState, delay time.Duration, now time.Time) {
	k.state = st
	seconds := max(max(st.Delay, 0)+max(st.Backoff, 0), st.CrawlDelay)
	k.gap = max(delay, time.Duration(seconds*float64(time.Second)))
	k.hold = time.Time{}
	if st.HoldIn > 0 {
		k.hold = now.Add(st.HoldIn)
	}
}

func (s *store) renew(op *rqueue.Renew, now, asked time.Time) error {
	k := s.slot(op.Slot)
	if err := k.current(op.Token, now); err != nil {
		return err
	}
	k.exp = now.Add(s.ttl)
	k.keep(op.State, 0, now)
	for _, c := range op.Crawls {
		h := s.host(c, op.Slot)
		switch {
		case h.index.IsZero():
		case h.index.After(now):
			h.index = k.exp
		default:
			op.Ready = true
		}
	}
	op.Paused, op.Deadline = k.paused, asked.Add(s.ttl-s.margin)
	return nil
}

func (s *store) reserve(op *rqueue.Reserve, now, asked time.Time) error {
	k := s.slot(op.Slot)
	if err := k.current(op.Token, now); err != nil {
		return err
	}
	k.next = later(k.next, now.Add(op.NextIn))
	k.keep(op.State, 0, now)
	op.StoredNext = asked.Add(op.NextIn)
	return nil
}

func (s *store) lease(op *rqueue.Lease, now, asked time.Time) error {
	k := s.slot(op.Slot)
	if err := k.current(op.Token, now); err != nil {
		return err
	}
	h := s.host(op.Crawl, op.Slot)
	switch {
	case k.paused:
		return rqueue.ErrPaused
	case h.state != nil:
		return h.state
	}
	op.DelayedIn, op.Parked = -1, h.parked
	h.delayed = slices.DeleteFunc(h.delayed, func(r *request) bool {
		if h.parked == "" && r.due.After(now) {
			if in := r.due.Sub(now); op.DelayedIn < 0 || in < op.DelayedIn {
				op.DelayedIn = in
			}
			return false
		}
		h.waiting = append(h.waiting, r)
		return true
	})
	h.sort()
	n := min(op.Max, len(h.waiting))
	k.exp = now.Add(s.ttl)
	k.keep(op.State, op.Delay, now)
	if n > 0 {
		k.leases++
		token := fmt.Sprintf("%s.%d", op.Token, k.leases)
		for _, r := range h.waiting[:n] {
			r.token = token
			h.leased[r.req.ID] = r
			op.Requests = append(op.Requests, rqueue.Leased{Crawl: op.Crawl, Host: op.Slot, Request: r.req, Token: token, Lost: r.lost})
		}
		h.waiting = slices.Clone(h.waiting[n:])
		reach := op.StartIn + time.Duration(n)*op.Delay + op.Slack
		k.next = later(k.next, now.Add(reach))
		op.StoredNext = asked.Add(reach)
	}
	op.Waiting, op.Deadline = len(h.waiting), asked.Add(s.ttl-s.margin)
	if n > 0 || op.DelayedIn >= 0 || len(h.leased) > 0 {
		h.index = k.exp
	} else {
		h.index = time.Time{}
	}
	return nil
}

func (h *hostKeys) sort() {
	slices.SortFunc(h.waiting, func(a, b *request) int { return cmp.Compare(a.order, b.order) })
}

// settle takes the index entry of an empty host away.
func (h *hostKeys) settle() {
	if len(h.waiting)+len(h.delayed)+len(h.leased) == 0 {
		h.index = time.Time{}
	}
}

func (s *store) recover(op *rqueue.Recover, now time.Time) error {
	if err := s.slot(op.Slot).current(op.Token, now); err != nil {
		return err
	}
	h := s.host(op.Crawl, op.Slot)
	for id, r := range h.leased {
		if slices.Contains(op.Keep, id) {
			continue
		}
		delete(h.leased, id)
		r.token = ""
		if r.lost++; r.lost > maxLost {
			r.dead = true
			op.Dead++
			continue
		}
		if len(h.waiting) == 0 {
			h.wake(now)
		}
		h.waiting = append(h.waiting, r)
		op.Recovered++
	}
	h.sort()
	h.settle()
	return nil
}

func (s *store) release(op *rqueue.Release, now time.Time) error {
	k := s.slot(op.Slot)
	if k.token != op.Token {
		return rqueue.ErrLeaseLost
	}
	k.token, k.exp, k.next = "", time.Time{}, now.Add(max(0, op.NextIn))
	k.keep(op.State, 0, now)
	start := later(k.next, k.hold)
	if k.paused {
		start = later(start, now.Add(s.ttl))
	}
	for _, c := range op.Crawls {
		h := s.host(c, op.Slot)
		switch {
		case len(h.waiting) > 0:
			h.index = start
		case len(h.delayed) > 0:
			first := slices.MinFunc(h.delayed, func(a, b *request) int { return a.due.Compare(b.due) })
			h.index = later(start, first.due)
		case len(h.leased) > 0:
			h.index = now.Add(s.ttl)
		default:
			h.index = time.Time{}
		}
	}
	return nil
}

func (s *store) giveBack(op *rqueue.GiveBack, now time.Time) {
	for _, l := range op.Leased {
		h := s.host(l.Crawl, l.Host)
		r := h.leased[l.Request.ID]
		if r == nil || r.token != l.Token {
			op.Gone++
			continue
		}
		delete(h.leased, l.Request.ID)
		r.token = ""
		r.given++
		if len(h.waiting) == 0 {
			h.wake(now)
		}
		h.waiting = append(h.waiting, r)
		h.sort()
	}
}

// commit ends a lease: done, or waiting again after retryIn when that is > 0. It
// reports whether the lease was still held.
func (s *store) commit(l rqueue.Leased, retryIn time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.host(l.Crawl, l.Host)
	r := h.leased[l.Request.ID]
	if r == nil || r.token != l.Token {
		return false
	}
	delete(h.leased, l.Request.ID)
	r.token = ""
	s.commits[l.Request.ID]++
	if retryIn > 0 {
		r.tries++
		r.due = time.Now().Add(retryIn)
		h.delayed = append(h.delayed, r)
		h.wake(r.due)
	} else {
		r.done = true
	}
	h.settle()
	return true
}

// count is how many steps of op's type were carried out.
func (s *store) count(op rqueue.Op) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sum[fmt.Sprintf("%T", op)]
}

// left counts what is waiting, delayed and leased, and what is done.
func (s *store) left() (waiting, delayed, leased, done int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range s.hosts {
		for _, h := range all {
			waiting, delayed, leased = waiting+len(h.waiting), delayed+len(h.delayed), leased+len(h.leased)
		}
	}
	for _, r := range s.all {
		if r.done {
			done++
		}
	}
	return waiting, delayed, leased, done
}

// peek gives a copy of a slot's key.
func (s *store) peek(slot string) slotKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.slot(slot)
}

// change changes the store as another node or a fault would.
func (s *store) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}
