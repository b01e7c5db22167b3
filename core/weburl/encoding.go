package weburl

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// findEncoding looks a character encoding up by its name in Python or in HTML.
// nil is UTF-8.
func findEncoding(name string) (encoding.Encoding, error) {
	key := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
	switch key {
	case "", "utf8", "utf-8":
		return nil, nil //nolint:nilnil // nil is UTF-8
	case "latin-1", "latin1", "iso-8859-1", "iso8859-1", "l1": // HTML means windows-1252 by these
		return charmap.ISO8859_1, nil
	case "utf-16-le", "utf-16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), nil
	case "utf-16-be", "utf-16be":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), nil
	}
	for _, k := range []string{key, strings.ReplaceAll(key, "-", "_"), strings.ReplaceAll(key, "-", "")} {
		if enc, err := htmlindex.Get(k); err == nil {
			if n, err := htmlindex.Name(enc); err == nil && n == "utf-8" {
				return nil, nil //nolint:nilnil // nil is UTF-8
			}
			return enc, nil
		}
	}
	return nil, fmt.Errorf("unknown encoding %q", name)
}

// encode writes s in the encoding; nil is UTF-8. Bytes that are not UTF-8 go in
// as their escapes. It fails where a character does not exist in the encoding.
func encode(s string, enc encoding.Encoding) (string, error) {
	if enc == nil {
		return s, nil
	}
	if !utf8.ValidString(s) {
		s = escapeInvalid(s)
	}
	out, err := enc.NewEncoder().String(s)
	if err != nil {
		return "", ErrEncoding
	}
	return out, nil
}

func escapeInvalid(s string) string {
	b := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b = appendEscaped(b, s[i])
		} else {
			b = append(b, s[i:i+size]...)
		}
		i += size
	}
	return string(b)
}
