package throttle

import (
	"time"

	"pgregory.net/rapid"
)

// done ends a random request with a random result, and has the model judge it.
func (m *model) done(t *rapid.T) {
	i, req := m.request(t, func(*modelRequest) bool { return true })
	res := Result{
		Status:     pick(t, "status", 200, 200, 200, 204, 301, 404, 429, 500, 503, 0, 0),
		DontAdjust: rapid.IntRange(0, 9).Draw(t, "dont adjust") == 0,
		RetryAfter: pick(t, "retry after", 0, 0, -time.Second, 3*time.Second, 2*time.Hour),
		Unsent:     !req.written,
	}
	if res.Unsent {
		res.Status = 0
	}
	res.SiteFault = res.Status == 0 && rapid.Bool().Draw(t, "site fault")
	if res.Status > 0 {
		res.HasLatency = rapid.IntRange(0, 9).Draw(t, "has latency") > 0
		res.Latency = time.Duration(rapid.Int64Range(0, 20e9).Draw(t, "latency"))
	}
	m.drop(i)
	m.slot.Done(m.now, res)
	if res.Unsent && res.SiteFault {
		m.started(req)
	}

	if m.cfg.AutoThrottles() && res.HasLatency && !res.DontAdjust {
		target := float64(res.Latency) / 1e9 / m.cfg.AutoThrottleTargetConcurrency
		next := min(max(float64(m.cfg.DownloadDelay)/1e9, target, (m.delay+target)/2), float64(m.cfg.AutoThrottleMaxDelay)/1e9)
		if res.Status == 200 || next > m.delay {
			m.delay = next
		}
	}
	trouble := res.SiteFault || res.Status == 429 || res.Status == 503
	switch {
	case trouble && !res.SiteFault && res.RetryAfter > 0 && m.cfg.RetryAfterMax > 0:
		m.hold = later(m.hold, m.now.Add(min(res.RetryAfter, m.cfg.RetryAfterMax)))
		if !req.warned {
			m.slowStart(true)
		}
	case trouble && !req.warned && m.cfg.BackoffBase > 0:
		m.backoff = min(m.cfg.BackoffMax, max(m.cfg.BackoffBase, 2*m.backoff))
		m.peak = m.backoff
		m.slowStart(true)
	}
	wasOpen := m.open
	m.circuit(req, trouble || res.Status >= 500, res.Status > 0)
	if res.Status > 0 && !trouble && res.Status < 500 && !req.old {
		m.recover(wasOpen)
	}
}

func (m *model) slowStart(failure bool) {
	m.window = 1
	for _, r := range m.reqs {
		r.old, r.warned = true, r.warned || failure
	}
}

func (m *model) recover(wasOpen bool) {
	step := time.Duration(m.cfg.BackoffRecovery * float64(max(m.peak, m.cfg.BackoffBase)))
	m.backoff = max(0, m.backoff-step)
	if m.backoff == 0 {
		m.peak = 0
	}
	if m.window > 0 && !wasOpen {
		m.window++
		if m.window >= m.cfg.Concurrency() {
			m.window = 0
		}
	}
}

func (m *model) circuit(req *modelRequest, failure, answered bool) {
	switch {
	case m.cfg.CircuitFailures == 0:
		if failure {
			m.failures++
		} else if answered {
			m.failures = 0
		}
	case m.open && !req.probe:
	case failure:
		m.failures++
		if m.failures >= m.cfg.CircuitFailures {
			m.open = true
			d := m.cfg.CircuitOpenFor << min(20, m.failures-m.cfg.CircuitFailures)
			m.openUntil = m.now.Add(min(d, m.cfg.CircuitOpenMax))
			m.slowStart(true)
		}
	case answered:
		m.failures = 0
		if m.open {
			m.open = false
			m.window = 1
		}
	}
}

// steer is what the domain and its operators do to a slot.
func (m *model) steer(t *rapid.T) {
	switch pick(t, "steer", "pause", "resume", "resume", "hold", "crawl-delay") {
	case "pause":
		m.pause(true)
	case "resume":
		m.pause(false)
	case "hold":
		until := m.now.Add(time.Duration(rapid.Int64Range(-1e9, 20e9).Draw(t, "hold")))
		m.slot.Hold(until, ReasonRobots)
		if until.After(m.hold) {
			m.hold = until
			m.slowStart(false)
		}
	case "crawl-delay":
		d := pick(t, "crawl delay", -time.Second, 0, time.Second, time.Hour)
		m.slot.SetCrawlDelay(d)
		m.crawl = max(0, min(d, m.cfg.CrawlDelayMax))
	}
}

func (m *model) pause(on bool) {
	m.slot.Pause(on)
	if m.paused != on {
		m.paused = on
		m.slowStart(false)
	}
}

// handOver replaces the slot by a successor that has its snapshot; the requests in
// flight come along, as to a restarted actor, or are lost, as with a dead node.
func (m *model) handOver(t *rapid.T, random func() float64) {
	st := m.slot.Snapshot(m.now)
	if st.HoldIn > 0 != (st.Reason != ReasonNone) || st.NextIn < 0 {
		t.Fatalf("snapshot %+v", st)
	}
	if m.now.Add(st.HoldIn).Before(m.hold) || m.now.Add(st.HoldIn).Before(m.openUntil) {
		t.Fatalf("snapshot lets the successor start inside the hold: %+v", st)
	}
	if least, _ := m.gap(); !m.lastStart.IsZero() && m.now.Add(st.NextIn).Before(m.lastStart.Add(least)) {
		t.Fatalf("snapshot lets the successor start early: %+v", st)
	} else if m.unwritten() > 0 && st.NextIn < least {
		t.Fatalf("snapshot forgets the request that is being written: %+v", st)
	}
	m.slot = New(m.cfg, random)
	if rapid.Bool().Draw(t, "lost") {
		m.reqs = nil
	}
	// The successor knows of a start only by a request in flight; NextIn stands for others.
	m.lastStart = time.Time{}
	for _, r := range m.reqs {
		r.old, r.warned, r.probe = false, false, false
		if r.written {
			m.slot.Started(r.at)
			m.lastStart = later(m.lastStart, r.at)
		}
	}
	for range m.unwritten() {
		m.slot.Dispatched()
	}
	m.slot.Restore(m.now, st)
	m.notBefore = m.now.Add(st.NextIn)
	if m.window = 0; m.failures > 0 || m.backoff > 0 || st.HoldIn > 0 || m.paused {
		m.slowStart(false)
	}
	m.peak = m.backoff
	// The later of hold and circuit stands for both.
	m.hold, m.openUntil = time.Time{}, time.Time{}
	switch {
	case st.HoldIn <= 0:
	case st.Reason == ReasonCircuit:
		m.openUntil = m.now.Add(st.HoldIn)
	default:
		m.hold = m.now.Add(st.HoldIn)
	}
}
