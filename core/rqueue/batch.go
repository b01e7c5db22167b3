package rqueue

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// maxLinks bounds the links of one enqueue call, so that the store is never
// busy for more than some 20 ms with one.
const maxLinks = 2000

// filtered reports whether the dupefilter decides by fingerprint.
func (l *Link) filtered() bool {
	return !l.Request.DontFilter && !l.Request.Seed && l.Crawl.spec.Filter != FilterOff
}

// pageResult is what became of one page's links.
type pageResult struct {
	enqueued, filtered, refused int
	err                         error
}

// placed is a link with the keys of its host and the page it came from.
type placed struct {
	link *Link
	keys *hostKeys
	page int
}

// batch gathers links and sorts them into the groups of the enqueue script.
type batch struct {
	links []placed
	hosts []hostGroup // of the call under way: hosts in order
	woken []HostRef
}

// hostGroup is a host within a call: its crawl and its links, from first on.
type hostGroup struct {
	crawl *Crawl
	keys  *hostKeys
	first int
}

func (b *batch) reset() {
	clear(b.links)
	clear(b.hosts)
	b.links, b.hosts, b.woken = b.links[:0], b.hosts[:0], nil
}

func (b *batch) takeWoken() []HostRef {
	w := b.woken
	b.woken = nil
	return w
}

func (b *batch) add(l *Link, page int) {
	b.links = append(b.links, placed{link: l, keys: l.Crawl.keys.host(l.Host), page: page})
}

// sort brings links of one crawl, shard and host together, keeping the order
// within a host.
func (b *batch) sort() {
	slices.SortStableFunc(b.links, func(x, y placed) int {
		if x.link.Crawl != y.link.Crawl {
			return cmp.Compare(x.link.Crawl.spec.Name, y.link.Crawl.spec.Name)
		}
		if x.keys.shard != y.keys.shard {
			return cmp.Compare(x.keys.shard.prefix, y.keys.shard.prefix)
		}
		return cmp.Compare(x.keys.host, y.keys.host)
	})
}

// enqueue sends the batch. Its error is the connection's; a refusal by the
// store is the pages'.
func (s *Session) enqueue(ctx context.Context, b *batch, results []pageResult) error {
	if len(b.links) == 0 {
		return nil
	}
	b.sort()
	for from := 0; from < len(b.links); from += maxLinks {
		part := b.links[from:min(from+maxLinks, len(b.links))]
		err := s.enqueuePart(ctx, b, part, results)
		if err == nil {
			continue
		}
		if s.broken(err); s.conn == nil {
			return err
		}
		for i := range part {
			results[part[i].page].err = err
		}
	}
	return nil
}

// enqueuePart is one call of the script.
func (s *Session) enqueuePart(ctx context.Context, b *batch, part []placed, results []pageResult) error {
	a := newArgs()
	defer a.free()
	b.hosts = b.hosts[:0]
	s.f.clock(a)
	groups, groupsAt := int64(0), a.slot()
	for i := 0; i < len(part); {
		c, sh := part[i].link.Crawl, part[i].keys.shard
		groups++
		a.key(sh.index)
		a.key(sh.run)
		a.key(sh.known)
		a.key(c.keys.totals)
		shared := c.spec.Filter == FilterScrapy
		if shared {
			a.key(c.dupe)
		}
		a.str(c.runText())
		a.str(c.class)
		hosts, hostsAt := int64(0), a.slot()
		a.flag(shared)
		a.int(int64(c.spec.HostLimit))
		for i < len(part) && part[i].keys.shard == sh {
			h := part[i].keys
			end := i + 1
			for end < len(part) && part[end].keys.shard == sh && part[end].keys.host == h.host {
				end++
			}
			b.hosts = append(b.hosts, hostGroup{crawl: c, keys: h, first: i})
			hosts++
			a.key(h.seen)
			a.key(h.meta)
			a.key(h.request)
			a.boxed(h.name)
			a.int(int64(end - i))
			for ; i < end; i++ {
				a.link(part[i].link, shared)
			}
		}
		a.set(hostsAt, hosts)
	}
	a.set(groupsAt, groups)
	r, err := s.f.eval(ctx, s.conn, s.f.scripts.enqueue, a)
	if err != nil {
		return err
	}
	return s.enqueued(&r, b, part, results)
}

// link adds the arguments of one link.
func (a *args) link(l *Link, shared bool) {
	c, r := l.Crawl, l.Request
	second := false
	if l.filtered() {
		a.int(r.Fingerprint.Member())
	} else {
		a.int(r.ID.Member())
		second = r.Seed && c.spec.Filter != FilterOff // a link to a seed's page is a duplicate
	}
	if second {
		a.int(r.Fingerprint.Member())
	} else {
		a.str("")
	}
	switch c.spec.QueueClass {
	case LifoQueue:
	case FifoQueue:
		a.str("0")
	default:
		a.int(-int64(r.Priority))
	}
	from := len(a.buf)
	a.buf = appendTail(a.buf, r)
	a.since(from)
	if shared {
		if l.filtered() {
			a.str(r.Fingerprint.String())
		} else {
			a.str("")
		}
	}
}

// enqueued reads the script's reply into the results, and learns what is seen.
func (s *Session) enqueued(r *reply, b *batch, part []placed, results []pageResult) error {
	r.array()
	r.int()
	filtered := make([]bool, len(part))
	for n := r.array(); n > 0; n-- {
		if i := r.int(); i >= 0 && i < int64(len(part)) {
			filtered[i] = true
		}
	}
	var woken []HostRef
	for n := r.array(); n > 0; n-- {
		if i := r.int(); i >= 0 && i < int64(len(b.hosts)) {
			woken = append(woken, HostRef{Crawl: b.hosts[i].crawl, Host: b.hosts[i].keys.host})
		}
	}
	stale := make([]bool, 0)
	for n := r.array(); n > 0; n-- {
		if i := r.int(); i >= 0 && i < int64(len(b.hosts)) {
			if len(stale) == 0 {
				stale = make([]bool, len(part))
			}
			end := len(part)
			if int(i)+1 < len(b.hosts) {
				end = b.hosts[i+1].first
			}
			for j := b.hosts[i].first; j < end; j++ {
				stale[j] = true
			}
		}
	}
	var bad map[int64]error
	for n := r.array(); n > 0; n -= 2 {
		i, said := r.int(), r.string()
		if bad == nil {
			bad = map[int64]error{}
		}
		bad[i] = fmt.Errorf("rqueue: enqueue: %w", &StoreError{Reply: said})
	}
	var refused map[int64]bool
	for n := r.array(); n > 0; n-- {
		if refused == nil {
			refused = map[int64]bool{}
		}
		refused[r.int()] = true
	}
	if err := r.ok("enqueue"); err != nil {
		return err
	}
	b.woken = append(b.woken, woken...)
	for i := range part {
		res := &results[part[i].page]
		switch {
		case len(stale) > 0 && stale[i]:
			res.err = fmt.Errorf("rqueue: enqueue at %s: %w", part[i].keys.host, ErrStaleRun)
			continue
		case len(bad) > 0 && bad[int64(i)] != nil:
			res.err = bad[int64(i)]
			continue
		case len(refused) > 0 && refused[int64(i)]:
			res.refused++
			continue
		case filtered[i]:
			res.filtered++
		default:
			res.enqueued++
		}
		if l := part[i].link; l.filtered() || l.Request.Seed {
			s.f.seen.add(l.Request.Fingerprint.Member(), l.Crawl.salt(s.changes))
		}
	}
	return nil
}

var _ processor = (*redis.Conn)(nil)
