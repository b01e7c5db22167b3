package rqueue

import (
	"context"
	"strings"
	"time"
)

// Cursor is a place in a crawl's due index; the zero value is its beginning.
type Cursor struct {
	shard int // from 1
	score string
	host  string
}

// Due is one page of the hosts that someone must look at now.
type Due struct {
	Hosts []string
	// Late says of each host whether its entry has been due for longer than a slot
	// lease lives: whoever should look at it does not, any node may (rule 11). Nil: none.
	Late  []bool
	Next  Cursor        // the next page; zero: that was all
	Later time.Duration // until the earliest later entry this page saw; < 0: it saw none
}

// allEntries is further ahead than any entry.
const allEntries = 100 * 365 * 24 * time.Hour

// Due reads up to limit hosts (1 to 10000) whose entry is due, in the order of
// shards and times. An entry that is moved meanwhile is neither skipped nor
// blocks the others (rule 12). One call to the store, cheap when nothing is due.
//
// Alone with the store (Config.Exclusive), the first reading of a crawl that was
// resumed also has the entries that the leases of a killed process hold back.
// After the store's clock was set back the first reading has every entry: all
// were made for times that will come once more.
func (c *Crawl) Due(ctx context.Context, from Cursor, limit int) (Due, error) {
	var ahead time.Duration
	if c.orphans.Load() {
		ahead = c.f.cfg.TTL
	}
	if from.Done() {
		c.sweep.Store(c.f.watch.setBack.Load())
	}
	if c.sweep.Load() != c.swept.Load() {
		ahead = allEntries
	}
	r, err := c.f.call(ctx, c.f.scripts.due, func(a *args) {
		for i := range c.keys.shards {
			a.key(c.keys.shards[i].index)
		}
		c.f.clock(a)
		a.int(int64(min(max(limit, 1), 10000)))
		a.int(int64(max(from.shard, 1)))
		a.str(from.score)
		a.str(from.host)
		a.int(ms(ahead))
		a.int(ms(c.f.cfg.TTL))
	})
	if err != nil {
		return Due{}, err
	}
	n := r.array()
	r.int()
	later, shard := r.int(), r.int()
	d := Due{Later: time.Duration(later) * millisecond}
	if later < 0 {
		d.Later = -1
	}
	score := r.string()
	for i := 4; i < n && r.err == nil; i++ {
		host, late := strings.CutPrefix(r.string(), "!")
		d.Hosts = append(d.Hosts, host)
		if late && d.Late == nil {
			d.Late = make([]bool, n-4)
		}
		if late {
			d.Late[i-4] = true
		}
	}
	if err := r.ok("due"); err != nil {
		return Due{}, err
	}
	if shard > 0 {
		d.Next = Cursor{shard: int(shard), score: score}
		if score != "" && len(d.Hosts) > 0 {
			d.Next.host = d.Hosts[len(d.Hosts)-1]
		}
	}
	if d.Next.Done() {
		c.orphans.Store(false)
		c.swept.Store(c.sweep.Load())
	}
	return d, nil
}

// Done reports whether there is no next page.
func (c Cursor) Done() bool { return c.shard == 0 }
