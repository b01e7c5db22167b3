package throttle

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestPoliteness drives a slot through random events in virtual time beside a model
// that knows every request by itself, and checks each permission against the rules.
func TestPoliteness(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		if err := cfg.Validate(); err != nil {
			t.Fatalf("generated settings: %v", err)
		}
		random := rapid.Float64Range(0, math.Nextafter(1, 0))
		draw := func() float64 { return random.Draw(t, "random") }
		m := &model{cfg: cfg, now: time.Unix(1e9, 0), delay: seconds(cfg.startDelay())}
		m.slot = New(cfg, draw)
		t.Repeat(map[string]func(*rapid.T){
			"next":       m.next,
			"next again": m.next, // twice as often
			"wait":       m.wait,
			"write":      m.write,
			"abandon":    m.abandon,
			"done":       m.done,
			"done again": m.done,
			"steer":      m.steer,
			"hand over":  func(t *rapid.T) { m.handOver(t, draw) },
			"":           m.invariants,
		})
	})
}

func pick[T any](t *rapid.T, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(t, label)
}

func drawConfig(t *rapid.T) Config {
	c := Config{
		AutoThrottleEnabled:           rapid.Bool().Draw(t, "auto"),
		AutoThrottleStartDelay:        pick(t, "start", 0, 200*time.Millisecond, 5*time.Second),
		AutoThrottleMaxDelay:          pick(t, "max", time.Second, time.Minute),
		AutoThrottleTargetConcurrency: pick(t, "target", 0, 0.5, 1, 4),
		DownloadDelay:                 pick(t, "delay", 0, 0, 50*time.Millisecond, 2*time.Second),
		RandomizeDownloadDelay:        rapid.Bool().Draw(t, "randomize"),
		ConcurrentRequestsPerDomain:   rapid.IntRange(1, 5).Draw(t, "concurrency"),
		ConcurrentRequestsPerIP:       pick(t, "per ip", 0, 0, 3),
		RetryAfterMax:                 pick(t, "retry after", 0, 10*time.Second, time.Hour),
		BackoffBase:                   pick(t, "backoff", 0, 100*time.Millisecond, time.Second),
		BackoffMax:                    pick(t, "backoff max", 3*time.Second, time.Minute),
		BackoffRecovery:               pick(t, "recovery", 0.1, 0.6, 1),
		CrawlDelayMax:                 pick(t, "crawl delay max", 0, 5*time.Second),
		CircuitFailures:               pick(t, "circuit", 0, 1, 3),
		CircuitOpenFor:                pick(t, "open for", time.Second, 30*time.Second),
		CircuitOpenMax:                2 * time.Minute,
	}
	return c
}

// model keeps the rules on its own: by request, not by counters.
type model struct {
	cfg  Config
	slot *Slot
	now  time.Time

	reqs      []*modelRequest
	lastStart time.Time
	notBefore time.Time // told by a predecessor
	horizon   time.Time // no wait ends later
	timedWait time.Time

	delay         float64
	crawl         time.Duration
	backoff, peak time.Duration
	hold          time.Time
	paused        bool
	window        int // 0: none
	failures      int
	open          bool
	openUntil     time.Time
}

type modelRequest struct {
	written, old, warned, probe bool
	at                          time.Time // of the start, when written
}

// gap is the least and the most that may lie between two starts.
func (m *model) gap() (least, most time.Duration) {
	low, high := m.delay, m.delay
	if m.cfg.RandomizeDownloadDelay {
		low, high = 0.5*low, 1.5*high
	}
	return max(duration(low), m.crawl) + m.backoff, max(duration(high), m.crawl) + m.backoff
}

func (m *model) unwritten() (n int) {
	for _, r := range m.reqs {
		if !r.written {
			n++
		}
	}
	return n
}

func (m *model) limit() int {
	n := m.cfg.Concurrency()
	if m.window > 0 {
		n = min(n, m.window)
	}
	if m.open {
		n = 1
	}
	return n
}

func (m *model) next(t *rapid.T) {
	d := m.slot.Next(m.now)
	m.timedWait = d.At
	if d.OK {
		m.checkPermit(t, d)
		r := &modelRequest{probe: m.open}
		m.reqs = append(m.reqs, r)
		switch {
		case !rapid.Bool().Draw(t, "written at once"):
			m.slot.Dispatched()
			return
		case m.unwritten() > 1: // so Started alone would be taken for another's
			m.slot.Dispatched()
		}
		m.slot.Started(m.now)
		m.started(r)
		return
	}
	if d.At.IsZero() {
		if d.Wait != 0 || (!m.paused && len(m.reqs) == 0) {
			t.Fatalf("waits for an event that cannot come: %+v", d)
		}
	} else if d.Wait <= 0 || !d.At.Equal(m.now.Add(d.Wait)) || d.At.After(m.horizon) {
		t.Fatalf("waits until %v at %v, horizon %v: %+v", d.At, m.now, m.horizon, d)
	}
	m.checkReason(t, d)
}

