package webtest

import (
	"slices"
	"strings"
	"time"
)

// Missing are the pages that were never answered 200.
func (s *Site) Missing() []string {
	had := s.answered()
	var out []string
	for h := range s.cfg.Hosts {
		for p := range s.cfg.Pages {
			if had[[2]int{h, p}] == 0 {
				out = append(out, s.PageURL(h, p))
			}
		}
	}
	return out
}

// Refetched is the number of 200 answers for pages that had one already.
func (s *Site) Refetched() int {
	n := 0
	for _, times := range s.answered() {
		n += times - 1
	}
	return n
}

// answered counts the 200 answers of each page.
func (s *Site) answered() map[[2]int]int {
	out := map[[2]int]int{}
	for _, a := range s.Arrivals(-1) {
		if a.Page >= 0 && a.Status == 200 {
			out[[2]int{a.Host, a.Page}]++
		}
	}
	return out
}

// PagesOf is the number of distinct pages of a host that were answered 200.
func (s *Site) PagesOf(host int) int {
	n := 0
	for k := range s.answered() {
		if k[0] == host {
			n++
		}
	}
	return n
}

// MinGap is the shortest time between the starts of two requests at a host, the
// one for robots.txt included; negative with fewer than two.
func (s *Site) MinGap(host int) time.Duration {
	all := s.Arrivals(host)
	if len(all) < 2 {
		return -1
	}
	shortest := all[1].Start.Sub(all[0].Start)
	for i := 2; i < len(all); i++ {
		shortest = min(shortest, all[i].Start.Sub(all[i-1].Start))
	}
	return shortest
}

// MaxInFlight is the largest number of requests that a host had at once.
func (s *Site) MaxInFlight(host int) int {
	type edge struct {
		at time.Time
		by int
	}
	var edges []edge
	for _, a := range s.Arrivals(host) {
		edges = append(edges, edge{a.Start, 1})
		if !a.End.IsZero() {
			edges = append(edges, edge{a.End, -1})
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.by - b.by
	})
	now, most := 0, 0
	for _, e := range edges {
		now += e.by
		most = max(most, now)
	}
	return most
}

// InsideRetryAfter are the requests that came to a host after it had asked for a
// pause by Retry-After, and before that was over.
func (s *Site) InsideRetryAfter() []Arrival {
	var out []Arrival
	for h := range s.cfg.Hosts {
		all := s.Arrivals(h)
		for _, busy := range all {
			if busy.Hold == 0 {
				continue
			}
			for _, a := range all {
				if a.Start.After(busy.End) && a.Start.Before(busy.End.Add(busy.Hold)) {
					out = append(out, a)
				}
			}
		}
	}
	return out
}

// Under are the requests whose path begins with prefix.
func (s *Site) Under(prefix string) []Arrival {
	return slices.DeleteFunc(s.Arrivals(-1), func(a Arrival) bool { return !strings.HasPrefix(a.Path, prefix) })
}
