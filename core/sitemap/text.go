package sitemap

import (
	"strings"
	"unicode/utf8"
)

// text gathers the text of one element or attribute.
type text struct {
	buf     []byte
	cr      bool // the last byte was a carriage return
	tooLong bool
}

func (t *text) reset() { t.buf, t.cr, t.tooLong = t.buf[:0], false, false }

// add appends text as it stands in the document: line ends become line feeds,
// characters that XML forbids are left out.
func (t *text) add(b []byte) {
	if t.tooLong = t.tooLong || len(t.buf)+len(b) > valueLimit; t.tooLong {
		return
	}
	for _, c := range b {
		switch {
		case c == '\n' && t.cr:
			t.cr = false
			continue
		case c == '\r':
			t.buf = append(t.buf, '\n')
		case c >= ' ' || c == '\n' || c == '\t':
			t.buf = append(t.buf, c)
		}
		t.cr = c == '\r'
	}
}

func (t *text) addRune(r rune) {
	t.cr = false
	if t.tooLong = t.tooLong || len(t.buf)+utf8.UTFMax > valueLimit; !t.tooLong {
		t.buf = utf8.AppendRune(t.buf, r)
	}
}

// take gives the text without white space around it and empties it; "" when it
// was too long. Bytes that are no UTF-8 count as Latin-1, as for libxml2.
func (t *text) take() string {
	defer t.reset()
	if t.tooLong {
		return ""
	}
	s := strings.TrimSpace(string(t.buf))
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			r = rune(s[i])
		}
		b.WriteRune(r)
		i += n
	}
	return strings.TrimSpace(b.String())
}

// predefined are the entities of XML itself.
func predefined(name []byte) (rune, bool) {
	switch string(name) {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	default:
		return 0, false
	}
}

// charRef reads a character reference from its # on; false when it is none or of
// a character that XML forbids.
func (p *parser) charRef() (rune, bool) {
	in := &p.in
	in.pos++
	base := rune(10)
	if in.byte() == 'x' {
		in.pos++
		base = 16
	}
	value, digits := rune(0), 0
	for ; ; digits++ {
		d := digit(in.byte())
		if d >= base {
			break
		}
		in.pos++
		if value = value*base + d; value > utf8.MaxRune {
			value = utf8.MaxRune + 1
		}
	}
	ok := in.take(";") && digits > 0
	return value, ok && (value >= ' ' || value == '\t' || value == '\n' || value == '\r') && utf8.ValidRune(value) && value&^1 != 0xfffe
}

// digit is the value of a hexadecimal digit; 16 for what is none.
func digit(c byte) rune {
	switch {
	case c-'0' < 10:
		return rune(c - '0')
	case c|0x20-'a' < 6:
		return rune(c|0x20-'a') + 10
	default:
		return 16
	}
}
