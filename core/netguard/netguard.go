// Package netguard says which addresses a crawler must not connect to: its own
// machine, private networks, and whatever else the IANA special-purpose address
// registries do not call globally reachable. It judges addresses, not names:
// whoever connects resolves a name first and connects to the very address that
// was checked, so that a name cannot change its mind in between.
package netguard

import (
	"fmt"
	"net/netip"
	"strings"
)

// Policy is what may be connected to. The zero value allows globally reachable
// unicast addresses only.
type Policy struct {
	// AllowPrivate also allows loopback, private, shared, link-local and
	// benchmarking addresses. Unspecified, multicast, broadcast, reserved and
	// documentation addresses stay forbidden.
	AllowPrivate bool
}

// ForbiddenError is the refusal of an address.
type ForbiddenError struct {
	Addr   netip.Addr
	Reason string // "loopback", "private use (RFC 1918)", ...
}

func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("netguard: connect %s: address is %s", e.Addr, e.Reason)
}

// HostError is the refusal of a host that names a private address literally.
type HostError struct {
	Host   string
	Reason string
	Flag   string // the flag that would allow it; "" when nothing does
}

func (e *HostError) Error() string {
	if e.Flag == "" {
		return fmt.Sprintf("netguard: host %s: address is %s", e.Host, e.Reason)
	}
	return fmt.Sprintf("netguard: host %s: address is %s; %s allows it", e.Host, e.Reason, e.Flag)
}

// Forbidden reports whether the strict policy refuses an address, and why.
func Forbidden(addr netip.Addr) (reason string, bad bool) {
	v := judge(addr)
	return v.reason, v.reason != ""
}

// Check gives nil for an address that may be connected to, else a *ForbiddenError.
func (p Policy) Check(addr netip.Addr) error {
	v := judge(addr)
	if v.reason == "" || v.local && p.AllowPrivate {
		return nil
	}
	return &ForbiddenError{Addr: addr, Reason: v.reason}
}

// CheckHost looks at a URL's host before anything is resolved: a literal address
// that the policy refuses, or a localhost name (RFC 6761 section 6.3), gives a
// *HostError. Other names give nil: they are judged when they are connected to.
// Brackets around an IPv6 address are accepted.
func (p Policy) CheckHost(host string) error {
	bare := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if addr, err := netip.ParseAddr(bare); err == nil {
		v := judge(addr)
		switch {
		case v.reason == "" || v.local && p.AllowPrivate:
			return nil
		case v.local:
			return &HostError{Host: host, Reason: v.reason, Flag: "--allow-private"}
		default:
			return &HostError{Host: host, Reason: v.reason}
		}
	}
	name := strings.ToLower(strings.TrimSuffix(bare, "."))
	if !p.AllowPrivate && (name == "localhost" || strings.HasSuffix(name, ".localhost")) {
		return &HostError{Host: host, Reason: "loopback", Flag: "--allow-private"}
	}
	return nil
}

// CheckHost is the strict policy's CheckHost.
func CheckHost(host string) error { return Policy{}.CheckHost(host) }

// verdict is why an address is refused; an empty reason allows it.
type verdict struct {
	reason string
	local  bool // AllowPrivate lets it through
}

func judge(addr netip.Addr) verdict {
	addr = addr.WithZone("").Unmap()
	switch {
	case !addr.IsValid():
		return verdict{reason: "not an address"}
	case addr.Is4():
		return lookup(v4[:], addr)
	}
	if v := lookup(v6[:], addr); v.reason != "" {
		return v
	}
	return judgeEmbedded(addr)
}

// judgeEmbedded looks into the IPv6 addresses that carry an IPv4 address to
// which a gateway on the way would connect, and refuses what is neither such an
// address nor global unicast (2000::/3, the only part IANA has assigned).
func judgeEmbedded(addr netip.Addr) verdict {
	b := addr.As16()
	inner := func(kind string, i int, flip byte) verdict {
		v := lookup(v4[:], netip.AddrFrom4([4]byte{b[i] ^ flip, b[i+1] ^ flip, b[i+2] ^ flip, b[i+3] ^ flip}))
		if v.reason != "" {
			v.reason = kind + " of a " + v.reason + " address"
		}
		return v
	}
	switch {
	case nat64.Contains(addr):
		return inner("NAT64 (RFC 6052)", 12, 0)
	case sixToFour.Contains(addr):
		return inner("6to4 (RFC 3056)", 2, 0)
	case teredo.Contains(addr):
		if v := inner("Teredo server (RFC 4380)", 4, 0); v.reason != "" {
			return v
		}
		return inner("Teredo client (RFC 4380)", 12, 0xff)
	case b[0]&0xe0 != 0x20:
		return verdict{reason: "not global unicast"}
	default:
		return verdict{}
	}
}

func lookup(table []block, addr netip.Addr) verdict {
	for i := range table {
		if table[i].prefix.Contains(addr) {
			return table[i].verdict
		}
	}
	return verdict{}
}
