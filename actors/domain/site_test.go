package domain

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"orbweaver/core/cookies"
	"orbweaver/core/crawl"
	"orbweaver/core/throttle"
	"orbweaver/core/weburl"
	"orbweaver/messages"
)

// answer is what a site does with one request.
type answer struct {
	dial       time.Duration // before the request is written
	latency    time.Duration // from then to the answer
	status     int           // default 200
	cause      crawl.Cause   // of a failure after dial (unsent) or after latency
	ignored    bool          // the fetcher is gone: no answer at all
	unsent     bool          // the failure comes before anything is written
	stale      bool          // the kept connection was closed by the site
	retryAfter string
	limits     *throttle.RateLimitFields
	location   string
	setCookie  string
	body       string // of robots.txt
	control    string // Cache-Control
}

// arrival is one request as the site saw it.
type arrival struct {
	url      string
	cookie   string // the field that it came with
	meta     string // of the request
	at       time.Time
	delay    time.Duration // in force when the domain handed it over
	handed   time.Time
	changes  uint64 // of the store, at the hand-over
	inFlight int    // with this one
	ended    time.Time
	cancel   bool
	answer   answer
}

// site stands for every site and for the fetchers: it writes requests in virtual
// time and notes when. Each arrival is held against the store: the slot must be
// this node's, and the stored next start far enough ahead (rule 4).
type site struct {
	t       reporter
	store   *store
	foreign atomic.Bool // the slot may be another node's

	mu       sync.Mutex
	behave   func(url string, n int) answer // guarded by mu; n counts the arrivals at the URL's host, and unsent tries
	arrivals []*arrival                     // guarded by mu; in order
	open     map[string]int                 // guarded by mu; in flight, by host
	tries    map[string]int                 // guarded by mu
	late     int                            // guarded by mu; permits that ran out
}

// conns are a slot's connections.
type conns struct {
	once   sync.Once
	closed chan struct{}
}

func newConns() *conns { return &conns{closed: make(chan struct{})} }

// Close implements messages.Conns.
func (c *conns) Close() { c.once.Do(func() { close(c.closed) }) }

// wait lets virtual time pass; false when the connections are closed meanwhile.
func (c *conns) wait(d time.Duration) bool {
	select {
	case <-c.closed:
		return false
	default:
	}
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.closed:
		return false
	case <-timer.C:
		return true
	}
}

// fetcher is a worker that blocks in its fetch, as the real one.
type fetcher struct {
	site     *site
	pipeline *actor.PID
}

func (f *fetcher) Receive(ctx actor.Context) {
	msg, ok := ctx.Message().(*messages.Fetch)
	if !ok {
		return
	}
	out, resp := f.site.fetch(msg, msg.Delay, func(at time.Time) {
		ctx.Send(ctx.Sender(), &messages.Sent{ID: msg.Lease.Request.ID, At: at})
	})
	if resp == nil {
		return
	}
	ended := out.Cause != crawl.CauseCancelled && out.Cause != crawl.CauseTooLate && !out.Stale
	done := &messages.FetchDone{ID: msg.Lease.Request.ID, Fetcher: ctx.Self(), Outcome: out, PageSent: !msg.Robots && ended}
	if msg.Robots {
		done.Robots = resp
	}
	if done.PageSent {
		ctx.Send(f.pipeline, &messages.Page{Lease: msg.Lease, Slot: msg.Slot, Response: resp})
	}
	ctx.Send(ctx.Sender(), done)
}

