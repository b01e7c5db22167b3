package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// result is what an event did. Shares are of all hosts.
type result struct {
	at, took time.Duration // in virtual time
	name     string
	joined   bool    // someone joined
	members  int     // at the end
	balance  float64 // at the end: the most hosts per unit of weight by the mean
	moved    float64 // share that changed owner
	ideal    float64 // share that had to
	peak     float64 // the largest share moved within a second
	stray    int     // hosts that moved between nodes nothing had happened to

	last []move // within a second
}

// move is a share that moved at one time.
type move struct {
	at    time.Duration
	share float64
}

// add adds what one change of the map moved.
func (r *result) add(at time.Duration, moved, ideal float64, stray int) {
	r.moved += moved
	r.ideal += ideal
	r.stray += stray
	r.last = slices.DeleteFunc(r.last, func(m move) bool { return m.at <= at-time.Second })
	r.last = append(r.last, move{at, moved})
	var within float64
	for _, m := range r.last {
		within += m.share
	}
	r.peak = max(r.peak, within)
}

// limits are what a result may not pass.
type limits struct {
	balance float64 // reached is passed
	moved   float64 // how far the moved share may be off the ideal, as a share of it
}

func (r result) faults(l limits) []string {
	var faults []string
	if !(r.balance < l.balance) {
		faults = append(faults, fmt.Sprintf("balance is %.4f, not below %g", r.balance, l.balance))
	}
	if math.Abs(r.moved-r.ideal) > l.moved*r.ideal {
		faults = append(faults, fmt.Sprintf("moved %.4f%%, ideal is %.4f%%", 100*r.moved, 100*r.ideal))
	}
	if r.stray > 0 {
		faults = append(faults, fmt.Sprintf("%d hosts moved between nodes that did not change", r.stray))
	}
	return faults
}

const header = "     at   took  event                   nodes  max/mean    moved    ideal  off by  most in 1 s  stray"

func (r result) String() string {
	off, peak := "-", "-"
	if r.ideal > 0 {
		off = fmt.Sprintf("%+.2f%%", 100*(r.moved/r.ideal-1))
	}
	if r.joined {
		peak = fmt.Sprintf("%.4f%%", 100*r.peak)
	}
	return fmt.Sprintf("%7s %6s  %-22s %6d  %8.4f %7.4f%% %7.4f%% %7s %12s %6d",
		r.at, r.took, r.name, r.members, r.balance, 100*r.moved, 100*r.ideal, off, peak, r.stray)
}

// shift returns the share of the hosts that has to move when weights change: what
// those own together that own more afterwards, less what they owned before.
func shift(before, now []float64) float64 {
	a, b := sum(before), sum(now)
	var share float64
	for i, weight := range now {
		var was float64
		if i < len(before) {
			was = before[i]
		}
		share += max(0, weight/b-was/a)
	}
	return share
}

// balance returns the most hosts per unit of weight that a node owns, by the mean.
func balance(owned []int, weights []float64) float64 {
	var most float64
	hosts := 0
	for i, weight := range weights {
		hosts += owned[i]
		if weight > 0 {
			most = max(most, float64(owned[i])/weight)
		}
	}
	return most / (float64(hosts) / sum(weights))
}

func sum(weights []float64) float64 {
	var total float64
	for _, weight := range weights {
		total += weight
	}
	return total
}
