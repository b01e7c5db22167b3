package main

import (
	"sync"
	"time"

	"orbweaver/core/placement"
)

// tick is how often the nodes look at the members: so often that two changes at
// different times are not one to them.
const tick = 100 * time.Millisecond

// pause is the virtual time between the end of an event and the next.
const pause = 20 * time.Second

// simulate runs the schedule and tells the result of each event.
func simulate(s settings, tell func(result)) {
	c := newCluster(s)
	w := newWorld(s)
	weights := c.weightsAt(c.now)
	placed := c.mapOf(weights)
	w.place(c, placed, weights, weights)
	for _, e := range c.schedule() {
		first := len(c.nodes)
		e.plan(c)
		r := result{at: c.now, name: e.name, joined: len(c.nodes) > first}
		for {
			next := c.weightsAt(c.now)
			if m := c.mapOf(next); !m.Equal(placed) {
				moved, stray := w.place(c, m, weights, next)
				r.add(c.now, float64(moved)/float64(s.hosts), shift(weights, next), stray)
				weights, placed = next, m
			}
			if c.settled() {
				break
			}
			c.now += tick
		}
		r.took = c.now - r.at
		r.balance, r.members = balance(w.owned, weights), len(placed.Members())
		tell(r)
		c.now += pause
	}
}

// mapOf returns the map of the nodes that have weight.
func (c *cluster) mapOf(weights []float64) *placement.Map {
	var members []placement.Member
	for i, weight := range weights {
		if weight > 0 {
			members = append(members, placement.Member{ID: c.nodes[i].id(), Weight: weight})
		}
	}
	return placement.New(members)
}

// world is who owns which host.
type world struct {
	names   names
	owners  []uint16 // a node's number by host
	owned   []int    // hosts by node's number
	workers int
}

func newWorld(s settings) *world {
	return &world{names: newNames(s.seed), owners: make([]uint16, s.hosts), workers: s.workers}
}

// place asks the map for the owner of every host. It returns how many hosts changed
// owner, and how many of those stray: they neither left a node whose weight fell nor
// came to one whose weight rose. The weights are those before and now, by number.
func (w *world) place(c *cluster, m *placement.Map, before, now []float64) (moved, stray int) {
	numbers := make(map[string]uint16, len(c.nodes))
	for _, n := range c.nodes {
		numbers[n.id()] = n.number
	}
	fell, rose := make([]bool, len(c.nodes)), make([]bool, len(c.nodes))
	for i := range now {
		var was float64
		if i < len(before) {
			was = before[i]
		}
		fell[i], rose[i] = now[i] < was, now[i] > was
	}
	w.owned = make([]int, len(c.nodes))

	var (
		mu sync.Mutex // guards moved, stray, w.owned
		wg sync.WaitGroup
	)
	share := (len(w.owners) + w.workers - 1) / w.workers
	for start := 0; start < len(w.owners); start += share {
		wg.Go(func() {
			owned := make([]int, len(c.nodes))
			var left, lost int
			w.each(start, min(start+share, len(w.owners)), func(host int, name string) {
				owner := numbers[m.Owner(name)]
				owned[owner]++
				if old := w.owners[host]; old != owner {
					left++
					if !fell[old] && !rose[owner] {
						lost++
					}
					w.owners[host] = owner
				}
			})
			mu.Lock()
			defer mu.Unlock()
			moved, stray = moved+left, stray+lost
			for i, n := range owned {
				w.owned[i] += n
			}
		})
	}
	wg.Wait()
	return moved, stray
}

// each calls f for the hosts from start up to end. The names are made anew each time:
// keeping ten million takes far more memory than the rest of the simulation.
func (w *world) each(start, end int, f func(host int, name string)) {
	const batch = 512 // so that one string holds many names
	var buf []byte
	ends := make([]int, 0, batch)
	for start < end {
		n := min(batch, end-start)
		buf, ends = buf[:0], ends[:0]
		for i := range n {
			buf = w.names.append(buf, start+i)
			ends = append(ends, len(buf))
		}
		all, from := string(buf), 0
		for i, to := range ends {
			f(start+i, all[from:to])
			from = to
		}
		start += n
	}
}
