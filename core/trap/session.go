package trap

import "strings"

// WithoutSession gives the URL without the session ids that frameworks write into
// paths and queries, and whether there was one. Two links that give the same here
// lead to the same page. It allocates only when there is one.
//
// What is taken for a session id is what the canonicalizers of Heritrix and
// OpenWayback take out (StripSessionIDs, StripSessionCFIDs: jsessionid, PHPSESSID,
// sid, ASPSESSIONID..., CFID with CFTOKEN, ASP.NET's (S(...)) segment) and what
// osCommerce, Zen Cart and vBulletin write.
func WithoutSession(url string) (string, bool) {
	query := strings.IndexByte(url, '?')
	path, rest := url, ""
	if query >= 0 {
		path, rest = url[:query], url[query:]
	}
	bare, found := withoutPathSession(path)
	if query < 0 {
		return bare, found
	}
	kept, dropped := withoutQuerySession(rest[1:])
	if !found && !dropped {
		return url, false
	}
	if kept == "" {
		return bare, true
	}
	return bare + "?" + kept, true
}

// withoutPathSession takes ";jsessionid=..." and the segment "(S(...))" out.
func withoutPathSession(path string) (string, bool) {
	found := false
	if strings.IndexByte(path, ';') >= 0 {
		i := strings.LastIndexByte(path, ';')
		name, value, _ := strings.Cut(path[i+1:], "=")
		if isSession(name, value) {
			path, found = path[:i], true
		}
	}
	if strings.IndexByte(path, '(') < 0 {
		return path, found
	}
	if i := strings.Index(path, "/(S("); i >= 0 {
		if n := strings.Index(path[i:], "))"); n > 0 && isToken(path[i+len("/(S("):i+n], 20) {
			path, found = path[:i]+path[i+n+len("))"):], true
		}
	}
	return path, found
}

func withoutQuerySession(query string) (string, bool) {
	found, cold := false, 0
	for rest := query; rest != ""; {
		name, value := "", ""
		name, value, rest = nextParam(rest)
		found = found || isSession(name, value)
		cold |= coldFusion(name)
	}
	if !found && cold != 3 {
		return query, false
	}
	var b strings.Builder
	for rest := query; rest != ""; {
		pair := rest
		name, value := "", ""
		name, value, rest = nextParam(pair)
		pair = strings.TrimSuffix(pair[:len(pair)-len(rest)], "&")
		if isSession(name, value) || cold == 3 && coldFusion(name) != 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(pair)
	}
	return b.String(), true
}

// coldFusion is 1 for CFID and 2 for CFTOKEN: only both together are a session.
func coldFusion(name string) int {
	switch {
	case len(name) == len("cfid") && strings.EqualFold(name, "cfid"):
		return 1
	case len(name) == len("cftoken") && strings.EqualFold(name, "cftoken"):
		return 2
	}
	return 0
}

// isSession reports whether a parameter holds a session id: its name says so and
// its value looks like one. Short names that mean other things elsewhere need 32
// hex digits.
func isSession(name, value string) bool {
	switch {
	case len(value) < 16 || len(name) == 0:
		return false
	case strings.EqualFold(name, "s"), strings.EqualFold(name, "sid"):
		return len(value) == 32 && isHex(value)
	}
	const asp = "aspsessionid"
	for _, known := range [...]string{"jsessionid", "phpsessid", "sessionid", "session_id", "sessid", "oscsid", "xtcsid", "zenid"} {
		if len(name) == len(known) && strings.EqualFold(name, known) {
			return isToken(value, 16)
		}
	}
	return len(name) > len(asp) && strings.EqualFold(name[:len(asp)], asp) && isToken(value, 16)
}

// isToken reports whether s is at least n characters such as ids are made of.
func isToken(s string, n int) bool {
	for i := range len(s) {
		if folded[s[i]] == 0 && strings.IndexByte("-_.!~:,", s[i]) < 0 {
			return false
		}
	}
	return len(s) >= n
}
