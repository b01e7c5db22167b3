package placement

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOwner(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		members []Member
		want    []string // who may own a slot, all of them owning some
	}{
		{"nobody", nil, []string{""}},
		{"nobody with weight", []Member{{"a", 0}, {"b", -1}, {"c", math.NaN()}, {"d", math.Inf(1)}, {"e", math.Inf(-1)}}, []string{""}},
		{"without an id", []Member{{"", 1}}, []string{""}},
		{"alone", []Member{{"a", 0.25}}, []string{"a"}},
		{"one with weight", []Member{{"a", 0}, {"b", 3}, {"c", math.NaN()}}, []string{"b"}},
		{"equal", []Member{{"a", 2}, {"b", 2}}, []string{"a", "b"}},
		{"equal, one without weight", []Member{{"a", 2}, {"b", 0}, {"c", 2}}, []string{"a", "c"}},
		{"different", []Member{{"a", 1}, {"b", 2}, {"c", 3}}, []string{"a", "b", "c"}},
		{"first of the same id wins", []Member{{"b", 1}, {"a", 1}, {"b", 0}, {"a", 0}}, []string{"a", "b"}},
		{"first of the same id has no weight", []Member{{"a", 1}, {"b", 0}, {"b", 1}}, []string{"a"}},
		{"vanishing", []Member{{"a", math.SmallestNonzeroFloat64}, {"b", 1}}, []string{"b"}},
		{"all vanishing", []Member{{"a", math.SmallestNonzeroFloat64}, {"b", 2 * math.SmallestNonzeroFloat64}}, []string{"a"}},
		{"all huge", []Member{{"a", math.MaxFloat64}, {"b", math.MaxFloat64}}, []string{"a", "b"}},
		{"far apart", []Member{{"a", 1e-200}, {"b", 1e200}}, []string{"b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := New(tt.members)
			owned := map[string]int{}
			for i := range 1000 {
				slot := fmt.Sprintf("www%d.example.com", i)
				owner := m.Owner(slot)
				owned[owner]++
				require.Equal(t, owner, m.Owner(slot))
				require.Equal(t, owner != "", m.Owns(owner, slot))
				require.False(t, m.Owns("nobody", slot))
			}
			require.Len(t, owned, len(tt.want))
			for _, id := range tt.want {
				require.Positive(t, owned[id], id)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	given := []Member{{"c", 1}, {"a", 2}, {"", 4}, {"b", -3}, {"a", 5}, {"d", math.NaN()}}
	m := New(given)
	want := []Member{{"a", 2}, {"b", 0}, {"c", 1}, {"d", 0}}
	require.Equal(t, want, m.Members())
	require.Equal(t, []Member{{"c", 1}, {"a", 2}, {"", 4}, {"b", -3}, {"a", 5}}, given[:5], "what is given stays")

	given[1].Weight = 0
	m.Members()[0].ID = "z"
	require.Equal(t, want, m.Members(), "what is given or returned is a copy")
	require.Empty(t, New(nil).Members())
}

func TestEqual(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		a, b []Member
		want bool
	}{
		{"none", nil, []Member{}, true},
		{"one and none", []Member{{"a", 1}}, nil, false},
		{"order", []Member{{"a", 1}, {"b", 2}}, []Member{{"b", 2}, {"a", 1}}, true},
		{"weight", []Member{{"a", 1}, {"b", 2}}, []Member{{"a", 1}, {"b", 1}}, false},
		{"id", []Member{{"a", 1}}, []Member{{"b", 1}}, false},
		{"kinds of no weight", []Member{{"a", math.NaN()}}, []Member{{"a", -1}}, true},
		{"without weight is a member", []Member{{"a", 1}}, []Member{{"a", 1}, {"b", 0}}, false},
		{"duplicate", []Member{{"a", 1}, {"a", 2}}, []Member{{"a", 1}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, b := New(tt.a), New(tt.b)
			require.Equal(t, tt.want, a.Equal(b))
			require.Equal(t, tt.want, b.Equal(a))
			require.True(t, a.Equal(a)) //nolint:gocritic // each map equals itself
		})
	}
}

func TestNilMap(t *testing.T) {
	t.Parallel()
	var m *Map
	require.Empty(t, m.Owner("example.com"))
	require.False(t, m.Owns("", "example.com"))
	require.False(t, m.Owns("a", "example.com"))
	require.Empty(t, m.Members())
	require.True(t, m.Equal(nil))
	require.True(t, m.Equal(New(nil)))
	require.True(t, New(nil).Equal(m))
	require.False(t, m.Equal(New([]Member{{"a", 1}})))
}

// TestShares counts what members own against their weights, on slots and members as
// alike as they are in life.
func TestShares(t *testing.T) {
	t.Parallel()
	const slots = 200_000
	tests := []struct {
		name    string
		weights []float64
	}{
		{"two equal", []float64{1, 1}},
		{"ten equal", []float64{3, 3, 3, 3, 3, 3, 3, 3, 3, 3}},
		{"different", []float64{1, 1, 2, 4}},
		{"fractions", []float64{0.1, 1, 0.5, 0.1, 0.3}},
		{"one large", []float64{100, 1, 1, 1, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			members := make([]Member, len(tt.weights))
			var total float64
			for i, w := range tt.weights {
				members[i] = Member{fmt.Sprintf("node-%d", i), w}
				total += w
			}
			m := New(members)
			owned := map[string]float64{}
			for i := range slots {
				owned[m.Owner(fmt.Sprintf("shop%d.example.com", i))]++
			}
			for _, member := range members {
				p := member.Weight / total
				sigma := math.Sqrt(slots * p * (1 - p))
				require.InDelta(t, slots*p, owned[member.ID], 5*sigma, member.ID)
			}
		})
	}
}

func TestOwnerAllocatesNothing(t *testing.T) {
	for _, members := range [][]Member{{{"a", 1}, {"b", 1}}, {{"a", 1}, {"b", 2}, {"c", 3}}} {
		m := New(members)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if !m.Owns("a", "www.example.com") && m.Owner("example.org") == "" {
				panic("nobody")
			}
		}))
	}
}
