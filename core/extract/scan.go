package extract

import "bytes"

// anchor is the href of one a or area element, decoded.
type anchor struct {
	href      []byte // into the page or into scanner.scratch
	nofollow  bool   // rel holds the token nofollow
	invisible bool   // it or an element around it is hidden
}

// scanner finds in HTML bytes what a crawler needs: link targets, title, base and
// what meta elements say. It sees the same tags, attributes and raw text as
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

	refresh    refresh // the first meta refresh with a URL
	notesFound []note  // meta elements that may hold robots directives

	wanted   *wanted  // what to take in place of a and area with href; nil: those
	open     []opened // the elements open inside a hidden one, itself first
	noscript bool     // inside noscript
	slow     bool     // wanted is set or a hidden element is open
	start    int      // where the name of the start tag being read begins; eof in end tags
}

// eof is the position that ends a scan: the input ran out inside a construct.
const eof = -1

// reset makes s ready for src and keeps its room.
func (s *scanner) reset(src []byte) {
	s.src, s.title, s.base = src, nil, nil
	s.anchors, s.scratch = s.anchors[:0], s.scratch[:0]
	s.refresh, s.noscript = refresh{}, false
	clear(s.notesFound)
	s.notesFound = s.notesFound[:0]
	s.leaveHidden(0)
}

// forget lets go of the page and of room that few pages need.
func (s *scanner) forget() {
	clear(s.anchors)
	if cap(s.anchors) > keptAnchors {
		s.anchors = nil
	}
	if cap(s.scratch) > keptScratchBytes {
		s.scratch = nil
	}
	s.wanted = nil
	s.reset(nil)
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
			if s.slow {
				s.beforeTag(i)
			}
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

// beforeTag is the part of a start tag that most pages do without.
func (s *scanner) beforeTag(i int) {
	if len(s.open) > 0 {
		s.openInHidden(i)
	}
	if s.wanted != nil {
		s.pick(i)
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
		start := i
		for i++; i < len(b); i++ {
			if class[b[i]]&nameEnd != 0 {
				if s.noscript || len(s.open) > 0 {
					s.closed(b[start:i])
				}
				s.start = eof
				return s.tagEnd(i)
			}
		}
		return eof
	default:
		return after(b, i, '>')
	}
}

// closed notes the end tag of an element that changes how tags are read.
func (s *scanner) closed(name []byte) {
	if equalFold(name, "noscript") {
		s.noscript = false
	}
	if len(s.open) > 0 {
		s.closeInHidden(name)
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
