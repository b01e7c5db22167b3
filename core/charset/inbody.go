package charset

import "bytes"

// declarationBytes is how far into a page its declaration is looked for: w3lib's
// 4096 (the HTML standard asks for 1024).
const declarationBytes = 4096

// InBody gives the encoding that a page declares in its first 4096 bytes: in a meta
// element with "charset=" anywhere in its tag, or in an XML declaration, outside
// comments and before the body element. The first declaration decides: ok is false
// when Python does not know its label.
//
// It reads as w3lib's expression does, not by attributes, so that pages with broken
// tags are read alike. Time is linear.
func InBody(body []byte) (e Encoding, ok bool) {
	label := declaredLabel(body)
	if label == nil {
		return UTF8, false
	}
	return Lookup(label)
}

// declaredLabel is the label of a page's first declaration; nil when there is none.
func declaredLabel(body []byte) []byte {
	const opening = "<!--"
	head := body[:min(len(body), declarationBytes)]
	label, read := bodyLabel(head)
	if bytes.Contains(head[:min(len(head), read+len(opening))], []byte(opening)) {
		label, _ = bodyLabel(appendUncommented(make([]byte, 0, len(head)), head))
	}
	return label
}

// appendUncommented appends b without comments to dst.
func appendUncommented(dst, b []byte) []byte {
	for {
		text, comment, ok := bytes.Cut(b, []byte("<!--"))
		dst = append(dst, text...)
		if !ok {
			return dst
		}
		if _, b, ok = bytes.Cut(comment, []byte("-->")); !ok {
			return dst
		}
	}
}

// bodyLabel is the label of the first declaration in b; nil when the body element
// comes first or there is none. The answer depends on the first read bytes only.
func bodyLabel(b []byte) (label []byte, read int) {
	metaEnd, xmlEnd := 0, 0 // up to there no declaration of the kind is left
	for i := 0; i < len(b); {
		k := bytes.IndexByte(b[i:], '<')
		if k < 0 {
			break
		}
		i += k + 1
		at := skipSpace(b, i)
		tag := b[at:]
		switch {
		case hasFold(tag, "body"):
			return nil, max(at+len("body"), metaEnd, xmlEnd)
		case at >= metaEnd && hasFold(tag, "meta") && len(tag) > 4 && isSpace(tag[4]):
			in := upToEnd(tag[5:])
			if label, n := metaLabel(in); label != nil {
				return label, max(at+5+n, xmlEnd)
			}
			metaEnd = at + 5 + len(in)
		case at >= xmlEnd && hasFold(tag, "?xml") && len(tag) > 5 && isSpace(tag[4]):
			in := upToEnd(tag[5:])
			if label := xmlLabel(in); label != nil {
				return label, max(at+5+len(in), metaEnd)
			}
			xmlEnd = at + 5 + len(in)
		}
	}
	return nil, len(b)
}

// metaLabel is the first label that follows "charset" in a meta element's tag, and
// where it ends.
func metaLabel(in []byte) (label []byte, end int) {
	const word = "charset"
	for from := 0; ; {
		k := indexFold(in[from:], word)
		if k < 0 {
			return nil, len(in)
		}
		from += k + len(word)
		if label, n := assigned(in[from:]); label != nil {
			return label, from + n
		}
	}
}

// xmlLabel is the last label that follows "encoding" in an XML declaration, not at
// its first byte.
func xmlLabel(in []byte) (label []byte) {
	const word = "encoding"
	for from := 1; from < len(in); {
		k := indexFold(in[from:], word)
		if k < 0 {
			break
		}
		from += k + len(word)
		if l, _ := assigned(in[from:]); l != nil {
			label = l
		}
	}
	return label
}

// assigned reads the label in `="label`, quotes and blanks left out where they are
// missing, and gives where it ends; nil when there is none.
func assigned(b []byte) (label []byte, end int) {
	i := skipSpace(b, 0)
	if i == len(b) || b[i] != '=' {
		return nil, i
	}
	i = skipSpace(b, i+1)
	if i < len(b) && (b[i] == '"' || b[i] == '\'') {
		i = skipSpace(b, i+1)
	}
	end = i
	for end < len(b) && (isWord(b[end]) || b[end] == '-') {
		end++
	}
	if end == i {
		return nil, end
	}
	return b[i:end], end
}

// upToEnd is b up to the end of the tag, or all of it.
func upToEnd(b []byte) []byte {
	in, _, _ := bytes.Cut(b, []byte(">"))
	return in
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// hasFold reports whether b begins with the lower-case ASCII word in any case.
func hasFold(b []byte, lower string) bool {
	return len(b) >= len(lower) && equalFold(b[:len(lower)], lower)
}

// indexFold is where the lower-case ASCII word first stands in b in any case; -1
// when nowhere.
func indexFold(b []byte, lower string) int {
	for i := 0; i+len(lower) <= len(b); i++ {
		if b[i]|0x20 == lower[0] && equalFold(b[i:i+len(lower)], lower) {
			return i
		}
	}
	return -1
}
