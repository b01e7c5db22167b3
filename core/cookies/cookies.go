// Package cookies keeps the cookies of a crawl: it reads Set-Cookie lines, says
// what the Cookie field of a request holds, and gives both a form to be stored.
// The main type is Jars. It reads no clock, does no I/O and starts nothing.
//
// The rules are Scrapy's, which are those of Python's http.cookiejar for Netscape
// cookies with the Public Suffix List on top, except that a cookie set without a
// Domain, or for a public suffix, is sent to the very host that set it and to none
// below it (RFC 6265 §5.4).
package cookies

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"orbweaver/core/weburl"
)

// The limits of one cookie: RFC 6265bis §5.6 and §5.7. What exceeds them is ignored.
const (
	maxPairBytes      = 4096 // name and value together
	maxAttributeBytes = 1024 // a path
)

// cookie is one cookie as it is kept. domain, path, name and hostOnly are its
// identity within a jar. No field holds a control character.
type cookie struct {
	domain   string // of the host that set it, or the one it named, without leading dot
	path     string
	name     string
	value    string
	bare     bool      // it was sent without "=": name is all there is
	hostOnly bool      // for domain alone, not for hosts below it
	secure   bool      // for https only
	expires  time.Time // zero: with the crawl
	at       int64     // when it was set, unix ms by the node's clock: of two, the later counts
}

// is reports whether c and o replace each other. Their domains are the same.
func (c *cookie) is(o *cookie) bool {
	return c.name == o.name && c.path == o.path && c.hostOnly == o.hostOnly
}

// same reports whether c and o are the same cookie but for when they were set.
func (c *cookie) same(o *cookie) bool {
	return c.is(o) && c.value == o.value && c.bare == o.bare && c.secure == o.secure && c.expires.Equal(o.expires)
}

func (c *cookie) expired(now time.Time) bool { return !c.expires.IsZero() && !c.expires.After(now) }

// overheadBytes is about what a cookie costs besides its strings.
const overheadBytes = 160

func (c *cookie) bytes() int {
	return overheadBytes + len(c.domain) + len(c.path) + len(c.name) + len(c.value)
}

// origin is a URL as cookies see it.
type origin struct {
	host   string
	path   string
	secure bool
}

// originOf splits a clean URL; host is "" when it has none.
func originOf(url string) origin {
	o := origin{host: weburl.Host(url), path: "/", secure: strings.HasPrefix(url, "https:")}
	if _, rest, ok := strings.Cut(url, "://"); ok {
		if i := strings.IndexAny(rest, "/?#"); i >= 0 && rest[i] == '/' {
			o.path = rest[i:]
			if end := strings.IndexAny(o.path, "?#"); end >= 0 {
				o.path = o.path[:end]
			}
			o.path = escapePath(o.path)
		}
	}
	return o
}

// defaultPath is the path of a cookie that names none: that of the request, up to
// its last slash.
func (o *origin) defaultPath() string {
	if i := strings.LastIndexByte(o.path, '/'); i > 0 {
		return o.path[:i]
	}
	return "/"
}

// under reports whether a request path is at or below a cookie's path.
func under(requestPath, path string) bool {
	if !strings.HasPrefix(requestPath, path) {
		return false
	}
	return len(requestPath) == len(path) || strings.HasSuffix(path, "/") || requestPath[len(path)] == '/'
}

// below reports whether a host is domain or one under it.
func below(host, domain string) bool {
	return host == domain || len(host) > len(domain) && host[len(host)-len(domain)-1] == '.' && strings.HasSuffix(host, domain)
}

// isAddress reports whether a host as weburl.Host gives it is an IP address: no
// name ends in a digit.
func isAddress(host string) bool {
	return host != "" && (host[0] == '[' || host[len(host)-1]-'0' <= 9)
}

// isPublicSuffix reports whether anybody may register a name under a domain.
func isPublicSuffix(domain string) bool {
	suffix, _ := publicsuffix.PublicSuffix(domain)
	return suffix == domain
}

const upperHex = "0123456789ABCDEF"

// escapePath percent-encodes what a path may not hold and writes escapes in upper
// case, so that paths are compared as Python compares them.
func escapePath(path string) string {
	clean := true
	for i := 0; i < len(path) && clean; i++ {
		clean = pathByte(path[i]) && path[i] != '%'
	}
	if clean {
		return path
	}
	out := make([]byte, 0, len(path)+16)
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '%' && i+2 < len(path) && isHex(path[i+1]) && isHex(path[i+2]):
			out = append(out, '%', upper(path[i+1]), upper(path[i+2]))
			i += 2
		case pathByte(c):
			out = append(out, c)
		default:
			out = append(out, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(out)
}

func pathByte(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	default:
		return strings.IndexByte("_.-~%/;:@&=+$,!*'()", c) >= 0
	}
}

func isHex(c byte) bool { return c-'0' <= 9 || (c|0x20)-'a' <= 5 }

func upper(c byte) byte {
	if c >= 'a' {
		return c - 0x20
	}
	return c
}

// Key gives the jar of a request by its meta, as Scrapy's `cookiejar` key names it,
// and whether its cookies are kept at all: not with `dont_merge_cookies`. The jar
// "" is that of requests without the key; 1 and "1" are two jars.
func Key(meta []byte) (key string, kept bool) {
	if len(meta) == 0 {
		return "", true
	}
	var m struct {
		Jar  json.RawMessage `json:"cookiejar"`
		Dont json.RawMessage `json:"dont_merge_cookies"`
	}
	if json.Unmarshal(meta, &m) != nil {
		return "", true
	}
	if len(m.Jar) > 0 && !bytes.Equal(m.Jar, []byte("null")) {
		var b bytes.Buffer
		if json.Compact(&b, m.Jar) == nil && b.Len() <= maxAttributeBytes {
			key = b.String()
		}
	}
	switch string(m.Dont) {
	case "", "null", "false", "0", `""`:
		return key, true
	default:
		return key, false
	}
}
