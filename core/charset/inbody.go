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
	if label == "" {
		return UTF8, false
	}
	return Lookup(label)
}

// declaredLabel is the label of a page's first declaration; "" when there is none.
func declaredLabel(body []byte) string {
	head := body[:min(len(body), declarationBytes)]
	if bytes.Contains(head, []byte("<!--")) {
		head = appendUncommented(make([]byte, 0, declarationBytes), head)
	}
	return string(bodyLabel(head))
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
// comes first or there is none.
func bodyLabel(b []byte) []byte {
	metaEnd, xmlEnd := 0, 0 // up to there no declaration of the kind is left
	for i := 0; i < len(b); {
		k := bytes.IndexByte(b[i:], '<')
		if k < 0 {
			return nil
		}
		i += k + 1
		tag := b[skipSpace(b, i):]
		at := len(b) - len(tag)
		switch {
		case hasFold(tag, "body"):
			return nil
		case hasFold(tag, "meta") && at >= metaEnd && len(tag) > 4 && isSpace(tag[4]):
			in := upToEnd(tag[5:])
			for from := 0; ; {
				k := indexFold(in[from:], "charset")
				if k < 0 {
					break
				}
				from += k + len("charset")
				if label := assigned(in[from:]); label != nil {
					return label
				}
			}
			metaEnd = at + 5 + len(in)
		case hasFold(tag, "?xml") && at >= xmlEnd && len(tag) > 5 && isSpace(tag[4]):
			in := upToEnd(tag[5:])
			var last []byte
			for from := 1; from < len(in); { // at least one character before the word
				k := indexFold(in[from:], "encoding")
				if k < 0 {
					break
				}
				from += k + len("encoding")
				if label := assigned(in[from:]); label != nil {
					last = label
				}
			}
			if last != nil {
				return last
			}
			xmlEnd = at + 5 + len(in)
		}
	}
	return nil
}

// assigned reads the label in `="label`, quotes and blanks left out where they are
// missing; nil when there is none.
func assigned(b []byte) []byte {
	i := skipSpace(b, 0)
	if i == len(b) || b[i] != '=' {
		return nil
	}
	i = skipSpace(b, i+1)
	if i < len(b) && (b[i] == '"' || b[i] == '\'') {
		i = skipSpace(b, i+1)
	}
	end := i
	for end < len(b) && (isWord(b[end]) || b[end] == '-') {
		end++
	}
	if end == i {
		return nil
	}
	return b[i:end]
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
