package robots

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Group is what a robots.txt tells one crawler. It is immutable and safe for
// concurrent use, and holds nothing of the Rules. A nil Group allows everything.
type Group struct {
	patterns []pattern // longest first, Allow before Disallow
	delay    time.Duration
	delays   bool
	rate     Rate
}

// For merges the groups that name the crawler of that user agent or, where none
// does, those for every crawler (RFC 9309 section 2.2.1), and compiles them.
func (r *Rules) For(userAgent string) *Group {
	g := &Group{}
	if token := Token(userAgent); token == "" || !g.merge(r, token) {
		g.merge(r, "*")
	}
	slices.SortFunc(g.patterns, func(a, b pattern) int {
		if c := cmp.Compare(b.octets, a.octets); c != 0 {
			return c
		}
		if a.allow != b.allow {
			if a.allow {
				return -1
			}
			return 1
		}
		return cmp.Or(strings.Compare(a.prefix, b.prefix), slices.Compare(a.rest, b.rest))
	})
	g.patterns = slices.CompactFunc(g.patterns, pattern.equal)
	return g
}

// merge adds every group that names the agent; false means that none does.
func (g *Group) merge(r *Rules, agent string) bool {
	found := false
	for i := range r.groups {
		from := &r.groups[i]
		if !slices.Contains(from.agents, agent) {
			continue
		}
		found = true
		for _, line := range from.rules {
			g.patterns = append(g.patterns, compile(line))
		}
		if from.delays {
			g.delay, g.delays = from.delay, true
		}
		if from.rate.Requests > 0 {
			g.rate = from.rate
		}
	}
	return found
}

// Allowed reports whether url, absolute or starting at its path, may be fetched:
// the longest matching pattern decides, Allow before Disallow, and without any
// the answer is yes (RFC 9309 section 2.2.2). /robots.txt itself always may.
func (g *Group) Allowed(url string) bool {
	if g == nil || len(g.patterns) == 0 {
		return true
	}
	path := normalize(pathOf(url))
	if path == "/robots.txt" {
		return true
	}
	for i := range g.patterns {
		if g.patterns[i].match(path) {
			return g.patterns[i].allow
		}
	}
	return true
}

// CrawlDelay gives the time between requests that is asked for, up to a year;
// false means none is asked for. The last Crawl-delay of the group stands.
func (g *Group) CrawlDelay() (time.Duration, bool) {
	if g == nil {
		return 0, false
	}
	return g.delay, g.delays
}

// RequestRate gives the rate that is asked for; false means none is. The last
// Request-rate of the group stands.
func (g *Group) RequestRate() (Rate, bool) {
	if g == nil {
		return Rate{}, false
	}
	return g.rate, g.rate.Requests > 0
}

// Delay is the time between requests that keeps to both Crawl-delay and
// Request-rate, up to a year; 0 when neither asks for any.
func (g *Group) Delay() time.Duration {
	if g == nil {
		return 0
	}
	return max(g.delay, g.rate.Gap())
}

// pathOf cuts a URL down to path and query. A URL without path has the path "/".
func pathOf(url string) string {
	if i := strings.IndexByte(url, '#'); i >= 0 {
		url = url[:i]
	}
	i := strings.Index(url, "://")
	if i < 0 || strings.ContainsAny(url[:i], "/?") {
		return url
	}
	url = url[i+len("://"):]
	i = strings.IndexAny(url, "/?")
	switch {
	case i < 0:
		return "/"
	case url[i] == '?':
		return "/" + url[i:]
	}
	return url[i:]
}
