package cookies

import (
	"cmp"
	"container/list"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Config bounds what is kept. Start from Default.
type Config struct {
	// PerDomain is how many cookies a domain of a jar has at most. Default 50, what
	// RFC 6265bis asks for. A new one past it replaces the oldest.
	PerDomain int
	// MaxBytes bounds all jars of a crawl together. Default 16 MiB: room for the
	// 3000 cookies of RFC 6265bis at their largest. Past it the domain that went
	// unused longest loses its cookies.
	MaxBytes int
}

// Default is the product's configuration.
func Default() Config { return Config{PerDomain: 50, MaxBytes: 16 << 20} }

// Validate reports all problems.
func (c Config) Validate() error {
	var problems []error
	if c.PerDomain < 1 {
		problems = append(problems, fmt.Errorf("cookies: per-domain limit is %d: want 1 or more", c.PerDomain))
	}
	if c.MaxBytes < 1 {
		problems = append(problems, fmt.Errorf("cookies: COOKIES_MAXSIZE is %d: want 1 or more", c.MaxBytes))
	}
	return errors.Join(problems...)
}

// Jars holds the cookies of one crawl on one node: a jar for each cookiejar key, all
// of them under one bound. While none is kept, asking costs one atomic load. Safe for
// concurrent use.
type Jars struct {
	cfg  Config
	kept atomic.Int64 // domains that have cookies

	mu      sync.Mutex
	domains map[domainKey]*list.Element // guarded by mu; of *bucket
	recent  list.List                   // guarded by mu; the one used last in front
	bytes   int                         // guarded by mu
}

type domainKey struct{ jar, domain string }

// bucket is the cookies of one domain in one jar, in the order in which they were
// first set.
type bucket struct {
	key     domainKey
	cookies []cookie
}

// New makes empty jars; the error is that of cfg.Validate.
func New(cfg Config) (*Jars, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Jars{cfg: cfg, domains: map[domainKey]*list.Element{}}, nil
}

// Empty reports whether no cookie is kept.
func (j *Jars) Empty() bool { return j.kept.Load() == 0 }

// Len is the number of cookies kept, expired ones that nobody asked for included.
func (j *Jars) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for e := j.recent.Front(); e != nil; e = e.Next() {
		n += len(e.Value.(*bucket).cookies) //nolint:forcetypeassert // only *bucket is put
	}
	return n
}

