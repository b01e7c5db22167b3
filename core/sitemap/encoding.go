package sitemap

import (
	"bufio"
	"bytes"
	"io"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
)

// toUTF8 gives a document in UTF-8, by its byte order mark, its first bytes or
// its XML declaration (XML 1.0, appendix F). A declared encoding that does not
// exist is ErrNoXML: there is no telling what the document says.
func toUTF8(r io.Reader) (io.Reader, error) {
	const declarationBytes = 1 << 10
	in := bufio.NewReaderSize(r, declarationBytes)
	head, _ := in.Peek(declarationBytes) // a short one ends there
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		_, _ = in.Discard(3) //nolint:errcheck // they were peeked
	case bytes.HasPrefix(head, []byte("\xfe\xff")), bytes.HasPrefix(head, []byte("\x00<\x00?")):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder().Reader(in), nil
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("<\x00?\x00")):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(in), nil
	default:
		label, declared := declaredEncoding(head)
		if !declared {
			return in, nil
		}
		enc, ok := lookup(label)
		if !ok {
			return nil, ErrNoXML
		}
		if enc != nil {
			return enc.NewDecoder().Reader(in), nil
		}
	}
	return in, nil
}

// declaredEncoding gives the value of encoding in the XML declaration that head
// begins with.
func declaredEncoding(head []byte) (string, bool) {
	decl, ok := bytes.CutPrefix(head, []byte("<?xml"))
	if !ok || len(decl) == 0 || !isBlank(decl[0]) {
		return "", false
	}
	decl, _, ok = bytes.Cut(decl, []byte("?>"))
	if !ok {
		return "", false
	}
	_, rest, ok := bytes.Cut(decl, []byte("encoding"))
	if !ok {
		return "", false
	}
	rest, ok = bytes.CutPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte("="))
	rest = bytes.TrimLeft(rest, " \t\r\n")
	if !ok || len(rest) == 0 || rest[0] != '"' && rest[0] != '\'' {
		return "", false
	}
	label, _, ok := bytes.Cut(rest[1:], rest[:1])
	return string(label), ok && len(label) > 0
}

// lookup finds an encoding by its name; nil is UTF-8. A document that could be
// read up to its declaration and says UTF-16 there is not in it.
func lookup(label string) (enc encoding.Encoding, ok bool) {
	label = strings.ToLower(strings.TrimSpace(label))
	switch label {
	case "utf-8", "utf8", "utf-16", "utf16", "utf-16le", "utf-16be", "ucs-2":
		return nil, true
	case "iso-8859-1", "latin1", "latin-1", "iso8859-1", "iso_8859-1":
		return charmap.ISO8859_1, true
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		if enc, err = ianaindex.IANA.Encoding(label); err != nil || enc == nil {
			return nil, false
		}
	}
	if enc == encoding.Replacement {
		return nil, false
	}
	if enc == unicode.UTF8 {
		return nil, true
	}
	return enc, true
}
