package chaos

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestChaosShort is a short form of the command's run: four nodes, faults of every
// kind, a new one every few seconds. ORBWEAVER_CHAOS_FOR says how long the faults
// last (default 75s), ORBWEAVER_E2E_SEED which they are.
func TestChaosShort(t *testing.T) {
	cfg := Config{
		Dir: t.TempDir(), Nodes: 4, Hosts: 200, Every: 3500 * time.Millisecond,
		Longest: 9 * time.Second, Duration: 75 * time.Second, Drain: 100 * time.Second, Seed: 20, Log: testLog{t},
	}
	if d, err := time.ParseDuration(os.Getenv("ORBWEAVER_CHAOS_FOR")); err == nil {
		cfg.Duration = d
	}
	if n, err := strconv.ParseUint(os.Getenv("ORBWEAVER_E2E_SEED"), 10, 64); err == nil {
		cfg.Seed = n
	}
	var err error
	cfg.Node, err = Build(t.Context(), t.TempDir(), false)
	require.NoError(t, err)
	report, err := Run(t.Context(), cfg)
	require.NoError(t, err)
	report.WriteText(testLog{t})
	require.Empty(t, report.Bad(), "seed %d breaks a promise", cfg.Seed)
	require.True(t, report.InvariantsKnown, "no node counted its invariants")
	require.Positive(t, report.LeaseSlots, "no node wrote a history of its leases")
	require.Zero(t, report.LeaseUnknown)
	require.Greater(t, report.Requests, cfg.Hosts*20, "the crawl hardly went on")
}

// testLog writes to the test's log.
type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Helper()
	l.t.Log(string(p))
	return len(p), nil
}
