package fetcher

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"orbweaver/core/crawl"
)

// maxScratch is the capacity in bytes up to which a request's buffer is pooled.
const maxScratch = 4 << 10

// Slot owns the connections of one slot. There are never more of them, busy and
// idle together, than requests were once in flight at the same time; idle ones
// are closed after Config.IdleTimeout. Safe for concurrent use.
type Slot struct {
	client *Client

	mu     sync.Mutex
	closed bool        // guarded by mu
	busy   []*conn     // guarded by mu
	idle   []*conn     // guarded by mu; the last one was used last
	peak   int         // guarded by mu; most busy ones ever
	reaper *time.Timer // guarded by mu; nil until something was idle
	armed  bool        // guarded by mu; the reaper will run
}

// Do fetches req and reports how that ended; it never gives nil. The request is
// written at most once, and not after permit. sent, unless nil, is called once,
// on this goroutine, right after the request was written: the politeness delay
// counts from there. Do ends at once with crawl.CauseCancelled when ctx does or
// when the slot is closed.
func (s *Slot) Do(ctx context.Context, req *crawl.Request, permit Permit, sent func(at time.Time)) *crawl.Response {
	start, options := time.Now(), s.client.optionsOf(req)
	x := exchange{
		client:   s.client,
		resp:     &crawl.Response{URL: req.URL},
		req:      req,
		permit:   permit,
		sent:     sent,
		options:  options,
		start:    start,
		deadline: start.Add(options.timeout),
	}
	if d, ok := ctx.Deadline(); ok && d.Before(x.deadline) {
		x.deadline = d
	}
	s.do(ctx, &x)
	x.resp.Took = time.Since(x.start)
	return x.resp
}

func (s *Slot) do(ctx context.Context, x *exchange) {
	if err := ctx.Err(); err != nil {
		x.fail(crawl.CauseCancelled, err.Error())
		return
	}
	if x.permit.over(x.start) {
		x.fail(crawl.CauseTooLate, errTooLate.Error())
		return
	}
	t, err := parseTarget(x.req.URL)
	if err != nil {
		x.fail(crawl.CauseBadURL, err.Error())
		return
	}
	if x.via, err = s.client.route(&t, &x.options); err != nil {
		s.unrouted(ctx, x, err)
		return
	}
	x.forwarded = x.via.forwards(&t)
	scratch := s.client.scratch.Get().(*[]byte) //nolint:forcetypeassert // only *[]byte is put
	defer func() {
		if cap(*scratch) <= maxScratch {
			s.client.scratch.Put(scratch)
		}
	}()
	wire, hold, err := s.client.appendRequest((*scratch)[:0], &t, x.req, x.via)
	*scratch = wire
	if err != nil {
		x.fail(crawl.CauseBadURL, err.Error())
		return
	}
	cn := s.take(&t, x.via)
	if cn == nil {
		x.fail(crawl.CauseCancelled, "slot is closed")
		return
	}
	x.conn = cn
	keep := false
	if ctx.Done() == nil {
		keep = x.run(ctx, &t, wire)
	} else {
		stop := context.AfterFunc(ctx, cn.abort)
		keep = x.run(ctx, &t, wire)
		keep = stop() && keep // or abort would meet the connection's next fetch
	}
	s.give(cn, keep && hold)
	if x.resp.Cause == crawl.CauseStale {
		s.CloseIdle() // the others are as old
	}
}

// unrouted ends a fetch that has no way to go.
func (s *Slot) unrouted(ctx context.Context, x *exchange, err error) {
	if !errors.Is(err, errProxiesOut) {
		x.fail(crawl.CauseBadURL, err.Error())
		return
	}
	pause(ctx, exhaustedPause) // the caller will be back at once
	x.fail(crawl.CauseProxy, err.Error())
}

// take gives a kept connection to the target that still looks open, or a new
// one that is yet to be dialled; nil when the slot is closed.
func (s *Slot) take(t *target, via *proxy) *conn {
	for {
		cn, kept := s.claim(t, via)
		if cn == nil || !kept || cn.quiet() {
			return cn
		}
		s.give(cn, false)
	}
}

func (s *Slot) claim(t *target, via *proxy) (cn *conn, kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	for i, old := range slices.Backward(s.idle) {
		if old.tls == t.tls && old.authority == t.authority && old.via == via.keyOf() {
			s.idle = slices.Delete(s.idle, i, i+1)
			s.client.idle.Add(-1)
			s.busy = append(s.busy, old)
			s.peak = max(s.peak, len(s.busy))
			return old, true
		}
	}
	cn = &conn{tls: t.tls, authority: strings.Clone(t.authority), via: via.keyOf()}
	s.busy = append(s.busy, cn)
	s.peak = max(s.peak, len(s.busy))
	s.dropIdle(len(s.busy) + len(s.idle) - s.peak)
	return cn, false
}

// give takes a connection back after its fetch, to be kept or to be closed.
func (s *Slot) give(cn *conn, keep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.busy, cn); i >= 0 {
		s.busy = slices.Delete(s.busy, i, i+1)
	}
	if !keep || s.closed || s.client.idle.Load() >= int64(s.client.cfg.MaxIdle) {
		cn.close()
		return
	}
	cn.served, cn.idleAt = true, time.Now()
	s.idle = append(s.idle, cn)
	s.client.idle.Add(1)
	s.arm(s.client.cfg.IdleTimeout)
}

// arm sees to it that the reaper runs. Called with mu held.
func (s *Slot) arm(d time.Duration) {
	switch {
	case s.armed:
		return
	case s.reaper == nil:
		s.reaper = time.AfterFunc(d, s.reap)
	default:
		s.reaper.Reset(d)
	}
	s.armed = true
}

// reap closes what has been idle for too long.
func (s *Slot) reap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = false
	limit, n := s.client.cfg.IdleTimeout, 0
	for n < len(s.idle) && time.Since(s.idle[n].idleAt) >= limit {
		n++
	}
	s.dropIdle(n)
	if len(s.idle) > 0 {
		s.arm(limit - time.Since(s.idle[0].idleAt))
	}
}

// dropIdle closes the n connections that have been idle longest. Called with mu held.
func (s *Slot) dropIdle(n int) {
	n = max(0, min(n, len(s.idle)))
	for _, cn := range s.idle[:n] {
		cn.close()
	}
	s.client.idle.Add(int64(-n))
	s.idle = slices.Delete(s.idle, 0, n)
}

// CloseIdle closes the connections that are not in use.
func (s *Slot) CloseIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropIdle(len(s.idle))
}

// Close closes all connections, also those in use, whose fetches end with
// crawl.CauseCancelled, as do all later ones. Closing again does nothing.
func (s *Slot) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.reaper != nil {
		s.reaper.Stop()
	}
	s.dropIdle(len(s.idle))
	for _, cn := range s.busy {
		cn.abort()
	}
}

// Kept is the number of idle connections.
func (s *Slot) Kept() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.idle)
}
