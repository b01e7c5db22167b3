package throttle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fixed is a slot's settings with a constant delay and none of the other rules.
func fixed(delay time.Duration, concurrency int) Config {
	return Config{DownloadDelay: delay, ConcurrentRequestsPerDomain: concurrency}.WithDefaults()
}

var epoch = time.Unix(1_000_000, 0)

func sec(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// at is the time so many seconds after the epoch.
func at(n float64) time.Time { return epoch.Add(sec(n)) }

func requireOK(t *testing.T, s *Slot, now time.Time) {
	t.Helper()
	require.Equal(t, Decision{OK: true}, s.Next(now))
}

func requireWait(t *testing.T, s *Slot, now, until time.Time, why Reason) {
	t.Helper()
	require.Equal(t, Decision{At: until, Wait: until.Sub(now), Reason: why}, s.Next(now))
}

func requireEvent(t *testing.T, s *Slot, now time.Time, why Reason) {
	t.Helper()
	require.Equal(t, Decision{Reason: why}, s.Next(now))
}

// start has the slot permit and start one request.
func start(t *testing.T, s *Slot, now time.Time) {
	t.Helper()
	requireOK(t, s, now)
	s.Started(now)
}

func TestSlotDelayCountsFromTheWrite(t *testing.T) {
	t.Parallel()
	s := New(fixed(time.Second, 8), nil)
	requireOK(t, s, at(0))
	s.Dispatched()
	requireEvent(t, s, at(0), ReasonDelay)
	requireEvent(t, s, at(7), ReasonDelay)
	lowest, why := s.LowestNext(at(7))
	require.Equal(t, at(8), lowest)
	require.Equal(t, ReasonDelay, why)
	s.Started(at(7)) // connecting took 7 s
	requireWait(t, s, at(7.25), at(8), ReasonDelay)
	start(t, s, at(8))
	require.Equal(t, 2, s.InFlight())
}

func TestSlotAbandonedLeavesNoTrace(t *testing.T) {
	t.Parallel()
	s := New(fixed(time.Second, 1), nil)
	s.Abandoned() // of nothing
	requireOK(t, s, at(0))
	s.Dispatched()
	s.Abandoned()
	requireOK(t, s, at(0))
	require.Zero(t, s.InFlight())
}

func TestSlotWithoutDelayFillsConcurrency(t *testing.T) {
	t.Parallel()
	s := New(fixed(0, 3), nil)
	for range 3 {
		requireOK(t, s, at(0))
		s.Dispatched()
	}
	requireEvent(t, s, at(0), ReasonConcurrency)
	s.Started(at(1))
	requireEvent(t, s, at(1), ReasonConcurrency)
	s.Done(at(2), Result{Status: 200})
	requireOK(t, s, at(2))
	require.Equal(t, 2, s.InFlight())
}

func TestSlotUnsentFaultCountsAsAStart(t *testing.T) {
	t.Parallel()
	s := New(fixed(time.Second, 8), nil)
	requireOK(t, s, at(0))
	s.Dispatched()
	s.Done(at(5), Result{SiteFault: true, Unsent: true})
	require.Zero(t, s.InFlight())
	requireWait(t, s, at(5), at(6), ReasonDelay)

	s = New(fixed(time.Second, 8), nil)
	s.Dispatched()
	s.Done(at(5), Result{Unsent: true}) // the address guard, a lost lease: the site saw nothing
	requireOK(t, s, at(5))
}

func TestSlotDoneWithoutAStartFreesAPlace(t *testing.T) {
	t.Parallel()
	s := New(fixed(0, 1), nil)
	s.Done(at(0), Result{Status: 200})
	require.Zero(t, s.InFlight())
	s.Dispatched()
	s.Done(at(0), Result{Status: 200}) // Started got lost
	require.Zero(t, s.InFlight())
	s.Started(at(0))
	s.Done(at(0), Result{Unsent: true}) // contradicts Started
	require.Zero(t, s.InFlight())
}

func TestSlotTimerIsNotShortened(t *testing.T) {
	t.Parallel()
	cfg := Default()
	cfg.RandomizeDownloadDelay = false
	s := New(cfg, nil)
	start(t, s, at(0))
	s.Done(at(1), Result{Status: 200, Latency: sec(1), HasLatency: true})
	require.Equal(t, 3*time.Second, s.Delay())
	requireWait(t, s, at(3), at(5), ReasonDelay)
	start(t, s, at(5))
	requireWait(t, s, at(5), at(8), ReasonDelay)
	s.Done(at(5), Result{Status: 200, Latency: sec(9), HasLatency: true})
	requireWait(t, s, at(8), at(14), ReasonDelay) // the delay is checked anew when the timer fires
}

func TestSlotLatencyThatDoesNotCount(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]Result{
		"dont adjust":               {Status: 200, Latency: sec(50), HasLatency: true, DontAdjust: true},
		"no latency":                {Status: 200, Latency: sec(50)},
		"no response":               {Latency: sec(50), HasLatency: true},
		"site fault":                {Latency: sec(50), HasLatency: true, SiteFault: true},
		"not 200, delay would fall": {Status: 404, Latency: 0, HasLatency: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := Default()
			cfg.BackoffBase = 0
			s := New(cfg, nil)
			s.Started(at(0))
			s.Done(at(50), r)
			require.Equal(t, 5*time.Second, s.Delay())
		})
	}
}

