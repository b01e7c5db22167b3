package cluster

import (
	"cmp"
	"context"
	"math"
	"time"

	"orbweaver/core/placement"
)

// Single is a node that is alone with its store: it owns every slot, is fenced
// never and evicted never.
type Single struct {
	topology  *Topology
	placement *placement.Map
	evicted   chan struct{}
	watch     chan struct{}
}

var _ Provider = (*Single)(nil)

// NewSingle is a cluster of self only. A weight of 0 means 1.
func NewSingle(self Member) *Single {
	self.Weight, self.Age = cmp.Or(self.Weight, 1), 0
	s := &Single{
		topology: &Topology{Members: []Member{self}, At: time.Now(), Epoch: 1},
		evicted:  make(chan struct{}),
		watch:    make(chan struct{}, 1),
	}
	s.placement = s.topology.Placement(s.topology.At, 0)
	return s
}

// Start does nothing.
func (s *Single) Start(context.Context) error { return nil }

// Topology has the node itself.
func (s *Single) Topology() *Topology { return s.topology }

// Placement gives every slot to the node itself.
func (s *Single) Placement() *placement.Map { return s.placement }

// Fence is more than a century away.
func (s *Single) Fence() time.Time { return s.topology.At.Add(math.MaxInt64 / 2) }

// Evicted is never closed.
func (s *Single) Evicted() <-chan struct{} { return s.evicted }

// Watch never has anything.
func (s *Single) Watch() <-chan struct{} { return s.watch }

// Leave does nothing.
func (s *Single) Leave(context.Context) error { return nil }

// Close does nothing.
func (s *Single) Close() {}
