package extract

import "bytes"

// anchor is the href of one a or area element, decoded.
type anchor struct {
	href     []byte // into the page or into scanner.scratch
	nofollow bool   // rel holds the token nofollow
}

// scanner finds in HTML bytes what a crawler needs: link targets, title and base. It sees the same tags, attributes and raw text as
// x/net/html's Tokenizer with NextIsNotRawText after noscript (what stands in
// noscript is markup for a crawler without scripts); the fuzz test holds the two
// against each other. It builds no tokens: between tags it is bytes.IndexByte,
// and the attributes of tags that do not matter are stepped over.
type scanner struct {
	src     []byte
	anchors []anchor
	title   []byte // raw text of the first title element; nil when there is none
	base    []byte // decoded href of the first base element that has one; nil when there is none
	scratch []byte // values that had to be decoded
}

// eof is the position that ends a scan: the input ran out inside a construct.
const eof = -1

// reset makes s ready for src and keeps its room.
func (s *scanner) reset(src []byte) {
	s.src, s.title, s.base = src, nil, nil
	s.anchors, s.scratch = s.anchors[:0], s.scratch[:0]
}

// run scans src to its end.
func (s *scanner) run() {
	b := s.src
	for i := 0; i >= 0; {
		k := bytes.IndexByte(b[i:], '<')
		if k < 0 {
			return
		}
		i += k + 1
		if i >= len(b) {
			return
		}
		switch c := b[i]; {
		case class[c]&letter != 0:
			i = s.startTag(i)
		case c == '/':
			i = s.endTag(i + 1)
		case c == '!':
			i = s.declaration(i + 1)
		case c == '?':
			i = after(b, i, '>')
		}
	}
}

// endTag steps over what follows "</".
func (s *scanner) endTag(i int) int {
	b := s.src
	if i >= len(b) {
		return eof
	}
	switch c := b[i]; {
	case c == '>':
		return i + 1
	case class[c]&letter != 0:
		for i++; i < len(b); i++ {
			if class[b[i]]&nameEnd != 0 {
				return s.tagEnd(i)
			}
		}
		return eof
	default:
		return after(b, i, '>')
	}
}

// declaration steps over what follows "<!": a comment, or anything up to ">".
func (s *scanner) declaration(i int) int {
	b := s.src
	if !bytes.HasPrefix(b[i:], []byte("--")) {
		return after(b, i, '>')
	}
	start := i + 2
	for q := start; q < len(b); q++ {
		k := bytes.IndexByte(b[q:], '>')
		if k < 0 {
			return eof
		}
		q += k
		switch text := b[start:q]; {
		case bytes.HasSuffix(text, []byte("--")), bytes.HasSuffix(text, []byte("--!")),
			len(text) == 0, len(text) == 1 && text[0] == '-':
			return q + 1
		}
	}
	return eof
}

// after is the position behind the next c at or after i.
func after(b []byte, i int, c byte) int {
	k := bytes.IndexByte(b[i:], c)
	if k < 0 {
		return eof
	}
	return i + k + 1
}

// Classes of bytes in tags.
const (
	space   = 1 << iota // the tokenizer's white space
	nameEnd             // ends a tag name: white space, "/" or ">"
	keyEnd              // ends an attribute name: nameEnd or "="
	letter              // A-Z a-z
)

//nolint:gochecknoglobals // a constant table
var class = func() (t [256]uint8) {
	for _, c := range " \n\r\t\f" {
		t[c] = space | nameEnd | keyEnd
	}
	t['/'], t['>'], t['='] = nameEnd|keyEnd, nameEnd|keyEnd, keyEnd
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = letter, letter
	}
	return t
}()

// equalFold reports whether b is lower, an ASCII lower-case word, in any case.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := range len(lower) {
		c := b[i]
		if class[c]&letter != 0 {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
