package rqueue

import (
	"context"
	"fmt"
	"strconv"
)

// Counts are the requests of a crawl or of one host by where they are.
// Waiting + Delayed + Leased + Done + Dead = Seen, always.
type Counts struct {
	Waiting   int64
	Delayed   int64 // retries that are not due
	Leased    int64 // in a node's hands
	Done      int64
	Dead      int64
	Seen      int64 // let in, in this run
	Lost      int64 // leases recovered
	Forgotten int64 // fingerprints forgotten, each of which may be let in again
}

// Scheduled is what is still to be done.
func (c Counts) Scheduled() int64 { return c.Waiting + c.Delayed + c.Leased }

// Counts reads the totals over all hosts: one small read, exact, whatever the
// number of hosts.
func (c *Crawl) Counts(ctx context.Context) (Counts, error) {
	cmd := c.f.rdb.HMGet(ctx, text(c.keys.totals), "delayed", "leased", "done", "dead", "seen", "lost", "forgotten")
	if err := cmd.Err(); err != nil {
		return Counts{}, fmt.Errorf("rqueue: count %s: %w", c.spec.Name, err)
	}
	n := Counts{
		Delayed: field(cmd, 0), Leased: field(cmd, 1), Done: field(cmd, 2), Dead: field(cmd, 3),
		Seen: field(cmd, 4), Lost: field(cmd, 5), Forgotten: field(cmd, 6),
	}
	n.Waiting = n.Seen - n.Delayed - n.Leased - n.Done - n.Dead
	return n, nil
}

// HostCounts reads one host's counts; all zero for a host never seen.
func (c *Crawl) HostCounts(ctx context.Context, host string) (Counts, error) {
	h := c.keys.host(host)
	pipe := c.f.rdb.TxPipeline() // one moment
	waiting, delayed := pipe.ZCard(ctx, text(h.request)), pipe.ZCard(ctx, text(h.delayed))
	leased := pipe.HLen(ctx, text(h.leased))
	meta := pipe.HMGet(ctx, text(h.meta), "done", "dead", "seen", "lost", "forgotten")
	if _, err := pipe.Exec(ctx); err != nil {
		return Counts{}, fmt.Errorf("rqueue: count %s at %s: %w", c.spec.Name, host, err)
	}
	return Counts{
		Waiting: waiting.Val(), Delayed: delayed.Val(), Leased: leased.Val(),
		Done: field(meta, 0), Dead: field(meta, 1), Seen: field(meta, 2), Lost: field(meta, 3), Forgotten: field(meta, 4),
	}, nil
}

// Stats reads the crawl's counters, under Scrapy's stat names.
func (c *Crawl) Stats(ctx context.Context) (map[string]int64, error) {
	all, err := c.f.rdb.HGetAll(ctx, text(c.keys.stats)).Result()
	if err != nil {
		return nil, fmt.Errorf("rqueue: read stats of %s: %w", c.spec.Name, err)
	}
	stats := make(map[string]int64, len(all))
	for k, v := range all {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil { // another program's
			continue
		}
		stats[k] = n
	}
	return stats, nil
}
