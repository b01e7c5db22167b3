package rqueue

import (
	"fmt"
	"time"

	"orbweaver/core/crawl"
)

// An entry is a request as the queues hold it:
//
//	sequence     10 hex digits: its turn among equals, and its place when it comes back
//	lost          2 hex digits: leases recovered so far
//	priority      8 hex digits: Priority + 2^31
//	id           16 bytes
//	request      crawl.Request's stored form
//
// What follows the times lost is the tail, written by the node.
const (
	entryLost    = 10
	entryTail    = 12
	entryID      = 20
	entryRequest = 36
)

const hexDigits = "0123456789abcdef"

// appendTail writes the part of an entry that is the node's.
func appendTail(b []byte, r *crawl.Request) []byte {
	p := uint32(r.Priority) ^ 1<<31 //nolint:gosec // bias: order of signed numbers
	for shift := 28; shift >= 0; shift -= 4 {
		b = append(b, hexDigits[p>>shift&15])
	}
	b = append(b, r.ID[:]...)
	b, _ = r.AppendBinary(b) // never fails
	return b
}

// parseEntry reads an entry.
func parseEntry(e []byte) (*crawl.Request, int, error) {
	if len(e) < entryRequest {
		return nil, 0, fmt.Errorf("rqueue: read entry of %d bytes: %w", len(e), errReply)
	}
	lost := unhex(e[entryLost])<<4 | unhex(e[entryLost+1])
	r := new(crawl.Request)
	if err := r.UnmarshalBinary(e[entryRequest:]); err != nil {
		return nil, 0, fmt.Errorf("rqueue: read entry: %w", err)
	}
	copy(r.ID[:], e[entryID:entryRequest])
	return r, lost, nil
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	}
	return 0
}

func (op *Lease) build(f *Frontier, a *args) *script {
	c := op.Crawl
	h := c.keys.host(op.Slot)
	a.key(f.slotKey(op.Slot))
	a.key(h.request)
	a.key(h.delayed)
	a.key(h.leased)
	a.key(h.shard.index)
	a.key(h.shard.run)
	a.key(c.keys.state)
	a.key(c.keys.totals)
	f.clock(a)
	a.str(op.Token)
	a.int(ms(f.cfg.TTL))
	a.boxed(h.name)
	a.throttle(&op.State, op.Delay)
	a.str(c.runText())
	a.int(int64(min(max(op.Max, 1), 1000)))
	a.int(max(ms(op.StartIn), 0))
	a.int(max(ms(op.Delay), 0))
	a.int(max(ms(op.Slack), 0))
	a.str(c.class)
	return f.scripts.lease
}

// leaseHead is how many values of a lease's reply come before the entries.
const leaseHead = 7

func (op *Lease) parse(f *Frontier, r *reply, sent time.Time) error {
	n := r.array()
	w := r.bytes()
	r.int()
	if r.err != nil {
		return r.err
	}
	if err := verdict(w); err != nil {
		return err
	}
	token := r.string()
	waiting, first, forgets := r.int(), r.int(), r.int()
	op.Parked = r.string()
	var bad error
	if n > leaseHead && r.err == nil {
		op.Requests = make([]Leased, 0, n-leaseHead)
	}
	for i := leaseHead; i < n && r.err == nil; i++ {
		req, lost, err := parseEntry(r.bytes())
		if err != nil { // left leased: recovered until it is dead
			bad = err
			continue
		}
		op.Requests = append(op.Requests, Leased{Crawl: op.Crawl, Host: op.Slot, Request: req, Token: token, Lost: lost})
	}
	if r.err != nil {
		return r.err
	}
	op.Crawl.forgets.Store(uint64(forgets)) //nolint:gosec // a count
	op.Waiting = int(waiting)
	op.DelayedIn = time.Duration(first) * millisecond
	if first < 0 {
		op.DelayedIn = -1
	}
	op.Deadline = f.deadline(sent)
	if n > leaseHead {
		op.StoredNext = sent.Add(max(op.StartIn, 0) + time.Duration(n-leaseHead)*max(op.Delay, 0) + max(op.Slack, 0))
	}
	if len(op.Requests) == 0 {
		return bad
	}
	return nil
}

func (op *Recover) build(f *Frontier, a *args) *script {
	c := op.Crawl
	h := c.keys.host(op.Slot)
	a.key(f.slotKey(op.Slot))
	a.key(h.leased)
	a.key(h.request)
	a.key(h.dead)
	a.key(h.meta)
	a.key(h.shard.index)
	a.key(c.keys.totals)
	a.key(h.delayed)
	f.clock(a)
	a.str(op.Token)
	a.boxed(h.name)
	a.str(c.class)
	a.int(int64(f.cfg.MaxLost))
	for i := range op.Keep {
		a.bytes(op.Keep[i][:])
	}
	return f.scripts.recover
}

func (op *Recover) parse(_ *Frontier, r *reply, _ time.Time) error {
	if err := word(r); err != nil {
		return err
	}
	op.Recovered, op.Dead = int(r.int()), int(r.int())
	return nil
}

func (op *GiveBack) build(f *Frontier, a *args) *script {
	if len(op.Leased) > 0 {
		c := op.Leased[0].Crawl
		h := c.keys.host(op.Leased[0].Host)
		a.key(h.leased)
		a.key(h.request)
		a.key(h.shard.index)
		a.key(c.keys.totals)
		f.clock(a)
		a.boxed(h.name)
		a.str(c.class)
	} else {
		f.clock(a)
	}
	for i := range op.Leased {
		a.bytes(op.Leased[i].Request.ID[:])
		a.str(op.Leased[i].Token)
	}
	return f.scripts.giveback
}

func (op *GiveBack) parse(_ *Frontier, r *reply, _ time.Time) error {
	if err := word(r); err != nil {
		return err
	}
	op.Gone = int(r.int())
	return nil
}
