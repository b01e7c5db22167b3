package extract

import (
	"golang.org/x/text/encoding"

	"orbweaver/core/charset"
)

// codec is the encoding in which a page's links write their queries. The zero
// codec means UTF-8, which is also that of pages in UTF-16 and UTF-32.
type codec struct {
	enc encoding.Encoding // nil for UTF-8
}

func newCodec(e charset.Encoding) codec {
	if enc := e.Text(); enc != nil {
		return codec{enc: referring{enc}}
	}
	return codec{}
}

// referring writes a character that the encoding lacks as a numeric reference.
type referring struct{ encoding.Encoding }

// NewEncoder implements encoding.Encoding.
func (r referring) NewEncoder() *encoding.Encoder {
	return encoding.HTMLEscapeUnsupported(r.Encoding.NewEncoder())
}
