package rqueue

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"time"

	"orbweaver/core/crawl"
)

// DeadLetter is a request that was given up.
type DeadLetter struct {
	Request *crawl.Request
	Cause   string
	At      time.Time // the store's clock
	Lost    int

	stored []byte
}

// Dead reads up to n dead letters of a host, the oldest first.
func (c *Crawl) Dead(ctx context.Context, host string, n int) ([]DeadLetter, error) {
	all, err := c.f.rdb.LRange(ctx, text(c.keys.host(host).dead), 0, int64(max(n, 1))-1).Result()
	if err != nil {
		return nil, fmt.Errorf("rqueue: read dead letters of %s: %w", host, err)
	}
	letters := make([]DeadLetter, 0, len(all))
	for _, s := range all {
		d, err := parseDead([]byte(s))
		if err != nil {
			return nil, err
		}
		letters = append(letters, d)
	}
	return letters, nil
}

// parseDead reads "<unix ms> <cause>\n<entry>".
func parseDead(b []byte) (DeadLetter, error) {
	head, entry, ok := bytes.Cut(b, []byte{'\n'})
	at, cause, spaced := bytes.Cut(head, []byte{' '})
	ms, err := strconv.ParseInt(string(at), 10, 64)
	if !ok || !spaced || err != nil {
		return DeadLetter{}, fmt.Errorf("rqueue: read dead letter: %w", errReply)
	}
	req, lost, err := parseEntry(entry)
	if err != nil {
		return DeadLetter{}, err
	}
	return DeadLetter{Request: req, Cause: string(cause), At: time.UnixMilli(ms), Lost: lost, stored: b}, nil
}

// ReplayDead lets up to n dead letters of a host wait again, their attempts
// forgotten, and reports how many.
func (c *Crawl) ReplayDead(ctx context.Context, host string, n int) (int, error) {
	letters, err := c.Dead(ctx, host, min(n, 1000))
	if err != nil || len(letters) == 0 {
		return 0, err
	}
	h := c.keys.host(host)
	r, err := c.f.call(ctx, c.f.scripts.replay, func(a *args) {
		a.key(h.dead)
		a.key(h.request)
		a.key(h.shard.index)
		a.key(h.meta)
		a.key(c.keys.totals)
		c.f.clock(a)
		a.boxed(h.name)
		a.str(c.runText())
		for i := range letters {
			d := &letters[i]
			d.Request.Attempts, d.Request.Busy = 0, 0
			a.bytes(d.stored)
			_, entry, _ := bytes.Cut(d.stored, []byte{'\n'})
			a.int(c.order(d.Request, entry[:entryLost]))
			from := len(a.buf)
			a.buf = append(append(a.buf, entry[:entryLost]...), '0', '0')
			a.buf = appendTail(a.buf, d.Request)
			a.since(from)
		}
	})
	if err != nil {
		return 0, err
	}
	back := r.int()
	if err := r.ok("replay"); err != nil {
		return 0, err
	}
	if back < 0 {
		return 0, ErrStaleRun
	}
	return int(back), nil
}

// order is the score of an entry in the waiting queue.
func (c *Crawl) order(r *crawl.Request, seq []byte) int64 {
	switch c.spec.QueueClass {
	case FifoQueue:
		return 0
	case LifoQueue:
		n, _ := strconv.ParseInt(string(seq), 16, 64)
		return -n
	default:
		return -int64(r.Priority)
	}
}

// Forget lets one URL in again at its host, by its fingerprint. It reports false
// when the URL was not known; ErrWaiting while its request waits or is leased.
func (c *Crawl) Forget(ctx context.Context, host string, fp crawl.Fingerprint) (bool, error) {
	h := c.keys.host(host)
	r, err := c.f.call(ctx, c.f.scripts.forget, func(a *args) {
		a.key(h.seen)
		a.key(h.meta)
		a.key(h.request)
		a.key(h.delayed)
		a.key(h.leased)
		if c.spec.Filter == FilterScrapy {
			a.key(c.dupe)
		} else {
			a.key(h.seen)
		}
		a.key(c.keys.totals)
		a.key(c.keys.state)
		a.str(c.runText())
		a.int(fp.Member())
		a.bytes(fp[:])
		if c.spec.Filter == FilterScrapy {
			a.str(fp.String())
		} else {
			a.str("")
		}
	})
	if err != nil {
		return false, err
	}
	c.forgets.Add(1)
	n := r.int()
	if err := r.ok("forget"); err != nil {
		return false, err
	}
	switch n {
	case -1:
		return false, ErrStaleRun
	case -2:
		return false, ErrWaiting
	}
	return n == 1, nil
}
