package robots

import (
	"slices"
	"strings"
)

// pattern is a compiled rule: prefix, then each of rest after any run of bytes.
type pattern struct {
	allow    bool
	anchored bool // the last piece must end the path
	octets   int  // length of the pattern, which says how specific it is
	prefix   string
	rest     []string // never empty strings, the last one of an anchored pattern apart
}

// compile normalises a rule and splits it at its wildcards. Its time and the
// pattern's size are linear in the rule's length.
func compile(r rule) pattern {
	text := normalize(r.pattern)
	p := pattern{allow: r.allow, octets: len(text)}
	if strings.HasSuffix(text, "$") {
		p.anchored = true
		text = text[:len(text)-1]
	}
	text = strings.Clone(text) // of the rule, not of the file
	prefix, after, star := strings.Cut(text, "*")
	p.prefix = prefix
	if !star {
		return p
	}
	for piece := range strings.SplitSeq(after, "*") {
		if piece != "" {
			p.rest = append(p.rest, piece)
		}
	}
	if p.anchored && strings.HasSuffix(text, "*") {
		p.anchored = false // "*$" ends anywhere
	}
	return p
}

func (p pattern) equal(q pattern) bool {
	return p.octets == q.octets && p.allow == q.allow && p.anchored == q.anchored && p.prefix == q.prefix &&
		slices.Equal(p.rest, q.rest)
}

// match reports whether the pattern matches path from its start. Each piece is
// taken where it first occurs, so path is read once, however many wildcards
// there are.
func (p *pattern) match(path string) bool {
	if !strings.HasPrefix(path, p.prefix) {
		return false
	}
	path = path[len(p.prefix):]
	if len(p.rest) == 0 {
		return !p.anchored || path == ""
	}
	pieces := p.rest
	if p.anchored {
		pieces = pieces[:len(pieces)-1]
	}
	for _, piece := range pieces {
		i := strings.Index(path, piece)
		if i < 0 {
			return false
		}
		path = path[i+len(piece):]
	}
	return !p.anchored || strings.HasSuffix(path, p.rest[len(p.rest)-1])
}

// normalize brings two spellings of a path together: octets outside ASCII are
// escaped, escapes of unreserved characters undone, hex digits in upper case
// (RFC 9309 section 2.2.2). What is no escape stays. It gives s itself where
// nothing changes.
func normalize(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 || s[i] == '%' && !isNormalEscape(s[i:]) {
			return string(appendNormal(make([]byte, 0, len(s)+16), s))
		}
	}
	return s
}

func appendNormal(dst []byte, s string) []byte {
	const upperHex = "0123456789ABCDEF"
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			decoded, ok := unescape(s[i:])
			if !ok {
				dst = append(dst, c)
				continue
			}
			i += 2
			if isUnreserved(decoded) {
				dst = append(dst, decoded)
				continue
			}
			c = decoded
		} else if c < 0x80 {
			dst = append(dst, c)
			continue
		}
		dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
	}
	return dst
}

// isNormalEscape reports whether s starts with '%' and normalize keeps it.
func isNormalEscape(s string) bool {
	c, ok := unescape(s)
	return !ok || !isUnreserved(c) && s[1] < 'a' && s[2] < 'a'
}

// unescape decodes the escape at the start of s.
func unescape(s string) (byte, bool) {
	if len(s) < 3 {
		return 0, false
	}
	hi, ok1 := unhex(s[1])
	lo, ok2 := unhex(s[2])
	return hi<<4 | lo, ok1 && ok2
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// isUnreserved is RFC 3986 section 2.3.
func isUnreserved(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '-' || c == '.' || c == '_' || c == '~'
}
