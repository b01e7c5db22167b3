package throttle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// withRules is fixed(...) with every rule of ours on, back-off and circuit small.
func withRules(delay time.Duration, concurrency int) Config {
	cfg := fixed(delay, concurrency)
	cfg.RetryAfterMax = time.Minute
	cfg.BackoffBase, cfg.BackoffMax, cfg.BackoffRecovery = time.Second, 10*time.Second, 0.5
	return cfg
}

func TestRetryAfterHolds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		limit   time.Duration
		result  Result
		hold    float64 // s; 0: none
		backoff time.Duration
	}{
		{"429", time.Minute, Result{Status: 429, RetryAfter: sec(7)}, 7, 0},
		{"503", time.Minute, Result{Status: 503, RetryAfter: sec(7)}, 7, 0},
		{"capped", time.Minute, Result{Status: 503, RetryAfter: 1 << 62}, 60, 0},
		{"zero is none", time.Minute, Result{Status: 429, RetryAfter: 0}, 0, time.Second},
		{"negative is none", time.Minute, Result{Status: 429, RetryAfter: -5}, 0, time.Second},
		{"off backs off", 0, Result{Status: 429, RetryAfter: sec(7)}, 0, time.Second},
		{"other statuses", time.Minute, Result{Status: 500, RetryAfter: sec(7)}, 0, 0},
		{"redirect", time.Minute, Result{Status: 302, RetryAfter: sec(7)}, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := withRules(0, 8)
			cfg.RetryAfterMax = tc.limit
			s := New(cfg, nil)
			s.Started(at(0))
			s.Done(at(2), tc.result)
			require.Equal(t, tc.backoff, s.Delay())
			if tc.hold > 0 {
				requireWait(t, s, at(2), at(2+tc.hold), ReasonRetryAfter)
				lowest, why := s.LowestNext(at(2))
				require.Equal(t, at(2+tc.hold), lowest)
				require.Equal(t, ReasonRetryAfter, why)
				requireOK(t, s, at(2+tc.hold))
			}
		})
	}
}

func TestRetryAfterShorterDoesNotShorten(t *testing.T) {
	t.Parallel()
	s := New(withRules(0, 8), nil)
	s.Started(at(0))
	s.Started(at(0))
	s.Done(at(0), Result{Status: 503, RetryAfter: sec(30)})
	s.Done(at(1), Result{Status: 503, RetryAfter: sec(2)})
	requireWait(t, s, at(3), at(30), ReasonRetryAfter)
}

func TestNoBurstAfterAHold(t *testing.T) {
	t.Parallel()
	s := New(withRules(0, 4), nil)
	for range 4 {
		start(t, s, at(0))
	}
	s.Done(at(1), Result{Status: 429, RetryAfter: sec(10)})
	s.Done(at(1), Result{Status: 200}) // from before: no sign of recovery
	s.Done(at(1), Result{Status: 200})
	requireWait(t, s, at(1), at(11), ReasonRetryAfter)
	requireEvent(t, s, at(11), ReasonBackoff) // one from before is still in flight
	s.Done(at(12), Result{Status: 200})
	start(t, s, at(12))
	requireEvent(t, s, at(12), ReasonBackoff)
	for inFlight := 2; inFlight <= 4; inFlight++ {
		s.Done(at(13), Result{Status: 200})
		for s.InFlight() < inFlight {
			start(t, s, at(13))
		}
		require.False(t, s.Next(at(13)).OK)
	}
	requireEvent(t, s, at(13), ReasonConcurrency)
}

func TestBackoffDoublesAndRecovers(t *testing.T) {
	t.Parallel()
	steps := []struct {
		result Result
		want   time.Duration // back-off after it
	}{
		{Result{Status: 429}, sec(1)},
		{Result{Status: 503}, sec(2)},
		{Result{SiteFault: true}, sec(4)},
		{Result{Status: 500}, sec(4)}, // neither better nor worse
		{Result{}, sec(4)},            // cancelled
		{Result{SiteFault: true}, sec(8)},
		{Result{SiteFault: true}, sec(10)},
		{Result{Status: 429, RetryAfter: 1}, sec(10)},
		{Result{Status: 200}, sec(5)},
		{Result{Status: 404}, 0},
		{Result{Status: 200}, 0},
		{Result{Status: 429}, sec(1)},
		{Result{Status: 301}, sec(0.5)},
		{Result{Status: 429}, sec(1)},
	}
	s := New(withRules(time.Second, 8), nil)
	for i, step := range steps {
		s.Started(at(float64(i)))
		s.Done(at(float64(i)), step.result)
		require.Equal(t, time.Second+step.want, s.Delay(), "step %d", i)
	}
}

