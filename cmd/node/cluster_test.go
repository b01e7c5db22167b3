package main

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/cluster"
	"orbweaver/core/placement"
)

// fixed is a cluster whose members a test says.
type fixed struct {
	topology  *cluster.Topology
	placement *placement.Map
}

func (f *fixed) set(members ...cluster.Member) {
	f.topology = &cluster.Topology{Members: members, At: time.Now()}
	f.placement = f.topology.Placement(time.Now(), 0)
}

func (f *fixed) Start(context.Context) error { return nil }
func (f *fixed) Topology() *cluster.Topology { return f.topology }
func (f *fixed) Placement() *placement.Map   { return f.placement }
func (f *fixed) Fence() time.Time            { return time.Now().Add(time.Hour) }
func (f *fixed) Evicted() <-chan struct{}    { return nil }
func (f *fixed) Watch() <-chan struct{}      { return nil }
func (f *fixed) Leave(context.Context) error { return nil }
func (f *fixed) Close()                      {}

// TestPlaces: a slot belongs to one of the nodes that serve the crawl; a node that leaves
// has none.
func TestPlaces(t *testing.T) {
	t.Parallel()
	f := &fixed{}
	var provider cluster.Provider = f
	nodes := map[string]*places{}
	for _, id := range []string{"all1", "all2", "shop", "news"} {
		nodes[id] = &places{self: id}
		require.False(t, nodes[id].Mine("a.test", "shop"), "it has not joined")
		require.True(t, nodes[id].Fence().IsZero())
		nodes[id].provider.Store(&provider)
	}
	// owners counts whose 300 slots are, for a crawl.
	owners := func(crawl string) map[string]int {
		out := map[string]int{}
		for i := range 300 {
			n := 0
			for id, p := range nodes {
				if p.Mine(strconv.Itoa(i)+".test", crawl) {
					out[id]++
					n++
				}
			}
			require.LessOrEqual(t, n, 1)
			if m, ok := nodes["all1"].Owner(strconv.Itoa(i)+".test", crawl); ok {
				require.Equal(t, 1, n, m.ID)
			}
		}
		return out
	}
	only := func(id, crawl string) cluster.Member { return cluster.Member{ID: id, Weight: 1, Crawl: crawl} }

	f.set(only("shop", "shop"), only("news", "news"))
	require.Equal(t, map[string]int{"shop": 300}, owners("shop"), "the other does not serve it")
	require.Equal(t, map[string]int{"news": 300}, owners("news"))
	require.Empty(t, owners("else"))

	f.set(only("all1", ""), only("all2", ""), only("shop", "shop"), only("news", "news"))
	shop, other := owners("shop"), owners("else")
	require.Len(t, shop, 3)
	require.InDelta(t, 100, shop["shop"], 40)
	require.Len(t, other, 2)
	require.InDelta(t, 150, other["all1"], 50)

	nodes["all1"].left.Store(true)
	for i := range 300 {
		slot := strconv.Itoa(i) + ".test"
		require.False(t, nodes["all1"].Mine(slot, "else"))
		m, ok := nodes["all1"].Owner(slot, "else")
		require.True(t, ok)
		require.Equal(t, "all2", m.ID)
	}
}
