package throttle

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// learner is the settings of a slot that only learns quotas.
func learner(concurrency int) Config {
	cfg := withRules(0, concurrency)
	cfg.QuotaMemory = time.Hour
	return cfg
}

func TestQuotaRefusalsInARowDoubleTheWait(t *testing.T) {
	t.Parallel()
	s := New(learner(1), nil)
	now := at(0)
	for i, wait := range []float64{1, 2, 4, 8, 10, 10} { // BACKOFF_MAX
		start(t, s, now)
		s.Done(now, Result{Status: 429})
		require.Equal(t, now.Add(sec(wait)), s.Held(), "refusal %d", i)
		d := s.Next(now)
		require.Equal(t, ReasonQuota, d.Reason)
		now = d.At
	}
}

func TestQuotaKeepsARetryAfterThatWasTooShort(t *testing.T) {
	t.Parallel()
	s := New(learner(1), nil)
	now := at(0)
	for i, wait := range []float64{3, 3, 4, 8} {
		start(t, s, now)
		s.Done(now, Result{Status: 429, RetryAfter: sec(3)})
		require.Equal(t, now.Add(sec(wait)), s.Held(), "refusal %d", i)
		now = s.Held()
	}
}

func TestQuotaCountsOneRefusalOnce(t *testing.T) {
	t.Parallel()
	cfg := learner(8)
	cfg.CircuitFailures = 3
	s := New(cfg, nil)
	for range 8 {
		start(t, s, at(0))
	}
	for range 8 {
		s.Done(at(1), Result{Status: 429})
	}
	require.Equal(t, 1, s.quota.refused)
	requireWait(t, s, at(1), at(2), ReasonQuota) // and no circuit
}

func TestQuotaIsForgotten(t *testing.T) {
	t.Parallel()
	s := New(learner(1), nil)
	start(t, s, at(0))
	s.Done(at(0), Result{Status: 200})
	start(t, s, at(0.5))
	s.Done(at(0.5), Result{Status: 429})
	require.Equal(t, ReasonQuota, s.Next(at(0.5)).Reason)
	require.Positive(t, s.Delay())
	requireOK(t, s, at(2+3600))
	require.Zero(t, s.Delay())
}

// A quota that a node learned is kept by the next: no second search.
func TestQuotaHandedOver(t *testing.T) {
	t.Parallel()
	cfg := Default()
	cfg.AutoThrottleStartDelay = 0
	random := rand.New(rand.NewPCG(1, 2))
	s := &simulation{
		slot: New(cfg, random.Float64), site: &tokenBucket{rate: 2, burst: 1}, latency: sec(0.01), random: random, now: at(0),
	}
	s.run(at(120))
	st := s.slot.Snapshot(s.now)
	require.InDelta(t, 0.525, st.Quota.Interval, 0.06)
	before := len(s.refused)
	heir := &simulation{slot: New(cfg, random.Float64), site: s.site, latency: sec(0.01), random: random, now: s.now}
	heir.slot.Restore(s.now, st)
	heir.run(s.now.Add(time.Minute))
	require.Positive(t, before)
	require.LessOrEqual(t, len(heir.refused), 3)
	require.GreaterOrEqual(t, len(heir.passed), 96)
}

// A site that refuses a share of requests whatever their rate is not visited ever
// more slowly.
func TestQuotaOfASiteThatThrowsDice(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	s := &simulation{slot: New(Default(), random.Float64), site: &dice{random, 0.05}, latency: sec(0.2), random: random, now: at(0)}
	s.run(at(5 * 3600))
	require.Less(t, s.slot.quota.interval, 20.0)
}

// Refusals by chance, each with a wait, cost those waits and little more.
func TestQuotaOfASiteThatThrowsDiceAndNamesAWait(t *testing.T) {
	t.Parallel()
	for _, share := range []float64{0.05, 0.2} {
		cfg := Default()
		cfg.AutoThrottleEnabled = false
		random := rand.New(rand.NewPCG(7, 8))
		s := &simulation{
			slot: New(cfg, random.Float64), site: &dice{random, share}, latency: sec(0.1), retryAfter: sec(2), random: random, now: at(0),
		}
		s.run(at(1200))
		cycle := 1/share*0.1/8 + 2 // requests of a tenth of a second, eight at once, then the wait
		require.Greater(t, float64(len(s.passed)), 0.15*1200/cycle/share, "a share of %g", share)
	}
}

type dice struct {
	random *rand.Rand
	share  float64
}

func (d *dice) allow(time.Time) bool { return d.random.Float64() >= d.share }

