// Package cluster says which nodes are there, and so where each slot should be
// worked on. The main type is Redis, membership through the store that all nodes
// use anyway; Single is a node by itself. Both are a Provider.
//
// Placement is a hint that nodes may disagree about for a while; that a slot is
// used by one node only is for its lease in the store to keep. What a provider
// does guarantee is that a node which others have taken from the list had stopped
// sending before (Fence), also when Redis's clock steps.
//
// The keys, of one hash tag, so that one script may touch them all in a Redis
// Cluster; they are never searched for:
//
//	<p>:{nodes}       ZSET    member id -> joined, unix ms by Redis's clock; /born -> when the list began, us
//	<p>:{nodes}:<id>  STRING  JSON of the member; expires Config.TTL after its last heartbeat
//
// A member whose STRING is gone is not dropped at once, since a store that was
// away comes back with all of them gone: every node watches the absence for
// Config.Grace first, and anew after it has been without replies itself.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"strings"
	"time"

	"orbweaver/core/placement"
)

// Member is one node of the cluster.
type Member struct {
	// ID is unique for each start of a process: 1 to 128 letters, digits, '-', '_' or ':'.
	ID      string  `json:"id"`
	Address string  `json:"address"` // host:port that the other nodes dial
	Admin   string  `json:"admin"`   // http or https URL of its admin interface, "" without
	Version string  `json:"version"` // of the program
	Weight  float64 `json:"weight"`  // its share of the slots relative to the others', above 0
	// Crawl is the only crawl that it works for, "" when it serves all. Hosts of another
	// are not for it.
	Crawl string `json:"crawl,omitempty"`
	// Protocol is the version of the language between nodes. Members that speak another
	// count in the placement as all do, or the nodes would disagree about it.
	Protocol int `json:"protocol"`
	// Age is the time since it joined, by Redis's clock, at Topology.At; never negative.
	Age time.Duration `json:"-"`
}

// Bounds on what a member says of itself, in bytes.
const (
	maxID      = 128
	maxAddress = 300
	maxAdmin   = 2048
	maxVersion = 128
	maxCrawl   = 512
)

// validate tells everything that is wrong with a member.
func (m *Member) validate() error {
	var errs []error
	if !validID(m.ID) {
		errs = append(errs, fmt.Errorf("id %.140q: want 1 to %d letters, digits, '-', '_' or ':'", m.ID, maxID))
	}
	if host, port, err := net.SplitHostPort(m.Address); len(m.Address) > maxAddress || err != nil || host == "" || port == "" {
		errs = append(errs, fmt.Errorf("address %.300q: want host:port", m.Address))
	}
	if m.Admin != "" {
		u, err := url.Parse(m.Admin)
		if len(m.Admin) > maxAdmin || err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			errs = append(errs, fmt.Errorf("admin %.300q: want an http or https URL", m.Admin))
		}
	}
	if len(m.Crawl) > maxCrawl {
		errs = append(errs, fmt.Errorf("crawl: name longer than %d bytes", maxCrawl))
	}
	if len(m.Version) > maxVersion {
		errs = append(errs, fmt.Errorf("version: longer than %d bytes", maxVersion))
	}
	if !(m.Weight > 0) || math.IsInf(m.Weight, 1) { //nolint:staticcheck // refuses not-a-number too
		errs = append(errs, fmt.Errorf("weight %v: want a number above 0", m.Weight))
	}
	return errors.Join(errs...)
}

func validID(id string) bool {
	return id != "" && len(id) <= maxID && strings.IndexFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != ':'
	}) < 0
}

// Topology is who was a member at one time. It never changes; nil has no members.
type Topology struct {
	Members []Member  // sorted by ID
	At      time.Time // local, when the members were learned
	Epoch   uint64    // grows with every change; local to the node
}

// Placement is who owns what at now among the members, each with the part of its
// weight that its age then gives it (placement.Ramp).
func (t *Topology) Placement(now time.Time, ramp time.Duration) *placement.Map {
	if t == nil {
		return placement.New(nil)
	}
	members := make([]placement.Member, len(t.Members))
	for i := range t.Members {
		m := &t.Members[i]
		members[i] = placement.Member{ID: m.ID, Weight: placement.Ramp(m.Weight, m.Age+now.Sub(t.At), ramp)}
	}
	return placement.New(members)
}

// nextStep is after what time, in whole milliseconds and below horizon, the
// placement of t is another than at now; false when it is not.
func (t *Topology) nextStep(now time.Time, ramp, horizon time.Duration) (time.Duration, bool) {
	next, found := horizon, false
	for i := range t.Members {
		m := &t.Members[i]
		age := m.Age + now.Sub(t.At)
		if age >= ramp {
			continue
		}
		weight := placement.Ramp(m.Weight, age, ramp)
		changed := func(after time.Duration) bool { return placement.Ramp(m.Weight, age+after, ramp) != weight }
		if next <= time.Millisecond || !changed(next-time.Millisecond) {
			continue
		}
		low, high := time.Duration(0), next-time.Millisecond // not changed at low, changed at high
		for high-low > time.Millisecond {
			if mid := low + (high-low)/2; changed(mid) {
				high = mid
			} else {
				low = mid
			}
		}
		next, found = high, true
	}
	return next, found
}

// Provider tells a node who the members are. All methods are safe for concurrent use.
type Provider interface {
	// Start makes the node a member and returns when it is one; ctx bounds the joining only.
	// After an error it may be called again.
	Start(ctx context.Context) error
	// Topology is who the members are, as last heard; without members before Start.
	Topology() *Topology
	// Placement is the current one, kept up to date in the background; asking costs
	// nothing. For a moment it may be of the Topology before.
	Placement() *placement.Map
	// Fence is the local time after which nothing may be sent to a site: others may
	// take this node for dead then. It moves on with every good heartbeat, and may be asked
	// for each send.
	Fence() time.Time
	// Evicted is closed when others have taken this node for dead. It is not a
	// member any more and will not be: the process must stop sending and end.
	Evicted() <-chan struct{}
	// Watch gives a hint, one for any number of changes, that Placement changed. It
	// is never closed and has one reader.
	Watch() <-chan struct{}
	// Leave ends the membership at once, for the others too, so that they need not
	// wait for the node to be taken for dead: to be called when nothing is sent any
	// more. Fence is in the past from then on. Again, it does nothing; after an
	// error it may be called again. It waits no longer than ctx.
	Leave(ctx context.Context) error
	// Close ends the work in the background and waits for it, at most the deadline of one heartbeat. It does
	// not leave: the other nodes notice after a while.
	Close()
}
