package sitemap

import (
	"strings"
	"time"
)

// Field is one child element of an entry: its local name and its text, without
// white space around it.
type Field struct{ Name, Value string }

// Entry is one url or sitemap element. It is the parser's and may be used until
// yield returns; its strings are the caller's.
type Entry struct {
	Fields     []Field  // each name once, with the text of its last element
	Alternates []string // href of the link elements: the page in other languages
	bytes      int      // held by Fields and Alternates
}

// Bounds of what one entry may hold. What is past them is left out: too long a
// text is empty.
const (
	fieldLimit     = 64
	alternateLimit = 1000
	valueLimit     = 16 << 10 // bytes of one text
	heldLimit      = 1 << 20  // bytes of all entries that are open at once
)

// Field gives the text of the named child element, and whether there is one.
func (e *Entry) Field(name string) (string, bool) {
	for i := range e.Fields {
		if e.Fields[i].Name == name {
			return e.Fields[i].Value, true
		}
	}
	return "", false
}

// Loc is the entry's address as it is written: it may be empty, relative or no URL.
func (e *Entry) Loc() string {
	loc, _ := e.Field("loc")
	return loc
}

// LastMod is when the entry was last modified; false when it does not say.
func (e *Entry) LastMod() (time.Time, bool) {
	text, _ := e.Field("lastmod")
	return ParseTime(text)
}

func (e *Entry) set(name, value string) {
	for i := range e.Fields {
		if e.Fields[i].Name == name {
			e.bytes += len(value) - len(e.Fields[i].Value)
			e.Fields[i].Value = value
			return
		}
	}
	if len(e.Fields) < fieldLimit {
		e.bytes += len(name) + len(value)
		e.Fields = append(e.Fields, Field{name, value})
	}
}

func (e *Entry) reset() {
	clear(e.Fields)
	clear(e.Alternates)
	e.Fields, e.Alternates, e.bytes = e.Fields[:0], e.Alternates[:0], 0
}

// ParseTime reads a lastmod: a W3C date and time of any precision
// (https://www.w3.org/TR/NOTE-datetime), without a zone in UTC. Of a year or a
// month it is the beginning.
func ParseTime(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	for _, layout := range [...]string{
		time.DateOnly, time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04",
		"2006-01-02T15:04:05Z0700", time.DateTime, "2006-01", "2006",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
