package extract

import "orbweaver/core/spider"

// wanted is a rule's elements and attributes where they are not the usual ones.
type wanted struct{ tags, attrs []string }

// wantedBy gives nil for a rule that wants what every scan finds.
func wantedBy(rule *spider.LinkRule) *wanted {
	if rule.Tags == nil && rule.Attrs == nil {
		return nil
	}
	w := &wanted{rule.Tags, rule.Attrs}
	if w.tags == nil {
		w.tags = []string{"a", "area"}
	}
	if w.attrs == nil {
		w.attrs = []string{"href"}
	}
	return w
}

// pick takes the wanted attributes of the start tag whose name begins at i, in
// the order in which they are written; of two with one name the first.
func (s *scanner) pick(i int) {
	start := i
	for i < len(s.src) && class[s.src[i]]&nameEnd == 0 {
		i++
	}
	if !foldedIn(s.src[start:i], s.wanted.tags) {
		return
	}
	from := len(s.anchors)
	set := make([]bool, len(s.wanted.attrs))
	nofollow, invisible, related := false, len(s.open) > 0, false
	for {
		a, next := nextAttr(s.src, i)
		if next == eof {
			s.anchors = s.anchors[:from]
			return // no tag
		}
		i = next
		if a.done {
			break
		}
		key := s.src[a.key:a.keyEnd]
		for k, want := range s.wanted.attrs {
			if !set[k] && equalFold(key, want) {
				set[k] = true
				s.anchors = append(s.anchors, anchor{href: s.value(a)})
			}
		}
		switch {
		case !related && equalFold(key, "rel"):
			related = true
			nofollow = hasToken(s.value(a), "nofollow")
		case maybeHides(key):
			invisible = invisible || s.hides(a)
		}
	}
	for k := from; k < len(s.anchors); k++ {
		s.anchors[k].nofollow, s.anchors[k].invisible = nofollow, invisible
	}
}

func foldedIn(b []byte, words []string) bool {
	for _, w := range words {
		if equalFold(b, w) {
			return true
		}
	}
	return false
}
