package weburl

import (
	"strings"
	"unicode/utf8"
)

// strip removes what browsers ignore: control characters and spaces at both
// ends, tabs and line ends anywhere.
func strip(s string) string {
	for len(s) > 0 && s[0] <= ' ' {
		s = s[1:]
	}
	for len(s) > 0 && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	if strings.IndexByte(s, '\t') < 0 && strings.IndexByte(s, '\n') < 0 && strings.IndexByte(s, '\r') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		if c := s[i]; c != '\t' && c != '\n' && c != '\r' {
			b = append(b, c)
		}
	}
	return string(b)
}

// cutScheme splits "scheme:rest"; has is false when s does not start so.
func cutScheme(s string) (scheme, rest string, has bool) {
	if s == "" || s[0]|0x20 < 'a' || s[0]|0x20 > 'z' {
		return "", s, false
	}
	for i := range len(s) {
		if s[i] == ':' {
			return s[:i], s[i+1:], true
		}
		if class[s[i]]&schemeByte == 0 {
			break
		}
	}
	return "", s, false
}

// isHTTP reports whether a serialised URL is http or https.
func isHTTP(href string) bool {
	return strings.HasPrefix(href, "http://") || strings.HasPrefix(href, "https://")
}

func isSlash(c byte) bool { return c == '/' || c == '\\' }

func trimSlashes(s string) string {
	for len(s) > 0 && isSlash(s[0]) {
		s = s[1:]
	}
	return s
}

// appendURL writes the URL that in, stripped, means beside base (nil is none).
// ErrScheme means a scheme other than http and https.
func appendURL(dst []byte, in string, base *Base, st style, fragment bool) ([]byte, error) {
	scheme, rest, has := cutScheme(in)
	if !has {
		if base == nil {
			return nil, ErrRelative
		}
		return appendRelative(dst, in, base, st, fragment)
	}
	switch {
	case strings.EqualFold(scheme, "http"):
		scheme = "http"
	case strings.EqualFold(scheme, "https"):
		scheme = "https"
	default:
		return nil, ErrScheme
	}
	if base != nil && base.scheme() == scheme {
		return appendRelative(dst, rest, base, st, fragment)
	}
	return appendAuthority(dst, scheme, trimSlashes(rest), st, fragment)
}

func appendRelative(dst []byte, ref string, base *Base, st style, fragment bool) ([]byte, error) {
	switch {
	case ref == "":
		return append(dst, base.href...), nil
	case isSlash(ref[0]):
		if len(ref) > 1 && isSlash(ref[1]) {
			return appendAuthority(dst, base.scheme(), trimSlashes(ref), st, fragment)
		}
		dst = append(dst, base.href[:base.pathAt]...)
		return appendPath(append(dst, '/'), base.pathAt, ref[1:], st, fragment), nil
	case ref[0] == '?':
		return appendQuery(append(dst, base.href[:base.queryAt]...), ref, st, fragment), nil
	case ref[0] == '#':
		return appendQuery(append(dst, base.href...), ref, st, fragment), nil
	}
	return appendPath(append(dst, base.href[:base.nameAt]...), base.pathAt, ref, st, fragment), nil
}

// appendAuthority writes scheme and s, which starts with the authority.
func appendAuthority(dst []byte, scheme, s string, st style, fragment bool) ([]byte, error) {
	end := strings.IndexAny(s, "/\\?#")
	if end < 0 {
		end = len(s)
	}
	authority, rest := s[:end], s[end:]
	start := len(dst)
	dst = append(append(dst, scheme...), "://"...)

	hostport := authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		dst = appendUserinfo(dst, authority[:at], st)
		hostport = authority[at+1:]
	}
	host, port, hasPort := cutPort(hostport)
	if host == "" {
		return nil, ErrHostMissing
	}
	dst, err := appendHost(dst, host, st.clean)
	if err != nil {
		return nil, err
	}
	if hasPort {
		if dst, err = appendPort(dst, scheme, port); err != nil {
			return nil, err
		}
	}
	pathAt := len(dst) - start
	if rest != "" && isSlash(rest[0]) {
		rest = rest[1:]
	}
	return appendPath(append(dst, '/'), start+pathAt, rest, st, fragment), nil
}

// cutPort splits at the first ':' outside of brackets.
func cutPort(hostport string) (host, port string, has bool) {
	inside := false
	for i := range len(hostport) {
		switch hostport[i] {
		case '[':
			inside = true
		case ']':
			inside = false
		case ':':
			if !inside {
				return hostport[:i], hostport[i+1:], true
			}
		}
	}
	return hostport, "", false
}

