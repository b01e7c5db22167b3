package netguard

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"orbweaver/core/weburl"
)

// HostError is the refusal of a host that names a forbidden address literally.
type HostError struct {
	Host   string
	Reason string
	Flag   string // the flag that would allow it; "" when nothing does
}

func (e *HostError) Error() string {
	if e.Flag == "" {
		return fmt.Sprintf("netguard: host %.120s: address is %s", e.Host, e.Reason)
	}
	return fmt.Sprintf("netguard: host %.120s: address is %s; %s allows it", e.Host, e.Reason, e.Flag)
}

// privateFlag is the command line's name for AllowPrivate.
const privateFlag = "--allow-private"

// CheckHost looks at a URL's host before anything is resolved: an address that the
// policy refuses, or a localhost name (RFC 6761 section 6.3), gives a *HostError.
// An address is what clients take for one: in brackets or not, with a zone, a
// trailing dot, user info or a port, in decimal, octal or hexadecimal, of one to
// four parts, percent-encoded, in full-width digits. What is no host at all gives
// an error that is one of weburl's. Other names give nil: they are judged when
// they are connected to.
func (p Policy) CheckHost(host string) error {
	if addr, err := netip.ParseAddr(unbracket(host)); err == nil {
		return p.checkLiteral(host, addr)
	}
	clean, err := "", weburl.ErrHost
	if !strings.ContainsAny(host, "/\\?#") {
		clean, err = weburl.Clean("http://" + host + "/")
	}
	if err != nil {
		return fmt.Errorf("netguard: host %.120q: %w", host[strings.LastIndexByte(host, '@')+1:], cause(err))
	}
	return p.checkClean(weburl.Host(clean))
}

// CheckHost is the strict policy's CheckHost.
func CheckHost(host string) error { return Policy{}.CheckHost(host) }

// CheckURL looks at an absolute URL before anything is resolved: its scheme, its
// host as CheckHost does, its port. The errors are weburl's (ErrScheme, ErrHost,
// ...), *HostError and ErrPort; they quote neither user info nor path.
func (p Policy) CheckURL(raw string) error {
	clean, err := weburl.Clean(raw)
	if err != nil {
		return fmt.Errorf("netguard: check URL: %w", cause(err))
	}
	if err := p.checkClean(weburl.Host(clean)); err != nil {
		return err
	}
	scheme, authority, _ := strings.Cut(weburl.Origin(clean), "://")
	port := uint64(80)
	if scheme == "https" {
		port = 443
	}
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		if port, err = strconv.ParseUint(authority[i+1:], 10, 16); err != nil {
			return fmt.Errorf("netguard: check URL: %w", weburl.ErrPort)
		}
	}
	return p.CheckPort(uint16(port)) //nolint:gosec // parsed as 16 bits
}

// checkClean judges the host of a clean URL, where every form of an address has
// become the usual one.
func (p Policy) checkClean(host string) error {
	if host == "" {
		return fmt.Errorf("netguard: host: %w", weburl.ErrHostMissing)
	}
	if addr, err := netip.ParseAddr(unbracket(host)); err == nil {
		return p.checkLiteral(host, addr)
	}
	if host != "localhost" && !strings.HasSuffix(host, ".localhost") {
		return nil
	}
	if p.judge(netip.IPv6Loopback()).Allowed() {
		return nil
	}
	return p.checkLiteral(host, netip.AddrFrom4([4]byte{127, 0, 0, 1}))
}

func (p Policy) checkLiteral(host string, addr netip.Addr) error {
	v := p.judge(addr)
	if v.Allowed() {
		return nil
	}
	refusal := &HostError{Host: host, Reason: v.Reason()}
	if v.Local {
		refusal.Flag = privateFlag
	}
	return refusal
}

func unbracket(host string) string {
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		return host[1 : len(host)-1]
	}
	return host
}

// cause is what weburl found wrong, without the URL that it quotes: that may hold
// a password.
func cause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
