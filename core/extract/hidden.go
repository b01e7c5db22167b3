package extract

import (
	"bytes"
	"slices"
)

// Elements that a visitor cannot see. While none is open the scanner pays for
// this with a glance at each attribute name. Inside one it keeps the names of
// the elements open from there on, and closes them roughly as a browser would;
// where it cannot tell, what follows counts as visible.

// hiddenDepthLimit is how deep elements are followed into a hidden one. Menus are
// not so deep, and what a hostile page costs grows with it.
const hiddenDepthLimit = 64

// maybeHides reports whether b can be the name of an attribute that hides.
func maybeHides(b []byte) bool {
	switch len(b) {
	case 5:
		return b[0]|0x20 == 's' && equalFold(b, "style")
	case 6:
		return b[0]|0x20 == 'h' && equalFold(b, "hidden")
	default:
		return false
	}
}

// hides reports whether the attribute, of which maybeHides holds, hides its element.
func (s *scanner) hides(a attr) bool {
	if a.keyEnd-a.key == len("hidden") {
		// What is until-found is shown when looked for, so meant for people.
		return !equalFold(trim(s.src[a.val:a.valEnd]), "until-found")
	}
	return invisibleStyle(s.value(a))
}

// invisibleStyle reports whether a style attribute makes its element invisible.
// Of two declarations the later counts.
func invisibleStyle(css []byte) bool {
	undisplayed, unseen := false, false
	for len(css) > 0 {
		var declaration []byte
		declaration, css, _ = bytes.Cut(css, []byte(";"))
		name, value, ok := bytes.Cut(declaration, []byte(":"))
		if !ok {
			continue
		}
		if k := bytes.IndexByte(value, '!'); k >= 0 {
			value = value[:k] // !important
		}
		switch name, value = trim(name), trim(value); {
		case equalFold(name, "display"):
			undisplayed = equalFold(value, "none")
		case equalFold(name, "visibility"):
			unseen = equalFold(value, "hidden") || equalFold(value, "collapse")
		}
	}
	return undisplayed || unseen
}

// hidingTag is tagEnd for a tag with an attribute that may hide; i is behind the
// name, which begins at start.
func (s *scanner) hidingTag(start, i int) int {
	name := s.src[start:i]
	hidden := false
	for {
		a, next := nextAttr(s.src, i)
		if next == eof {
			return eof
		}
		i = next
		if a.done {
			break
		}
		hidden = hidden || maybeHides(s.src[a.key:a.keyEnd]) && s.hides(a)
	}
	// A page that is hidden as a whole is shown by its script.
	if e := elementOf(name); hidden && !s.empty(e, i) && !equalFold(name, "body") && !equalFold(name, "html") {
		s.open = append(s.open[:0], opened{name, e.kind})
		s.slow = true
	}
	return i
}

// empty reports whether the start tag that ends before i has no content: by its
// name, or by "/>", which ends SVG elements and is rarely written on others.
func (s *scanner) empty(e element, i int) bool { return e.void || s.src[i-2] == '/' }

// openInHidden notes the start tag whose name begins at i inside a hidden element.
func (s *scanner) openInHidden(i int) {
	start := i
	for i < len(s.src) && class[s.src[i]]&nameEnd == 0 {
		i++
	}
	name := s.src[start:i]
	for {
		a, next := nextAttr(s.src, i)
		if next == eof {
			return // the page ends here
		}
		i = next
		if a.done {
			break
		}
	}
	e := elementOf(name)
	s.implyEnds(e)
	if len(s.open) == 0 || s.empty(e, i) {
		return
	}
	if len(s.open) == hiddenDepthLimit {
		s.leaveHidden(0)
		return
	}
	s.open = append(s.open, opened{name, e.kind})
}

// implyEnds closes what the start tag of e closes.
func (s *scanner) implyEnds(e element) {
	if e.closes == 0 {
		return
	}
	for i, o := range slices.Backward(s.open) {
		if o.kind&e.closes != 0 {
			s.leaveHidden(i)
			return
		}
		if o.kind&e.within != 0 {
			return
		}
	}
}

// closeInHidden notes an end tag inside a hidden element. One that matches
// nothing open there ends an element around it.
func (s *scanner) closeInHidden(name []byte) {
	for i, o := range slices.Backward(s.open) {
		if o.named(name) {
			s.leaveHidden(i)
			return
		}
	}
	if !equalFold(name, "p") && !equalFold(name, "br") { // these open an element instead
		s.leaveHidden(0)
	}
}

// leaveHidden closes all but the first n open elements.
func (s *scanner) leaveHidden(n int) {
	clear(s.open[n:])
	s.open = s.open[:n]
	s.slow = n > 0 || s.wanted != nil
}
