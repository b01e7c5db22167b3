package extract

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"

	"orbweaver/core/charset"
)

// value is the attribute's value with line ends, NULs and character references
// as the HTML standard reads them. It is a part of the page where there is
// nothing to decode.
func (s *scanner) value(a attr) []byte {
	v := s.src[a.val:a.valEnd:a.valEnd]
	for i, c := range v {
		if c == '&' || c == '\r' || c == 0 {
			start := len(s.scratch)
			s.scratch = appendDecoded(append(s.scratch, v[:i]...), v[i:])
			return s.scratch[start:len(s.scratch):len(s.scratch)]
		}
	}
	return v
}

func appendDecoded(dst, v []byte) []byte {
	for i := 0; i < len(v); {
		switch c := v[i]; c {
		case '&':
			text, n := reference(v[i:])
			dst = append(dst, text...)
			i += n
			continue
		case '\r':
			dst = append(dst, '\n')
			if i+1 < len(v) && v[i+1] == '\n' {
				i++
			}
		case 0:
			dst = utf8.AppendRune(dst, utf8.RuneError)
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}

// longestReference is the length of &CounterClockwiseContourIntegral;, the
// longest name there is.
const longestReference = 33

// reference reads the character reference at the head of v, which is "&", by
// the rules for attributes, and gives its text and length. What is no reference
// is the "&" alone.
func reference(v []byte) (text string, n int) {
	const literal = "&"
	if len(v) > 4 && string(v[1:5]) == "amp;" {
		return literal, 5
	}
	n = 1
	if n < len(v) && v[n] == '#' {
		return numericReference(v)
	}
	for n < len(v) && n < longestReference && isAlnum(v[n]) {
		n++
	}
	closed := n < len(v) && v[n] == ';'
	switch {
	case closed:
		n++
	case n < len(v) && (v[n] == '=' || isAlnum(v[n])):
		return literal, 1 // "?a&copy=1" is a parameter, not a sign
	}
	if n == 1 {
		return literal, 1
	}
	raw := string(v[:n])
	out := html.UnescapeString(raw)
	// UnescapeString also takes the longest prefix that is a name, which in an
	// attribute is no reference. A prefix leaves a rest behind its sign.
	whole := utf8.RuneCountInString(out) == 1
	if closed {
		whole = !strings.HasSuffix(out, ";") || raw == "&semi;"
	}
	if !whole {
		return literal, 1
	}
	return out, n
}

func numericReference(v []byte) (text string, n int) {
	n = 2
	hex := n < len(v) && v[n]|0x20 == 'x'
	if hex {
		n++
	}
	digits := n
	for n < len(v) && (v[n]-'0' <= 9 || hex && (v[n]|0x20)-'a' <= 5) {
		n++
	}
	if n == digits {
		return "&", 1
	}
	if n < len(v) && v[n] == ';' {
		n++
	}
	return html.UnescapeString(string(v[:n])), n
}

func isAlnum(c byte) bool { return class[c]&letter != 0 || c-'0' <= 9 }

// titleText is the text of a title element: decoded, white space collapsed,
// valid UTF-8.
func titleText(raw []byte) string {
	s := string(charset.UTF8.Decode(raw))
	if strings.IndexByte(s, '&') >= 0 {
		s = html.UnescapeString(s)
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\ufffd")
	}
	return collapse(s)
}

// collapse trims s and makes each run of ASCII white space one blank, as
// document.title does. A tidy string is given back as it is.
func collapse(s string) string {
	tidy := true
	for i := range len(s) {
		if class[s[i]]&space != 0 && (s[i] != ' ' || i == 0 || i == len(s)-1 || s[i+1] == ' ') {
			tidy = false
			break
		}
	}
	if tidy {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r < utf8.RuneSelf && class[r]&space != 0
	}), " ")
}