func TestSlotIdleKeepsWhatItLearned(t *testing.T) {
	t.Parallel()
	cfg := Default()
	cfg.RandomizeDownloadDelay = false
	s := New(cfg, nil)
	start(t, s, at(0))
	s.Done(at(0), Result{Status: 200, Latency: sec(0.2), HasLatency: true})
	start(t, s, at(86400))
	require.Equal(t, sec(2.6), s.Delay())
}

func TestSlotNoBurstAfterAStall(t *testing.T) {
	t.Parallel()
	s := New(fixed(time.Second, 8), nil)
	start(t, s, at(0))
	start(t, s, at(100))
	requireWait(t, s, at(100), at(101), ReasonDelay)
}

func TestSlotRandomizes(t *testing.T) {
	t.Parallel()
	cfg := fixed(2*time.Second, 8)
	cfg.RandomizeDownloadDelay = true
	r := 0.0
	s := New(cfg, func() float64 { return r })
	start(t, s, at(0))
	requireWait(t, s, at(0), at(1), ReasonDelay)
	r = 0.75
	requireWait(t, s, at(1), at(2.5), ReasonDelay) // drawn anew when the timer fires
	r = 0.25
	requireWait(t, s, at(2), at(2.5), ReasonDelay) // but not before
	requireOK(t, s, at(2.5))

	cfg.BackoffBase = time.Second
	cfg.CrawlDelayMax = time.Minute
	r = 0
	s = New(cfg, func() float64 { return r })
	s.SetCrawlDelay(1500 * time.Millisecond)
	start(t, s, at(0))
	requireWait(t, s, at(0), at(1.5), ReasonCrawlDelay)
	s.Done(at(1), Result{Status: 429})
	requireWait(t, s, at(1.5), at(2.5), ReasonBackoff)
	require.Equal(t, 3*time.Second, s.Delay())
}

func TestSlotDefaultRandomness(t *testing.T) {
	t.Parallel()
	cfg := fixed(time.Second, 8)
	cfg.RandomizeDownloadDelay = true
	s := New(cfg, nil)
	for i := range 50 {
		now := at(float64(10 * i))
		start(t, s, now)
		d := s.Next(now)
		require.GreaterOrEqual(t, d.Wait, 500*time.Millisecond)
		require.Less(t, d.Wait, 1500*time.Millisecond)
		s.Done(now, Result{Status: 200})
	}
}