func (s *site) fetch(msg *messages.Fetch, delay time.Duration, sent func(time.Time)) (messages.Outcome, *crawl.Response) {
	url := msg.Lease.Request.URL
	c, handed, changes := msg.Conns.(*conns), time.Now(), s.store.storeChanges()
	fail := func(cause crawl.Cause) (messages.Outcome, *crawl.Response) {
		return messages.Outcome{Cause: cause, Err: "test"}, &crawl.Response{URL: url, Cause: cause, Err: "test"}
	}
	s.mu.Lock()
	host := weburl.Host(url)
	a := s.behave(url, s.tries[host])
	s.tries[host]++
	s.mu.Unlock()
	if a.ignored {
		return messages.Outcome{}, nil
	}
	if !c.wait(a.dial) {
		return fail(crawl.CauseCancelled)
	}
	if a.unsent {
		return fail(a.cause)
	}
	now := time.Now()
	if !msg.NotAfter.IsZero() && now.After(msg.NotAfter) {
		s.mu.Lock()
		s.late++
		s.mu.Unlock()
		return fail(crawl.CauseTooLate)
	}
	arr := s.arrive(msg.Slot, &arrival{url: url, cookie: msg.Cookie, meta: string(msg.Lease.Request.Meta), at: now, delay: delay, handed: handed, changes: changes, answer: a})
	sent(now)
	alive := c.wait(a.latency)
	s.leave(host, arr, !alive)
	out, resp := fail(crawl.CauseCancelled)
	switch {
	case !alive:
	case a.stale:
		out, resp = fail("stale")
		out.Stale = true
	case a.cause != crawl.CauseNone:
		out, resp = fail(a.cause)
	default:
		out, resp = messages.Outcome{Status: a.status, Latency: a.dial + a.latency, RetryAfter: a.retryAfter, RateLimit: a.limits},
			&crawl.Response{URL: url, Status: a.status, Body: []byte(a.body)}
		if a.setCookie != "" && msg.Cookies != nil {
			jar, _ := cookies.Key(msg.Lease.Request.Meta)
			out.Cookies = msg.Cookies.Set(jar, url, []string{a.setCookie}, now)
		}
		if a.location != "" {
			resp.Headers = append(resp.Headers, crawl.Header{Name: "Location", Value: a.location})
		}
	}
	if a.control != "" && resp.Cause == crawl.CauseNone {
		resp.Headers = append(resp.Headers, crawl.Header{Name: "Cache-Control", Value: a.control})
	}
	out.SentAt, resp.SentAt = now, now
	return out, resp
}

func (s *site) arrive(slot string, a *arrival) *arrival {
	k := s.store.peek(slot)
	if !s.foreign.Load() && (!strings.HasPrefix(k.token, "n1.") || !a.at.Before(k.exp)) {
		s.t.Errorf("%s written at %s: the slot is not ours", a.url, a.at.Format(time.StampMilli))
	}
	forgot := s.store.storeChanges() != a.changes // after the hand-over: the residue of rule 7
	if !s.foreign.Load() && !forgot && a.delay > 0 && a.at.Add(a.delay).After(k.next) {
		s.t.Errorf("%s written at %s with delay %s: stored next start is only %s ahead (rule 4)",
			a.url, a.at.Format(time.StampMilli), a.delay, k.next.Sub(a.at))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	host := weburl.Host(a.url)
	s.open[host]++
	a.inFlight = s.open[host]
	s.arrivals = append(s.arrivals, a)
	return a
}

func (s *site) leave(host string, a *arrival, cancel bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[host]--
	a.ended, a.cancel = time.Now(), cancel
}

// seen gives copies of the arrivals so far.
func (s *site) seen() []arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]arrival, len(s.arrivals))
	for i, a := range s.arrivals {
		out[i] = *a
	}
	return out
}

// seenSince gives the times of the arrivals, counted from start.
func (s *site) seenSince(start time.Time) []time.Duration {
	var out []time.Duration
	for _, a := range s.seen() {
		out = append(out, a.at.Sub(start))
	}
	return out
}

// paths gives the paths of the arrivals in order.
func (s *site) paths() []string {
	var out []string
	for _, a := range s.seen() {
		_, rest, _ := strings.Cut(a.url, "://")
		_, path, _ := strings.Cut(rest, "/")
		out = append(out, path)
	}
	return out
}
