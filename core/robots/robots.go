// Package robots reads robots.txt (RFC 9309) and says whether a crawler may
// fetch a URL, how long it is asked to wait, and where the sitemaps are. It
// does not fetch, and what a missing or failing robots.txt means is decided by
// who does.
//
// Parse reads a file, Rules.For picks and compiles what concerns one crawler.
package robots

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
)

// LimitBytes is how much of a robots.txt is read (RFC 9309 section 2.5); a line
// that it cuts is left out.
const LimitBytes = 500 << 10

// maxCrawlDelay bounds what a file can ask for; users of it have lower limits.
const maxCrawlDelay = 365 * 24 * time.Hour

// Rules is a parsed robots.txt. It is immutable and safe for concurrent use;
// the zero value allows everything.
type Rules struct {
	groups   []group
	sitemaps []string
}

// group is what one run of user-agent lines is told.
type group struct {
	agents []string // lower-case product tokens, or "*"
	rules  []rule
	delay  time.Duration
	delays bool
	rate   Rate
}

// rule is one Allow or Disallow line, its pattern as written.
type rule struct {
	allow   bool
	pattern string
}

// Parse reads a robots.txt. It takes any bytes: what is not a known line is
// passed over. Lines end at LF, CRLF or CR; a byte order mark is skipped. An
// unknown line between user-agent lines does not part them; a rule, a
// Crawl-delay or a Request-rate does, even an empty one. The body is not kept.
func Parse(body []byte) *Rules {
	if len(body) > LimitBytes {
		body = body[:LimitBytes]
		body = body[:bytes.LastIndexAny(body, "\r\n")+1]
	}
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	p := parser{rules: &Rules{}}
	for len(body) > 0 {
		line := body
		if i := bytes.IndexAny(body, "\r\n"); i >= 0 {
			line, body = body[:i], body[i+1:]
		} else {
			body = nil
		}
		p.line(line)
	}
	return p.rules
}

type parser struct {
	rules  *Rules
	closed bool // the next user-agent line starts a new group
}

func (p *parser) line(line []byte) {
	if i := bytes.IndexByte(line, '#'); i >= 0 {
		line = line[:i]
	}
	k, v, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return
	}
	key, value := bytes.Trim(k, " \t"), string(bytes.Trim(v, " \t"))
	switch {
	case is(key, "user-agent"):
		p.agent(value)
	case is(key, "allow"):
		p.rule(true, value)
	case is(key, "disallow"):
		p.rule(false, value)
	case is(key, "crawl-delay"):
		if g := p.current(); g != nil {
			if d, ok := parseDelay(value); ok {
				g.delay, g.delays = d, true
			}
			p.closed = true
		}
	case is(key, "request-rate"):
		if g := p.current(); g != nil {
			if r, ok := parseRate(value); ok {
				g.rate = r
			}
			p.closed = true
		}
	case is(key, "sitemap"):
		if value != "" {
			p.rules.sitemaps = append(p.rules.sitemaps, value)
		}
	}
}

// is compares a key without regard to case.
func is(key []byte, name string) bool {
	return len(key) == len(name) && strings.EqualFold(string(key), name)
}

func (p *parser) current() *group {
	if n := len(p.rules.groups); n > 0 {
		return &p.rules.groups[n-1]
	}
	return nil
}

func (p *parser) agent(value string) {
	g := p.current()
	if g == nil || p.closed {
		p.rules.groups = append(p.rules.groups, group{})
		p.closed = false
		g = p.current()
	}
	name := "*"
	if value != "*" {
		name = Token(value)
	}
	if name != "" {
		g.agents = append(g.agents, name)
	}
}

func (p *parser) rule(allow bool, pattern string) {
	g := p.current()
	if g == nil {
		return // before the first user-agent line
	}
	p.closed = true
	if pattern != "" {
		g.rules = append(g.rules, rule{allow, pattern})
	}
}

// parseDelay reads seconds.
func parseDelay(s string) (time.Duration, bool) {
	if strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(seconds) || seconds < 0 {
		return 0, false
	}
	if seconds >= maxCrawlDelay.Seconds() {
		return maxCrawlDelay, true
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// Token gives a crawler's product token: the letters, '-' and '_' that its user
// agent starts with, in lower case (RFC 9309 section 2.2.1).
func Token(userAgent string) string {
	end := 0
	for end < len(userAgent) {
		c := userAgent[end]
		if (c|0x20 < 'a' || c|0x20 > 'z') && c != '-' && c != '_' {
			break
		}
		end++
	}
	return strings.ToLower(userAgent[:end])
}

// Allowed reports whether the crawler of that user agent may fetch url. For more
// than one decision take For.
func (r *Rules) Allowed(userAgent, url string) bool { return r.For(userAgent).Allowed(url) }

// CrawlDelay gives the time between requests that the crawler of that user agent
// is asked for; it is not part of RFC 9309. False means none is asked for.
func (r *Rules) CrawlDelay(userAgent string) (time.Duration, bool) {
	return r.For(userAgent).CrawlDelay()
}

// Sitemaps gives the values of the Sitemap lines as they stand, in order. They
// concern every crawler and may be relative, repeated or no URLs at all.
func (r *Rules) Sitemaps() []string { return r.sitemaps }
