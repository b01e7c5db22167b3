package rqueue

import (
	"context"
	"fmt"

	"orbweaver/core/invariant"
)

// HostAudit is what one host holds compared with what it counts, at one moment.
//
// Waiting + Delayed + Leased + Done + Dead = Seen, where the first three are the
// queues' lengths and the others counters that the scripts keep. Forgotten does
// not enter: a forgotten fingerprint's request stays done or dead, and when it is
// let in again it is seen, and then done or dead, once more. A replayed dead
// letter leaves Dead for Waiting; a recovered lease leaves Leased for Waiting or Dead.
type HostAudit struct {
	Host    string
	Counts  Counts
	Letters int64            // dead letters stored; equals Counts.Dead
	Indexed bool             // has a due entry; must while something is scheduled (rule 1)
	Known   bool             // a flush finds it; must once something was let in
	Broken  []invariant.Name // what does not hold; nil when all does
	Err     error            // its keys cannot be read: the rest but Host is zero
}

// auditBatch bounds the hosts of one call.
const auditBatch = 200

// Audit compares every host's queues with its counters, and counts what does not
// hold in Config.Checks. It only reads, and may run at any time: each script
// leaves the sums right. A host never seen holds.
func (c *Crawl) Audit(ctx context.Context, hosts ...string) ([]HostAudit, error) {
	audits := make([]HostAudit, 0, len(hosts))
	for from := 0; from < len(hosts); from += auditBatch {
		part := hosts[from:min(from+auditBatch, len(hosts))]
		r, err := c.f.call(ctx, c.f.scripts.audit, func(a *args) {
			for _, host := range part {
				h := c.keys.host(host)
				a.key(h.shard.index)
				a.key(h.shard.known)
				a.key(h.request)
				a.key(h.delayed)
				a.key(h.leased)
				a.key(h.dead)
				a.key(h.meta)
				a.boxed(h.name)
			}
		})
		if err != nil {
			return audits, err
		}
		if n := r.array(); n != len(part) {
			r.fail()
		}
		for _, host := range part {
			audits = append(audits, c.readAudit(host, &r))
		}
		if err := r.ok("audit"); err != nil {
			return audits[:from], err
		}
	}
	for i := range audits {
		c.judge(&audits[i])
	}
	return audits, nil
}

func (c *Crawl) readAudit(host string, r *reply) HostAudit {
	h := HostAudit{Host: host}
	if n := r.array(); n == 1 {
		h.Err = fmt.Errorf("rqueue: audit %s: %w", host, &StoreError{Reply: r.string()})
		return h
	} else if n != 12 {
		r.fail()
		return h
	}
	n := &h.Counts
	n.Waiting, n.Delayed, n.Leased, h.Letters = r.int(), r.int(), r.int(), r.int()
	n.Done, n.Dead, n.Seen, n.Lost, n.Forgotten = r.int(), r.int(), r.int(), r.int(), r.int()
	h.Indexed, h.Known = r.int() == 1, r.int() == 1
	if r.int() == 0 && n.Scheduled() == 0 && h.Letters == 0 { // never seen: nothing to be known
		h.Known = true
	}
	return h
}

// judge finds what does not hold.
func (c *Crawl) judge(h *HostAudit) {
	if h.Err != nil {
		return
	}
	hold := func(n invariant.Name, ok bool, what string) {
		if c.f.cfg.Checks.Hold(n, ok, func() string {
			return fmt.Sprintf("crawl %s, host %s: %s: %+v, letters %d", c.spec.Name, h.Host, what, h.Counts, h.Letters)
		}) {
			return
		}
		h.Broken = append(h.Broken, n)
	}
	n := h.Counts
	sum := n.Scheduled() + n.Done + n.Dead
	hold(invariant.RequestsLost, sum == n.Seen, fmt.Sprintf("requests %+d", sum-n.Seen))
	hold(invariant.DeadLettersLost, h.Letters == n.Dead, fmt.Sprintf("dead letters %+d", h.Letters-n.Dead))
	hold(invariant.HostUnindexed, h.Indexed || n.Scheduled() == 0, "no due entry")
	hold(invariant.HostUnknown, h.Known, "a flush does not find it")
}
