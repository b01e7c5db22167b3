package rqueue

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A host that is parked is left alone: its requests are still let in and leased,
// but whoever leases them sends none and ends each with EndParked, so that the
// crawl ends and nothing is lost. The mark is in the crawl's state hash, which
// commit and lease read anyway.

// Parked is a host that is put aside.
type Parked struct {
	Host    string
	Reason  string
	Since   time.Time // the store's clock
	Letters int64     // dead letters that Release lets wait again
}

// parkedCause begins the cause of a dead letter that a release lets wait again.
const parkedCause = "parked: "

// parkedField begins the name of a mark in the state hash.
const parkedField = "parked:"

// maxParkReason bounds a stored reason, in bytes.
const maxParkReason = 300

// parkReason is a reason as it is stored: one line, bounded, never empty.
func parkReason(s string) string {
	s = strings.TrimSpace(strings.ReplaceAll(oneLine(s), "\r", " "))
	if s == "" {
		return "no reason given"
	}
	if len(s) > maxParkReason {
		s = strings.ToValidUTF8(s[:maxParkReason], "")
	}
	return s
}

// Park puts a host aside: no request goes to it until Release. It reports false
// when it was parked already; then the earlier reason stays. A node that has the
// host's requests in memory learns of it with its next lease there, within
// seconds.
func (c *Crawl) Park(ctx context.Context, host, reason string) (bool, error) {
	h := c.keys.host(host)
	r, err := c.f.call(ctx, c.f.scripts.park, func(a *args) {
		a.key(c.keys.state)
		a.key(c.keys.stats)
		a.key(h.shard.index)
		a.key(h.request)
		a.key(h.delayed)
		c.f.clock(a)
		a.boxed(h.name)
		a.str(c.runText())
		a.str(parkReason(reason))
	})
	if err != nil {
		return false, err
	}
	n := r.int()
	if err := r.ok("park"); err != nil {
		return false, err
	}
	if n < 0 {
		return false, ErrStaleRun
	}
	return n == 1, nil
}

// releaseBatch bounds the dead letters that one call of Release looks at.
const releaseBatch = 1000

// Release takes a host's mark away and lets its parked dead letters wait again,
// in their old order. It reports how many, and whether there was a mark. Cut
// short, the rest is parked no more but still dead: Release again.
func (c *Crawl) Release(ctx context.Context, host string) (back int, parked bool, err error) {
	h := c.keys.host(host)
	left := int64(-1) // letters to look at; < 0: not known yet
	for left != 0 {
		first := left < 0
		r, err := c.f.call(ctx, c.f.scripts.unpark, func(a *args) {
			a.key(c.keys.state)
			a.key(h.dead)
			a.key(h.request)
			a.key(h.shard.index)
			a.key(h.meta)
			a.key(c.keys.totals)
			c.f.clock(a)
			a.boxed(h.name)
			a.str(c.runText())
			a.str(c.class)
			if first {
				a.int(releaseBatch)
			} else {
				a.int(min(left, releaseBatch))
			}
			a.flag(first)
		})
		if err != nil {
			return back, parked, err
		}
		r.array()
		had := r.int()
		if had < 0 && r.err == nil {
			return back, parked, ErrStaleRun
		}
		all, looked, moved := r.int(), r.int(), r.int()
		if err := r.ok("release"); err != nil {
			return back, parked, err
		}
		if first {
			parked, left = had == 1, all
		}
		back += int(moved)
		left -= looked
		if looked == 0 { // another release took them meanwhile
			left = 0
		}
	}
	return back, parked, nil
}

// ParkedGet asks why a host is parked, before something is sent to it that was not
// leased there.
type ParkedGet struct {
	OpBase
	Crawl *Crawl
	Host  string

	Reason string // out: "" when it is not parked, or the crawl was flushed or deleted
}

func (op *ParkedGet) build(f *Frontier, a *args) *script {
	a.key(op.Crawl.keys.state)
	a.str(op.Host)
	a.str(op.Crawl.runText())
	return f.scripts.parked
}

func (op *ParkedGet) parse(_ *Frontier, r *reply, _ time.Time) error {
	op.Reason = r.string()
	return r.err
}

// Parked lists the hosts that are put aside, by name.
func (c *Crawl) Parked(ctx context.Context) ([]Parked, error) {
	seen := map[string]string{}
	for cursor := uint64(0); ; {
		page, next, err := c.f.rdb.HScan(ctx, text(c.keys.state), cursor, parkedField+"*", 1000).Result()
		if err != nil {
			return nil, fmt.Errorf("rqueue: list parked hosts of %s: %w", c.spec.Name, err)
		}
		for i := 0; i+1 < len(page); i += 2 {
			seen[strings.TrimPrefix(page[i], parkedField)] = page[i+1]
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	hosts := make([]Parked, 0, len(seen))
	for host, value := range seen {
		at, reason, _ := strings.Cut(value, " ")
		since, _ := strconv.ParseInt(at, 10, 64)
		hosts = append(hosts, Parked{Host: host, Reason: reason, Since: time.UnixMilli(since)})
	}
	slices.SortFunc(hosts, func(x, y Parked) int { return strings.Compare(x.Host, y.Host) })
	return hosts, c.countLetters(ctx, hosts)
}

func (c *Crawl) countLetters(ctx context.Context, hosts []Parked) error {
	const batch = 500
	for from := 0; from < len(hosts); from += batch {
		part := hosts[from:min(from+batch, len(hosts))]
		pipe := c.f.rdb.Pipeline()
		for i := range part {
			pipe.HMGet(ctx, text(c.keys.host(part[i].Host).meta), "parked")
		}
		cmds, err := pipe.Exec(ctx)
		if err != nil {
			return fmt.Errorf("rqueue: count parked requests of %s: %w", c.spec.Name, err)
		}
		for i := range part {
			if cmd, ok := cmds[i].(interface{ Val() []any }); ok && len(cmd.Val()) == 1 {
				s, _ := cmd.Val()[0].(string)
				part[i].Letters, _ = strconv.ParseInt(s, 10, 64)
			}
		}
	}
	return nil
}
