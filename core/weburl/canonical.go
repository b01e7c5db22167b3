package weburl

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"golang.org/x/text/encoding"
)

// CanonicalOptions are the keyword arguments of w3lib's canonicalize_url; the
// zero value is its defaults.
type CanonicalOptions struct {
	Encoding      string // of the page, by its Python or HTML name; "" is UTF-8
	DropBlank     bool   // leave out query arguments without a value
	KeepFragments bool
}

// Canonicalize is w3lib's canonicalize_url (2.4): the clean URL with sorted
// query arguments, needless escapes undone and no fragment, so that two
// spellings of one URL compare equal. Dot segments and default ports stay.
// Where the encoding lacks a character, UTF-8 is used. Errors are those of
// SafeURL. A URL in canonical form costs no allocation.
func Canonicalize(url string, o CanonicalOptions) (string, error) {
	if o.Encoding == "" && !o.DropBlank {
		if end, ok := canonicalEnd(url); ok && (!o.KeepFragments || end == len(url)) {
			return url[:end], nil
		}
	}
	safe, err := safeURL(url, o.Encoding, newest)
	if errors.Is(err, ErrEncoding) {
		safe, err = safeURL(url, "", newest)
	}
	if err != nil {
		return "", err
	}
	p, err := split(safe)
	if err != nil {
		return "", err
	}
	var buf [stackBytes]byte
	return string(appendCanonical(buf[:0], p, o, newest)), nil
}

// canonicalizeOld is canonicalize_url of w3lib 2.1.1 for UTF-8: it does its own,
// weaker cleaning, splits the query at ';' too and lower-cases user and password.
func canonicalizeOld(url string, keepFragments bool) (string, error) {
	p, err := split(strip(url))
	if err != nil {
		return "", err
	}
	if host, err := idna2003(p.netloc); err == nil {
		p.netloc = host
	}
	p.netloc = strings.TrimRight(lower(p.netloc), ":")
	p.query, _ = quoteIn(p.query, encoding.Encoding(nil), canonOther)
	p.fragment = quote(p.fragment, canonOther)
	var buf [stackBytes]byte
	return string(appendCanonical(buf[:0], p, CanonicalOptions{KeepFragments: keepFragments}, w3lib2point1)), nil
}

// canonicalEnd reports whether url, up to its fragment, is in canonical form
// under every dialect, and where that part ends. False means only that a
// closer look is needed; a "#!" is left to that, too.
func canonicalEnd(url string) (int, bool) {
	i, ok := plainAuthority(url)
	if !ok || i == len(url) {
		return 0, false
	}
	for i < len(url) && class[url[i]]&plainPath != 0 {
		i++
	}
	if i < len(url) && url[i] == '?' {
		if i, ok = canonicalQueryEnd(url, i+1); !ok {
			return 0, false
		}
	}
	if i == len(url) {
		return i, true
	}
	if url[i] != '#' || i+1 < len(url) && url[i+1] == '!' {
		return 0, false
	}
	return i, true
}

// canonicalQueryEnd reads arguments "key=value" in order, from url[i] on.
func canonicalQueryEnd(url string, i int) (int, bool) {
	var lastKey, lastValue string
	for first := true; ; first = false {
		start := i
		for i < len(url) && class[url[i]]&canonQuery != 0 {
			i++
		}
		if i == len(url) || url[i] != '=' {
			return 0, false
		}
		key := url[start:i]
		i++
		start = i
		for i < len(url) && class[url[i]]&canonQuery != 0 {
			i++
		}
		value := url[start:i]
		if !first && (key < lastKey || key == lastKey && value < lastValue) {
			return 0, false
		}
		lastKey, lastValue = key, value
		if i == len(url) || url[i] != '&' {
			return i, i == len(url) || url[i] == '#'
		}
		i++
	}
}

// appendCanonical writes the canonical form of a split URL, whose scheme and
// netloc are in their final form.
func appendCanonical(dst []byte, p parts, o CanonicalOptions, d dialect) []byte {
	path, params, _ := cutParams(p)
	if d == newest {
		p.netloc = lowerHost(p.netloc)
	}
	p.path = string(appendCanonicalPath(nil, path))
	if params != "" {
		p.path += ";" + quote(params, canonOther)
	}
	p.query = string(appendCanonicalQuery(nil, p.query, o.DropBlank, d))
	if !o.KeepFragments {
		p.fragment = ""
	}
	return append(dst, p.join()...)
}

// cutParams splits the last path segment at its first ';', as Python's urlparse.
func cutParams(p parts) (path, params string, has bool) {
	if !usesParams(p.scheme) {
		return p.path, "", false
	}
	segment := strings.LastIndexByte(p.path, '/') + 1
	i := strings.IndexByte(p.path[segment:], ';')
	if i < 0 {
		return p.path, "", false
	}
	i += segment
	return p.path[:i], p.path[i+1:], true
}

// lowerHost lower-cases what follows the user and password.
func lowerHost(netloc string) string {
	host := strings.LastIndexByte(netloc, '@') + 1
	return netloc[:host] + strings.TrimRight(lower(netloc[host:]), ":")
}

// appendCanonicalPath decodes every escape but those of '/' and '?', then
// escapes what has to be.
func appendCanonicalPath(dst []byte, path string) []byte {
	if path == "" {
		return append(dst, '/')
	}
	for i := 0; i < len(path); i++ {
		c, ok := unescapeAt(path, i)
		if !ok {
			if c = path[i]; class[c]&canonPath != 0 {
				dst = append(dst, c)
			} else {
				dst = appendEscaped(dst, c)
			}
			continue
		}
		i += 2
		if c == '/' || c == '?' || class[c]&canonPath == 0 {
			dst = appendEscaped(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// argument is one decoded query argument.
type argument struct{ key, value []byte }

func appendCanonicalQuery(dst []byte, query string, dropBlank bool, d dialect) []byte {
	if query == "" {
		return dst
	}
	var args []argument
	for piece := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' && d != newest }) {
		key, value, _ := strings.Cut(piece, "=")
		if dropBlank && value == "" {
			continue
		}
		args = append(args, argument{unplus(key), unplus(value)})
	}
	slices.SortStableFunc(args, func(a, b argument) int {
		if c := bytes.Compare(a.key, b.key); c != 0 {
			return c
		}
		return bytes.Compare(a.value, b.value)
	})
	for i, a := range args {
		if i > 0 {
			dst = append(dst, '&')
		}
		dst = append(appendPlus(dst, a.key), '=')
		dst = appendPlus(dst, a.value)
	}
	return dst
}

// unplus decodes an argument: '+' is a space.
func unplus(s string) []byte {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if u, ok := unescapeAt(s, i); ok {
			c = u
			i += 2
		} else if c == '+' {
			c = ' '
		}
		b = append(b, c)
	}
	return b
}

// appendPlus is Python's quote_plus.
func appendPlus(dst, s []byte) []byte {
	for _, c := range s {
		switch {
		case class[c]&unreserved != 0:
			dst = append(dst, c)
		case c == ' ':
			dst = append(dst, '+')
		default:
			dst = appendEscaped(dst, c)
		}
	}
	return dst
}
