package charset

import (
	"encoding/binary"
	"unicode/utf8"
)

// Guess is the encoding of a page that declares none: the first of ASCII, UTF-8 and
// windows-1252 that all of it decodes in, as in Scrapy. A page in plain ASCII is
// called Windows1252, which is what browsers use for its queries. ASCII means that
// none fits.
func Guess(body []byte) Encoding {
	rest := body[plainLen(body):]
	switch {
	case len(rest) == 0:
		return Windows1252
	case utf8.Valid(rest):
		return UTF8
	case fitsWindows1252(rest):
		return Windows1252
	}
	return ASCII
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
