package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestShift(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		before, now []float64
		want        float64
	}{
		{"nothing", []float64{1, 2}, []float64{1, 2}, 0},
		{"join", []float64{1, 2}, []float64{1, 2, 1}, 0.25},
		{"leave", []float64{1, 2, 1}, []float64{1, 2, 0}, 0.25},
		{"rise", []float64{1, 1}, []float64{3, 1}, 0.25},
		{"all rise alike", []float64{1, 2}, []float64{2, 4}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.InDelta(t, tt.want, shift(tt.before, tt.now), 1e-12)
		})
	}
}

func TestBalance(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 1, balance([]int{10, 20, 0}, []float64{1, 2, 0}), 1e-12)
	require.InDelta(t, 1.5, balance([]int{15, 15}, []float64{1, 2}), 1e-12)
}

func TestFaults(t *testing.T) {
	t.Parallel()
	good := result{balance: 1.05, moved: 0.105, ideal: 0.1}
	tests := []struct {
		name string
		give func(r *result)
		want []string
	}{
		{"none", func(*result) {}, nil},
		{"balance", func(r *result) { r.balance = 1.1 }, []string{"balance is 1.1000, not below 1.1"}},
		{"too many moved", func(r *result) { r.moved = 0.112 }, []string{"moved 11.2000%, ideal is 10.0000%"}},
		{"too few moved", func(r *result) { r.moved = 0.088 }, []string{"moved 8.8000%, ideal is 10.0000%"}},
		{"moved for nothing", func(r *result) { r.ideal, r.moved = 0, 1e-9 }, []string{"moved 0.0000%, ideal is 0.0000%"}},
		{"stray", func(r *result) { r.stray = 1 }, []string{"1 hosts moved between nodes that did not change"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := good
			tt.give(&r)
			require.Equal(t, tt.want, r.faults(limits{balance: 1.1, moved: 0.1}))
		})
	}
}

func TestPeak(t *testing.T) {
	t.Parallel()
	var r result
	for _, m := range []move{{0, 1}, {900 * time.Millisecond, 2}, {time.Second, 4}, {1800 * time.Millisecond, 3}, {5 * time.Second, 8}} {
		r.add(m.at, m.share, 0, 0)
	}
	require.InDelta(t, 9, r.peak, 1e-12, "those at 0.9, 1 and 1.8 s")
	require.InDelta(t, 18, r.moved, 1e-12)
}
