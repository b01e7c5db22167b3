package fetcher

import (
	"errors"
	"net/url"
	"strings"
)

// proxy is one server that requests may go through.
type proxy struct {
	scheme     string // http, https, socks5 or socks5h
	host, port string
	user       string // for SOCKS
	password   string // for SOCKS
	auth       string // value of Proxy-Authorization; "" for none
	// key tells proxies apart whose connections must not be mixed: its URL, user
	// info and all. It is a secret.
	key     string
	trusted bool    // of the settings, so that it may have a private address
	health  *health // nil for one that is not of the list
}

// errProxyURL does not quote the URL: it may hold a password.
var errProxyURL = errors.New("proxy is not a URL of http, https, socks5 or socks5h")

// parseProxy reads SCHEME://[USER:PASSWORD@]HOST[:PORT]. Without a scheme it is an
// http one, as Scrapy has it. What follows the port is not looked at.
func parseProxy(raw string) (*proxy, error) {
	for i := range len(raw) {
		if raw[i] <= ' ' || raw[i] == 0x7f {
			return nil, errProxyURL
		}
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		scheme, rest = "http", raw
	}
	p := &proxy{scheme: strings.ToLower(scheme)}
	t := target{}
	switch p.scheme {
	case "http":
		t.port = "80"
	case "https":
		t.port = "443"
	case "socks5", "socks5h":
		t.port = "1080"
	default:
		return nil, errProxyURL
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	info := ""
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		info, rest = rest[:i], rest[i+1:]
	}
	t.authority = rest
	if t.splitAuthority() != nil {
		return nil, errProxyURL
	}
	p.host, p.port = strings.ToLower(t.host), t.port
	user, password, _ := strings.Cut(info, ":")
	var errUser, errPassword error
	p.user, errUser = url.PathUnescape(user)
	p.password, errPassword = url.PathUnescape(password)
	if errUser != nil || errPassword != nil || len(p.user) > 255 || len(p.password) > 255 {
		return nil, errProxyURL
	}
	p.auth = basicAuth(info)
	p.key = p.scheme + "://" + info + "@" + p.host + ":" + p.port
	return p, nil
}

// name is the proxy in messages, without user info.
func (p *proxy) name() string { return "proxy " + p.host + ":" + p.port }

// isHTTP reports whether it is asked in HTTP, not in SOCKS.
func (p *proxy) isHTTP() bool { return p.scheme == "http" || p.scheme == "https" }

// forwards reports whether requests for t are written to the proxy itself, with
// the whole URL. Otherwise it gives a connection to the site.
func (p *proxy) forwards(t *target) bool { return p != nil && p.isHTTP() && !t.tls }

// is reports whether both are the same server; user info does not count.
func (p *proxy) is(other *proxy) bool {
	return p.scheme == other.scheme && p.host == other.host && p.port == other.port
}

// succeeded and failed tell the list how the proxy does.
func (p *proxy) succeeded() {
	if p != nil && p.health != nil {
		p.health.succeeded()
	}
}

func (p *proxy) failed(certain bool) {
	if p != nil && p.health != nil {
		p.health.failed(certain)
	}
}

// keyOf is the pool's name for a way to the site; "" is the direct one.
func (p *proxy) keyOf() string {
	if p == nil {
		return ""
	}
	return p.key
}

// proxyError is a proxy that does not serve. The site has no part in it.
type proxyError struct {
	proxy   *proxy
	err     error
	certain bool // it would serve nobody: not one request's bad luck
}

func (e *proxyError) Error() string { return e.proxy.name() + ": " + e.err.Error() }
func (e *proxyError) Unwrap() error { return e.err }

// relayError is a site that a proxy could not reach.
type relayError struct {
	proxy *proxy
	why   string
}

func (e *relayError) Error() string {
	return e.proxy.name() + " could not reach the site: " + e.why
}
