package throttle

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSnapshotRestore(t *testing.T) {
	t.Parallel()
	cfg := Default()
	cfg.RandomizeDownloadDelay, cfg.QuotaMemory = false, 0
	s := New(cfg, nil)
	require.Equal(t, State{Delay: 5}, s.Snapshot(at(0)))

	s.SetCrawlDelay(4 * time.Second)
	start(t, s, at(0))
	s.Done(at(1), Result{Status: 200, Latency: 110 * time.Millisecond, HasLatency: true})
	start(t, s, at(5))
	s.Done(at(5), Result{Status: 429})
	start(t, s, at(10))
	s.Done(at(10), Result{Status: 503, RetryAfter: sec(30)})
	s.Pause(true)
	want := State{
		Delay: 2.555, NextIn: 4 * time.Second, HoldIn: 29 * time.Second, Reason: ReasonRetryAfter,
		Backoff: time.Second, CrawlDelay: 4 * time.Second, Failures: 2, Paused: true,
	}
	require.Equal(t, want, s.Snapshot(at(11)))

	heir := New(cfg, nil)
	heir.Restore(at(500), want) // another clock
	require.Equal(t, want, heir.Snapshot(at(500)))
	requireEvent(t, heir, at(500), ReasonPaused)
	heir.Pause(false)
	requireWait(t, heir, at(500), at(529), ReasonRetryAfter)
	start(t, heir, at(529))
	requireWait(t, heir, at(529), at(534), ReasonBackoff)
}

func TestRestoreKeepsTheNextStart(t *testing.T) {
	t.Parallel()
	s := New(fixed(time.Second, 8), nil)
	s.Restore(at(0), State{NextIn: 3 * time.Second})
	requireWait(t, s, at(0), at(3), ReasonDelay)
	requireOK(t, s, at(3))
}

func TestSnapshotCountsTheRequestBeingWritten(t *testing.T) {
	t.Parallel()
	s := New(fixed(time.Second, 8), nil)
	s.Dispatched()
	require.Equal(t, time.Second, s.Snapshot(at(77)).NextIn)
}

func TestRestoreHoldOfAClosedCircuit(t *testing.T) {
	t.Parallel()
	s := New(fixed(0, 8), nil) // its settings know no circuit; the predecessor's did
	s.Restore(at(0), State{HoldIn: 7 * time.Second, Reason: ReasonCircuit, Failures: 12})
	requireWait(t, s, at(0), at(7), ReasonCircuit)
	start(t, s, at(7))
	requireEvent(t, s, at(7), ReasonBackoff) // and no burst then
}

func TestRestoreOpenCircuit(t *testing.T) {
	t.Parallel()
	cfg := Default()
	cfg.BackoffBase = 0
	s := New(cfg, nil)
	for i := range 11 {
		s.Started(at(float64(i) * 9)) // the last one is a probe
		s.Done(at(float64(i)*9), Result{Status: 500})
	}
	st := s.Snapshot(at(100))
	require.Equal(t, 50*time.Second, st.HoldIn)
	require.Equal(t, ReasonCircuit, st.Reason)

	heir := New(cfg, nil)
	heir.Restore(at(10), st)
	requireWait(t, heir, at(10), at(60), ReasonCircuit)
	start(t, heir, at(60))
	heir.Done(at(60), Result{Status: 500})
	requireWait(t, heir, at(60), at(180), ReasonCircuit) // it remembers how often

	late := New(cfg, nil)
	st.HoldIn, st.Reason = 0, ReasonNone
	late.Restore(at(99), st)
	start(t, late, at(99)) // half-open: a probe
	requireWait(t, late, at(99), late.Next(at(99)).At, ReasonDelay)
	requireEvent(t, late, at(999), ReasonCircuit)
}

func TestRestoreWithRequestsInFlight(t *testing.T) {
	t.Parallel()
	s := New(fixed(time.Second, 2), nil)
	s.Started(at(0))
	s.Started(at(1))
	s.Restore(at(1.5), State{})
	require.Equal(t, 2, s.InFlight())
	requireWait(t, s, at(1.5), at(2), ReasonDelay)
	requireEvent(t, s, at(2), ReasonConcurrency)
}

func TestRestoreBoundsHostileState(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		state State
		delay time.Duration
	}{
		"zero":     {State{}, 5 * time.Second},
		"negative": {State{Delay: -1, NextIn: -1, HoldIn: -1, Backoff: -1, CrawlDelay: -1, Failures: -1}, 5 * time.Second},
		"NaN":      {State{Delay: math.NaN()}, 5 * time.Second},
		"huge": {State{
			Delay: math.Inf(1), NextIn: math.MaxInt64, HoldIn: math.MaxInt64, Backoff: math.MaxInt64,
			CrawlDelay: math.MaxInt64, Failures: math.MaxInt,
		}, 11 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := New(Default(), nil)
			s.Restore(at(0), tc.state)
			require.Equal(t, tc.delay, s.Delay())
			st := s.Snapshot(at(0))
			require.GreaterOrEqual(t, st.NextIn, time.Duration(0))
			require.LessOrEqual(t, st.HoldIn, maxSetting)
			require.GreaterOrEqual(t, st.Failures, 0)
			s.Started(at(0))
			s.Done(at(0), Result{SiteFault: true})
			require.False(t, s.Next(at(0)).OK)
		})
	}
}

func TestRestoreLetsSettingsWin(t *testing.T) {
	t.Parallel()
	auto := Default()
	auto.DownloadDelay = 2 * time.Second
	for _, tc := range []struct {
		name    string
		cfg     Config
		learned float64
		want    time.Duration
	}{
		{"learned", auto, 7, 7 * time.Second},
		{"below DOWNLOAD_DELAY", auto, 0.5, 2 * time.Second},
		{"above AUTOTHROTTLE_MAX_DELAY", auto, 500, time.Minute},
		{"AutoThrottle is off now", fixed(time.Second, 8), 7, time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := New(tc.cfg, nil)
			s.Restore(at(0), State{Delay: tc.learned})
			require.Equal(t, tc.want, s.Delay())
		})
	}
}
