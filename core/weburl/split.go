package weburl

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// dialect is a version of w3lib.
type dialect uint8

const (
	newest       dialect = iota // 2.4
	w3lib2point1                // 2.1.1, which Scrapy 2.6 to 2.8 and scrapy-redis 0.9 were run with
)

var errBrackets = errors.New("brackets do not pair")

// parts is a URL as Python's urlsplit leaves it: not decoded, not checked.
type parts struct {
	scheme, netloc, path, query, fragment string
}

// split is Python's urllib.parse.urlsplit (3.11).
func split(u string) (parts, error) {
	var p parts
	if scheme, rest, ok := cutScheme(u); ok {
		p.scheme, u = strings.ToLower(scheme), rest
	}
	if strings.HasPrefix(u, "//") {
		end := strings.IndexAny(u[2:], "/?#")
		if end < 0 {
			end = len(u) - 2
		}
		p.netloc, u = u[2:2+end], u[2+end:]
		if strings.Contains(p.netloc, "[") != strings.Contains(p.netloc, "]") {
			return p, errBrackets
		}
	}
	u, p.fragment, _ = strings.Cut(u, "#")
	p.path, p.query, _ = strings.Cut(u, "?")
	return p, checkNetloc(p.netloc)
}

// checkNetloc refuses names whose compatibility form hides a delimiter.
func checkNetloc(netloc string) error {
	if isASCII(netloc) {
		return nil
	}
	bare := strings.Map(func(r rune) rune {
		if strings.ContainsRune("@:#?", r) {
			return -1
		}
		return r
	}, netloc)
	if n := norm.NFKC.String(bare); n != bare && strings.ContainsAny(n, "/?#@:") {
		return ErrHost
	}
	return nil
}

// join is Python's urlunsplit.
func (p parts) join() string {
	var b strings.Builder
	b.Grow(len(p.scheme) + len(p.netloc) + len(p.path) + len(p.query) + len(p.fragment) + 8)
	if p.scheme != "" {
		b.WriteString(p.scheme)
		b.WriteByte(':')
	}
	if p.netloc != "" || p.scheme != "" && usesNetloc(p.scheme) && !strings.HasPrefix(p.path, "//") {
		b.WriteString("//")
		b.WriteString(p.netloc)
		if p.path != "" && p.path[0] != '/' {
			b.WriteByte('/')
		}
	}
	b.WriteString(p.path)
	if p.query != "" {
		b.WriteByte('?')
		b.WriteString(p.query)
	}
	if p.fragment != "" {
		b.WriteByte('#')
		b.WriteString(p.fragment)
	}
	return b.String()
}

// usesNetloc is Python's list of schemes that are written with "//".
func usesNetloc(scheme string) bool {
	switch scheme {
	case "ftp", "http", "gopher", "nntp", "telnet", "imap", "wais", "file", "mms", "https", "shttp", "snews",
		"prospero", "rtsp", "rtspu", "rsync", "svn", "svn+ssh", "sftp", "nfs", "git", "git+ssh", "ws", "wss":
		return true
	}
	return false
}

// usesParams is Python's list of schemes whose last path segment ends at a ';'.
func usesParams(scheme string) bool {
	switch scheme {
	case "", "ftp", "hdl", "prospero", "http", "imap", "https", "shttp", "rtsp", "rtspu", "sip", "sips", "mms",
		"sftp", "tel":
		return true
	}
	return false
}

// isSpecial reports the schemes that the URL standard treats alike.
func isSpecial(scheme string) bool {
	switch scheme {
	case "file", "ftp", "http", "https", "ws", "wss":
		return true
	}
	return false
}

// netloc is user, password, host and port, each perhaps absent.
type netloc struct {
	user, password       string
	hasUser, hasPassword bool
	host                 string // lower case; brackets removed
	port                 int    // -1 is none
}

func splitNetloc(s string, d dialect) (netloc, error) {
	n := netloc{port: -1}
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		n.hasUser = true
		n.user, n.password, n.hasPassword = strings.Cut(s[:at], ":")
		s = s[at+1:]
	}
	var port string
	if _, inside, ok := strings.Cut(s, "["); ok {
		n.host, port, _ = strings.Cut(inside, "]")
		_, port, _ = strings.Cut(port, ":")
	} else {
		n.host, port, _ = strings.Cut(s, ":")
	}
	host, zone, hasZone := strings.Cut(n.host, "%")
	n.host = lower(host)
	if hasZone {
		n.host += "%" + zone
	}
	if port == "" {
		return n, nil
	}
	if d == newest {
		port = strings.TrimSpace(port)
	}
	n.port = 0
	for i := range len(port) {
		c := port[i]
		if c < '0' || c > '9' {
			return n, fmt.Errorf("%w: %q", ErrPort, clip(port))
		}
		if n.port = n.port*10 + int(c-'0'); n.port > 65535 {
			return n, fmt.Errorf("%w: %q", ErrPort, clip(port))
		}
	}
	if port == "" {
		return n, ErrPort
	}
	return n, nil
}

// lower is Python's str.lower for what may be in a URL: it alone keeps the dot of
// a capital I with dot.
func lower(s string) string {
	return strings.ToLower(strings.ReplaceAll(s, "\u0130", "i\u0307"))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
