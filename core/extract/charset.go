package extract

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// codec is how a page is read. The zero codec means UTF-8.
type codec struct {
	enc  encoding.Encoding // nil for UTF-8
	wide bool              // ASCII is not itself in it: UTF-16
}

// lookup finds a declared encoding by its label. ok is false for an unknown
// label and for those that browsers refuse to decode.
func lookup(label []byte) (c codec, ok bool) {
	if equalFold(label, "utf-8") || equalFold(label, "utf8") {
		return codec{}, true
	}
	const longestLabel = 64
	if len(label) == 0 || len(label) > longestLabel {
		return codec{}, false
	}
	enc, name := charset.Lookup(string(label))
	switch name {
	case "", "replacement", "x-user-defined":
		return codec{}, false
	case "utf-8":
		return codec{}, true
	}
	return codec{enc: enc, wide: name == "utf-16le" || name == "utf-16be"}, true
}

// byteOrderMark gives the encoding that a byte order mark at the head of the
// body decides, and the mark's length; 0 when there is none.
func byteOrderMark(body []byte) (c codec, n int) {
	switch {
	case len(body) < 2 || body[0] < 0xef:
		return codec{}, 0
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return codec{}, 3
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return codec{enc: unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), wide: true}, 2
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return codec{enc: unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), wide: true}, 2
	}
	return codec{}, 0
}

// undeclared is the encoding of a page that says nothing: UTF-8 where that
// decodes, else what most such pages are in.
func undeclared(body []byte) codec {
	if utf8.Valid(body) {
		return codec{}
	}
	enc, _ := charset.Lookup("windows-1252")
	return codec{enc: enc}
}

// decode gives body in UTF-8, with U+FFFD for what does not decode.
func (c codec) decode(body []byte) []byte {
	if c.enc == nil {
		return body
	}
	out, err := c.enc.NewDecoder().Bytes(body)
	if err != nil {
		// Decoders replace what they cannot read; what is left is the body as it came.
		return body
	}
	return out
}

// charsetParam finds the charset parameter of a Content-Type, in a header or in
// a meta element: charset=x of its own, quoted or not. nil when there is none.
func charsetParam[T string | []byte](s T) []byte {
	const word = "charset"
	for i := 0; i+len(word) <= len(s); i++ {
		if s[i]|0x20 != 'c' || !equalFold([]byte(s[i:i+len(word)]), word) {
			continue
		}
		if i > 0 && s[i-1] != ';' && class[s[i-1]]&space == 0 {
			continue
		}
		v := bytes.TrimLeft([]byte(s[i+len(word):]), " \t\r\n\f")
		if len(v) == 0 || v[0] != '=' {
			continue
		}
		v = bytes.TrimLeft(v[1:], " \t\r\n\f")
		if len(v) > 0 && (v[0] == '"' || v[0] == '\'') {
			if end := bytes.IndexByte(v[1:], v[0]); end >= 0 {
				return bytes.TrimSpace(v[1 : 1+end])
			}
			return nil // an opening quote without a closing one is no value
		}
		if end := bytes.IndexAny(v, "; \t\r\n\f,"); end >= 0 {
			v = v[:end]
		}
		return v
	}
	return nil
}

// xmlEncoding reads the encoding of an XML declaration, given from its "?" on.
func xmlEncoding(s []byte) []byte {
	if !bytes.HasPrefix(s, []byte("?xml")) {
		return nil
	}
	_, v, ok := bytes.Cut(s, []byte("encoding"))
	if !ok {
		return nil
	}
	v = bytes.TrimLeft(v, " \t\r\n")
	if len(v) == 0 || v[0] != '=' {
		return nil
	}
	v = bytes.TrimLeft(v[1:], " \t\r\n")
	if len(v) == 0 || v[0] != '"' && v[0] != '\'' {
		return nil
	}
	end := bytes.IndexByte(v[1:], v[0])
	if end < 0 {
		return nil
	}
	return v[1 : 1+end]
}

// metaTag looks for an encoding declaration in the attributes of a meta element.
func (s *scanner) metaTag(i int) int {
	if i > declarationBytes {
		s.wantLabel = false
		return s.tagEnd(i)
	}
	b := s.src
	var label, equiv, content attr
	for {
		a, next := nextAttr(b, i)
		if next == eof {
			return eof
		}
		i = next
		if a.done {
			break
		}
		switch key := b[a.key:a.keyEnd]; {
		case !label.set && equalFold(key, "charset"):
			label, label.set = a, true
		case !equiv.set && equalFold(key, "http-equiv"):
			equiv, equiv.set = a, true
		case !content.set && equalFold(key, "content"):
			content, content.set = a, true
		}
	}
	var found []byte
	switch {
	case label.set:
		found = bytes.TrimSpace(s.value(label))
	case equiv.set && content.set && equalFold(bytes.TrimSpace(s.value(equiv)), "content-type"):
		found = charsetParam(s.value(content))
	}
	if _, ok := lookup(found); !ok {
		return i // the next declaration may be one that can be read
	}
	return s.found(found, i)
}