func TestQuotaLowered(t *testing.T) {
	t.Parallel()
	cfg := Default()
	cfg.AutoThrottleStartDelay = 0
	random := rand.New(rand.NewPCG(5, 6))
	bucket := &tokenBucket{rate: 8, burst: 2}
	s := &simulation{slot: New(cfg, random.Float64), site: bucket, latency: sec(0.01), random: random, now: at(0)}
	s.run(at(600))
	bucket.rate = 2
	s.run(at(900))
	from := at(780)
	passed, refused := within(s.passed, from, at(900)), within(s.refused, from, at(900))
	require.GreaterOrEqual(t, passed, 180)
	require.Less(t, float64(refused), 0.05*float64(passed))
	bucket.rate = 8
	s.run(at(1800))
	require.GreaterOrEqual(t, within(s.passed, at(1500), at(1800)), 8*300*7/10, "and raised again")
}

// What is restored, and what is learned of any course of answers, stays in bounds.
func TestQuotaBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cfg := learner(3)
		cfg.AutoThrottleEnabled, cfg.AutoThrottleMaxDelay, cfg.AutoThrottleTargetConcurrency = true, time.Minute, 1
		s, now := New(cfg, nil), at(0)
		s.Restore(now, State{Quota: Quota{
			Interval: rapid.Float64().Draw(t, "interval"), Failed: rapid.Float64().Draw(t, "failed"),
			Borne: rapid.Float64().Draw(t, "borne"), Settled: rapid.Bool().Draw(t, "settled"),
			Age: time.Duration(rapid.Int64().Draw(t, "age")), Passed: rapid.Int().Draw(t, "passed"),
			Refused: rapid.Int().Draw(t, "refused"), For: time.Duration(rapid.Int64().Draw(t, "for")),
		}})
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if d := s.Next(now); d.OK {
				s.Started(now)
			} else if s.InFlight() == 0 {
				if d.At.Sub(now) > time.Minute+cfg.BackoffMax {
					t.Fatalf("waits for %v", d.At.Sub(now))
				}
				now = d.At
				continue
			}
			now = now.Add(time.Duration(rapid.Int64Range(0, 3e9).Draw(t, "later")))
			for s.InFlight() > 0 && rapid.Bool().Draw(t, "done") {
				s.Done(now, Result{Status: rapid.SampledFrom([]int{200, 429, 429, 500, 0}).Draw(t, "status")})
			}
			q := &s.quota
			if !(q.interval >= 0 && q.interval <= seconds(cfg.BackoffMax)) || math.IsNaN(q.borne) || math.IsInf(q.failed, 0) {
				t.Fatalf("%+v", *q)
			}
			if q.interval > 0 && s.Delay() < duration(q.interval) {
				t.Fatalf("delay %v, interval %v", s.Delay(), q.interval)
			}
		}
	})
}

func TestErrorShareSlowsGently(t *testing.T) {
	t.Parallel()
	cfg := withRules(0, 1)
	cfg.ErrorShare = 0.2
	s, now := New(cfg, nil), at(0)
	answer := func(status int) {
		t.Helper()
		for range 9 { // the delay may rise while it is waited for
			if d := s.Next(now); !d.OK {
				require.Equal(t, ReasonErrors, d.Reason)
				now = d.At
			}
		}
		start(t, s, now)
		s.Done(now, Result{Status: status})
	}
	for range 40 {
		answer(200)
	}
	for i := range 6 { // not one, not a few
		answer([]int{500, 502, 504}[i%3])
		answer(404)
		require.Zero(t, s.Delay())
	}
	answer(500)
	require.Equal(t, 125*time.Millisecond, s.Delay())
	requireWait(t, s, now, now.Add(125*time.Millisecond), ReasonErrors)
	for range 100 {
		answer(502)
	}
	require.Equal(t, 4*time.Second, s.Delay())
	require.Equal(t, 4*time.Second, s.Snapshot(now).Backoff)
	for range 80 {
		answer(200)
	}
	require.Zero(t, s.Delay())
}

func TestSlowStartOfANewSlot(t *testing.T) {
	t.Parallel()
	cfg := fixed(0, 3)
	cfg.SlowStart = true
	s := New(cfg, nil)
	start(t, s, at(0))
	requireEvent(t, s, at(0), ReasonSlowStart)
	s.Done(at(0), Result{Status: 200})
	start(t, s, at(0))
	start(t, s, at(0))
	requireEvent(t, s, at(0), ReasonSlowStart)
	s.Done(at(0), Result{Status: 200})
	start(t, s, at(0))
	start(t, s, at(0))
	requireEvent(t, s, at(0), ReasonConcurrency)
}
