package robots

import "strings"

// Directives is what a page asks of the crawlers that fetched it, in meta
// elements and X-Robots-Tag fields. They are no part of RFC 9309; the reading is
// that of https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag.
// The zero value asks nothing.
type Directives struct {
	Noindex  bool // nothing of the page should be kept
	Nofollow bool // no link of the page should be followed
}

// AddHeader adds what the value of one X-Robots-Tag field asks of the crawler
// with that product token (see Token; "" is none) or of every crawler. What
// several fields ask adds up: nothing takes a directive back.
//
// A name with a colon ("otherbot: noindex") says whom the rest of the field
// concerns, up to the next such name.
func (d *Directives) AddHeader(value, token string) {
	ours := true
	for element := range strings.SplitSeq(value, ",") {
		for {
			name, rest, ok := strings.Cut(element, ":")
			if !ok {
				break
			}
			name = strings.Trim(name, blanks)
			if hasValue(name) {
				element = "" // what follows is its value
				break
			}
			if !isAgent(name) {
				break // a colon in the time of a date
			}
			ours = name == "*" || names(name, token)
			element = rest
		}
		if ours {
			d.add(element)
		}
	}
}

// AddMeta adds what a meta element with that name and content asks of the
// crawler with that product token. Names other than "robots" and the token
// concern others.
func (d *Directives) AddMeta(name, content, token string) {
	name = strings.Trim(name, blanks)
	if !strings.EqualFold(name, "robots") && !names(name, token) {
		return
	}
	for element := range strings.SplitSeq(content, ",") {
		if name, _, ok := strings.Cut(element, ":"); !ok || !hasValue(strings.Trim(name, blanks)) {
			d.add(element)
		}
	}
}

const blanks = " \t\r\n\f"

// add reads the words of one element; authors forget commas. Words that mean
// nothing to a crawler without a cache or snippets are passed over.
func (d *Directives) add(element string) {
	for word := range strings.FieldsFuncSeq(element, func(r rune) bool { return r == ';' || strings.ContainsRune(blanks, r) }) {
		switch {
		case strings.EqualFold(word, "noindex"):
			d.Noindex = true
		case strings.EqualFold(word, "nofollow"):
			d.Nofollow = true
		case strings.EqualFold(word, "none"):
			d.Noindex, d.Nofollow = true, true
		}
	}
}

// names reports whether name, with or without a version, is the product token.
func names(name, token string) bool {
	name, _, _ = strings.Cut(name, "/")
	return token != "" && strings.EqualFold(name, token)
}

// hasValue reports whether a directive of that name is followed by its value,
// in which a date may hold colons.
func hasValue(name string) bool {
	switch strings.ToLower(name) {
	case "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview":
		return true
	default:
		return false
	}
}

// isAgent reports whether s can be the name of a crawler.
func isAgent(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && strings.IndexByte("-_./*", c) < 0 {
			return false
		}
	}
	return true
}
