package rqueue

import "slices"

// Fault points: each call to Redis has a name, and a point just before it is
// written and one just after its reply, or its failure. The steps of one
// Frontier.Do share a round trip: each has its points around the whole of it.
const (
	faultBefore = ".before"
	faultAfter  = ".after"
)

// The calls that are no scripts.
const (
	callExportPosition = "export_position"
	callExportForget   = "export_forget"
	callSeedHosts      = "seed_hosts_read"
)

// FaultPoints lists every point that Config.Fault is told, sorted. Looking at the
// store (Ping, connecting, loading scripts, reading counts) has none: nothing of
// a request changes there.
func FaultPoints() []string {
	calls := []string{callExportPosition, callExportForget, callSeedHosts}
	for name := range new(scripts).named() {
		calls = append(calls, name)
	}
	points := make([]string, 0, 2*len(calls))
	for _, c := range calls {
		points = append(points, c+faultBefore, c+faultAfter)
	}
	slices.Sort(points)
	return points
}

func (f *Frontier) fault(point string) {
	if f.cfg.Fault != nil {
		f.cfg.Fault(point)
	}
}

// faults tells the points before or after the calls of one pipeline.
func (f *Frontier) faults(used []*script, after bool) {
	if f.cfg.Fault == nil {
		return
	}
	for _, s := range used {
		if after {
			f.cfg.Fault(s.after)
		} else {
			f.cfg.Fault(s.before)
		}
	}
}
