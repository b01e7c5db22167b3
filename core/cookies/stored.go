package cookies

import (
	"strconv"
	"strings"
	"time"
)

// Change is one cookie as it is stored. Fields hold no line feed.
type Change struct {
	Domain string // the cookie's: all of a domain are stored together
	ID     string // jar, path, name and kind: what a later one of the same ID replaces; ends in a tab
	Line   string // ID and the rest; "" when the cookie is to be removed
}

// Stored form of a cookie: fields with tabs between, in this order. No field can
// hold a tab: a jar's key is JSON, and the rest has no control characters.
const (
	storedJar = iota
	storedPath
	storedName
	storedKind // 'h' for the host alone, 'd' for the domain
	storedFlags
	storedExpires // unix seconds; 0: with the crawl
	storedAt      // unix ms
	storedValue
	storedFields
)

func change(jar string, c *cookie, now time.Time) Change {
	kind := "d"
	if c.hostOnly {
		kind = "h"
	}
	id := jar + "\t" + c.path + "\t" + c.name + "\t" + kind + "\t"
	ch := Change{Domain: c.domain, ID: id}
	if c.expired(now) {
		return ch
	}
	flags := ""
	if c.secure {
		flags += "s"
	}
	if c.bare {
		flags += "b"
	}
	expires := int64(0)
	if !c.expires.IsZero() {
		expires = c.expires.Unix()
	}
	ch.Line = id + flags + "\t" + strconv.FormatInt(expires, 10) + "\t" + strconv.FormatInt(c.at, 10) + "\t" + c.value
	return ch
}

// Load takes stored lines of a domain in, except those of cookies that were set later
// here. Lines that cannot be read are left out.
func (j *Jars) Load(domain string, lines []string, now time.Time) {
	for _, line := range lines {
		jar, c, ok := parseStored(domain, line)
		if !ok || c.expired(now) {
			continue
		}
		j.mu.Lock()
		if !j.hasLater(jar, &c) {
			j.put(jar, &c, now)
		}
		j.mu.Unlock()
	}
}

// hasLater reports whether a cookie of that identity was set no earlier. Callers hold mu.
func (j *Jars) hasLater(jar string, c *cookie) bool {
	e := j.domains[domainKey{jar, c.domain}]
	if e == nil {
		return false
	}
	for _, o := range e.Value.(*bucket).cookies { //nolint:forcetypeassert // only *bucket is put
		if o.is(c) {
			return o.at >= c.at
		}
	}
	return false
}

func parseStored(domain, line string) (jar string, c cookie, ok bool) {
	f := strings.Split(line, "\t")
	if len(f) != storedFields || domain == "" || f[storedName] == "" || !strings.HasPrefix(f[storedPath], "/") || hasControl(strings.Join(f, "")) {
		return "", c, false
	}
	expires, err := strconv.ParseInt(f[storedExpires], 10, 64)
	at, err2 := strconv.ParseInt(f[storedAt], 10, 64)
	if err != nil || err2 != nil {
		return "", c, false
	}
	c = cookie{
		at: at, domain: domain, path: f[storedPath], name: f[storedName], value: f[storedValue], hostOnly: f[storedKind] == "h",
		secure: strings.Contains(f[storedFlags], "s"), bare: strings.Contains(f[storedFlags], "b"),
	}
	if expires > 0 {
		c.expires = time.Unix(expires, 0)
	}
	if len(c.name)+len(c.value) > maxPairBytes || len(c.path) > maxAttributeBytes {
		return "", c, false
	}
	return f[storedJar], c, true
}

// Domains lists the domains whose cookies a host may be sent or may change: its own
// and those above it that it may name.
func Domains(host string) []string {
	var out []string
	for domain := host; domain != ""; domain = parent(host, domain) {
		if domain != host && (strings.IndexByte(domain, '.') < 0 || isPublicSuffix(domain)) {
			break
		}
		out = append(out, domain)
	}
	return out
}
