package charset

// Header gives the encoding that a Content-Type declares. ok is false when there is
// no charset parameter, or none that Python knows. The parameter must be one of its
// own, after a semicolon or at the start; its value may be quoted, and what stands in
// the quotes of another parameter is not looked at.
func Header(contentType string) (e Encoding, ok bool) {
	label := headerLabel(contentType)
	if label == "" {
		return UTF8, false
	}
	return Lookup(label)
}

// headerLabel is the first charset parameter of s whose value is a label; "" when
// there is none.
func headerLabel(s string) string {
	for i := 0; i < len(s); {
		start := i
		for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
			i++
		}
		name := i
		for i < len(s) && s[i] != '=' && s[i] != ';' && !isSpace(s[i]) {
			i++
		}
		if i < len(s) && s[i] == '=' && i > name {
			value, next := headerValue(s, i+1)
			if equalFold(s[name:i], "charset") && isLabel(value) {
				return value
			}
			i = next
		} else {
			i = start
		}
		for i < len(s) && s[i] != ';' {
			i++
		}
		i++
	}
	return ""
}

// headerValue reads a parameter's value at i, a quoted string or a token, and gives
// where to go on. Escapes in a quoted string stay: no label has one.
func headerValue(s string, i int) (value string, next int) {
	if i < len(s) && s[i] == '"' {
		for k := i + 1; k < len(s); k++ {
			switch s[k] {
			case '\\':
				k++
			case '"':
				if k+1 == len(s) || s[k+1] == ';' || s[k+1] == ',' || isSpace(s[k+1]) {
					return s[i+1 : k], k + 1
				}
				k = len(s) // what follows makes it no quoted string
			}
		}
	}
	k := i
	for k < len(s) && s[k] != ';' && s[k] != ',' && !isSpace(s[k]) {
		k++
	}
	return s[i:k], k
}

func isLabel(s string) bool {
	for i := range len(s) {
		if !isWord(s[i]) && s[i] != '-' {
			return false
		}
	}
	return s != ""
}

func isWord(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_'
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// equalFold reports whether s is lower, an ASCII lower-case word, in any case.
func equalFold[T string | []byte](s T, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i := range len(lower) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
