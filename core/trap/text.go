package trap

import (
	"bytes"
	"math/bits"
)

// Reader makes signatures of pages and keeps its room between them. The zero value
// is ready. It is not safe for concurrent use.
type Reader struct {
	seen   [tableSize]uint64 // distinct words of this page: open addressing, 0 is free
	used   [maxWords]uint16  // the places in use
	words  int
	before uint64         // hash of the word before
	sum    [planes]uint64 // for each bit, how many words have it, bit by bit
}

// Bounds on the work for one page.
const (
	tableSize      = 2048
	maxWords       = 1000 // distinct ones; those that come later do not count
	planes         = 10   // maxWords < 1 << planes
	textLimitBytes = 64 << 10
	wordBytes      = 32 // of a longer word only so many count
)

// Sum gives the signature of a page: of its text, markup aside, in UTF-8 or any
// encoding that holds ASCII. Words are runs of letters and digits; how often they
// stand, in which order and in which case makes no difference but for numbers, so a
// list sorted otherwise is nearly the same list. It reads 64 KiB at most and allocates nothing.
func (r *Reader) Sum(html []byte, title string) Signature { return r.read(html, title, false) }

// SumDateless is Sum without numbers and the English names of months and days, for
// pages of which the URL says that they are about a date.
func (r *Reader) SumDateless(html []byte, title string) Signature { return r.read(html, title, true) }

func (r *Reader) read(html []byte, title string, dateless bool) Signature {
	for _, at := range r.used[:r.words] {
		r.seen[at] = 0
	}
	r.words, r.before, r.sum = 0, 0, [planes]uint64{}
	b := html[:min(len(html), textLimitBytes)]
	for len(b) > 0 {
		text := b
		if i := bytes.IndexByte(b, '<'); i >= 0 {
			text, b = b[:i], b[i:]
		} else {
			b = nil
		}
		r.add(text, dateless)
		b = afterTag(b)
	}
	return Signature{Words: r.simhash(), Title: letters(title, dateless)}
}

// afterTag steps over the tag, comment, script or style that b starts with.
func afterTag(b []byte) []byte {
	end := []byte(">")
	switch {
	case len(b) < 3:
		return nil
	case b[1] == '!' && b[2] == '-':
		end = []byte("-->")
	case b[1]|0x20 == 's' && hasWord(b[1:], "script"):
		end = []byte("</")
	case b[1]|0x20 == 's' && hasWord(b[1:], "style"):
		end = []byte("</")
	}
	i := bytes.Index(b[1:], end)
	if i < 0 {
		return nil
	}
	if end[0] == '<' {
		return b[1+i:]
	}
	return b[1+i+len(end):]
}

// hasWord reports whether b starts with word, of lower-case letters, in any case.
func hasWord(b []byte, word string) bool {
	if len(b) < len(word) {
		return false
	}
	for i := range len(word) {
		if b[i]|0x20 != word[i] {
			return false
		}
	}
	return true
}

// folded maps a byte of a word to what counts for it, and every other byte to 0.
//
//nolint:gochecknoglobals // a constant table
var folded = func() (t [256]byte) {
	for c := range 256 {
		switch b := byte(c); {
		case isDigit(b), b >= 'a' && b <= 'z', b >= 0x80:
			t[c] = b
		case b >= 'A' && b <= 'Z':
			t[c] = b | 0x20
		}
	}
	return t
}()

// add counts the words of a piece of text. A number counts together with the word
// before it: tables of numbers have few different ones.
func (r *Reader) add(text []byte, dateless bool) {
	for i := 0; i < len(text); {
		c := folded[text[i]]
		if c == 0 {
			i++
			continue
		}
		start := i
		h := uint64(0)
		for ; c != 0; c = folded[text[i]] {
			h = bits.RotateLeft64(h, 5) ^ uint64(c)
			if i++; i == len(text) {
				break
			}
		}
		if dateless && isDatePart(text[start:i]) {
			continue
		}
		if h = mix(h); isDigit(text[start]) {
			r.word(h ^ bits.RotateLeft64(r.before, 1))
		} else {
			r.word(h)
		}
		r.before = h
	}
}

// word counts a word that was not there yet.
func (r *Reader) word(h uint64) {
	h = max(h, 1) // 0 is a free place
	at := h % tableSize
	for r.seen[at] != 0 {
		if r.seen[at] == h {
			return
		}
		at = (at + 1) % tableSize
	}
	if r.words == maxWords {
		return
	}
	r.seen[at] = h
	r.used[r.words] = uint16(at) //nolint:gosec // < tableSize
	r.words++
	for p := range r.sum { // adds one to the 64 counters whose bit is set
		r.sum[p], h = r.sum[p]^h, r.sum[p]&h
		if h == 0 {
			break
		}
	}
}

// simhash has the bits that more than half of the words have.
func (r *Reader) simhash() uint64 {
	half := r.words / 2
	var above, below uint64 // counters decided, from the highest plane down
	for p := planes - 1; p >= 0; p-- {
		undecided := ^(above | below)
		if half>>p&1 == 0 {
			above |= undecided & r.sum[p]
		} else {
			below |= undecided &^ r.sum[p]
		}
	}
	return above
}

// isDatePart reports whether a word is a number, or an English month or day.
func isDatePart(word []byte) bool {
	if isDigit(word[0]) {
		return true
	}
	if len(word) < 3 || len(word) > 9 {
		return false
	}
	for _, name := range [...]string{
		"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
		"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
	} {
		if len(word) <= len(name) && hasWord(word, name[:len(word)]) {
			return true
		}
	}
	return false
}

// letters hashes a title without digits, blanks and marks.
func letters(title string, dateless bool) uint64 {
	h := uint64(0)
	for i := 0; i < len(title); {
		start, word := i, uint64(0)
		for i < len(title) && folded[title[i]] != 0 {
			if !isDigit(title[i]) {
				word = bits.RotateLeft64(word, 5) ^ uint64(folded[title[i]])
			}
			i++
		}
		if start == i {
			i++
			continue
		}
		if !dateless || !isDatePart([]byte(title[start:i])) {
			h = mix(h ^ word)
		}
	}
	return h
}
