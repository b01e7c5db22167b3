package extract

import (
	"bytes"
	"strings"
)

// element is what has to be known of an element by its name to follow it inside
// a hidden one. Zero: an ordinary one.
type element struct {
	kind   uint16 // what it is to others: bits
	closes uint16 // kinds that its start tag closes where their end tag may be left out (HTML 13.1.2.4)
	within uint16 // kinds beyond which it closes nothing
	void   bool   // has no content
}

const (
	kindItem = 1 << iota
	kindTerm
	kindCell
	kindRow
	kindRows
	kindOption
	kindAnchor
	kindParagraph
	kindList   // holds items
	kindTerms  // holds terms
	kindTable  // holds rows and cells
	kindChoice // holds options
	kindBox    // a paragraph or link outside is not closed from inside
)

//nolint:gochecknoglobals // a constant table
var elements = func() map[string]element {
	m := map[string]element{}
	add := func(e element, names string) {
		for n := range strings.FieldsSeq(names) {
			old := m[n]
			m[n] = element{old.kind | e.kind, old.closes | e.closes, old.within | e.within, old.void || e.void}
		}
	}
	add(element{void: true}, "area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr")
	add(element{closes: kindParagraph, within: kindBox}, "address article aside blockquote center details dialog dir div dl fieldset figcaption figure "+
		"footer form h1 h2 h3 h4 h5 h6 header hgroup hr main menu nav ol p pre search section summary table ul")
	add(element{kind: kindItem, closes: kindItem, within: kindList}, "li")
	add(element{kind: kindTerm, closes: kindTerm, within: kindTerms}, "dt dd")
	add(element{kind: kindCell | kindBox, closes: kindCell, within: kindTable | kindRow}, "td th")
	add(element{kind: kindRow, closes: kindRow, within: kindTable}, "tr")
	add(element{kind: kindRows, closes: kindRows, within: kindTable}, "tbody thead tfoot")
	add(element{kind: kindOption, closes: kindOption, within: kindChoice}, "option")
	add(element{closes: kindOption, within: kindChoice}, "optgroup")
	add(element{kind: kindAnchor, closes: kindAnchor, within: kindBox}, "a")
	add(element{kind: kindParagraph}, "p")
	add(element{kind: kindList}, "ul ol menu dir")
	add(element{kind: kindTerms}, "dl")
	add(element{kind: kindTable}, "table")
	add(element{kind: kindChoice}, "select datalist")
	add(element{kind: kindBox}, "table button object")
	return m
}()

// longestElement is the length of "figcaption" and "blockquote".
const longestElement = 10

// elementOf gives what is known of the name, in any case.
func elementOf(name []byte) element {
	if len(name) > longestElement {
		return element{}
	}
	var lower [longestElement]byte
	for i, c := range name {
		if class[c]&letter != 0 {
			c |= 0x20
		}
		lower[i] = c
	}
	return elements[string(lower[:len(name)])]
}

// opened is one element that is open inside a hidden one.
type opened struct {
	name []byte
	kind uint16
}

func (o opened) named(name []byte) bool {
	return len(o.name) == len(name) && bytes.EqualFold(o.name, name)
}
