// Package rqueue is the frontier in Redis: every host's waiting, delayed,
// leased and dead requests, the dupefilter, slot and request leases, claimed
// seeds, the due index, statistics and the exact end of a crawl. Its rules are
// numbered in docs/protocol.md; each Lua script in lua/ carries its contract.
//
// The main types are Frontier (a node's door to one store), Crawl (one crawl's
// keys and incarnation), Op (one step on slots and leases, batched by
// Frontier.Do) and Session (one connection on which links are enqueued and
// then pages committed). All are safe for concurrent use but Session.
//
// It decides nothing about politeness: callers say when a slot may be used
// next, rqueue keeps that word across processes.
package rqueue

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"orbweaver/core/invariant"
)

// Config is what a node says about its use of the store.
type Config struct {
	Node      string        // member id, unique for each process start; required, no '.', '|' or blanks
	Prefix    string        // system prefix of keys shared by all crawls; default "orbweaver"
	Shards    int           // hash-tag shards, fixed in <p>:layout at the store's first use; default 64
	TTL       time.Duration // life of a slot lease without renewal; default 8 s
	Margin    time.Duration // the local deadline is this much earlier; default 1.5 s
	MaxLost   int           // recoveries of one request before it is dead; default 20
	SeenCache int           // fingerprints known as seen, kept on the node; default 1<<18 (8 bytes each)

	// ShardOf gives a host's shard (modulo Shards): all hosts of one registrable
	// domain should share it. Every node of a store must use the same; default
	// FNV-1a over the host. Safe for concurrent use.
	ShardOf func(host string) int

	// Exclusive says that only this process can reach the store (embedded, under a
	// folder lock): no quarantine after its restart, no doubt about other owners.
	Exclusive bool

	// Checks counts violations of what must always hold; nil counts none.
	Checks *invariant.Checks
	// Fault is told each point of FaultPoints as it is reached, on the goroutine that
	// reaches it; nil: none. A test ends the process there. Safe for concurrent use.
	Fault func(point string)
	// Trace is told each step on a slot's lease after its reply; nil: none. For the
	// history of a chaos run. Safe for concurrent use.
	Trace func(Trace)

	// Now is the local monotonic clock; default time.Now.
	Now func() time.Time
	// ServerTime overrides Redis's TIME in scripts, unix ms; nil uses TIME. For tests.
	ServerTime func() int64
}

// WithDefaults fills zero fields.
func (c Config) WithDefaults() Config {
	c.Prefix = cmp.Or(c.Prefix, "orbweaver")
	c.Shards = cmp.Or(c.Shards, 64)
	c.TTL = cmp.Or(c.TTL, 8*time.Second)
	c.Margin = cmp.Or(c.Margin, 1500*time.Millisecond)
	c.MaxLost = cmp.Or(c.MaxLost, 20)
	c.SeenCache = cmp.Or(c.SeenCache, 1<<18)
	if c.ShardOf == nil && c.Shards > 0 {
		c.ShardOf = fnvShard(c.Shards)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Validate reports every problem of a config that has its defaults.
func (c Config) Validate() error {
	var errs []error
	if c.Node == "" || strings.ContainsAny(c.Node, ".| \t\r\n") {
		errs = append(errs, fmt.Errorf("rqueue: node id %q: want one without dots, bars and blanks", c.Node))
	}
	if c.MaxLost < 1 || c.MaxLost > 254 {
		errs = append(errs, fmt.Errorf("rqueue: MaxLost %d: want 1 to 254", c.MaxLost))
	}
	if c.SeenCache < 0 {
		errs = append(errs, fmt.Errorf("rqueue: SeenCache %d: want 0 or more", c.SeenCache))
	}
	if c.Shards < 1 || c.Shards > 16384 {
		errs = append(errs, fmt.Errorf("rqueue: SHARDS %d: want 1 to 16384", c.Shards))
	}
	if c.TTL < time.Second {
		errs = append(errs, fmt.Errorf("rqueue: SLOT_TTL %s: want 1s or more", c.TTL))
	}
	if c.Margin <= 0 || c.Margin >= c.TTL {
		errs = append(errs, fmt.Errorf("rqueue: SLOT_MARGIN %s: want more than 0 and less than SLOT_TTL %s", c.Margin, c.TTL))
	}
	return errors.Join(errs...)
}
