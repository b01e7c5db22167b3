package throttle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReadRateLimit(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	known := func(left int64, reset float64) RateLimit { return RateLimit{true, left, sec(reset)} }
	for _, tc := range []struct {
		name   string
		fields RateLimitFields
		want   RateLimit
	}{
		{"none", RateLimitFields{}, RateLimit{}},
		{"current", RateLimitFields{RateLimit: `"default";r=50;t=30`}, known(50, 30)},
		{"nothing left", RateLimitFields{RateLimit: `"default";r=0;t=5`}, known(0, 5)},
		{"spaces, order, more parameters", RateLimitFields{RateLimit: ` "a" ; t=30; pk=:c2E=: ;r=50 `}, known(50, 30)},
		{"the tightest of two", RateLimitFields{RateLimit: `"day";r=1000;t=1000, "hour";r=10;t=60`}, known(10, 60)},
		{"one is used up", RateLimitFields{RateLimit: `"day";r=1000;t=86400, "hour";r=0;t=7, "minute";r=0;t=3`}, known(0, 7)},
		{"the time of the policy", RateLimitFields{RateLimit: `"b";r=5`, Policy: `"a";q=1;w=1,"b";q=10;w=60`}, known(5, 60)},
		{"no time", RateLimitFields{RateLimit: `"b";r=5`}, RateLimit{}},
		{"policy alone", RateLimitFields{Policy: `"burst";q=100;w=60,"daily";q=1000;w=86400`}, known(1000, 86400)},
		{"what is left goes before the policy", RateLimitFields{RateLimit: `"a";r=99;t=10`, Policy: `"a";q=100;w=1000`}, known(99, 10)},
		{"other units", RateLimitFields{Policy: `"a";q=100;w=60;qu="content-bytes"`}, RateLimit{}},
		{"a comma in a name", RateLimitFields{RateLimit: `"a,\";r=0;t=9";r=3;t=6`}, known(3, 6)},
		{"token as name", RateLimitFields{RateLimit: `default;r=3;t=6`}, known(3, 6)},
		{"older single field", RateLimitFields{RateLimit: `limit=100, remaining=50, reset=5`}, known(50, 5)},
		{"three fields", RateLimitFields{Limit: "100, 100;w=60", Remaining: "7", Reset: "13"}, known(7, 13)},
		{"fraction", RateLimitFields{Remaining: "1", Reset: "0.5"}, known(1, 0.5)},
		{"unix time", RateLimitFields{Remaining: "0", Reset: "1800000042"}, known(0, 42)},
		{"unix time in ms", RateLimitFields{Remaining: "0", Reset: "1800000042500"}, known(0, 42.5)},
		{"unix time that is past", RateLimitFields{Remaining: "0", Reset: "1700000042"}, RateLimit{}},
		{"reset now", RateLimitFields{Remaining: "0", Reset: "0"}, RateLimit{}},
		{"current goes before older", RateLimitFields{RateLimit: `"a";r=9;t=9`, Remaining: "0", Reset: "9"}, known(9, 9)},
		{"negative", RateLimitFields{Remaining: "-1", Reset: "5"}, RateLimit{}},
		{"not numbers", RateLimitFields{RateLimit: `"a";r=x;t=1`, Remaining: "1e9", Reset: "soon"}, RateLimit{}},
		{"remaining without reset", RateLimitFields{Remaining: "4"}, RateLimit{}},
		{"huge", RateLimitFields{Remaining: "99999999999999999999", Reset: "5"}, known(1<<31-1, 5)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, tc.fields.Read(now))
		})
	}
}

func FuzzReadRateLimit(f *testing.F) {
	f.Add(`"default";r=50;t=30`, `"default";q=100;w=60`, "50", "30")
	f.Add(`limit=100, remaining=50, reset=5`, "", "0", "1800000042")
	f.Add(`"a\",;r=`, `;;,,;q=1`, "9.9.9", "1e9")
	f.Fuzz(func(t *testing.T, current, policy, remaining, reset string) {
		fields := RateLimitFields{RateLimit: current, Policy: policy, Remaining: remaining, Reset: reset}
		l := fields.Read(epoch)
		if !l.Known {
			require.Zero(t, l)
			return
		}
		require.Positive(t, l.Reset)
		require.LessOrEqual(t, l.Reset, maxSetting)
		require.GreaterOrEqual(t, l.Left, int64(0))
		s := New(Default(), nil)
		s.Started(epoch)
		s.Done(epoch, Result{Status: 200, RateLimit: l})
		next, _ := s.LowestNext(epoch)
		require.LessOrEqual(t, next.Sub(epoch), Default().RetryAfterMax)
	})
}

func TestRateLimitSpreadsWhatIsLeft(t *testing.T) {
	t.Parallel()
	cfg := withRules(0, 8)
	cfg.RateLimitObey = true
	s := New(cfg, nil)
	start(t, s, at(0))
	s.Done(at(0), Result{Status: 200, RateLimit: RateLimit{true, 10, sec(20)}})
	require.Equal(t, 2*time.Second, s.Delay())
	requireWait(t, s, at(0), at(2), ReasonRateLimit)
	start(t, s, at(2))
	s.Done(at(3), Result{Status: 200, RateLimit: RateLimit{true, 0, sec(17)}})
	requireWait(t, s, at(3), at(20), ReasonRateLimit) // before any 429
	start(t, s, at(20))
	s.Done(at(20), Result{Status: 200, RateLimit: RateLimit{true, 0, sec(100_000)}})
	requireWait(t, s, at(20), at(80), ReasonRateLimit) // RETRY_AFTER_MAX
	start(t, s, at(80))
	s.Done(at(80), Result{Status: 200, RateLimit: RateLimit{true, 10, sec(20)}})
	start(t, s, at(82))
	requireOK(t, s, at(101)) // the time is over, and nothing new was said
	require.Zero(t, s.Delay())

	cfg.RateLimitObey = false
	s.Configure(cfg)
	s.Done(at(101), Result{Status: 200, RateLimit: RateLimit{true, 0, sec(20)}})
	requireOK(t, s, at(101))
}

func TestRateLimitCountsWhatIsInFlight(t *testing.T) {
	t.Parallel()
	cfg := withRules(0, 8)
	cfg.RateLimitObey = true
	s := New(cfg, nil)
	for range 4 {
		start(t, s, at(0))
	}
	s.Done(at(1), Result{Status: 200, RateLimit: RateLimit{true, 5, sec(10)}})
	require.Equal(t, 5*time.Second, s.Delay())
}