// appendPort writes ":port" unless it is the scheme's default or empty.
func appendPort(dst []byte, scheme, digits string) ([]byte, error) {
	n := 0
	for i := range len(digits) {
		c := digits[i]
		if c < '0' || c > '9' {
			return nil, ErrPort
		}
		if n = n*10 + int(c-'0'); n > 65535 {
			return nil, ErrPort
		}
	}
	if digits == "" || scheme == "http" && n == 80 || scheme == "https" && n == 443 {
		return dst, nil
	}
	return appendInt(append(dst, ':'), n), nil
}

// appendUserinfo writes "user[:password]@", or nothing when both are empty.
func appendUserinfo(dst []byte, s string, st style) []byte {
	user, password, _ := strings.Cut(s, ":")
	if user == "" && password == "" {
		return dst
	}
	part := func(s string) {
		if !st.clean {
			dst = appendEncoded(dst, s, inUser)
			return
		}
		dst = appendQuoted(dst, unquoted(strings.ToValidUTF8(s, "\uFFFD")), safeUser)
	}
	part(user)
	if password != "" {
		dst = append(dst, ':')
		part(password)
	}
	return append(dst, '@')
}

// appendPath writes path segments, query and fragment from s to dst, which ends
// with the '/' before the first segment; its path starts at pathAt.
func appendPath(dst []byte, pathAt int, s string, st style, fragment bool) []byte {
	for {
		end := 0
		for end < len(s) && s[end] != '/' && s[end] != '\\' && s[end] != '?' && s[end] != '#' {
			end++
		}
		segment := s[:end]
		slash := end < len(s) && isSlash(s[end])
		switch {
		case isDoubleDot(segment):
			if len(dst)-1 > pathAt {
				dst = dst[:len(dst)-1]
				for dst[len(dst)-1] != '/' {
					dst = dst[:len(dst)-1]
				}
			}
		case isSingleDot(segment):
		default:
			dst = appendEncoded(dst, segment, st.path)
			if slash {
				dst = append(dst, '/')
			}
		}
		if !slash {
			return appendQuery(dst, s[end:], st, fragment)
		}
		s = s[end+1:]
	}
}

// appendQuery writes s, which is empty or starts with '?' or '#'.
func appendQuery(dst []byte, s string, st style, fragment bool) []byte {
	query, frag, hasFrag := strings.Cut(s, "#")
	if query != "" && (len(query) > 1 || !st.clean) {
		dst = appendInEncoding(append(dst, '?'), query[1:], st)
	}
	if hasFrag && fragment && (frag != "" || !st.clean) {
		dst = appendEncoded(append(dst, '#'), frag, st.fragment)
	}
	return dst
}

// appendInEncoding writes a query in the encoding of its page. A character that
// does not exist there becomes an escaped character reference, as in a browser.
func appendInEncoding(dst []byte, query string, st style) []byte {
	if st.encoding == nil || isASCII(query) {
		return appendEncoded(dst, query, st.query)
	}
	query = strings.ToValidUTF8(query, "\uFFFD")
	if out, err := encode(query, st.encoding); err == nil {
		return appendQuoted(dst, out, st.query)
	}
	for _, r := range query {
		if out, err := encode(string(r), st.encoding); err == nil {
			dst = appendQuoted(dst, out, st.query)
			continue
		}
		dst = append(appendInt(append(dst, "%26%23"...), int(r)), "%3B"...)
	}
	return dst
}

func isSingleDot(s string) bool {
	return s == "." || len(s) == 3 && s[0] == '%' && s[1] == '2' && s[2]|0x20 == 'e'
}

func isDoubleDot(s string) bool {
	switch len(s) {
	case 2:
		return s == ".."
	case 4:
		return s[0] == '.' && isSingleDot(s[1:]) || s[3] == '.' && isSingleDot(s[:3])
	case 6:
		return isSingleDot(s[:3]) && isSingleDot(s[3:])
	}
	return false
}

// appendEncoded writes s with every byte outside the classes of keep as %XX;
// what is not UTF-8 becomes the replacement character, as in a browser.
func appendEncoded(dst []byte, s string, keep uint16) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if class[c]&keep != 0 {
			dst = append(dst, c)
			continue
		}
		if c < utf8.RuneSelf {
			dst = appendEscaped(dst, c)
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, "%EF%BF%BD"...)
			continue
		}
		dst = appendQuoted(dst, s[i:i+size], 0)
		i += size - 1
	}
	return dst
}
