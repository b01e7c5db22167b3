package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/webtest"
)

// TestPoliteness: what counts as too early and too many, and what a frozen process
// excuses.
func TestPoliteness(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	// visit is a request of an agent from one time to another, ms; to < 0: it never ended.
	visit := func(agent string, from, to int) webtest.Arrival {
		a := webtest.Arrival{Agent: agent, Start: at(from)}
		if to >= 0 {
			a.End = at(to)
		}
		return a
	}
	for _, tt := range []struct {
		name           string
		freezes        []freeze
		visits         []webtest.Arrival
		early, flying  int // breaches
		residueOfThose int
	}{
		{name: "on time", visits: []webtest.Arrival{visit("a", 0, 20), visit("b", 196, 210), visit("a", 400, 410)}},
		{name: "too early", visits: []webtest.Arrival{visit("a", 0, 20), visit("b", 194, 210)}, early: 1},
		{name: "two at once", visits: []webtest.Arrival{visit("a", 0, 250), visit("b", 200, 260)}, flying: 1},
		{name: "one that never ended", visits: []webtest.Arrival{visit("a", 0, -1), visit("b", 300, 310), visit("b", 600, 610)}, flying: 2},
		{name: "ends as the next begins", visits: []webtest.Arrival{visit("a", 0, 200), visit("b", 200, 210)}},
		{
			name: "written before it was stopped", freezes: []freeze{{"a", at(50), at(5000)}},
			visits: []webtest.Arrival{visit("b", 4900, 4910), visit("a", 5010, 5020)}, early: 1, residueOfThose: 1,
		},
		{
			name: "more than it can have had", freezes: []freeze{{"a", at(50), at(5000)}},
			visits: []webtest.Arrival{visit("a", 5010, 5020), visit("a", 5050, 5060), visit("a", 5090, 5095)}, early: 2,
		},
		{
			name: "long after it went on", freezes: []freeze{{"a", at(50), at(5000)}},
			visits: []webtest.Arrival{visit("b", 6400, 6410), visit("a", 6450, 6460)}, early: 1,
		},
		{
			name: "another was stopped", freezes: []freeze{{"c", at(50), at(5000)}},
			visits: []webtest.Arrival{visit("b", 4900, 4910), visit("a", 5010, 5020)}, early: 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := politeness{delay: 200 * time.Millisecond, concurrency: 1, start: begin, freezes: tt.freezes}
			counts, residue := map[string]int{}, 0
			for _, b := range p.judge("h", tt.visits) {
				counts[b.Rule]++
				if b.Residue {
					residue++
				}
			}
			require.Equal(t, tt.early, counts["delay"])
			require.Equal(t, tt.flying, counts["in flight"])
			require.Equal(t, tt.residueOfThose, residue)
		})
	}
}
