package weburl

// A byte's classes: in which parts of a URL it stands for itself.
const (
	inPath       uint16 = 1 << iota // WHATWG path: kept as it is
	inQuery                         // WHATWG query of a special scheme
	inFragment                      // WHATWG fragment
	inUser                          // WHATWG user and password
	safePath                        // w3lib: path, fragment, and query of a non-special scheme
	safeQuery                       // w3lib: query of a special scheme
	safeUser                        // w3lib: user and password
	plainHost                       // host name in its final form
	plainPath                       // path byte that no rule here changes; '%' and '.' need a second look
	plainQuery                      // query byte that no parsing rule changes
	canonQuery                      // query byte that canonical form keeps, '=' and '&' apart
	unreserved                      // RFC 3986 section 2.3
	canonPath                       // w3lib canonical form: path byte written as it is
	canonOther                      // w3lib canonical form: params and fragment byte written as it is
	schemeByte                      // RFC 3986 section 3.1, after the first letter
	forbiddenInH                    // WHATWG forbidden domain code point
)

// class is a constant table: what each byte may stand for.
var class = classes() //nolint:gochecknoglobals // constant table

func classes() (t [256]uint16) {
	set := func(mask uint16, chars string) {
		for i := range len(chars) {
			t[chars[i]] |= mask
		}
	}
	unset := func(mask uint16, chars string) {
		for i := range len(chars) {
			t[chars[i]] &^= mask
		}
	}
	const (
		alnum      = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		lowerDigit = "abcdefghijklmnopqrstuvwxyz0123456789"
		unres      = alnum + "-._~"
		genDelims  = ":/?#[]@"
		subDelims  = "!$&'()*+,;="
	)
	// https://url.spec.whatwg.org/#percent-encoded-bytes
	for c := byte(0x21); c < 0x7F; c++ {
		t[c] |= inPath | inQuery | inFragment | inUser
	}
	unset(inFragment, "\"<>`")
	unset(inQuery, "\"#<>'")
	unset(inPath|inUser, "\"#<>?`{}")
	unset(inUser, "/:;=@[\\]^|")

	// w3lib/url.py, the _SAFEST_ sets.
	set(safePath|safeQuery, unres+genDelims+subDelims+"%")
	unset(safePath|safeQuery, "#[]|")
	unset(safeQuery, "'")
	set(safeUser, unres+subDelims)
	unset(safeUser, ";=")
	set(canonPath|canonOther, unres+genDelims+subDelims+"|%")
	unset(canonPath, "#")

	set(unreserved, unres)
	set(plainHost, lowerDigit+"-_.")
	set(plainPath, unres+subDelims+":/@")
	set(plainQuery, unres+subDelims+":/@?%")
	unset(plainQuery, "'")
	set(canonQuery, unres+"+")
	set(schemeByte, alnum+"+-.")

	for c := range 0x21 {
		t[c] |= forbiddenInH
	}
	set(forbiddenInH, "#/:<>?@[\\]^|%\x7f")
	return t
}

const upperHex = "0123456789ABCDEF"

// appendEscaped writes one byte as %XX.
func appendEscaped(dst []byte, c byte) []byte {
	return append(dst, '%', upperHex[c>>4], upperHex[c&15])
}

// appendQuoted writes s with every byte outside the classes of keep as %XX.
// Invalid UTF-8 is escaped byte by byte, as it stands.
func appendQuoted[S string | []byte](dst []byte, s S, keep uint16) []byte {
	for i := range len(s) {
		if c := s[i]; class[c]&keep != 0 {
			dst = append(dst, c)
		} else {
			dst = appendEscaped(dst, c)
		}
	}
	return dst
}

// unhex gives the value of a hex digit.
func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// unescapeAt decodes the escape that starts at s[i]; ok is false where none does.
func unescapeAt(s string, i int) (c byte, ok bool) {
	if s[i] != '%' || i+2 >= len(s) {
		return 0, false
	}
	hi, ok1 := unhex(s[i+1])
	lo, ok2 := unhex(s[i+2])
	return hi<<4 | lo, ok1 && ok2
}

// unquoted decodes every well-formed escape of s; the rest stays.
func unquoted(s string) []byte {
	dst := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if c, ok := unescapeAt(s, i); ok {
			dst = append(dst, c)
			i += 2
			continue
		}
		dst = append(dst, s[i])
	}
	return dst
}
