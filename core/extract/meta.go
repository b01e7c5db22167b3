package extract

import (
	"bytes"
	"strconv"
)

// note is the name and content of a meta element that may forbid something.
type note struct{ name, content []byte }

// noteLimit is how many such elements of a page are kept; pages have one or two.
const noteLimit = 256

// refresh is a meta refresh that names a URL.
type refresh struct {
	seconds float64
	target  []byte
	set     bool
}

// notes reads a meta element for refresh and for what it asks of crawlers, and
// gives the position behind it. The name ends at i.
func (s *scanner) notes(i int) int {
	b := s.src
	var name, equiv, content attr
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
		case !name.set && equalFold(key, "name"):
			name, name.set = a, true
		case !content.set && equalFold(key, "content"):
			content, content.set = a, true
		case !equiv.set && equalFold(key, "http-equiv"):
			equiv, equiv.set = a, true
		}
	}
	if !content.set {
		return i
	}
	if equiv.set && !s.refresh.set && !s.noscript && equalFold(trim(s.value(equiv)), "refresh") {
		s.refresh = parseRefresh(s.value(content))
	}
	if name.set && len(s.notesFound) < noteLimit {
		if v := s.value(content); forbids(v) {
			s.notesFound = append(s.notesFound, note{s.value(name), v})
		}
	}
	return i
}

// forbids reports whether a meta element's content may hold a robots directive
// that forbids something: noindex, nofollow or none.
func forbids(content []byte) bool {
	for i := 0; i+3 < len(content); i++ {
		if content[i]|0x20 != 'n' || content[i+1]|0x20 != 'o' {
			continue
		}
		switch rest := content[i+2:]; {
		case foldedPrefix(rest, "index"), foldedPrefix(rest, "follow"), foldedPrefix(rest, "ne"):
			return true
		}
	}
	return false
}

// parseRefresh reads "5; url=/next" as w3lib's get_meta_refresh does: without a
// URL it is none.
func parseRefresh(v []byte) refresh {
	v = trim(v)
	n := 0
	for n < len(v) && (v[n]-'0' <= 9 || v[n] == '.') {
		n++
	}
	seconds, err := strconv.ParseFloat(string(v[:n]), 64)
	if n == 0 || v[n-1] == '.' || err != nil {
		return refresh{}
	}
	v = trim(v[n:])
	if len(v) == 0 || v[0] != ';' {
		return refresh{}
	}
	v = trim(v[1:])
	if !foldedPrefix(v, "url=") {
		return refresh{}
	}
	return refresh{seconds, bytes.Trim(v[len("url="):], " \t\r\n\f\"'"), true}
}
