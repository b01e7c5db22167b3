package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Config is how a node takes part in a cluster. All nodes of one cluster should
// have the same durations.
type Config struct {
	Self   Member // its Weight is 1 when 0; its Age does not count
	Prefix string // system prefix of keys; default "orbweaver"

	// TTL is how long a member lives without a heartbeat; default 5 s. Shorter finds the
	// dead sooner, longer forgives longer stalls of node and store.
	TTL time.Duration
	// Heartbeat is the time between heartbeats, each +-20%; default 1 s. Each costs a round
	// trip and the store some microseconds for each member.
	Heartbeat time.Duration
	// Margin is how long before its TTL ends a node stops sending; default 1 s. It
	// covers how far clocks drift and what a failover of the store forgets.
	Margin time.Duration
	// Grace is how long others watch a member's absence before they drop it; default 1.5 s.
	// Above a heartbeat, so that all can come back when the store was away.
	Grace time.Duration
	// Ramp is how long a new member takes to take over its whole share; default 10 s, below 0: none.
	Ramp time.Duration

	// Now is the local monotonic clock; default time.Now.
	Now func() time.Time
	// ServerTime overrides Redis's TIME in scripts, unix ms; nil uses TIME. For tests: it moves no expiry.
	ServerTime func() int64
}

// WithDefaults fills zero fields.
func (c Config) WithDefaults() Config {
	c.Self.Weight = cmp.Or(c.Self.Weight, 1)
	c.Self.Age = 0
	c.Prefix = cmp.Or(c.Prefix, "orbweaver")
	c.TTL = cmp.Or(c.TTL, 5*time.Second)
	c.Heartbeat = cmp.Or(c.Heartbeat, time.Second)
	c.Margin = cmp.Or(c.Margin, time.Second)
	c.Grace = cmp.Or(c.Grace, 1500*time.Millisecond)
	c.Ramp = cmp.Or(c.Ramp, 10*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Validate tells everything that is wrong with c, which has its defaults.
func (c Config) Validate() error {
	var errs []error
	if err := c.Self.validate(); err != nil {
		errs = append(errs, fmt.Errorf("self: %w", err))
	}
	if c.Prefix == "" || strings.ContainsAny(c.Prefix, "{}") {
		errs = append(errs, fmt.Errorf("prefix %q: want a name without braces", c.Prefix))
	}
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"ttl", c.TTL}, {"heartbeat", c.Heartbeat}, {"margin", c.Margin}, {"grace", c.Grace}} {
		if d.d < time.Millisecond || d.d > 24*time.Hour {
			errs = append(errs, fmt.Errorf("%s %v: want 1ms to 24h", d.name, d.d))
		}
	}
	if c.TTL < c.Margin+2*c.Heartbeat {
		errs = append(errs, fmt.Errorf("ttl %v: want at least the margin and two heartbeats (%v)", c.TTL, c.Margin+2*c.Heartbeat))
	}
	if c.Grace < longest(c.Heartbeat) {
		errs = append(errs, fmt.Errorf("grace %v: want at least a late heartbeat (%v)", c.Grace, longest(c.Heartbeat)))
	}
	if c.Now == nil {
		errs = append(errs, errors.New("now: missing"))
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("cluster: check settings: %w", errors.Join(errs...))
}

// jitter is the part of a heartbeat by which one comes earlier or later.
const jitter = 0.2

// longest is the time between two heartbeats at most, when the store answers.
func longest(heartbeat time.Duration) time.Duration {
	return time.Duration(float64(heartbeat) * (1 + jitter))
}

// deadline is how long one heartbeat may take.
func (c *Config) deadline() time.Duration { return max(2*c.Heartbeat, time.Second) }
