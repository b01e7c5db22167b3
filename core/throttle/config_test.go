package throttle

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	require.NoError(t, Default().Validate())
	require.Equal(t, Default(), Default().WithDefaults())
	require.Equal(t, Default(), Config{}.WithDefaults())
	require.NoError(t, Config{DownloadDelay: 1}.WithDefaults().Validate())

	own := Config{BackoffBase: time.Hour, CircuitOpenFor: time.Hour}.WithDefaults()
	require.NoError(t, own.Validate())
	require.False(t, own.AutoThrottleEnabled, "false is a setting")
	require.Zero(t, own.CircuitFailures, "0 is off")
}

func TestConfigValidateNamesEveryProblem(t *testing.T) {
	t.Parallel()
	err := Config{
		AutoThrottleStartDelay:        -1,
		AutoThrottleMaxDelay:          -1,
		AutoThrottleTargetConcurrency: math.NaN(),
		DownloadDelay:                 math.MaxInt64,
		ConcurrentRequestsPerDomain:   0,
		ConcurrentRequestsPerIP:       -1,
		RetryAfterMax:                 -1,
		BackoffBase:                   1,
		BackoffMax:                    -1,
		BackoffRecovery:               math.NaN(),
		CrawlDelayMax:                 -1,
		CircuitFailures:               -1,
		CircuitOpenFor:                2,
		CircuitOpenMax:                1,
	}.Override(Override{Delay: new(time.Duration(-1))}).Validate()
	for _, name := range []string{
		"AUTOTHROTTLE_START_DELAY", "AUTOTHROTTLE_MAX_DELAY", "AUTOTHROTTLE_TARGET_CONCURRENCY", "DOWNLOAD_DELAY",
		"CONCURRENT_REQUESTS_PER_DOMAIN", "CONCURRENT_REQUESTS_PER_IP", "RETRY_AFTER_MAX", "BACKOFF_MAX",
		"BACKOFF_RECOVERY", "CRAWL_DELAY_MAX", "CIRCUIT_FAILURES", "CIRCUIT_OPEN_MAX", "the slot's delay",
	} {
		require.ErrorContains(t, err, "throttle: validate "+name)
	}
}

func TestConfigOverride(t *testing.T) {
	t.Parallel()
	cfg := Default()
	cfg.ConcurrentRequestsPerIP = 3
	require.Equal(t, cfg, cfg.Override(Override{}))
	got := cfg.Override(Override{Concurrency: new(2), Delay: new(time.Duration(0)), RandomizeDelay: new(false)})
	require.Equal(t, 2, got.Concurrency())
	require.Zero(t, New(got, nil).Delay())
	require.False(t, got.RandomizeDownloadDelay)
	require.Equal(t, 3, cfg.Concurrency())
}

func TestConfigGentler(t *testing.T) {
	t.Parallel()
	a, b := Default(), Default()
	require.Equal(t, a, a.Gentler(b))

	a.DownloadDelay, b.DownloadDelay = time.Second, 2*time.Second
	a.ConcurrentRequestsPerDomain = 2
	a.AutoThrottleTargetConcurrency, b.AutoThrottleTargetConcurrency = 4, 0.5
	b.RandomizeDownloadDelay = false
	a.CircuitFailures, b.CircuitFailures = 0, 5
	a.RetryAfterMax = 0
	want := Default()
	want.DownloadDelay = 2 * time.Second
	want.ConcurrentRequestsPerDomain = 2
	want.AutoThrottleTargetConcurrency = 0.5
	want.RandomizeDownloadDelay = false
	want.CircuitFailures = 5
	require.Equal(t, want, a.Gentler(b))
	require.Equal(t, want, b.Gentler(a))

	a, b = Default(), Default()
	a.ConcurrentRequestsPerIP, b.ConcurrentRequestsPerIP = 3, 4
	require.Equal(t, 3, a.Gentler(b).ConcurrentRequestsPerIP)
}

// A crawl with a fixed delay must not go faster because another one adjusts.
func TestConfigGentlerKeepsAFixedDelay(t *testing.T) {
	t.Parallel()
	slow := Default()
	slow.AutoThrottleEnabled, slow.DownloadDelay, slow.AutoThrottleTargetConcurrency = false, 90*time.Second, 0
	for _, cfg := range []Config{slow.Gentler(Default()), Default().Gentler(slow)} {
		require.NoError(t, cfg.Validate())
		require.True(t, cfg.AutoThrottles())
		s := New(cfg, nil)
		for range 20 {
			s.Started(at(0))
			s.Done(at(0), Result{Status: 200, HasLatency: true})
		}
		require.Equal(t, 90*time.Second, s.Delay())
	}
	own := Default().Override(Override{Delay: new(7 * time.Second)})
	require.Equal(t, 7*time.Second, New(own.Gentler(Default()), nil).Delay())
}
