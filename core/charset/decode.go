package charset

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// Decode gives body in UTF-8, without looking for a byte order mark. What does not
// decode becomes U+FFFD, as many as Python's "replace" puts. The answer is body
// itself where nothing changes, and always for an encoding that is not Readable; it
// is never longer than three times the body. body is not written to.
func (e Encoding) Decode(body []byte) []byte {
	c := &table[e]
	plain := 0
	if c.form != wideForm && c.form != stateful {
		plain = plainLen(body)
	}
	if plain == len(body) {
		return body
	}
	switch c.form {
	case utf8Form:
		return decodeUTF8(body, plain)
	case wideForm:
		return decodeWide(e, body)
	case stateful:
		return decodeAll(c.enc, body)
	case asciiOnly, single, iso, windows:
		return decodeSingle(c, body, plain)
	case pairs, shiftJIS, eucJP, fourByte:
		return decodePairs(c, body, plain)
	case unreadable:
	}
	return body
}

// decodeSingle decodes what has one byte a character. The first plain bytes are ASCII.
func decodeSingle(c *codec, body []byte, plain int) []byte {
	var upper [utf8.RuneSelf]rune
	var size [utf8.RuneSelf]uint8
	m, _ := c.enc.(*charmap.Charmap)
	for i := range upper {
		r := utf8.RuneError
		if m != nil {
			r = m.DecodeByte(byte(utf8.RuneSelf + i))
		}
		switch {
		case c.form == windows && r < 0xa0:
			r = utf8.RuneError
		case c.form == iso && i < 0x20:
			r = rune(utf8.RuneSelf + i)
		}
		upper[i], size[i] = r, uint8(utf8.RuneLen(r))
	}
	n := len(body)
	for _, b := range body[plain:] {
		if b >= utf8.RuneSelf {
			n += int(size[b-utf8.RuneSelf]) - 1
		}
	}
	out := append(make([]byte, 0, n), body[:plain]...)
	for _, b := range body[plain:] {
		if b < utf8.RuneSelf {
			out = append(out, b)
		} else {
			out = utf8.AppendRune(out, upper[b-utf8.RuneSelf])
		}
	}
	return out
}

// decodeUTF8 puts one U+FFFD for each maximal part of a character (Unicode 3.9,
// "substitution of maximal subparts"), as browsers and Python do.
func decodeUTF8(body []byte, plain int) []byte {
	if utf8.Valid(body[plain:]) {
		return body
	}
	out := append(make([]byte, 0, len(body)+len(body)/8), body[:plain]...)
	for i := plain; i < len(body); {
		if body[i] < utf8.RuneSelf {
			out = append(out, body[i])
			i++
			continue
		}
		r, n := utf8.DecodeRune(body[i:])
		if r == utf8.RuneError && n == 1 {
			n = maximalSubpart(body[i:])
		}
		out = utf8.AppendRune(out, r)
		i += n
	}
	return out
}

// maximalSubpart is the length of the longest beginning of b that is also one of a
// valid character, at least 1. b begins with no valid character.
func maximalSubpart(b []byte) int {
	need, low, high := 3, byte(0x80), byte(0xbf)
	switch c := b[0]; {
	case c < 0xc2 || c > 0xf4:
		return 1
	case c < 0xe0:
		need = 1
	case c < 0xf0:
		need = 2
	}
	switch b[0] {
	case 0xe0:
		low = 0xa0
	case 0xed:
		high = 0x9f
	case 0xf0:
		low = 0x90
	case 0xf4:
		high = 0x8f
	}
	n := 1
	for n <= need && n < len(b) && low <= b[n] && b[n] <= high {
		low, high = 0x80, 0xbf
		n++
	}
	return n
}

// decodeAll leaves all to a decoder of x/text.
func decodeAll(enc encoding.Encoding, body []byte) []byte {
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return body // decoders replace what they cannot read: none fails
	}
	return out
}

