package weburl

import (
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// authority gives where the authority of an absolute URL starts and ends.
func authority(u string) (start, end int) {
	start = strings.Index(u, "://")
	if start < 0 {
		return 0, 0
	}
	start += len("://")
	end = start
	for end < len(u) && u[end] != '/' && u[end] != '?' && u[end] != '#' && u[end] != '\\' {
		end++
	}
	return start, end
}

// Host gives the host of a clean URL: lower case, without port and without
// trailing dot, an IPv6 address in brackets. It is the slot key: two URLs of
// one host give the same string, and it holds letters, digits, '-', '_', '.'
// and, for IPv6, brackets and ':' only. It is "" when u has no such host.
// A clean URL costs no allocation.
func Host(u string) string {
	if host, ok := plainHostOf(u); ok {
		return host
	}
	start, end := authority(u)
	host := u[start:end]
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	host, _, _ = cutPort(host)
	return hostKey(host)
}

// plainHostOf is Host for the usual URL, in one pass.
func plainHostOf(u string) (string, bool) {
	start := len("http://")
	switch {
	case strings.HasPrefix(u, "http://"):
	case strings.HasPrefix(u, "https://"):
		start = len("https://")
	default:
		return "", false
	}
	end := start
	for end < len(u) && class[u[end]]&plainHost != 0 {
		end++
	}
	if end == start || u[end-1] == '.' || end-start > maxHostBytes {
		return "", false
	}
	if end == len(u) || u[end] == '/' {
		return u[start:end], true
	}
	if u[end] != ':' { // a ':' may also be that of a password
		return "", false
	}
	port := end + 1
	for port < len(u) && u[port]-'0' <= 9 {
		port++
	}
	return u[start:end], port == len(u) || u[port] == '/'
}

// hostKey checks and normalises a host without port.
func hostKey(host string) string {
	if host == "" {
		return ""
	}
	if host[0] == '[' {
		out, err := appendIPv6(nil, host)
		if err != nil {
			return ""
		}
		if string(out) == host {
			return host
		}
		return string(out)
	}
	host = strings.TrimRight(host, ".")
	if len(host) > maxHostBytes {
		return ""
	}
	upper := false
	for i := range len(host) {
		c := host[i]
		if 'A' <= c && c <= 'Z' {
			upper = true
			continue
		}
		if class[c]&plainHost == 0 {
			return ""
		}
	}
	if upper {
		return strings.ToLower(host)
	}
	return host
}

// Origin gives scheme://host[:port] of a clean URL, without user and password;
// "" when u is not http or https.
func Origin(u string) string {
	if !isHTTP(u) {
		return ""
	}
	start, end := authority(u)
	at := strings.LastIndexByte(u[start:end], '@')
	if at < 0 {
		return u[:end]
	}
	return u[:start] + u[start+at+1:end]
}

// RegistrableDomain gives the domain that somebody registered, for a host as
// Host gives it: "www.example.co.uk" gives "example.co.uk". Addresses, single
// labels and public suffixes give themselves.
func RegistrableDomain(host string) string {
	if host == "" || host[0] == '[' {
		return host
	}
	if host[len(host)-1]-'0' <= 9 {
		if _, err := netip.ParseAddr(host); err == nil {
			return host
		}
	}
	suffix, _ := publicsuffix.PublicSuffix(host)
	dot := len(host) - len(suffix) - 1
	if dot <= 0 {
		return host
	}
	return host[1+strings.LastIndexByte(host[:dot], '.'):]
}

// Shard gives the Redis shard of a host, in [0, shards): FNV-1a, 32 bits, of its
// registrable domain. Less than two shards give 0.
func Shard(host string, shards int) int {
	if shards < 2 {
		return 0
	}
	const offset, prime = 2166136261, 16777619
	domain := RegistrableDomain(host)
	h := uint32(offset)
	for i := range len(domain) {
		h = (h ^ uint32(domain[i])) * prime
	}
	return int(uint64(h) % uint64(shards)) //nolint:gosec // shards is positive, the rest below it
}
