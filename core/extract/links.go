package extract

import (
	"hash/maphash"
	"unicode/utf8"
)

// trim takes the white space and control characters off both ends, as a URL
// parser does.
func trim(b []byte) []byte {
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// otherScheme reports whether href plainly names a scheme that is not fetched
// (mailto:, javascript:, data: ...). What it lets through, the resolver judges.
func otherScheme(href []byte) bool {
	for i, c := range href {
		switch {
		case class[c]&letter != 0:
		case c == ':':
			return i > 0 && !equalFold(href[:i], "http") && !equalFold(href[:i], "https")
		case i > 0 && (c-'0' <= 9 || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return false
}

// clearSeen empties the set and makes room for n links.
func (d *document) clearSeen(n int) {
	size := 64
	for size < 2*n {
		size *= 2
	}
	if len(d.seen) < size {
		d.seen = make([]uint64, size)
		return
	}
	clear(d.seen)
}

// firstSeen reports whether href is new on this page, and remembers it by a
// 64-bit hash under a random seed.
func (d *document) firstSeen(href []byte) bool {
	return d.firstHash(maphash.Bytes(d.seed, href))
}

// firstHash is firstSeen for a hash under the page's seed.
func (d *document) firstHash(h uint64) bool {
	h |= 1 // 0 marks a free place
	mask := uint64(len(d.seen) - 1)
	for i := h >> 1 & mask; ; i = (i + 1) & mask {
		switch d.seen[i] {
		case 0:
			d.seen[i] = h
			return true
		case h:
			return false
		}
	}
}

// escapeQuery percent-encodes what is not ASCII in the query of href in the
// page's own encoding, as browsers and Scrapy do: the server that wrote the
// page reads its queries in it. A character that the encoding lacks becomes a
// numeric reference, as in browsers.
func (c codec) escapeQuery(href []byte) []byte {
	q := 0
	for q < len(href) && href[q] != '?' {
		q++
	}
	plain := true
	for _, b := range href[q:] {
		plain = plain && b < utf8.RuneSelf
	}
	if plain {
		return href
	}
	out := append(make([]byte, 0, 2*len(href)), href[:q]...)
	enc := c.enc.NewEncoder()
	for i := q; i < len(href); {
		if href[i] < utf8.RuneSelf {
			out = append(out, href[i])
			i++
			continue
		}
		_, n := utf8.DecodeRune(href[i:])
		raw, err := enc.Bytes(href[i : i+n])
		if err != nil {
			raw = href[i : i+n]
		}
		for _, b := range raw {
			if isAlnum(b) { // the second byte of some characters
				out = append(out, b)
			} else {
				out = append(out, '%', upperHex[b>>4], upperHex[b&15])
			}
		}
		i += n
	}
	return out
}

const upperHex = "0123456789ABCDEF"
