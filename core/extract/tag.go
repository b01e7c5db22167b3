package extract

import "bytes"

// startTag reads the tag whose name begins at i.
func (s *scanner) startTag(i int) int {
	b := s.src
	start := i
	for i++; ; i++ {
		if i >= len(b) {
			return eof
		}
		if class[b[i]]&nameEnd != 0 {
			break
		}
	}
	name := b[start:i]
	s.start = start
	// Only names of these lengths matter; most tags leave here.
	switch len(name) {
	case 1:
		if name[0]|0x20 == 'a' {
			return s.anchorTag(i)
		}
	case 3:
		if equalFold(name, "xmp") {
			return s.rawText(i, "xmp")
		}
	case 4:
		return s.tag4(name, i)
	case 5:
		switch {
		case equalFold(name, "title"):
			return s.titleTag(i)
		case equalFold(name, "style"):
			return s.rawText(i, "style")
		}
	case 6:
		switch {
		case equalFold(name, "script"):
			return s.scriptTag(i)
		case equalFold(name, "iframe"):
			return s.rawText(i, "iframe")
		}
	case 7:
		if equalFold(name, "noembed") {
			return s.rawText(i, "noembed")
		}
	case 8:
		switch {
		case equalFold(name, "textarea"):
			return s.rawText(i, "textarea")
		case equalFold(name, "noframes"):
			return s.rawText(i, "noframes")
		case equalFold(name, "noscript"):
			s.noscript = true
		}
	case 9:
		if equalFold(name, "plaintext") {
			return eof // all that follows is text
		}
	}
	return s.tagEnd(i)
}

func (s *scanner) tag4(name []byte, i int) int {
	switch {
	case equalFold(name, "area"):
		return s.anchorTag(i)
	case equalFold(name, "base"):
		return s.baseTag(i)
	case equalFold(name, "meta"):
		return s.notes(i)
	}
	return s.tagEnd(i)
}

// tagEnd steps from behind a tag name over the attributes and the ">". A quote
// matters only as the first byte of a value. It is nextAttr without the
// positions: most tags of a page go through it.
func (s *scanner) tagEnd(i int) int {
	b, first := s.src, i
	for i < len(b) {
		switch c := b[i]; {
		case c == '>':
			return i + 1
		case class[c]&space != 0:
			i++
			continue
		case c == '=':
			i++
		}
		key := i
		for i < len(b) && class[b[i]]&keyEnd == 0 {
			i++
		}
		keyEnd := i
		for i < len(b) && class[b[i]]&space != 0 {
			i++
		}
		if i == len(b) {
			return eof
		}
		if c := b[key] | 0x20; (c == 's' || c == 'h') && s.start != eof && len(s.open) == 0 && maybeHides(b[key:keyEnd]) {
			return s.hidingTag(s.start, first)
		}
		switch b[i] {
		case '/':
			i++
		case '=':
			if i = valueEnd(b, i+1); i == eof {
				return eof
			}
		}
	}
	return eof
}

// valueEnd steps over what follows the "=" of an attribute.
func valueEnd(b []byte, i int) int {
	for i < len(b) && class[b[i]]&space != 0 {
		i++
	}
	if i == len(b) {
		return eof
	}
	switch quote := b[i]; quote {
	case '>':
		return i
	case '"', '\'':
		return after(b, i+1, quote)
	}
	for i++; i < len(b); i++ {
		if c := b[i]; c == '>' || class[c]&space != 0 {
			return i
		}
	}
	return eof
}

func (s *scanner) anchorTag(i int) int {
	b := s.src
	var href, rel attr
	invisible := len(s.open) > 0
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
		case !href.set && equalFold(key, "href"):
			href, href.set = a, true
		case !rel.set && equalFold(key, "rel"):
			rel, rel.set = a, true
		case maybeHides(key):
			invisible = invisible || s.hides(a)
		}
	}
	if href.set && s.wanted == nil {
		s.anchors = append(s.anchors, anchor{
			href:      s.value(href),
			nofollow:  rel.set && hasToken(s.value(rel), "nofollow"),
			invisible: invisible,
		})
	}
	return i
}

func (s *scanner) baseTag(i int) int {
	b := s.src
	var href attr
	for {
		a, next := nextAttr(b, i)
		if next == eof {
			return eof
		}
		i = next
		if a.done {
			break
		}
		if !href.set && equalFold(b[a.key:a.keyEnd], "href") {
			href, href.set = a, true
		}
	}
	if href.set && s.base == nil {
		// Never nil again: the first base with an href counts, also when that is empty.
		s.base = append([]byte{}, s.value(href)...)
	}
	return i
}

func (s *scanner) titleTag(i int) int {
	start := s.tagEnd(i)
	if start == eof {
		return eof
	}
	end := rawEnd(s.src, start, "title")
	if s.title == nil {
		s.title = s.src[start:end:end]
	}
	return end
}

func (s *scanner) rawText(i int, name string) int {
	if i = s.tagEnd(i); i == eof {
		return eof
	}
	return rawEnd(s.src, i, name)
}

func (s *scanner) scriptTag(i int) int {
	if i = s.tagEnd(i); i == eof {
		return eof
	}
	return scriptEnd(s.src, i)
}

// attr is one attribute as positions in the page, or the end of the tag.
type attr struct {
	key, keyEnd, val, valEnd int
	set                      bool // a place for an attribute that is filled
	done                     bool // no attribute: the tag ended
}

// nextAttr reads the attribute at or after i, or the tag's ">", and gives where
// to go on; eof when the page ends first: the tag is then no tag. A key may be
// empty ("/" alone), which no one asks for.
func nextAttr(b []byte, i int) (a attr, next int) {
	if i = skipSpace(b, i); i == eof {
		return a, eof
	}
	if b[i] == '>' {
		a.done = true
		return a, i + 1
	}
	a.key = i
	if b[i] == '=' {
		i++ // a name may begin with "=" (HTML 13.2.5.32)
	}
	for {
		if i >= len(b) {
			return a, eof
		}
		if class[b[i]]&keyEnd != 0 {
			break
		}
		i++
	}
	a.keyEnd, a.val, a.valEnd = i, i, i
	if i = skipSpace(b, i); i == eof {
		return a, eof
	}
	switch b[i] {
	case '=':
		return attrValue(b, a, i+1)
	case '/':
		return a, i + 1
	default:
		return a, i
	}
}

func attrValue(b []byte, a attr, i int) (attr, int) {
	if i = skipSpace(b, i); i == eof {
		return a, eof
	}
	a.val, a.valEnd = i, i
	switch quote := b[i]; quote {
	case '>':
		return a, i
	case '"', '\'':
		k := bytes.IndexByte(b[i+1:], quote)
		if k < 0 {
			return a, eof
		}
		a.val, a.valEnd = i+1, i+1+k
		return a, a.valEnd + 1
	}
	for i++; i < len(b); i++ {
		if c := b[i]; c == '>' || class[c]&space != 0 {
			a.valEnd = i
			return a, i
		}
	}
	return a, eof
}

func skipSpace(b []byte, i int) int {
	for ; i < len(b); i++ {
		if class[b[i]]&space == 0 {
			return i
		}
	}
	return eof
}

// hasToken reports whether the white-space-separated list holds the word, in any case.
func hasToken(list []byte, word string) bool {
	for len(list) > 0 {
		i := 0
		for i < len(list) && class[list[i]]&space == 0 {
			i++
		}
		if equalFold(list[:i], word) {
			return true
		}
		for i < len(list) && class[list[i]]&space != 0 {
			i++
		}
		list = list[i:]
	}
	return false
}
