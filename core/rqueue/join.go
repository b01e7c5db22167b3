package rqueue

import (
	"fmt"
	"strconv"
)

// JoinCrawl is the door to a crawl that somebody else runs, as Crawls described it just
// now. Unlike OpenCrawl it writes nothing: a crawl that has ended or was deleted
// meanwhile is not brought back, its steps answer ErrStaleRun or ErrNotRunning.
// ErrNotRunning for one that does not run, or is being flushed.
func (f *Frontier) JoinCrawl(info Info) (*Crawl, error) {
	if info.State != StateRunning || info.Flushing {
		return nil, fmt.Errorf("rqueue: join crawl %s: %w", info.Name, ErrNotRunning)
	}
	return f.ViewCrawl(info)
}

// ViewCrawl is JoinCrawl for a crawl in any state: to look at it, and to park and
// release its hosts. It does not make it run.
func (f *Frontier) ViewCrawl(info Info) (*Crawl, error) {
	spec := info.Spec.WithDefaults()
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	c := f.newCrawl(spec)
	c.resumed = info.Scheduled
	c.orphans.Store(f.cfg.Exclusive && c.resumed > 0)
	c.setRun(strconv.FormatInt(info.Run, 10))
	return c, nil
}
