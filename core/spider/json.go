package spider

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string in ASCII, as Python's json.dumps
// writes it: characters past U+FFFF as two escapes, bytes that are no UTF-8 as
// the escape of U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		if c < utf8.RuneSelf {
			b = appendEscapedByte(b, c)
			i++
		} else {
			r, n := utf8.DecodeRuneInString(s[i:])
			b = appendEscapedRune(b, r)
			i += n
		}
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func appendEscapedByte(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	default:
		return appendUnit(b, uint32(c))
	}
}

func appendEscapedRune(b []byte, r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		b = appendUnit(b, 0xd800+uint32(r>>10)) //nolint:gosec // r is 0..0xfffff
		return appendUnit(b, 0xdc00+uint32(r&0x3ff))
	}
	return appendUnit(b, uint32(r)) //nolint:gosec // never negative
}

func appendUnit(b []byte, u uint32) []byte {
	return append(b, '\\', 'u', hexDigits[u>>12&15], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}

func appendValue(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case string:
		return appendString(b, v), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int32:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return b, err
	}
	return appendASCII(b, raw), nil
}

// appendASCII appends valid JSON text with what is not ASCII escaped: in JSON
// that stands only inside strings.
func appendASCII(b, raw []byte) []byte {
	start := 0
	for i := 0; i < len(raw); {
		if raw[i] < utf8.RuneSelf {
			i++
			continue
		}
		b = append(b, raw[start:i]...)
		r, n := utf8.DecodeRune(raw[i:])
		b = appendEscapedRune(b, r)
		i += n
		start = i
	}
	return append(b, raw[start:]...)
}
