package rqueue

import "context"

// Delete removes the crawl: every request, lease, dead letter and fingerprint,
// its start messages, counters, spec and state, and its place among the system's
// crawls. Items, those that await a file among them, stay unless items is set.
//
// What is still in a node's hands is void: its enqueues, leases and seeds answer
// ErrStaleRun, its commits find their leases gone, and none leaves a key behind.
// Cut short, the crawl is one whose flush was: Delete again goes on, from any
// process that opened it with OpenCrawl; so does every opening, which begins it
// anew. ErrStaleRun when it was flushed or opened anew meanwhile: nothing but a
// flush has happened. Afterwards this Crawl answers ErrStaleRun as well.
func (c *Crawl) Delete(ctx context.Context, items bool) error {
	next, err := c.emptied(ctx, c.runText())
	if err != nil {
		return err
	}
	r, err := c.f.call(ctx, c.f.scripts.deleteEnd, func(a *args) {
		a.key(c.keys.state)
		a.key(c.f.cfg.Prefix + ":crawls")
		a.key(c.keys.spec)
		a.key(c.keys.stats)
		a.key(c.keys.totals)
		a.key(c.startURLs)
		a.key(c.taken)
		a.key(c.claims)
		a.key(c.rejected)
		a.key(c.seedHosts())
		a.key(c.dupe)
		a.key(c.keys.exportLock)
		if items {
			a.key(c.items)
			a.key(c.keys.export)
			a.key(c.keys.files)
		}
		for i := range c.keys.shards {
			sh := &c.keys.shards[i]
			a.key(sh.index)
			a.key(sh.known)
			a.key(sh.run)
		}
		a.str(next)
		a.str(c.spec.Name)
	})
	if err != nil {
		return err
	}
	n := r.int()
	if err := r.ok("delete"); err != nil {
		return err
	}
	if n == 0 {
		return ErrStaleRun
	}
	return nil
}
