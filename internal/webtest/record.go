package webtest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Arrival is one request as the site saw it.
type Arrival struct {
	Host    int
	Path    string
	Page    int // -1: not a page
	Attempt int
	Agent   string // the User-Agent
	Start   time.Time
	End     time.Time     // zero: not ended
	Status  int           // 0: dropped, abandoned by the client, or not ended
	Hold    time.Duration // Retry-After of the answer
}

// arrival is an entry of the record; guarded by record.mu.
type arrival = Arrival

// record is all that came.
type record struct {
	mu       sync.Mutex
	arrivals []*arrival     // guarded by mu; in order of their begin
	attempts map[string]int // guarded by mu; host and path -> requests
	changed  chan struct{}  // guarded by mu; closed at the next change
}

func (r *record) init() {
	r.attempts, r.changed = map[string]int{}, make(chan struct{})
}

func (r *record) begin(v *Visit, start time.Time) *arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := strconv.Itoa(v.Host) + v.Path
	r.attempts[key]++
	v.Attempt = r.attempts[key]
	a := &arrival{Host: v.Host, Path: v.Path, Page: v.Page, Attempt: v.Attempt, Agent: v.Header.Get("User-Agent"), Start: start}
	r.arrivals = append(r.arrivals, a)
	r.tell()
	return a
}

func (r *record) end(a *arrival, status int, hold time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.End, a.Status, a.Hold = time.Now(), status, hold
	r.tell()
}

// tell wakes who waits; the caller holds mu.
func (r *record) tell() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// Arrivals are the requests so far, by their start. Those of one host when host
// is not negative.
func (s *Site) Arrivals(host int) []Arrival {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	var out []Arrival
	for _, a := range s.record.arrivals {
		if host < 0 || a.Host == host {
			out = append(out, *a)
		}
	}
	slices.SortStableFunc(out, func(a, b Arrival) int { return a.Start.Compare(b.Start) })
	return out
}

// Count is the number of requests so far.
func (s *Site) Count() int {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	return len(s.record.arrivals)
}

// WaitCount waits until n requests have come; an error is the context's.
func (s *Site) WaitCount(ctx context.Context, n int) error {
	return s.wait(ctx, func() bool { return len(s.record.arrivals) >= n })
}

// WaitFor waits until ok says so of the requests so far, which it must not keep.
func (s *Site) WaitFor(ctx context.Context, ok func([]*Arrival) bool) error {
	return s.wait(ctx, func() bool { return ok(s.record.arrivals) })
}

// WaitPath waits until a path of a host was asked for.
func (s *Site) WaitPath(ctx context.Context, host int, path string) error {
	return s.wait(ctx, func() bool { return s.record.attempts[strconv.Itoa(host)+path] > 0 })
}

// wait waits until ok, which is called under the record's lock.
func (s *Site) wait(ctx context.Context, ok func() bool) error {
	for {
		s.record.mu.Lock()
		done, changed := ok(), s.record.changed
		s.record.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Forget empties the record. Requests that have not ended are forgotten too.
func (s *Site) Forget() {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	s.record.arrivals, s.record.attempts = nil, map[string]int{}
}
