package cookies

import (
	"strconv"
	"strings"
	"time"
)

// attributes are those of a Set-Cookie line that mean something here. Of each the
// first counts; Max-Age goes before Expires.
type attributes struct {
	domain, path       string
	hasDomain, hasPath bool
	secure             bool
	expires            time.Time // zero: none that can be read
	hasExpires, hasAge bool
}

// parse reads one Set-Cookie line of an answer from o. A cookie that is expired
// already asks to remove what it names. false: it is to be ignored.
func parse(line string, o *origin, now time.Time) (cookie, bool) {
	var c cookie
	pair, rest, _ := strings.Cut(line, ";")
	name, value, ok := strings.Cut(pair, "=")
	c.name, c.value, c.bare = trim(name), trim(value), !ok
	if c.name == "" || len(c.name)+len(c.value) > maxPairBytes || hasControl(c.name) || hasControl(c.value) {
		return c, false
	}
	a, ok := parseAttributes(rest, now)
	if !ok || len(a.path) > maxAttributeBytes || hasControl(a.path) {
		return c, false
	}
	c.secure, c.expires, c.at = a.secure, a.expires, now.UnixMilli()
	c.path = o.defaultPath()
	if a.hasPath && a.path != "" {
		c.path = escapePath(a.path)
		if !under(o.path, c.path) {
			return c, false
		}
	}
	if len(c.path) > maxAttributeBytes { // escaped, or of the request
		return c, false
	}
	return c, c.place(a, o)
}

// place sets the domain of a cookie; false: o may not set it there.
func (c *cookie) place(a attributes, o *origin) bool {
	c.domain, c.hostOnly = o.host, true
	if !a.hasDomain {
		return true
	}
	domain := strings.ToLower(strings.TrimPrefix(a.domain, "."))
	switch {
	case domain == "" || !below(o.host, domain):
		return false
	case isAddress(o.host):
		return domain == o.host
	case strings.IndexByte(domain, '.') < 0:
		return false // a name without dots has no domain
	case isPublicSuffix(domain):
		return domain == o.host // and stays for that host alone
	}
	c.domain, c.hostOnly = domain, false
	return true
}

// parseAttributes reads what follows the name and value. false: an attribute that
// makes the whole cookie void.
func parseAttributes(rest string, now time.Time) (a attributes, ok bool) {
	for part := range strings.SplitSeq(rest, ";") {
		key, value, given := strings.Cut(part, "=")
		key, value = trim(key), trim(value)
		switch {
		case strings.EqualFold(key, "domain"):
			if !given {
				return a, false
			}
			if !a.hasDomain {
				a.domain, a.hasDomain = value, true
			}
		case strings.EqualFold(key, "path"):
			if !given {
				return a, false
			}
			if !a.hasPath {
				a.path, a.hasPath = value, true
			}
		case strings.EqualFold(key, "secure"):
			a.secure = a.secure || !given || value != ""
		case strings.EqualFold(key, "max-age"):
			age, ok := parseAge(value)
			if !ok {
				return a, false
			}
			a.hasAge, a.expires = true, now.Add(age)
		case strings.EqualFold(key, "expires"):
			if a.hasAge || a.hasExpires || !given {
				continue
			}
			if at, ok := parseExpires(strings.Trim(value, `"`), now); ok {
				a.expires, a.hasExpires = at, true
			}
		}
	}
	return a, true
}

// longestAge is what an age is cut to: RFC 6265bis §5.5 asks for 400 days at most.
const longestAge = 400 * 24 * time.Hour

// parseAge reads whole seconds.
func parseAge(s string) (time.Duration, bool) {
	digits := strings.TrimLeft(s, "+-")
	if digits == "" || len(s)-len(digits) > 1 || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil { // out of range; ParseInt gives the nearest
		n = max(min(n, int64(longestAge/time.Second)), -1)
	}
	switch {
	case n <= 0:
		return 0, true
	case n >= int64(longestAge/time.Second):
		return longestAge, true
	}
	return time.Duration(n) * time.Second, true
}

// trim takes white space off both ends.
func trim(s string) string { return strings.Trim(s, " \t\r\n\v\f") }

// hasControl reports a byte that may stand in no field: such a cookie is void (RFC
// 6265bis §5.6).
func hasControl(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return true
		}
	}
	return false
}
