package charset

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

// guess is the encoding of a page that declares none that Python knows: the first
// of ASCII, UTF-8 and windows-1252 that all of it decodes in, as in Scrapy. A page in
// plain ASCII is called Windows1252, which is what browsers use for its queries.
//
// A page that is neither ASCII nor UTF-8 is in the encoding that it names in a way
// that only browsers understand, if it does. Where windows-1252 does not fit, the
// encoding is the one whose statistics fit well; ASCII means that none does.
func guess(contentType string, body []byte) Encoding {
	rest := body[plainLen(body):]
	switch {
	case len(rest) == 0:
		return Windows1252
	case utf8.Valid(rest):
		return UTF8
	}
	if e, ok := browserLabel(headerLabel(contentType)); ok {
		return e
	}
	if e, ok := browserLabel(string(declaredLabel(body))); ok {
		return e
	}
	if fitsWindows1252(rest) {
		return Windows1252
	}
	if e, ok := detect(rest); ok {
		return e
	}
	return ASCII
}

// browserLabel finds an encoding by a label of the Encoding Standard, like x-gbk,
// windows-949 or iso-8859-8-i.
func browserLabel(label string) (e Encoding, ok bool) {
	if label == "" || len(label) > longestLabel {
		return UTF8, false
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		return UTF8, false
	}
	name, err := htmlindex.Name(enc)
	if err != nil {
		return UTF8, false
	}
	// Python's names lack the x- of x-mac-cyrillic and the -i of iso-8859-8-i, which
	// says how lines are laid out.
	e, ok = Lookup(strings.TrimSuffix(strings.TrimPrefix(name, "x-"), "-i"))
	return e, ok && e.Readable() && !e.Wide()
}

// fitsWindows1252 reports whether every byte is in use in windows-1252.
func fitsWindows1252(b []byte) bool {
	for _, c := range b {
		switch c {
		case 0x81, 0x8d, 0x8f, 0x90, 0x9d:
			return false
		}
	}
	return true
}

// plainLen is the length of the ASCII text at the head of b.
func plainLen(b []byte) int {
	const high = 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if binary.LittleEndian.Uint64(b[i:])&high != 0 {
			break
		}
	}
	for i < len(b) && b[i] < utf8.RuneSelf {
		i++
	}
	return i
}
