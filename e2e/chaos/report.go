package chaos

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Fault is a fault as it happened.
type Fault struct {
	Kind   Kind   `json:"kind"`
	Target string `json:"target"` // the process's User-Agent, or "redis"
	Detail string `json:"detail,omitempty"`
	AtMS   int64  `json:"at_ms"`    // since the start of the run
	EndMS  int64  `json:"until_ms"` // 0: it did not end
	// Requests came while it lasted; ResumedMS after its end the target (or, after a
	// fault of Redis, anybody) was heard again; 0: never.
	Requests  int   `json:"requests"`
	ResumedMS int64 `json:"resumed_ms"`

	at, until time.Duration
}

func (f *Fault) end(at time.Duration) {
	f.until = at
	f.EndMS = at.Milliseconds()
}

// Exit is a node that ended though nobody had asked it to.
type Exit struct {
	Agent string `json:"agent"`
	Code  int    `json:"code"`
	AtMS  int64  `json:"at_ms"`
	Said  string `json:"said"` // its last words
}

// Report is what came of a run.
type Report struct {
	Seed        uint64    `json:"seed"`
	Began       time.Time `json:"began"`
	Nodes       int       `json:"nodes"`
	Hosts       int       `json:"hosts"`
	DelayMS     int64     `json:"delay_ms"`
	Concurrency int       `json:"concurrency"`
	ChaosMS     int64     `json:"chaos_ms"`
	DrainMS     int64     `json:"drain_ms"`

	Requests  int `json:"requests"` // robots.txt included
	Pages     int `json:"pages"`    // that were seeded or linked
	Items     int `json:"items"`
	Refetched int `json:"refetched"` // answers 200 beyond the first of a page

	Violations int      `json:"violations"` // of the delay and the limit
	Residue    int      `json:"residue"`    // those of frozen processes, within the bound
	Breaches   []Breach `json:"breaches"`   // of both, the first ones

	Lost         int      `json:"lost"`
	LostPages    []string `json:"lost_pages,omitempty"`
	Doubled      int      `json:"doubled"`
	DoubledPages []string `json:"doubled_pages,omitempty"`
	Strange      []string `json:"strange,omitempty"` // items of pages that were never to be had
	Dead         int      `json:"dead"`              // requests given up

	InvariantsKnown bool                          `json:"invariants_known"` // some node counts them
	Invariants      map[string]map[string]float64 `json:"invariants,omitempty"`

	LeaseSlots    int      `json:"lease_slots"` // whose history was judged; 0: none was written
	LeaseOps      int      `json:"lease_ops"`
	LeaseFaults   int      `json:"lease_faults"`
	LeaseUnknown  int      `json:"lease_unknown"` // slots that took too long to judge
	LeaseEvidence []string `json:"lease_evidence,omitempty"`

	Crashes []string        `json:"crashes,omitempty"` // panics, data races
	Hangs   []string        `json:"hangs,omitempty"`   // nodes that did not end when told to
	Exits   []Exit          `json:"exits,omitempty"`
	Faults  []*Fault        `json:"faults"`
	Passed  int             `json:"passed"` // faults that found too few healthy nodes
	Missing map[Kind]string `json:"missing,omitempty"`
}

// note begins a fault in the report, and tells of it.
func (r *run) note(k Kind, target, detail string) *Fault {
	at := r.now()
	f := &Fault{Kind: k, Target: target, Detail: detail, AtMS: at.Milliseconds(), at: at}
	r.report.Faults = append(r.report.Faults, f)
	fmt.Fprintf(r.cfg.Log, "chaos: %7.1fs %-12s %s %s\n", at.Seconds(), k, target, detail)
	return f
}

// Bad tells what is wrong; empty: nothing is.
func (rep *Report) Bad() []string {
	var out []string
	say := func(n int, format string) {
		if n > 0 {
			out = append(out, fmt.Sprintf(format, n))
		}
	}
	say(rep.Violations, "%d requests too early or too many at once")
	say(rep.Lost, "%d pages lost")
	say(rep.Doubled, "%d items too many")
	say(len(rep.Strange), "%d items of pages that nobody linked to")
	say(rep.LeaseFaults, "%d slots with an impossible lease history")
	say(len(rep.Invariants), "%d processes counted broken invariants")
	say(len(rep.Crashes), "%d crashes")
	say(len(rep.Hangs), "%d nodes hung")
	return out
}

