package rqueue

import (
	"context"
	"fmt"
)

// seedHosts is the SET of the hosts of a crawl's seeds: its scope, for all nodes.
func (c *Crawl) seedHosts() string { return c.spec.Name + ":seed_hosts" }

// AddSeedHosts adds to the hosts that the scope of the seeds covers. When
// the crawl was flushed or deleted elsewhere nothing is added and nothing is said:
// the enqueue or commit that follows tells.
func (c *Crawl) AddSeedHosts(ctx context.Context, hosts []string) error {
	if len(hosts) == 0 {
		return nil
	}
	r, err := c.f.call(ctx, c.f.scripts.seedHosts, func(a *args) {
		a.key(c.seedHosts())
		a.key(c.keys.state)
		a.str(c.runText())
		for _, h := range hosts {
			a.str(h)
		}
	})
	if err != nil {
		return err
	}
	r.int()
	return r.ok("add seed hosts")
}

// SeedHosts lists them.
func (c *Crawl) SeedHosts(ctx context.Context) ([]string, error) {
	c.f.fault(callSeedHosts + faultBefore)
	hosts, err := c.f.rdb.SMembers(ctx, c.seedHosts()).Result()
	c.f.fault(callSeedHosts + faultAfter)
	if err != nil {
		return nil, fmt.Errorf("rqueue: read seed hosts of %s: %w", c.spec.Name, err)
	}
	return hosts, nil
}

// ClearSeedHosts forgets them: a crawl that begins anew learns them again.
func (c *Crawl) ClearSeedHosts(ctx context.Context) error {
	if err := c.f.rdb.Del(ctx, c.seedHosts()).Err(); err != nil {
		return fmt.Errorf("rqueue: clear seed hosts of %s: %w", c.spec.Name, err)
	}
	return nil
}
