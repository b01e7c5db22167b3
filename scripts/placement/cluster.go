package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"orbweaver/core/placement"
)

// node is one member of the simulated cluster. Times are since the start of the
// simulation.
type node struct {
	number uint16 // its own for ever: a node that comes back is another one
	weight float64
	joined time.Duration // below zero: at the start, so without a ramp
	gone   time.Duration // when the others stop counting it; never by default
}

func (n node) id() string { return fmt.Sprintf("node-%d", n.number) }

const never = time.Duration(1<<63 - 1)

// cluster is who is a member when.
type cluster struct {
	settings
	now    time.Duration
	nodes  []node // all there ever were, by number
	random *rand.Rand
}

func newCluster(s settings) *cluster {
	c := &cluster{settings: s, random: rand.New(rand.NewPCG(s.seed, 1))}
	for range s.nodes {
		c.add(-1, 0)
	}
	return c
}

// add lets one node join at that time. A weight of 0 is the next of the settings.
func (c *cluster) add(at time.Duration, weight float64) {
	if weight == 0 {
		weight = c.weights[len(c.nodes)%len(c.weights)]
	}
	c.nodes = append(c.nodes, node{number: uint16(len(c.nodes)), weight: weight, joined: at, gone: never})
}

// remove lets n of the members at that time, drawn at random, be gone from then on,
// but leaves one at least.
func (c *cluster) remove(at time.Duration, n int) {
	var staying []int
	for i, node := range c.nodes {
		if node.joined < c.now && node.gone == never {
			staying = append(staying, i)
		}
	}
	c.random.Shuffle(len(staying), func(i, j int) { staying[i], staying[j] = staying[j], staying[i] })
	for _, i := range staying[:max(0, min(n, len(staying)-1))] {
		c.nodes[i].gone = at
	}
}

// weightsAt returns by number what each node's weight counts for at that time, 0 when
// it is no member.
func (c *cluster) weightsAt(at time.Duration) []float64 {
	weights := make([]float64, len(c.nodes))
	for i, n := range c.nodes {
		switch {
		case n.joined > at || n.gone <= at:
		case n.joined < 0:
			weights[i] = n.weight
		default:
			weights[i] = placement.Ramp(n.weight, at-n.joined, c.ramp)
		}
	}
	return weights
}

// settled says whether nothing will change any more.
func (c *cluster) settled() bool {
	return !slices.ContainsFunc(c.nodes, func(n node) bool {
		return c.now < n.joined || n.joined >= 0 && c.now < n.joined+c.ramp && c.now < n.gone ||
			n.gone != never && c.now < n.gone
	})
}

// event is something that happens to the cluster.
type event struct {
	name string
	plan func(c *cluster) // what happens from c.now on
}

// schedule returns the events in their order; each starts when the one before has
// settled.
func (c *cluster) schedule() []event {
	lightest, heaviest := slices.Min(c.weights), slices.Max(c.weights)
	several, many := max(1, c.settings.nodes/20), max(1, c.settings.nodes/10)
	joins := func(n int) func(*cluster) {
		return func(c *cluster) {
			for range n {
				c.add(c.now, 0)
			}
		}
	}
	return []event{
		{"start", func(*cluster) {}},
		{"join of the lightest", func(c *cluster) { c.add(c.now, lightest) }},
		{"join of the heaviest", func(c *cluster) { c.add(c.now, heaviest) }},
		{"leave", func(c *cluster) { c.remove(c.now, 1) }},
		{"kill", func(c *cluster) { c.remove(c.now+c.ttl, 1) }},
		{fmt.Sprintf("join of %d at once", several), joins(several)},
		{fmt.Sprintf("leave of %d at once", several), func(c *cluster) { c.remove(c.now, several) }},
		{"kill during a join", func(c *cluster) {
			c.add(c.now, heaviest)
			c.remove(c.now+c.ramp/2+tick, 1) // between two steps of the join
		}},
		{fmt.Sprintf("kill of %d at once", many), func(c *cluster) { c.remove(c.now+c.ttl, many) }},
		{fmt.Sprintf("join of %d at once", many), joins(many)},
	}
}