func (m *model) checkPermit(t *rapid.T, d Decision) {
	least, _ := m.gap()
	switch {
	case d.Reason != ReasonNone || !d.At.IsZero() || d.Wait != 0:
		t.Fatalf("permit with a wait: %+v", d)
	case m.paused:
		t.Fatalf("start while paused")
	case m.now.Before(m.hold):
		t.Fatalf("start %v before the hold ends", m.hold.Sub(m.now))
	case m.open && m.now.Before(m.openUntil):
		t.Fatalf("start while the circuit is open")
	case len(m.reqs) >= m.limit():
		t.Fatalf("start with %d in flight, limit %d (window %d, open %v)", len(m.reqs), m.limit(), m.window, m.open)
	case least > 0 && m.unwritten() > 0:
		t.Fatalf("start while one is unwritten, delay %v", least)
	case !m.lastStart.IsZero() && m.now.Sub(m.lastStart) < least:
		t.Fatalf("start %v after the last, delay at least %v", m.now.Sub(m.lastStart), least)
	case m.now.Before(m.notBefore):
		t.Fatalf("start before the predecessor's next start")
	}
}

func (m *model) checkReason(t *rapid.T, d Decision) {
	ok := true
	switch d.Reason {
	case ReasonPaused:
		ok = m.paused
	case ReasonRetryAfter, ReasonRobots:
		ok = d.At.Equal(m.hold)
	case ReasonCircuit:
		ok = m.open && (d.At.Equal(m.openUntil) || d.At.Equal(m.hold) || len(m.reqs) > 0)
	case ReasonConcurrency:
		ok = d.At.IsZero() && len(m.reqs) >= m.cfg.Concurrency()
	case ReasonDelay, ReasonCrawlDelay, ReasonBackoff:
	default:
		ok = false
	}
	if !ok {
		t.Fatalf("wrong reason: %+v", d)
	}
}

func (m *model) started(r *modelRequest) {
	r.written, r.at = true, m.now
	m.lastStart = m.now
}

func (m *model) wait(t *rapid.T) {
	if m.timedWait.After(m.now) && rapid.Bool().Draw(t, "until told") {
		m.now = m.timedWait
		return
	}
	m.now = m.now.Add(time.Duration(pick(t, "for", 1, 1e6, 77e6, 1e9, 9e9, 100e9)))
}

func (m *model) request(t *rapid.T, fits func(*modelRequest) bool) (int, *modelRequest) {
	var at []int
	for i, r := range m.reqs {
		if fits(r) {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		t.Skip("no such request")
	}
	i := rapid.SampledFrom(at).Draw(t, "request")
	return i, m.reqs[i]
}

func (m *model) drop(i int) { m.reqs = append(m.reqs[:i:i], m.reqs[i+1:]...) }

func (m *model) write(t *rapid.T) {
	_, r := m.request(t, func(r *modelRequest) bool { return !r.written })
	m.slot.Started(m.now)
	m.started(r)
}

func (m *model) abandon(t *rapid.T) {
	i, _ := m.request(t, func(r *modelRequest) bool { return !r.written })
	m.drop(i)
	m.slot.Abandoned()
}

// invariants hold after every step.
func (m *model) invariants(t *rapid.T) {
	_, most := m.gap()
	for _, at := range []time.Time{m.lastStart.Add(most), m.hold, m.openUntil, m.notBefore} {
		m.horizon = later(m.horizon, at)
	}
	if got := m.slot.InFlight(); got != len(m.reqs) {
		t.Fatalf("in flight %d, want %d", got, len(m.reqs))
	}
	if got, want := m.slot.Delay(), max(duration(m.delay), m.crawl)+m.backoff; got != want {
		t.Fatalf("delay %v, want %v", got, want)
	}
	at, _ := m.slot.LowestNext(m.now)
	if least, _ := m.gap(); at.Before(m.hold) || at.Before(m.now) || (!m.lastStart.IsZero() && at.Before(m.lastStart.Add(least))) {
		t.Fatalf("lowest next %v is too early", at)
	}
}
