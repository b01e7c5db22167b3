package placement

import (
	"math"

	"github.com/cespare/xxhash/v2"
)

// drawBits is how many bits of the mixed hash make a draw. Fewer than a float64
// holds: so the logarithms of two different draws differ by far more than the
// rounding of math.Log, and comparing draws is comparing scores, bit for bit, when
// weights are equal.
const drawBits = 48

// hash is XXH64 with seed 0: fast on short strings, and the same everywhere.
func hash(s string) uint64 { return xxhash.Sum64String(s) }

// draw is the number a member draws for a slot, of drawBits bits; as u in (0, 1)
// it stands for (draw + 1/2) / 2^drawBits. The mixing is the finalizer of SplitMix64
// (Stafford's variant 13 of MurmurHash3's), one to one, so that members draw
// different 64-bit numbers for a slot unless their own hashes collide.
func draw(slot, member uint64) uint64 {
	x := slot ^ member
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	return x >> (64 - drawBits)
}

// highest returns the index of the highest draw, the first of equal ones.
func highest(slot uint64, members []uint64) int {
	best, owner := draw(slot, members[0]), 0
	for i, member := range members[1:] {
		if d := draw(slot, member); d > best {
			best, owner = d, i+1
		}
	}
	return owner
}

// cost is what a member's weight makes of its draws: -ln(u)/weight, one by the score.
type cost struct {
	perLog float64 // 1/weight
	floor  float64 // a little less than 1/weight, in units of gap
}

// gapUnit is 1-u of a draw whose gap is 1.
const gapUnit = 1.0 / (1 << (drawBits + 1))

func newCost(weight float64) cost {
	// A little less: more than what rounding can add to either side.
	return cost{perLog: 1 / weight, floor: gapUnit * (1 - 1e-12) / weight}
}

// gap is 1-u, an odd number of gapUnits.
func gap(draw uint64) float64 { return float64(1<<(drawBits+1) - 1 - int64(2*draw)) }

// of returns the cost of a draw with this gap.
func (c cost) of(gap float64) float64 { return -math.Log(1-gap*gapUnit) * c.perLog }

// cheapest returns the index of the lowest cost, the first of equal ones. Since
// -ln(u) >= 1-u, a logarithm is needed only of what could be lower than the lowest
// so far: about ln(n) of n. (math.Log may differ in its last bit between kinds of
// processors: they then disagree about one slot of some 10^14.)
func cheapest(slot uint64, members []uint64, costs []cost) int {
	costs = costs[:len(members)]
	best, owner := costs[0].of(gap(draw(slot, members[0]))), 0
	for i := 1; i < len(members); i++ {
		g := gap(draw(slot, members[i]))
		if g*costs[i].floor >= best {
			continue
		}
		if c := costs[i].of(g); c < best {
			best, owner = c, i
		}
	}
	return owner
}
