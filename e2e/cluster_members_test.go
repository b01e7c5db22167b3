package e2e

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/webtest"
)

// Killed with -9, a node's sites go on elsewhere as soon as its leases are over, and
// no sooner than their delay.
func TestClusterFailover(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 60, 3000)
	for _, name := range []string{"n1", "n2", "n3"} {
		c.join(name)
	}
	c.form(3)
	c.seed()
	hosts := c.owners()["n2"]
	c.nodes["n2"].kill()
	moved := c.handOvers(hosts, "n2", time.Now())
	longest := c.longest(moved, func(o handOver) time.Duration { return o.first.Start.Sub(o.last.Start) })
	require.LessOrEqual(t, longest, clusterTTL+max(2*time.Second, clusterDelay))
	c.polite(nil)
}

// A node that is told to stop leaves without a gap: its sites go on at their delay.
func TestClusterLeave(t *testing.T) {
	t.Parallel()
	const patient = 10 * time.Second
	c := newCluster(t, 60, 3000, "-s", "SHUTDOWN_TIMEOUT="+patient.String())
	for _, name := range []string{"n1", "n2", "n3"} {
		c.join(name)
	}
	c.form(3)
	c.seed()
	hosts := c.owners()["n2"]
	left := time.Now()
	c.nodes["n2"].signal(syscall.SIGTERM)
	require.Equal(t, 130, c.nodes["n2"].wait())
	require.Less(t, time.Since(left), patient)
	names, _ := c.members()
	require.Equal(t, []string{"n1", "n3"}, names)
	moved := c.handOvers(hosts, "n2", left)
	longest := c.longest(moved, func(o handOver) time.Duration { return o.first.Start.Sub(o.last.End) })
	require.LessOrEqual(t, longest, max(time.Second, clusterDelay))
	c.polite(nil)
	c.wasteless()
}

// A node that joins takes over its share step by step, nothing else moves, and no site
// notices.
func TestClusterJoin(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 60, 3000, "-s", "CLUSTER_RAMP=3")
	for _, name := range []string{"n1", "n2", "n3"} {
		c.join(name)
	}
	c.form(3)
	c.seed()
	// Until the first three have their whole weight.
	before := c.placed()
	eventually(t, func() bool { return slices.Equal(before, c.visitors()) }, "each host visited by its node")

	joined := time.Now()
	c.join("n4")
	after := c.placed()
	settled := func() bool { return slices.Equal(after, c.visitors()) }
	eventually(t, settled, "each host visited by its node")
	require.NoError(t, c.site.WaitCount(within(t), c.site.Count()+60*5)) // another second
	require.True(t, settled())

	share := 0
	var moved []time.Duration // when hosts moved, since the newcomer's first
	for h := range after {
		if after[h] != "n4" {
			require.Equal(t, before[h], after[h], "host %d moved between others", h)
		} else {
			share++
		}
		all := slices.DeleteFunc(c.site.Arrivals(h), func(a webtest.Arrival) bool { return a.Start.Before(joined) })
		for i := 1; i < len(all); i++ {
			was, is := all[i-1], all[i]
			// Slack for a machine that is busy with starting a node and other tests.
			require.Less(t, is.Start.Sub(was.Start), clusterDelay+2*time.Second, "host %d stood still", h)
			if was.Agent != is.Agent {
				require.Equal(t, "n4", is.Agent, "host %d moved twice", h)
				moved = append(moved, is.Start.Sub(joined))
			}
		}
	}
	slices.Sort(moved)
	t.Logf("hosts of the newcomer: %d, from %s to %s after its start", share, moved[0], moved[len(moved)-1])
	require.InDelta(t, 60/4, share, 11) // of 60 draws at 1/4: 3.3 times their deviation
	require.Len(t, moved, share)
	require.Greater(t, moved[len(moved)-1]-moved[0], time.Second, "not all at once")
	c.polite(nil)
	c.wasteless()
}

// A node that was frozen while the others took over ends with a code of its own when
// it wakes, and sends nothing more.
func TestClusterEviction(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 30, 3000)
	for _, name := range []string{"n1", "n2", "n3"} {
		c.join(name)
	}
	c.form(3)
	c.seed()
	hosts := c.owners()["n2"]
	n2 := c.nodes["n2"]
	n2.signal(syscall.SIGSTOP)
	frozen := time.Now().Add(50 * time.Millisecond) // by then all its threads have seen it
	c.handOvers(hosts, "n2", frozen)
	eventually(t, func() bool {
		names, _ := c.members()
		return slices.Equal(names, []string{"n1", "n3"})
	}, "the others gave it up")
	n2.signal(syscall.SIGCONT)
	require.Equal(t, 5, n2.wait())
	require.Contains(t, n2.err.String(), "given this one up")

	residue := func(a webtest.Arrival) bool { return a.Agent == "n2" && a.Start.After(frozen) }
	c.polite(residue)
	for h := range c.site.Hosts() {
		all := c.site.Arrivals(h)
		late := len(all) - len(slices.DeleteFunc(all, residue))
		require.LessOrEqual(t, late, 1, "host %d: more than what was on its way", h)
	}
}

// The weight of a node is its share.
func TestClusterWeights(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 80, 4)
	c.join("light", "-s", "CLUSTER_WEIGHT=1")
	c.join("heavy", "-s", "CLUSTER_WEIGHT=3")
	c.form(2)
	c.seed()
	requireExact(t, c.site, stored(t, c.rdb, "shop", 80*4))
	pages := map[string]int{}
	for _, a := range c.site.Arrivals(-1) {
		pages[a.Agent]++
	}
	share := float64(pages["heavy"]) / float64(pages["heavy"]+pages["light"])
	require.InDelta(t, 0.75, share, 0.15)
}
