package trap

import (
	"math/bits"
	"slices"
	"strings"
)

// shape is what of a URL its pattern is made of.
type shape struct {
	path, query string // query without "?"
	segments    int
	params      int
	family      uint64 // path shape alone
	pattern     uint64 // path shape and the set of parameter names
}

// split cuts a clean absolute URL into path and query.
func split(url string) (path, query string) {
	if i := strings.Index(url, "://"); i >= 0 {
		url = url[i+len("://"):]
	}
	if i := strings.IndexByte(url, '#'); i >= 0 {
		url = url[:i]
	}
	if i := strings.IndexByte(url, '?'); i >= 0 {
		url, query = url[:i], url[i+1:]
	}
	if i := strings.IndexByte(url, '/'); i >= 0 {
		return url[i:], query
	}
	return "/", query
}

// nextSegment cuts the first segment off a path that starts with a slash.
func nextSegment(path string) (segment, rest string) {
	path = path[1:]
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

// nextParam cuts the first parameter off a query.
func nextParam(query string) (name, value, rest string) {
	pair, rest, _ := strings.Cut(query, "&")
	name, value, _ = strings.Cut(pair, "=")
	return name, value, rest
}

// shapeOf folds what differs between the pages of one kind.
func shapeOf(url string) shape {
	var s shape
	s.path, s.query = split(url)
	for rest := s.path; rest != ""; {
		var segment string
		segment, rest = nextSegment(rest)
		s.segments++
		s.family = mix(s.family ^ fold(segment))
	}
	s.pattern = mix(s.family ^ s.names())
	return s
}

// maxNames is how many different parameter names a pattern tells apart.
const maxNames = 32

// names hashes the set of parameter names and counts the parameters: order and
// repetition of names make no difference to the hash.
func (s *shape) names() uint64 {
	var set [maxNames]uint64
	var sum uint64
	n := 0
	for rest := s.query; rest != ""; {
		var name string
		name, _, rest = nextParam(rest)
		s.params++
		h := foldName(name)
		if n < maxNames && !slices.Contains(set[:n], h) {
			set[n] = h
			n++
			sum += h
		}
	}
	return mix(sum)
}

// wordLimitBytes is the longest segment that counts as a name of its own; longer
// ones are titles, which differ from page to page.
const wordLimitBytes = 16

// fold hashes a path segment: every run of digits is one mark, hex of 8 digits and
// more is one mark, and what is longer or has several words is one mark. The
// extension stands for itself.
func fold(segment string) uint64 {
	ext := ""
	if i := strings.LastIndexByte(segment, '.'); i >= 0 && len(segment)-i <= 6 {
		segment, ext = segment[:i], segment[i:]
	}
	var h uint64
	switch {
	case isHex(segment):
		h = 'h'
	case isSlug(segment):
		h = 's'
	default:
		h = foldDigits(segment)
	}
	return mix(bits.RotateLeft64(h, 11) ^ foldDigits(ext))
}

// foldName hashes a parameter name, with f[0] and f[17] alike.
func foldName(name string) uint64 { return mix(foldDigits(name) + 1) }

// foldDigits hashes s with one mark for each run of digits.
func foldDigits(s string) uint64 {
	var h uint64
	for i := 0; i < len(s); i++ {
		c := s[i]
		if isDigit(c) {
			for i+1 < len(s) && isDigit(s[i+1]) {
				i++
			}
			c = '0'
		}
		h = bits.RotateLeft64(h, 7) ^ uint64(c)
	}
	return mix(h)
}

// isHex reports whether s is 8 hex digits or more, with dashes as in a UUID or
// without, a decimal digit among them.
func isHex(s string) bool {
	digits, decimal := 0, false
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c):
			digits++
			decimal = true
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			digits++
		case c != '-':
			return false
		}
	}
	return digits >= 8 && decimal && digits > len(s)/2 && !allDigits(s)
}

// isSlug reports whether s is long or has several words.
func isSlug(s string) bool {
	if len(s) > wordLimitBytes {
		return true
	}
	letters, joints := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '-' || c == '_' || c == '%' || c == '+' || c == ',':
			joints++
		case !isDigit(c):
			letters++
		}
	}
	return joints > 0 && letters > 0
}

func isDigit(c byte) bool { return c-'0' < 10 }

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// mix is the finalizer of splitmix64: every bit depends on every bit.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// exampleLimitBytes bounds a pattern in a reason.
const exampleLimitBytes = 120

// example shows the pattern to people, by one of its URLs.
func (s *shape) example() string {
	b := make([]byte, 0, exampleLimitBytes+8)
	for rest := s.path; rest != "" && len(b) < exampleLimitBytes; {
		var segment string
		segment, rest = nextSegment(rest)
		b = append(b, '/')
		if isHex(segment) || isSlug(segment) {
			b = append(b, '*')
			continue
		}
		b = appendFolded(b, segment)
	}
	sep := byte('?')
	for rest := s.query; rest != "" && len(b) < exampleLimitBytes; sep = '&' {
		var name string
		name, _, rest = nextParam(rest)
		b = appendFolded(append(b, sep), name)
	}
	return string(b)
}

// appendFolded appends at most wordLimitBytes of s, with "#" for a run of digits.
func appendFolded(b []byte, s string) []byte {
	for i := 0; i < len(s) && i < wordLimitBytes; i++ {
		switch {
		case !isDigit(s[i]):
			b = append(b, s[i])
		case i == 0 || !isDigit(s[i-1]):
			b = append(b, '#')
		}
	}
	return b
}
