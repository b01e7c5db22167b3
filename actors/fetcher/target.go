package fetcher

import (
	"encoding/base64"
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// target is where a URL leads. All fields but auth are parts of the URL.
type target struct {
	tls  bool
	host string // name or address without brackets
	port string // as in the URL, or the scheme's
	// authority is the Host header's value: host, in brackets if IPv6, and the
	// port unless it is the scheme's.
	authority string
	path      string // path and query exactly as in the URL, without fragment; starts with "/" or "?"
	auth      string // value of an Authorization header from the URL's user info; "" when it has none
}

// Errors of a URL that cannot be requested. They do not quote the URL: it may
// hold a password.
var (
	errURLScheme = errors.New("scheme is not http or https")
	errURLHost   = errors.New("host is missing or malformed")
	errURLPort   = errors.New("port is not a number from 1 to 65535")
	errURLByte   = errors.New("space or control byte in the URL")
)

// parseTarget takes an absolute URL apart without changing its path and query.
func parseTarget(raw string) (target, error) {
	var t target
	for i := range len(raw) {
		if raw[i] <= ' ' || raw[i] == 0x7f {
			return t, errURLByte
		}
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	switch {
	case ok && strings.EqualFold(scheme, "http"):
		t.port = "80"
	case ok && strings.EqualFold(scheme, "https"):
		t.port, t.tls = "443", true
	default:
		return t, errURLScheme
	}
	t.authority, t.path = rest, "/"
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		t.authority = rest[:i]
		if path, _, _ := strings.Cut(rest[i:], "#"); path != "" {
			t.path = path
		}
	}
	if i := strings.LastIndexByte(t.authority, '@'); i >= 0 {
		t.auth = basicAuth(t.authority[:i])
		t.authority = t.authority[i+1:]
	}
	return t, t.splitAuthority()
}

// splitAuthority fills host and port, and drops the scheme's own port.
func (t *target) splitAuthority() error {
	host, port := t.authority, ""
	if strings.HasPrefix(host, "[") {
		end := strings.IndexByte(host, ']')
		if end < 0 || end+1 < len(host) && host[end+1] != ':' {
			return errURLHost
		}
		host, port = t.authority[1:end], t.authority[end+1:]
	} else if i := strings.IndexByte(host, ':'); i >= 0 {
		host, port = t.authority[:i], t.authority[i:]
	}
	if !validHost(host) {
		return errURLHost
	}
	t.host = host
	if port == "" || port == ":" || port[1:] == t.port {
		t.authority = t.authority[:len(t.authority)-len(port)]
		return nil
	}
	n, err := strconv.ParseUint(port[1:], 10, 16)
	if err != nil || n == 0 {
		return errURLPort
	}
	t.port = port[1:]
	return nil
}

// validHost accepts the bytes of names (underscores occur) and of addresses.
func validHost(host string) bool {
	for i := range len(host) {
		switch c := host[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '-' || c == '.' || c == '_' || c == ':':
		default:
			return false
		}
	}
	return host != "" && len(host) <= 255
}

// isLoopback reports whether host is an address of this machine's own.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// basicAuth is what browsers make of the user info of a URL (RFC 7617).
func basicAuth(info string) string {
	user, password, _ := strings.Cut(info, ":")
	if user == "" && password == "" {
		return ""
	}
	if s, err := url.PathUnescape(user); err == nil {
		user = s
	}
	if s, err := url.PathUnescape(password); err == nil {
		password = s
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}
