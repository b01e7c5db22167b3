package rqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ended is a page to commit with the keys of its host.
type ended struct {
	page *Page
	keys *hostKeys
}

// commit ends the leases of every page without an error, and adds the stats.
func (s *Session) commit(ctx context.Context, pages []*Page, stats []Stat) error {
	part := make([]ended, 0, len(pages))
	for _, p := range pages {
		if p.Err == nil {
			part = append(part, ended{page: p, keys: p.Crawl.keys.host(p.Host)})
		}
	}
	if len(part) == 0 && len(stats) == 0 {
		return nil
	}
	slices.SortStableFunc(part, func(x, y ended) int {
		if x.page.Crawl != y.page.Crawl {
			return cmp.Compare(x.page.Crawl.spec.Name, y.page.Crawl.spec.Name)
		}
		return cmp.Compare(x.keys.host, y.keys.host)
	})
	err := s.commitPart(ctx, part, stats)
	if err == nil {
		return nil
	}
	if s.broken(err); s.conn == nil {
		return errors.Join(errConnChanged, err)
	}
	return err
}

// commitPart is one call of the script.
func (s *Session) commitPart(ctx context.Context, part []ended, stats []Stat) error {
	a := newArgs()
	defer a.free()
	s.f.clock(a)
	groups, groupsAt := int64(0), a.slot()
	crawls := crawlsOf(part, stats)
	i := 0
	for _, c := range crawls {
		groups++
		a.key(c.keys.totals)
		a.key(c.keys.stats)
		a.key(c.keys.state)
		if c.spec.Items {
			a.key(c.items)
		}
		if c.spec.Export {
			a.key(c.keys.export)
		}
		a.str(c.runText())
		n := int64(0)
		nAt := a.slot()
		hosts, hostsAt := int64(0), a.slot()
		a.flag(c.spec.Items)
		a.flag(c.spec.Export)
		parks, parksAt := int64(0), a.slot()
		for j := range stats {
			if stats[j].Crawl == c {
				a.str(stats[j].Name)
				a.int(stats[j].N)
				n++
			}
		}
		a.set(nAt, n)
		for j := i; j < len(part) && part[j].page.Crawl == c; j++ {
			if p := part[j].page; p.Park != "" {
				a.boxed(part[j].keys.name)
				a.str(parkReason(p.Park))
				parks++
			}
		}
		a.set(parksAt, parks)
		for i < len(part) && part[i].page.Crawl == c {
			h := part[i].keys
			end := i + 1
			for end < len(part) && part[end].page.Crawl == c && part[end].keys.host == h.host {
				end++
			}
			hosts++
			a.key(h.leased)
			a.key(h.meta)
			a.key(h.shard.index)
			a.key(h.request)
			a.key(h.delayed)
			a.key(h.dead)
			a.boxed(h.name)
			a.int(int64(end - i))
			for ; i < end; i++ {
				a.end(part[i].page)
			}
		}
		a.set(hostsAt, hosts)
	}
	a.set(groupsAt, groups)
	r, err := s.f.eval(ctx, s.conn, s.f.scripts.commit, a)
	if err != nil {
		return err
	}
	r.array()
	r.int()
	for n := r.array(); n > 0; n-- {
		if i := r.int(); i >= 0 && i < int64(len(part)) {
			part[i].page.Gone = true
		}
	}
	for n := r.array(); n > 0; n -= 2 {
		i, said := r.int(), r.string()
		if i >= 0 && i < int64(len(part)) {
			part[i].page.Err = fmt.Errorf("rqueue: commit at %s: %w", part[i].page.Host, &StoreError{Reply: said})
		}
	}
	return r.ok("commit")
}

// crawlsOf lists the crawls of the pages in their order, then those with stats only.
func crawlsOf(part []ended, stats []Stat) []*Crawl {
	crawls := make([]*Crawl, 0, 2)
	for i := range part {
		if n := len(crawls); n == 0 || crawls[n-1] != part[i].page.Crawl {
			crawls = append(crawls, part[i].page.Crawl)
		}
	}
	for i := range stats {
		if !slices.Contains(crawls, stats[i].Crawl) {
			crawls = append(crawls, stats[i].Crawl)
		}
	}
	return crawls
}

// end adds the arguments of one page's end.
func (a *args) end(p *Page) {
	a.bytes(p.ID[:])
	a.str(p.Token)
	switch p.End {
	case EndDone:
		a.str("d")
		a.int(int64(len(p.Items)))
		for i := range p.Items {
			a.bytes(p.Items[i].JSON)
		}
		return
	case EndRetry:
		a.str("r")
		a.int(max(ms(p.RetryIn), 0))
	case EndParked:
		a.str("p")
		a.str(parkedCause + parkReason(p.Cause))
		a.str(p.Crawl.class)
		return
	default:
		a.str("x")
		a.str(oneLine(p.Cause))
	}
	from := len(a.buf)
	if p.Retry != nil {
		a.buf = appendTail(a.buf, p.Retry)
	}
	a.since(from)
}

// oneLine keeps a cause readable where it is stored: "<unix ms> <cause>\n<entry>".
func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }
