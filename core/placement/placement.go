// Package placement says which member of a cluster should own a slot: weighted
// rendezvous hashing, the same answer on every node that knows the same members. The
// main type is Map. It only decides: who is a member is for others to find out, and
// that two nodes never use a slot at once is for the slot's lease to keep, because
// nodes may know different members for a while.
//
// Each member draws a number u in (0, 1) for each slot, from a hash of both, and has
// the score -weight/ln(u) there; the highest score owns the slot. So a member owns a
// share of the slots in proportion to its weight, and a change of one member's
// weight, from or to nothing included, moves slots towards or away from that member
// only, and as many as the shares differ by (Schindelhauer and Schomaker, Weighted
// Distributed Hash Tables, SPAA 2005, the logarithmic method).
//
// The hash is part of the protocol between nodes of different versions: to change it
// is to make them disagree about nearly all slots until all are of one version.
package placement

import (
	"cmp"
	"math"
	"slices"
)

// Member is one node as placement sees it.
type Member struct {
	// ID is unique in the cluster. A member without one is left out.
	ID string
	// Weight is the member's share of the slots relative to the others'. Zero,
	// below zero, infinite or not a number: it owns nothing. Weights from 1e-200 to
	// 1e200 count exactly; beyond, owners still are the same on all nodes.
	Weight float64
}

// Map is who owns what among one set of members. It never changes and is safe for
// concurrent use; nil is a Map without members.
type Map struct {
	members []Member // by ID

	// Of the members with weight, by ID; as arrays of their own, because Owner reads
	// them all.
	ids    []string
	hashes []uint64
	costs  []cost // empty when all weights are equal
}

// New returns the map of these members, in whatever order they come. Of two with the
// same ID the first is taken. The slice is copied.
func New(members []Member) *Map {
	m := &Map{members: slices.DeleteFunc(slices.Clone(members), func(a Member) bool { return a.ID == "" })}
	byID := func(a, b Member) int { return cmp.Compare(a.ID, b.ID) }
	slices.SortStableFunc(m.members, byID)
	m.members = slices.CompactFunc(m.members, func(a, b Member) bool { return a.ID == b.ID })
	equal := true
	var first float64
	for i := range m.members {
		member := &m.members[i]
		if !(member.Weight > 0) || math.IsInf(member.Weight, 1) { //nolint:staticcheck // so that not-a-number counts as none
			member.Weight = 0
			continue
		}
		if first == 0 {
			first = member.Weight
		}
		equal = equal && member.Weight == first
		m.ids = append(m.ids, member.ID)
		m.hashes = append(m.hashes, hash(member.ID))
		m.costs = append(m.costs, newCost(member.Weight))
	}
	if equal {
		m.costs = nil
	}
	return m
}

// Owner returns the ID of the member that should own the slot, "" when none has any
// weight. It does not allocate, and takes a time in proportion to the members.
func (m *Map) Owner(slot string) string {
	if m == nil || len(m.ids) == 0 {
		return ""
	}
	if len(m.costs) == 0 {
		return m.ids[highest(hash(slot), m.hashes)]
	}
	return m.ids[cheapest(hash(slot), m.hashes, m.costs)]
}

// Owns says whether the member should own the slot.
func (m *Map) Owns(id, slot string) bool { return id != "" && m.Owner(slot) == id }

// Members returns a copy of the members by ID, those without weight included; their
// weight is 0.
func (m *Map) Members() []Member {
	if m == nil {
		return nil
	}
	return slices.Clone(m.members)
}

// Equal says whether both have the same members with the same weights, and so the
// same owner for every slot.
func (m *Map) Equal(o *Map) bool {
	if m == nil || o == nil {
		return len(m.Members()) == len(o.Members())
	}
	return slices.Equal(m.members, o.members)
}