// decodePairs decodes what has several bytes a character. x/text reads what is well
// formed; where it met something else, all is read again character by character, for
// x/text steps over bad bytes in another way.
func decodePairs(c *codec, body []byte, plain int) []byte {
	out := decodeAll(c.enc, body)
	if !bytes.Contains(out[plain:], []byte("\ufffd")) {
		return out
	}
	out = append(out[:0], body[:plain]...)
	dec := c.enc.NewDecoder().Transformer
	var room [16]byte
	for i := plain; i < len(body); {
		if body[i] < utf8.RuneSelf {
			out = append(out, body[i])
			i++
			continue
		}
		r, n := c.special(body[i:])
		if n > 0 {
			out = utf8.AppendRune(out, r)
			i += n
			continue
		}
		n = c.charLen(body[i:])
		if n > len(body)-i { // cut off: one sign for what is left
			return utf8.AppendRune(out, utf8.RuneError)
		}
		w, read, err := dec.Transform(room[:], body[i:i+n], true)
		text := room[:w]
		switch first, size := utf8.DecodeRune(text); {
		case err == nil && read == n && first != utf8.RuneError,
			n == 4 && size == w: // U+FFFD itself can be written in GB18030
			out = append(out, text...)
			i += n
		default:
			out = utf8.AppendRune(out, utf8.RuneError)
			i++
		}
	}
	return out
}

// special reads what Python decodes and x/text does not; n is 0 for anything else.
func (c *codec) special(b []byte) (r rune, n int) {
	switch {
	case c.form == shiftJIS:
		return shiftJISSpecial(b)
	case c.form != fourByte:
		return 0, 0
	case b[0] == 0x80: // the euro sign of code page 936
		return 0x20ac, 1
	case len(b) > 1:
		return gbUserDefined(rune(b[0]), rune(b[1]))
	}
	return 0, 0
}

// shiftJISSpecial reads the single bytes of code page 932 and the pairs that it
// leaves to its users.
func shiftJISSpecial(b []byte) (r rune, n int) {
	lead := rune(b[0])
	switch {
	case lead == 0x80:
		return 0x80, 1
	case lead == 0xa0:
		return 0xf8f0, 1
	case lead > 0xa0 && lead < 0xe0:
		return 0xff61 + lead - 0xa1, 1
	case lead >= 0xfd:
		return 0xf8f1 + lead - 0xfd, 1
	case lead < 0xf0 || lead > 0xf9 || len(b) < 2:
		return 0, 0
	}
	switch trail := rune(b[1]); {
	case trail >= 0x40 && trail <= 0x7e:
		return 0xe000 + 188*(lead-0xf0) + trail - 0x40, 2
	case trail >= 0x80 && trail <= 0xfc:
		return 0xe000 + 188*(lead-0xf0) + trail - 0x41, 2
	}
	return 0, 0
}

// gbUserDefined reads the pairs that GB18030 leaves to its users.
func gbUserDefined(lead, trail rune) (r rune, n int) {
	switch {
	case lead >= 0xaa && lead <= 0xaf && trail >= 0xa1 && trail <= 0xfe:
		return 0xe000 + 94*(lead-0xaa) + trail - 0xa1, 2
	case lead >= 0xf8 && lead <= 0xfe && trail >= 0xa1 && trail <= 0xfe:
		return 0xe234 + 94*(lead-0xf8) + trail - 0xa1, 2
	case lead >= 0xa1 && lead <= 0xa7 && trail >= 0x40 && trail <= 0x7e:
		return 0xe4c6 + 96*(lead-0xa1) + trail - 0x40, 2
	case lead >= 0xa1 && lead <= 0xa7 && trail >= 0x80 && trail <= 0xa0:
		return 0xe4c6 + 96*(lead-0xa1) + trail - 0x41, 2
	}
	return 0, 0
}

// charLen is how many bytes the character at the head of b, which is not ASCII, has.
func (c *codec) charLen(b []byte) int {
	switch {
	case c.form == eucJP && b[0] == 0x8f:
		return 3
	case c.form == fourByte && len(b) > 1 && b[1] >= '0' && b[1] <= '9':
		return 4
	}
	return 2
}