// WriteText writes the report for people.
func (rep *Report) WriteText(w io.Writer) {
	p := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	p("seed %d: %d nodes, %d hosts, delay %d ms, %d at once; %.0f s of faults, %.0f s to the end",
		rep.Seed, rep.Nodes, rep.Hosts, rep.DelayMS, rep.Concurrency, float64(rep.ChaosMS)/1e3, float64(rep.DrainMS)/1e3)
	p("requests %d, pages %d, items %d, refetched %d, given up %d", rep.Requests, rep.Pages, rep.Items, rep.Refetched, rep.Dead)
	p("violations %d, residue of frozen processes %d, lost %d, doubled %d, strange %d",
		rep.Violations, rep.Residue, rep.Lost, rep.Doubled, len(rep.Strange))
	if rep.LeaseSlots > 0 {
		p("lease histories: %d operations on %d slots, %d impossible, %d not judged in time", rep.LeaseOps, rep.LeaseSlots, rep.LeaseFaults, rep.LeaseUnknown)
	} else {
		p("lease histories: none were written")
	}
	if !rep.InvariantsKnown {
		p("invariants: no node counts them")
	}
	rep.writeFaults(p)
	for _, b := range rep.Breaches[:min(len(rep.Breaches), 30)] {
		word := "VIOLATION"
		if b.Residue {
			word = "residue"
		}
		p("%s %9.3f s %s %s: gap %.1f ms, in flight %d, %s", word, b.AtMS/1e3, b.Host, b.Rule, b.GapMS, b.Flight,
			strings.Join(b.Agents, " then ")+", "+strings.Join(b.Paths, " then "))
	}
	show := func(word string, lines []string) {
		for _, l := range lines[:min(len(lines), 20)] {
			p("%s %s", word, l)
		}
	}
	show("LOST", rep.LostPages)
	show("DOUBLED", rep.DoubledPages)
	show("STRANGE", rep.Strange)
	show("LEASE", rep.LeaseEvidence)
	show("CRASH", rep.Crashes)
	show("HANG", rep.Hangs)
	for proc, values := range rep.Invariants {
		p("INVARIANT %s %v", proc, values)
	}
	for _, e := range rep.Exits[:min(len(rep.Exits), 20)] {
		lines := strings.Split(strings.TrimSpace(e.Said), "\n")
		p("exit %d of %s at %.1f s: %s", e.Code, e.Agent, float64(e.AtMS)/1e3, lines[len(lines)-1])
	}
	if bad := rep.Bad(); len(bad) > 0 {
		p("BAD: %s", strings.Join(bad, "; "))
	} else {
		p("good")
	}
}

// writeFaults writes a line for each kind of fault.
func (rep *Report) writeFaults(p func(string, ...any)) {
	for _, k := range append(Kinds(), Evicted) {
		var n, requests int
		var lasted time.Duration
		var resumed []int64
		for _, f := range rep.Faults {
			if f.Kind != k {
				continue
			}
			n++
			requests += f.Requests
			lasted += max(f.until-f.at, 0)
			if f.ResumedMS > 0 {
				resumed = append(resumed, f.ResumedMS)
			}
		}
		why := rep.Missing[k]
		switch {
		case n > 0 && len(resumed) > 0:
			p("%-12s %3d times, %6.1f s in all, %6d requests meanwhile, heard again after %d ms (most %d ms)",
				k, n, lasted.Seconds(), requests, median(resumed), slices.Max(resumed))
		case n > 0:
			p("%-12s %3d times, %6.1f s in all, %6d requests meanwhile", k, n, lasted.Seconds(), requests)
		case why != "":
			p("%-12s not drawn: %s", k, why)
		}
	}
	if rep.Passed > 0 {
		p("%d faults found too few healthy nodes", rep.Passed)
	}
}

func median(all []int64) int64 {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}