func TestBackoffCountsOneOutageOnce(t *testing.T) {
	t.Parallel()
	s := New(withRules(0, 8), nil)
	for range 8 {
		start(t, s, at(0))
	}
	for range 8 {
		s.Done(at(30), Result{SiteFault: true})
	}
	require.Equal(t, time.Second, s.Delay())
	start(t, s, at(30))
	s.Done(at(60), Result{SiteFault: true})
	require.Equal(t, 2*time.Second, s.Delay())
}

func TestBackoffAfterPauseStillCounts(t *testing.T) {
	t.Parallel()
	s := New(withRules(0, 8), nil)
	start(t, s, at(0))
	start(t, s, at(0))
	s.Pause(true)
	s.Done(at(1), Result{SiteFault: true})
	s.Done(at(1), Result{SiteFault: true})
	require.Equal(t, time.Second, s.Delay())
}

func TestBackoffKnowsAnOutageThroughAPause(t *testing.T) {
	t.Parallel()
	s := New(withRules(0, 8), nil)
	for range 3 {
		start(t, s, at(0))
	}
	s.Done(at(1), Result{SiteFault: true})
	s.Pause(true)
	s.Pause(false)
	s.Done(at(1), Result{SiteFault: true}) // the same outage
	require.Equal(t, time.Second, s.Delay())
	s.Done(at(1), Result{})

	start(t, s, at(9))
	s.Hold(at(10), ReasonRobots)
	s.Done(at(9), Result{SiteFault: true}) // another one
	require.Equal(t, 2*time.Second, s.Delay())
}

func TestBackoffForgetsAbandonedRequests(t *testing.T) {
	t.Parallel()
	s := New(withRules(0, 8), nil)
	s.Dispatched()
	s.Started(at(0))
	s.Dispatched()
	s.Done(at(0), Result{Status: 429})
	s.Abandoned()
	start(t, s, at(5))
	s.Done(at(5), Result{Status: 429})
	require.Equal(t, 2*time.Second, s.Delay())
}

func TestBackoffSpacesStarts(t *testing.T) {
	t.Parallel()
	s := New(withRules(0, 8), nil)
	start(t, s, at(0))
	s.Done(at(0.25), Result{Status: 503})
	requireWait(t, s, at(0.25), at(1), ReasonBackoff) // counts from the last start
	start(t, s, at(1))
	requireWait(t, s, at(1), at(2), ReasonBackoff)
}

func TestCircuit(t *testing.T) {
	t.Parallel()
	cfg := fixed(0, 8)
	cfg.CircuitFailures, cfg.CircuitOpenFor, cfg.CircuitOpenMax = 3, 10*time.Second, 30*time.Second
	s := New(cfg, nil)
	fail := func(now time.Time, r Result) {
		t.Helper()
		start(t, s, now)
		s.Done(now, r)
	}
	fail(at(0), Result{Status: 500})
	fail(at(0), Result{Status: 502})
	fail(at(0), Result{Status: 404}) // an answer: the row is broken
	fail(at(0), Result{Status: 500})
	fail(at(0), Result{}) // says nothing about the site
	fail(at(0), Result{SiteFault: true})
	s.Started(at(0)) // in flight while it opens
	fail(at(0), Result{Status: 429})
	requireWait(t, s, at(0), at(10), ReasonCircuit)

	s.Done(at(1), Result{Status: 200}) // sent before it opened: no probe
	requireWait(t, s, at(1), at(10), ReasonCircuit)

	requireOK(t, s, at(10))
	s.Dispatched()
	requireEvent(t, s, at(10), ReasonCircuit) // one probe at a time
	s.Abandoned()
	start(t, s, at(10))
	requireEvent(t, s, at(11), ReasonCircuit)
	s.Done(at(12), Result{Status: 503})
	requireWait(t, s, at(12), at(32), ReasonCircuit) // twice as long

	start(t, s, at(32))
	s.Done(at(32), Result{}) // cancelled: another probe
	start(t, s, at(32))
	s.Done(at(32), Result{SiteFault: true})
	requireWait(t, s, at(32), at(62), ReasonCircuit) // capped

	start(t, s, at(62))
	s.Done(at(62), Result{Status: 200})
	start(t, s, at(62)) // closed, and starting slowly
	requireEvent(t, s, at(62), ReasonBackoff)
	s.Done(at(62), Result{Status: 500})
	fail(at(62), Result{Status: 500})
	requireOK(t, s, at(62)) // the row began anew
}

func TestCircuitOff(t *testing.T) {
	t.Parallel()
	s := New(fixed(0, 8), nil)
	for range 100 {
		start(t, s, at(0))
		s.Done(at(0), Result{Status: 500})
	}
	requireOK(t, s, at(0))
}

func TestCircuitOpenForIsBounded(t *testing.T) {
	t.Parallel()
	cfg := Default()
	cfg.CircuitOpenMax = maxSetting
	require.Equal(t, 30*time.Second, cfg.openFor(10))
	require.Equal(t, 60*time.Second, cfg.openFor(11))
	require.Equal(t, maxSetting, cfg.openFor(maxFailures))
}
