package charset

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeWide decodes UTF-16 and UTF-32. A half pair, a code that is no character and
// what is left over at the end are one U+FFFD each.
func decodeWide(e Encoding, body []byte) []byte {
	var order binary.ByteOrder = binary.LittleEndian
	if e == UTF16BE || e == UTF32BE {
		order = binary.BigEndian
	}
	if e >= UTF32 {
		return decode32(order, body)
	}
	out := make([]byte, 0, len(body)/2+len(body)/8)
	for len(body) > 1 {
		r := rune(order.Uint16(body))
		body = body[2:]
		if utf16.IsSurrogate(r) {
			if r >= 0xdc00 {
				r = utf8.RuneError
			} else if len(body) < 2 {
				return utf8.AppendRune(out, utf8.RuneError)
			} else if r = utf16.DecodeRune(r, rune(order.Uint16(body))); r != utf8.RuneError {
				body = body[2:]
			}
		}
		out = utf8.AppendRune(out, r)
	}
	if len(body) > 0 {
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	return out
}

func decode32(order binary.ByteOrder, body []byte) []byte {
	out := make([]byte, 0, len(body)/4+len(body)/16)
	for ; len(body) > 3; body = body[4:] {
		r := order.Uint32(body)
		if r > utf8.MaxRune {
			r = utf8.RuneError
		}
		out = utf8.AppendRune(out, rune(r)) // U+FFFD for a surrogate
	}
	if len(body) > 0 {
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	return out
}