// Header is the Cookie field of a request for a clean URL from a jar; "" is none.
// Longest path first, then the host's own cookies, then those of nearer domains,
// then as they were set.
func (j *Jars) Header(jar, url string, now time.Time) string {
	if j.Empty() {
		return ""
	}
	o := originOf(url)
	if o.host == "" {
		return ""
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []*cookie
	for domain := o.host; domain != ""; domain = parent(o.host, domain) {
		e := j.domains[domainKey{jar, domain}]
		if e == nil {
			continue
		}
		b := j.fresh(e, now)
		if b == nil {
			continue
		}
		j.recent.MoveToFront(e)
		for i := range b.cookies {
			c := &b.cookies[i]
			if (!c.hostOnly || domain == o.host) && (!c.secure || o.secure) && under(o.path, c.path) {
				found = append(found, c)
			}
		}
	}
	return render(found)
}

// parent is the next domain above one of a host; "" when there is none.
func parent(host, domain string) string {
	if isAddress(host) {
		return ""
	}
	_, up, _ := strings.Cut(domain, ".")
	return up
}

func render(found []*cookie) string {
	if len(found) == 0 {
		return ""
	}
	slices.SortStableFunc(found, func(a, b *cookie) int {
		if c := cmp.Compare(len(b.path), len(a.path)); c != 0 {
			return c
		}
		if a.hostOnly != b.hostOnly {
			if a.hostOnly {
				return -1
			}
			return 1
		}
		return cmp.Compare(len(b.domain), len(a.domain))
	})
	var out strings.Builder
	for i, c := range found {
		if i > 0 {
			out.WriteString("; ")
		}
		out.WriteString(c.name)
		if !c.bare {
			out.WriteByte('=')
			out.WriteString(c.value)
		}
	}
	return out.String()
}

// Set takes the Set-Cookie lines of an answer to a request for a clean URL into a
// jar and says what changed, to be stored. Lines that are refused change nothing.
func (j *Jars) Set(jar, url string, lines []string, now time.Time) []Change {
	o := originOf(url)
	if o.host == "" {
		return nil
	}
	var changes []Change
	for _, line := range lines {
		c, ok := parse(line, &o, now)
		if !ok {
			continue
		}
		j.mu.Lock()
		changed := j.put(jar, &c, now)
		j.mu.Unlock()
		if changed {
			changes = append(changes, change(jar, &c, now))
		}
	}
	return changes
}

// put stores a cookie, or removes the one that an expired one names. Callers hold mu.
// It reports whether anything is other than before.
func (j *Jars) put(jar string, c *cookie, now time.Time) bool {
	key := domainKey{jar, c.domain}
	e := j.domains[key]
	if e == nil {
		if c.expired(now) {
			return false
		}
		e = j.recent.PushFront(&bucket{key: key})
		j.domains[key] = e
		j.kept.Add(1)
	}
	b := e.Value.(*bucket) //nolint:forcetypeassert // only *bucket is put
	i := slices.IndexFunc(b.cookies, func(o cookie) bool { return o.is(c) })
	switch {
	case c.expired(now):
		if i < 0 {
			return false
		}
		j.remove(e, i)
		return true
	case i >= 0:
		if b.cookies[i].same(c) {
			return false
		}
		j.bytes += c.bytes() - b.cookies[i].bytes()
		b.cookies[i] = *c
	default:
		if len(b.cookies) >= j.cfg.PerDomain && j.fresh(e, now) == nil {
			return j.put(jar, c, now)
		}
		if len(b.cookies) >= j.cfg.PerDomain {
			j.bytes -= b.cookies[0].bytes()
			b.cookies = slices.Delete(b.cookies, 0, 1)
		}
		b.cookies = append(b.cookies, *c)
		j.bytes += c.bytes()
	}
	j.recent.MoveToFront(e)
	for j.bytes > j.cfg.MaxBytes && j.recent.Len() > 1 {
		j.drop(j.recent.Back())
	}
	return true
}

// fresh takes the expired cookies out of a bucket and gives it; nil when none is
// left. Callers hold mu.
func (j *Jars) fresh(e *list.Element, now time.Time) *bucket {
	b := e.Value.(*bucket) //nolint:forcetypeassert // only *bucket is put
	if !slices.ContainsFunc(b.cookies, func(c cookie) bool { return c.expired(now) }) {
		return b
	}
	b.cookies = slices.DeleteFunc(b.cookies, func(c cookie) bool {
		if c.expired(now) {
			j.bytes -= c.bytes()
			return true
		}
		return false
	})
	if len(b.cookies) == 0 {
		j.drop(e)
		return nil
	}
	return b
}

// remove takes one cookie out. Callers hold mu.
func (j *Jars) remove(e *list.Element, i int) {
	b := e.Value.(*bucket) //nolint:forcetypeassert // only *bucket is put
	j.bytes -= b.cookies[i].bytes()
	b.cookies = slices.Delete(b.cookies, i, i+1)
	if len(b.cookies) == 0 {
		j.drop(e)
	}
}

// drop forgets a domain of a jar. Callers hold mu.
func (j *Jars) drop(e *list.Element) {
	b := j.recent.Remove(e).(*bucket) //nolint:forcetypeassert // only *bucket is put
	for i := range b.cookies {
		j.bytes -= b.cookies[i].bytes()
	}
	delete(j.domains, b.key)
	j.kept.Add(-1)
}