func TestSlotCrawlDelay(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name       string
		limit, ask time.Duration
		want       time.Duration
		why        Reason
	}{
		{"raises", time.Minute, 3 * time.Second, 3 * time.Second, ReasonCrawlDelay},
		{"is a lower bound only", time.Minute, time.Second / 2, time.Second, ReasonDelay},
		{"is capped", 10 * time.Second, time.Hour, 10 * time.Second, ReasonCrawlDelay},
		{"is off", 0, time.Hour, time.Second, ReasonDelay},
		{"negative is none", time.Minute, -time.Hour, time.Second, ReasonDelay},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := fixed(time.Second, 8)
			cfg.CrawlDelayMax = tc.limit
			s := New(cfg, nil)
			s.SetCrawlDelay(tc.ask)
			require.Equal(t, tc.want, s.Delay())
			start(t, s, at(0))
			requireWait(t, s, at(0), epoch.Add(tc.want), tc.why)
		})
	}
}

func TestSlotPause(t *testing.T) {
	t.Parallel()
	s := New(fixed(0, 4), nil)
	start(t, s, at(0))
	s.Pause(true)
	s.Pause(true)
	requireEvent(t, s, at(1), ReasonPaused)
	s.Done(at(2), Result{Status: 200})
	s.Pause(false)
	start(t, s, at(3))
	requireEvent(t, s, at(3), ReasonBackoff) // no burst
	s.Done(at(4), Result{Status: 200})
	start(t, s, at(4))
	start(t, s, at(4))
	requireEvent(t, s, at(4), ReasonBackoff)
}

func TestSlotHold(t *testing.T) {
	t.Parallel()
	s := New(fixed(0, 2), nil)
	s.Hold(at(10), ReasonRobots)
	s.Hold(at(5), ReasonRedis) // ends sooner
	requireWait(t, s, at(6), at(10), ReasonRobots)
	requireOK(t, s, at(10))
	s.Hold(at(20), ReasonRobots)
	s.Hold(time.Time{}, ReasonNone)
	requireOK(t, s, at(10))
}

func TestSlotBatch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		delay, limit time.Duration
		most, want   int
	}{
		{0, time.Second, 50, 50},
		{0, time.Second, 0, 1},
		{100 * time.Millisecond, time.Second, 50, 10},
		{100 * time.Millisecond, time.Second, 4, 4},
		{300 * time.Millisecond, time.Second, 50, 3},
		{time.Minute, time.Second, 50, 1},
		{time.Second, 0, 50, 1},
		{time.Second, -time.Hour, 50, 1},
		{1, 365 * 24 * time.Hour, 7, 7},
	} {
		require.Equal(t, tc.want, New(fixed(tc.delay, 8), nil).Batch(tc.limit, tc.most), "%+v", tc)
	}
}

func TestSlotConfigure(t *testing.T) {
	t.Parallel()
	cfg := Default()
	s := New(cfg, nil)
	s.SetCrawlDelay(40 * time.Second)
	for range 12 {
		s.Started(at(0))
		s.Done(at(0), Result{Status: 503})
	}
	require.Equal(t, 40*time.Second+cfg.BackoffMax, s.Delay())
	requireWait(t, s, at(0), at(640), ReasonBackoff)

	cfg.CrawlDelayMax = 20 * time.Second
	cfg.BackoffMax = time.Minute
	cfg.CircuitFailures = 0
	s.Configure(cfg)
	require.Equal(t, 80*time.Second, s.Delay())

	cfg.BackoffBase, cfg.CrawlDelayMax, cfg.DownloadDelay = 0, 0, 9*time.Second
	s.Configure(cfg)
	require.Equal(t, 9*time.Second, s.Delay())

	cfg.AutoThrottleEnabled, cfg.DownloadDelay = false, time.Second
	s.Configure(cfg)
	require.Equal(t, time.Second, s.Delay())
	require.False(t, s.open)
}

func BenchmarkSlot(b *testing.B) {
	cfg := Default()
	s := New(cfg, nil)
	now := epoch
	b.ReportAllocs()
	for b.Loop() {
		for d := s.Next(now); !d.OK; d = s.Next(now) {
			now = d.At
		}
		s.Dispatched()
		s.Started(now)
		s.Done(now, Result{Status: 200, Latency: time.Millisecond, HasLatency: true})
	}
}
