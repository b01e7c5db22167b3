package placement

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const slotsPerDraw = 300

// drawMembers draws members of distinct IDs, all of one weight in half of the draws.
func drawMembers(t *rapid.T) []Member {
	id := rapid.OneOf(rapid.StringMatching(`node-[0-9]{1,3}`), rapid.StringMatching(`10\.0\.0\.[0-9]{1,3}:8090`), rapid.StringN(1, 8, -1))
	ids := rapid.SliceOfNDistinct(id, 1, 12, rapid.ID).Draw(t, "ids")
	weight := rapid.OneOf(rapid.SampledFrom([]float64{0, 0.1, 0.5, 1, 2, 4}), rapid.Float64Range(0.001, 1000))
	if rapid.Bool().Draw(t, "equal") {
		weight = rapid.Just(weight.Draw(t, "weight"))
	}
	members := make([]Member, len(ids))
	for i, id := range ids {
		members[i] = Member{id, weight.Draw(t, "weight of "+id)}
	}
	return members
}

func drawSlots(t *rapid.T) []string {
	slots := make([]string, 0, slotsPerDraw+1)
	prefix := rapid.StringN(0, 6, -1).Draw(t, "prefix")
	for i := range slotsPerDraw {
		slots = append(slots, fmt.Sprintf("%s%d.example.com", prefix, i))
	}
	return append(slots, rapid.String().Draw(t, "slot"))
}

// TestChangeMovesOnlyWhatItMust: whatever happens to one member's weight, being no
// member included, a slot moves only between this member and another; towards it when
// the weight rises, away when it falls.
func TestChangeMovesOnlyWhatItMust(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members := drawMembers(t)
		one := rapid.IntRange(0, len(members)-1).Draw(t, "one")
		id, low := members[one].ID, members[one].Weight
		high := rapid.OneOf(
			rapid.Float64Range(low, 2000),
			rapid.Just(math.Nextafter(low, math.MaxFloat64)),
			rapid.Just(max(low, members[0].Weight)), // perhaps as all the others
		).Draw(t, "high")
		without := New(append(append([]Member(nil), members[:one]...), members[one+1:]...))
		before := New(members)
		members[one].Weight = high
		after := New(members)
		for _, slot := range drawSlots(t) {
			a, b, c := without.Owner(slot), before.Owner(slot), after.Owner(slot)
			if b != a && b != id {
				t.Fatalf("join of %q moved %q from %q to %q", id, slot, a, b)
			}
			if c != b && c != id {
				t.Fatalf("raise of %q moved %q from %q to %q", id, slot, b, c)
			}
		}
	})
}

// TestOrderDoesNotMatter: nor do duplicates after the first, or the slice given.
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members := drawMembers(t)
		other := rapid.Permutation(members).Draw(t, "permutation")
		for _, m := range members {
			other = append(other, Member{m.ID, m.Weight + 1})
		}
		a, b := New(members), New(other)
		require.True(t, a.Equal(b))
		for _, slot := range drawSlots(t) {
			if a.Owner(slot) != b.Owner(slot) {
				t.Fatalf("%q is owned by %q or %q", slot, a.Owner(slot), b.Owner(slot))
			}
		}
	})
}

// TestOwnerHasTheHighestScore holds Owner, with its short cuts, against the rule as
// the package comment writes it.
func TestOwnerHasTheHighestScore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := New(drawMembers(t))
		for _, slot := range drawSlots(t) {
			best, owner := math.Inf(-1), ""
			for _, member := range m.Members() {
				if member.Weight == 0 {
					continue
				}
				u := (float64(draw(hash(slot), hash(member.ID))) + 0.5) / (1 << drawBits)
				if score := -member.Weight / math.Log(u); score > best {
					best, owner = score, member.ID
				}
			}
			if got := m.Owner(slot); got != owner {
				t.Fatalf("%q: got %q, want %q", slot, got, owner)
			}
		}
	})
}

// TestEqualWeightsNeedNoLogarithm: comparing draws is comparing costs, also of the
// closest draws there are, whatever the weight.
func TestEqualWeightsNeedNoLogarithm(t *testing.T) {
	t.Parallel()
	const top = 1<<drawBits - 1
	rapid.Check(t, func(t *rapid.T) {
		c := newCost(rapid.Float64Range(1e-6, 1e6).Draw(t, "weight"))
		d := rapid.OneOf(
			rapid.Uint64Range(1, top),
			rapid.Map(rapid.Uint64Range(0, 1<<20), func(below uint64) uint64 { return top - below }),
			rapid.Uint64Range(1, 1<<20),
		).Draw(t, "draw")
		lower, higher := c.of(gap(d-1)), c.of(gap(d))
		if !(lower > higher) || !(higher > 0) {
			t.Fatalf("draws %d and %d cost %g and %g", d-1, d, lower, higher)
		}
		if floor := gap(d) * c.floor; floor >= higher {
			t.Fatalf("draw %d costs %g, less than %g", d, higher, floor)
		}
	})

	rapid.Check(t, func(t *rapid.T) {
		m := New(drawMembers(t))
		costs := make([]cost, len(m.hashes))
		if len(costs) == 0 {
			return
		}
		equal := newCost(rapid.Float64Range(1e-6, 1e6).Draw(t, "weight"))
		for i := range costs {
			costs[i] = equal
		}
		for _, slot := range drawSlots(t) {
			h := hash(slot)
			if a, b := highest(h, m.hashes), cheapest(h, m.hashes, costs); a != b {
				t.Fatalf("%q: %q by draw, %q by score", slot, m.ids[a], m.ids[b])
			}
		}
	})
}
