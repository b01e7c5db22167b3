package placement

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestRamp(t *testing.T) {
	t.Parallel()
	const s = time.Second
	tests := []struct {
		name      string
		weight    float64
		age, over time.Duration
		want      float64
	}{
		{"at once", 2, 0, 0, 2},
		{"at once, before", 2, -s, -s, 2},
		{"start", 2, 0, 9 * s, 0.2},
		{"before the start", 2, -s, 9 * s, 0.2},
		{"long before the start", 2, math.MinInt64, 9 * s, 0.2},
		{"end of the first step", 2, s - 1, 9 * s, 0.2},
		{"second step", 2, s, 9 * s, 0.4},
		{"last but one", 2, 9*s - 1, 9 * s, 1.8},
		{"end", 2, 9 * s, 9 * s, 2},
		{"later", 2, math.MaxInt64, 9 * s, 2},
		{"not in ninths, step not yet", 1, 10*s/9 - 1, 10 * s, 0.1},
		{"not in ninths, step", 1, 10*s/9 + 1, 10 * s, 0.2},
		{"not in ninths, end", 1, 10*s - 1, 10 * s, 0.9},
		{"shortest", 1, 0, 1, 0.1},
		{"shortest, end", 1, 1, 1, 1},
		{"longest", 1, math.MaxInt64 - 1, math.MaxInt64, 0.9},
		{"nothing", 0, s, 10 * s, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.InDelta(t, tt.want, Ramp(tt.weight, tt.age, tt.over), 1e-12)
		})
	}
}

// TestRampRises: never falls with age, in no more than ten steps, from a tenth to
// exactly the whole.
func TestRampRises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weight := rapid.Float64Range(0.01, 100).Draw(t, "weight")
		over := rapid.Int64Range(1, math.MaxInt64/100).Draw(t, "over")
		weights := map[float64]bool{}
		last := Ramp(weight, 0, time.Duration(over))
		require.InEpsilon(t, weight/10, last, 1e-12)
		for i := range int64(101) {
			now := Ramp(weight, time.Duration(over*i/100), time.Duration(over))
			require.GreaterOrEqual(t, now, last)
			weights[now] = true
			last = now
		}
		if last != weight {
			t.Fatalf("ends at %g, not exactly %g", last, weight)
		}
		require.LessOrEqual(t, len(weights), 10)
	})
}
