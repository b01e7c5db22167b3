package extract

import "bytes"

// rawEnd is the position of the end tag that closes raw text begun at i, or
// len(b): without an end tag the rest of the page is text.
func rawEnd(b []byte, i int, name string) int {
	for {
		k := bytes.IndexByte(b[i:], '<')
		if k < 0 {
			return len(b)
		}
		i += k + 1
		if i < len(b) && b[i] == '/' && isEndTag(b, i+1, name) {
			return i - 1
		}
	}
}

// isEndTag reports whether the name and then white space, "/" or ">" stand at i.
func isEndTag(b []byte, i int, name string) bool {
	end := i + len(name)
	return end < len(b) && class[b[end]]&nameEnd != 0 && equalFold(b[i:end], name)
}

// scriptEnd is rawEnd for script elements, whose text may hide an end tag
// inside "<!--" and a nested "<script" (HTML 13.2.5.4 and 13.2.5.15 to .31). It
// follows x/net/html, which differs from the standard in one state: in escaped
// text "<" before anything but a letter or "/" ends the escape.
func scriptEnd(b []byte, i int) int {
	for {
		k := bytes.IndexByte(b[i:], '<')
		if k < 0 {
			return len(b)
		}
		i += k + 1
		if i >= len(b) {
			return len(b)
		}
		switch b[i] {
		case '/':
			if isEndTag(b, i+1, "script") {
				return i - 1
			}
			i++
		case '!':
			i++
			if !bytes.HasPrefix(b[i:], []byte("--")) {
				continue
			}
			var ended bool
			if i, ended = escapedScript(b, i+2); ended {
				return i
			}
		}
	}
}

// escapedScript reads script text behind "<!--". ended: i is where the script
// ends; otherwise the escape is over and plain script text goes on at i.
func escapedScript(b []byte, i int) (next int, ended bool) {
	dashes := 2
	double := false // inside a nested <script
	for i < len(b) {
		c := b[i]
		i++
		switch {
		case c == '-':
			dashes++
			continue
		case c == '>' && dashes >= 2:
			return i, false
		case c == '<' && i < len(b):
			switch next := b[i]; {
			case next == '/' && !double:
				if isEndTag(b, i+1, "script") {
					return i - 1, true
				}
				i++
			case next == '/':
				if isEndTag(b, i+1, "script") {
					i += len("/script>")
					double = false
				} else {
					i++
				}
			case double:
			case class[next]&letter != 0:
				double = isEndTag(b, i, "script")
				if double {
					i += len("script>")
				}
			default:
				return i, false
			}
		}
		dashes = 0
	}
	return len(b), true
}
