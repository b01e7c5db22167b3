// Package charset decides which character encoding a page is in and decodes it to
// UTF-8, as Scrapy does: by a byte order mark, the Content-Type header, the
// declaration in the page, or a guess, in this order. The main type is Encoding.
// Names are those of Python's codecs. It reads no tags beyond the declaration and
// keeps no state.
package charset

import (
	"bytes"

	"golang.org/x/text/encoding"
)

// Encoding is a character encoding that Python knows. The zero value is UTF-8.
type Encoding uint8

// The encodings that are asked for by name.
const (
	UTF8        Encoding = iota
	ASCII                // what is not ASCII does not decode: a page that no encoding fits
	Windows1252          // also for pages that call themselves ASCII or Latin-1
	UTF16                // little endian, as Python has it where no mark tells
	UTF16LE
	UTF16BE
	UTF32 // little endian
	UTF32LE
	UTF32BE
	ShiftJIS
	EUCJP
	GB18030
	Big5
	EUCKR
)

// String is the name of Python's codec.
func (e Encoding) String() string { return table[e].name }

// Readable reports whether Decode can read the encoding. What is no text (hex),
// what hides markup (utf-7) and what the web does not use (EBCDIC) is known by
// name only.
func (e Encoding) Readable() bool { return table[e].form != unreadable }

// Wide reports whether ASCII text is not itself in the encoding: UTF-16 and UTF-32.
func (e Encoding) Wide() bool { return e >= UTF16 && e <= UTF32BE }

// Text is the encoding for writing; nil for UTF-8, for wide encodings and for
// those that are not readable.
func (e Encoding) Text() encoding.Encoding { return table[e].enc }

// Of gives the encoding of a page by its Content-Type, "" for none, and its body,
// and the length of the byte order mark before its text. It never fails: where
// nothing is declared it guesses.
func Of(contentType string, body []byte) (e Encoding, mark int) {
	if e, mark, ok := Declared(contentType, body); ok {
		return e, mark
	}
	return guess(contentType, body), 0
}

// Declared gives the encoding that a byte order mark, the Content-Type or the body
// declares; ok is false when none does, or none that is readable.
func Declared(contentType string, body []byte) (e Encoding, mark int, ok bool) {
	if e, mark = Mark(body); mark > 0 {
		return e, mark, true
	}
	if e, ok = Header(contentType); ok && e.Readable() {
		return e.bigEndian(), 0, true
	}
	if e, ok = InBody(body); ok && e.Readable() {
		if e.Wide() {
			// The declaration could be read as ASCII, so it cannot be true (HTML 13.2.3.2).
			e = UTF8
		}
		return e, 0, true
	}
	return UTF8, 0, false
}

// bigEndian decides the order of bytes where a header leaves it open.
func (e Encoding) bigEndian() Encoding {
	switch e {
	case UTF16:
		return UTF16BE
	case UTF32:
		return UTF32BE
	default:
		return e
	}
}

// Mark gives the encoding of a byte order mark at the head of body and the mark's
// length; 0 when there is none.
func Mark(body []byte) (e Encoding, n int) {
	if len(body) < 2 || body[0] != 0 && body[0] < 0xef {
		return UTF8, 0
	}
	switch {
	case bytes.HasPrefix(body, []byte("\x00\x00\xfe\xff")):
		return UTF32BE, 4
	case bytes.HasPrefix(body, []byte("\xff\xfe\x00\x00")): // before UTF-16, of which it looks a part
		return UTF32LE, 4
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return UTF16BE, 2
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return UTF16LE, 2
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return UTF8, 3
	}
	return UTF8, 0
}
