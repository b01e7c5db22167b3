package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/placement"
)

// TestSimulate is the hundredth part of the simulation that the command is for: its
// limits are as much wider as chance has more say with fewer hosts.
func TestSimulate(t *testing.T) {
	t.Parallel()
	s := settings{
		nodes: 100, hosts: 100_000, weights: []float64{1, 1, 2, 4}, seed: 1,
		ramp: 10 * time.Second, ttl: 8 * time.Second, workers: 2,
	}
	var results []result
	simulate(s, func(r result) { results = append(results, r) })
	require.Len(t, results, len(newCluster(s).schedule()))
	for _, r := range results {
		t.Log(r)
		require.Empty(t, r.faults(limits{balance: 1.25, moved: 0.2}), r.name)
		if r.joined && r.ideal < 0.1 {
			require.GreaterOrEqual(t, r.took, s.ramp, r.name)
			require.Less(t, r.peak, 0.35*r.moved, "%s: not gradual", r.name)
		}
	}
	require.Zero(t, results[0].moved, "nothing happens at the start")
	require.Equal(t, s.ttl, results[4].took, "a killed node is a member until its time is over")
}

// TestSimulateIsRepeatable: the same settings have the same results, on however many
// processors; another seed has others.
func TestSimulateIsRepeatable(t *testing.T) {
	t.Parallel()
	all := func(seed uint64, workers int) []result {
		var results []result
		simulate(settings{nodes: 5, hosts: 1000, weights: []float64{1, 3}, seed: seed, ramp: 10 * time.Second, workers: workers},
			func(r result) { results = append(results, r) })
		return results
	}
	one := all(1, 1)
	require.Equal(t, one, all(1, 3))
	require.NotEqual(t, one, all(2, 1))
}

func TestPlaceCountsStrays(t *testing.T) {
	t.Parallel()
	s := settings{nodes: 3, hosts: 3000, weights: []float64{1}, workers: 2}
	c := newCluster(s)
	two, three, other := []float64{1, 1, 0}, []float64{1, 1, 1}, []float64{1, 2, 1}
	setup := func() *world {
		w := newWorld(s)
		w.place(c, c.mapOf(two), two, two)
		return w
	}

	w := setup()
	moved, stray := w.place(c, c.mapOf(three), two, three)
	require.InDelta(t, 1000, moved, 150)
	require.Zero(t, stray)
	require.Equal(t, moved, w.owned[2])

	moved, stray = setup().place(c, c.mapOf(three), two, two)
	require.Equal(t, moved, stray, "of nodes that are said not to have changed")
	require.Positive(t, stray)

	// A node that is called otherwise of a sudden takes from nodes that stay.
	renamed := placement.New([]placement.Member{{ID: "node-0", Weight: 1}, {ID: "node-2", Weight: 1}})
	_, stray = setup().place(c, renamed, two, []float64{0, 1, 0})
	require.Positive(t, stray)

	w = setup()
	moved, stray = w.place(c, c.mapOf(other), two, other)
	require.Positive(t, moved)
	require.Zero(t, stray, "two that rise may take from each other")
}

func TestNamesDiffer(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{0, 1, 1 << 63} {
		n := newNames(seed)
		seen := map[string]bool{}
		for i := range 200_000 {
			seen[string(n.append(nil, i))] = true
		}
		require.Len(t, seen, 200_000)
	}
	n := newNames(0)
	for i, want := range map[int]string{
		0: "baba.com", 1: "www.baba.com", 77: "news.baba.co.jp", 99_999: "en.ceca-media.de", 1 << 40: "buraracene.com",
	} {
		require.Equal(t, want, string(n.append(nil, i)))
	}
}

func TestEachGivesTheNamesOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(settings{hosts: 1300, seed: 4})
	next := 100
	w.each(100, 1300, func(host int, name string) {
		require.Equal(t, next, host)
		require.Equal(t, string(w.names.append(nil, host)), name)
		next++
	})
	require.Equal(t, 1300, next)
	w.each(7, 7, func(int, string) { t.Error("called for none") })
}

func TestSettled(t *testing.T) {
	t.Parallel()
	s := settings{nodes: 2, weights: []float64{1}, ramp: 10 * time.Second}
	tests := []struct {
		name string
		plan func(c *cluster)
		want time.Duration // when it settles
	}{
		{"nothing", func(*cluster) {}, 0},
		{"join", func(c *cluster) { c.add(0, 1) }, 10 * time.Second},
		{"later join", func(c *cluster) { c.add(time.Second, 1) }, 11 * time.Second},
		{"leave", func(c *cluster) { c.remove(0, 1) }, 0},
		{"kill", func(c *cluster) { c.remove(8*time.Second, 1) }, 8 * time.Second},
		{"one stays", func(c *cluster) { c.remove(0, 9) }, 0},
		{"killed within its ramp", func(c *cluster) { c.add(0, 1); c.nodes[2].gone = 3 * time.Second }, 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(s)
			tt.plan(c)
			for ; !c.settled(); c.now += tick {
				require.Less(t, c.now, time.Minute)
			}
			require.Equal(t, tt.want, c.now)
			require.Equal(t, c.weightsAt(c.now), c.weightsAt(time.Hour))
			require.Positive(t, sum(c.weightsAt(c.now)))
		})
	}
}
