package weburl

// isPlain reports whether s is an absolute http or https URL that every rule
// of this package leaves as it is: final host, a path, no dot segments, no
// byte to escape, no empty query or fragment.
func isPlain(s string) bool {
	i, ok := plainAuthority(s)
	if !ok || i == len(s) {
		return false
	}
	end, ok := plainTail(s, i)
	if !ok {
		return false
	}
	if end == len(s) {
		return true
	}
	for i = end + 1; i < len(s); i++ {
		if class[s[i]]&safePath == 0 {
			return false
		}
	}
	return end+1 < len(s)
}

// plainAuthority reports where the path of an absolute http or https URL
// starts (len(s) when it has none), and whether all before it is in its final
// form. False means only that a closer look is needed.
func plainAuthority[S string | []byte](s S) (int, bool) {
	const shortest = len("http://a")
	if len(s) < shortest || s[0] != 'h' || s[1] != 't' || s[2] != 't' || s[3] != 'p' {
		return 0, false
	}
	start, defaultPort := len("http://"), 80
	if s[4] == 's' {
		start, defaultPort = len("https://"), 443
	}
	if s[start-3] != ':' || s[start-2] != '/' || s[start-1] != '/' {
		return 0, false
	}
	i, label := start, start // label is where the last label starts
	for ; i < len(s) && class[s[i]]&plainHost != 0; i++ {
		if s[i] == '.' {
			label = i + 1
		}
	}
	if i == start || label == i || i-start > maxHostBytes {
		return 0, false
	}
	if c := s[label]; c-'0' <= 9 && !isDottedQuad(s[start:i]) {
		return 0, false
	}
	if i < len(s) && s[i] == ':' {
		port, from := 0, i+1
		for i++; i < len(s) && s[i]-'0' <= 9 && port <= 65535; i++ {
			port = port*10 + int(s[i]-'0')
		}
		if i == from || s[from] == '0' || port > 65535 || port == defaultPort {
			return 0, false
		}
	}
	if i < len(s) && s[i] != '/' {
		return 0, false
	}
	return i, true
}

// isDottedQuad reports whether s is an IPv4 address as it is usually written.
func isDottedQuad[S string | []byte](s S) bool {
	parts, digits, value := 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.':
			if digits == 0 {
				return false
			}
			parts, digits, value = parts+1, 0, 0
		case c-'0' <= 9:
			if digits > 0 && value == 0 {
				return false
			}
			digits++
			if value = value*10 + int(c-'0'); value > 255 {
				return false
			}
		default:
			return false
		}
	}
	return parts == 3 && digits > 0
}

// plainTail reads the path and query of s from i on: where they end (at a '#'
// or the end of s), and whether all of it stays as it is. False means only
// that a closer look is needed. A relative path starts at i = 0.
func plainTail[S string | []byte](s S, i int) (int, bool) {
	for ; i < len(s); i++ {
		c := s[i]
		if class[c]&plainPath != 0 {
			if c == '.' && (i == 0 || s[i-1] == '/') {
				return 0, false
			}
			continue
		}
		switch c {
		case '#':
			return i, true
		case '?':
			return plainQueryEnd(s, i+1)
		case '%': // %2e is a dot
			if i+2 < len(s) && s[i+1] == '2' && s[i+2]|0x20 == 'e' {
				return 0, false
			}
		default:
			return 0, false
		}
	}
	return i, true
}

func plainQueryEnd[S string | []byte](s S, from int) (int, bool) {
	i := from
	for i < len(s) && class[s[i]]&plainQuery != 0 {
		i++
	}
	return i, i > from && (i == len(s) || s[i] == '#')
}
