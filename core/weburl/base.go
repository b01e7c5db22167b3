package weburl

import (
	"bytes"
	"strings"
)

// Base is the URL that the links of one page are relative to. It is immutable
// and safe for concurrent use.
type Base struct {
	href    string // serialised http or https URL without fragment
	pathAt  int    // where the path starts: href[:pathAt] is scheme, userinfo, host and port
	nameAt  int    // after the path's last '/'
	queryAt int    // where the query starts, len(href) when there is none
	style   style
}

// NewBase makes the Base of a page, from the URL that it was fetched from or
// from what its base element says.
func NewBase(pageURL string) (*Base, error) {
	href, err := Clean(pageURL)
	if err != nil {
		return nil, err
	}
	b := newBase(href)
	return &b, nil
}

// newBase takes a serialised http or https URL apart.
func newBase(href string) Base {
	if i := strings.IndexByte(href, '#'); i >= 0 {
		href = href[:i]
	}
	b := Base{href: href, queryAt: len(href), style: cleanStyle()}
	if i := strings.IndexByte(href, '?'); i >= 0 {
		b.queryAt = i
	}
	authority := strings.Index(href, "://") + len("://")
	b.pathAt = authority + strings.IndexByte(href[authority:], '/')
	b.nameAt = strings.LastIndexByte(href[:b.queryAt], '/') + 1
	return b
}

// InEncoding gives a Base whose links have their query in the character encoding
// of the page, as browsers and Scrapy send it. An encoding that is unknown or in
// which ASCII is not itself (UTF-16) counts as UTF-8, the default.
func (b *Base) InEncoding(name string) *Base {
	c := *b
	c.style.encoding = nil
	if enc, err := findEncoding(name); err == nil && !changesASCII(enc) {
		c.style.encoding = enc
	}
	return &c
}

// String is the base URL, without fragment.
func (b *Base) String() string { return b.href }

func (b *Base) scheme() string {
	if b.href[4] == 's' {
		return "https"
	}
	return "http"
}

// Resolve gives the clean URL (see Clean), without fragment, that a link on the
// page leads to. It is false when that is not an http or https URL or none at
// all. A plain link costs the allocation of the result only.
func (b *Base) Resolve(href []byte) (string, bool) {
	if len(href) == 0 {
		return b.href, true
	}
	switch c := href[0]; c {
	case '/':
		if len(href) > 1 && isSlash(href[1]) {
			break
		}
		if end, ok := plainTail(href, 0); ok {
			return concat(b.href[:b.pathAt], href[:end]), true
		}
	case '#':
		return b.href, true
	case '?':
		if end, ok := plainQueryEnd(href, 1); ok {
			return concat(b.href[:b.queryAt], href[:end]), true
		}
	default:
		if s, ok := b.resolveName(href); ok {
			return s, true
		}
	}
	return b.resolve(href, false)
}

// ResolveWhole is Resolve that keeps the fragment.
func (b *Base) ResolveWhole(href []byte) (string, bool) {
	if bytes.IndexByte(href, '#') < 0 {
		return b.Resolve(href)
	}
	return b.resolve(href, true)
}

func (b *Base) resolve(href []byte, fragment bool) (string, bool) {
	var buf [stackBytes]byte
	out, err := appendURL(buf[:0], strip(string(href)), b, b.style, fragment)
	if err != nil {
		return "", false
	}
	return string(out), true
}

// resolveName takes the fast way for plain absolute links and plain links to a
// name in the page's folder.
func (b *Base) resolveName(href []byte) (string, bool) {
	if len(href) > b.pathAt && string(href[:b.pathAt]) == b.href[:b.pathAt] && href[b.pathAt] == '/' {
		end, ok := plainTail(href, b.pathAt)
		if !ok {
			return "", false
		}
		return string(href[:end]), true
	}
	if i, ok := plainAuthority(href); ok {
		if i == len(href) {
			return string(append(href[:i:i], '/')), true
		}
		end, ok := plainTail(href, i)
		if !ok {
			return "", false
		}
		return string(href[:end]), true
	}
	end, ok := plainTail(href, 0)
	if !ok || hasColonInFirstSegment(href[:end]) {
		return "", false
	}
	return concat(b.href[:b.nameAt], href[:end]), true
}

// hasColonInFirstSegment reports whether href may start with a scheme.
func hasColonInFirstSegment(href []byte) bool {
	for _, c := range href {
		switch c {
		case ':':
			return true
		case '/', '?':
			return false
		}
	}
	return false
}

// concat joins with one allocation; a plain "+" would convert b first.
func concat(a string, b []byte) string {
	var s strings.Builder
	s.Grow(len(a) + len(b))
	s.WriteString(a)
	s.Write(b)
	return s.String()
}
