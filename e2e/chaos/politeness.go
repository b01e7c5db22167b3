package chaos

import (
	"slices"
	"time"

	"orbweaver/internal/webtest"
)

// earliness is by how much a request may come before its time: what the promise
// allows.
const earliness = 5 * time.Millisecond

// thaw is how long after SIGCONT a process may still send what it had decided to
// send before it was stopped.
const thaw = time.Second

// freeze is a time during which a process was stopped.
type freeze struct {
	agent    string
	from, to time.Time // to zero: to the end
}

// stale reports whether a request may be one that a frozen process had decided on
// before it was stopped.
func (f freeze) stale(a webtest.Arrival) bool {
	return a.Agent == f.agent && !a.Start.Before(f.from) && (f.to.IsZero() || !a.Start.After(f.to.Add(thaw)))
}

// Breach is a request that a host should not have seen, or not yet.
type Breach struct {
	Host    string   `json:"host"`
	Rule    string   `json:"rule"`  // "delay" or "in flight"
	AtMS    float64  `json:"at_ms"` // since the start of the run
	GapMS   float64  `json:"gap_ms,omitempty"`
	Flight  int      `json:"in_flight,omitempty"`
	Agents  []string `json:"agents"` // of the request before, and of this one
	Paths   []string `json:"paths"`
	Residue bool     `json:"residue,omitempty"` // of a frozen process, within the bound
}

// politeness judges the requests that one host saw, in order of their start.
type politeness struct {
	delay       time.Duration
	concurrency int
	start       time.Time // of the run
	freezes     []freeze
}

func (p politeness) judge(host string, all []webtest.Arrival) []Breach {
	var out []Breach
	var stale [][]int // of each breach: the freezes that may excuse it, by index; and their requests
	late := map[int]map[int]bool{}
	excuse := func(of ...int) {
		var by []int
		for fi, f := range p.freezes {
			for _, i := range of {
				if f.stale(all[i]) {
					by = append(by, fi)
					if late[fi] == nil {
						late[fi] = map[int]bool{}
					}
					late[fi][i] = true
				}
			}
		}
		stale = append(stale, by)
	}
	breach := func(rule string, prev, i int) Breach {
		return Breach{
			Host: host, Rule: rule, AtMS: float64(all[i].Start.Sub(p.start).Microseconds()) / 1e3,
			Agents: []string{all[prev].Agent, all[i].Agent}, Paths: []string{all[prev].Path, all[i].Path},
		}
	}
	var flying []int
	for i, a := range all {
		flying = slices.DeleteFunc(flying, func(j int) bool { return !all[j].End.IsZero() && !all[j].End.After(a.Start) })
		flying = append(flying, i)
		if len(flying) > p.concurrency {
			b := breach("in flight", flying[len(flying)-2], i)
			b.Flight = len(flying)
			out = append(out, b)
			excuse(flying...)
		}
		if i == 0 {
			continue
		}
		if gap := a.Start.Sub(all[i-1].Start); gap < p.delay-earliness {
			b := breach("delay", i-1, i)
			b.GapMS = float64(gap.Microseconds()) / 1e3
			out = append(out, b)
			excuse(i-1, i)
		}
	}
	// The bound of the residue: at most its concurrency for each freeze.
	for i := range out {
		out[i].Residue = slices.ContainsFunc(stale[i], func(fi int) bool { return len(late[fi]) <= p.concurrency })
	}
	return out
}

// byHost are the requests of each host, in order of their start.
func byHost(all []webtest.Arrival, hosts int) [][]webtest.Arrival {
	out := make([][]webtest.Arrival, hosts)
	for _, a := range all {
		if a.Host >= 0 && a.Host < hosts {
			out[a.Host] = append(out[a.Host], a)
		}
	}
	for _, h := range out {
		slices.SortStableFunc(h, func(a, b webtest.Arrival) int { return a.Start.Compare(b.Start) })
	}
	return out
}
