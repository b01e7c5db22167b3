// Package netguard says what a crawler must not connect to: its own machine,
// private networks, and whatever else the IANA special-purpose address registries
// set apart; ports of protocols that are not HTTP; schemes other than http and
// https. Policy is its only type with a say.
//
// The word that counts is the one on an address: whoever connects resolves a name
// first, asks Check, and connects to the very address that was checked, so that a
// name cannot change its mind in between. CheckHost and CheckURL look at what is
// written in a URL; they spare a look-up and name the fault early, and replace no
// Check. It resolves and connects nothing.
package netguard

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// Policy is what may be connected to. The zero value allows globally reachable
// unicast addresses only, on all ports but those of other protocols. A Policy is
// not changed after its first use; then it is safe for concurrent use.
//
// The lists are asked in this order, and the first that knows the address has the
// last word: Deny, Allow, AllowPrivate, the table. An address inside another (an
// IPv4 address in NAT64, 6to4, Teredo, ISATAP, compatible or translated form) is
// judged by the same order, and both must pass: who allows 64:ff9b:1::/48 does not
// allow 10.0.0.1 in it, and who denies 192.0.32.0/24 denies 2002:c000:2001::1 too.
// A mapped address (::ffff:10.0.0.1) is the IPv4 address in it. Zones count for
// nothing.
type Policy struct {
	// AllowPrivate also allows loopback, private, shared, link-local and
	// benchmarking addresses. Cloud metadata, unspecified, multicast, broadcast,
	// reserved, documentation and service addresses stay forbidden.
	AllowPrivate bool
	// Allow is what may be connected to whatever the table says. ::/0 is all of
	// IPv6 and no IPv4. Default none.
	Allow []netip.Prefix
	// Deny is what may not be connected to whatever Allow says. Default none.
	Deny []netip.Prefix
	// NAT64 are the prefixes by which this network's own translators reach IPv4
	// (RFC 6052 section 2.2: /32, /40, /48, /56, /64 or /96). Their addresses are
	// judged by the IPv4 address inside alone, unless Deny has them. The
	// well-known prefix needs no entry. Default none.
	NAT64 []netip.Prefix
	// Ports are the only ones that may be connected to. Empty allows all but
	// those that browsers refuse too (the Fetch standard's bad ports).
	Ports []PortRange
}

// Validate gives all that is wrong with p.
func (p Policy) Validate() error {
	var errs []error
	for _, list := range []struct {
		name     string
		prefixes []netip.Prefix
	}{{"allow", p.Allow}, {"deny", p.Deny}} {
		for _, prefix := range list.prefixes {
			if !prefix.IsValid() {
				errs = append(errs, fmt.Errorf("netguard: %s %s: not a prefix", list.name, prefix))
			}
		}
	}
	for _, prefix := range p.NAT64 {
		if !validNAT64(prefix) {
			errs = append(errs, fmt.Errorf("netguard: NAT64 %s: want an IPv6 prefix of 32, 40, 48, 56, 64 or 96 bits", prefix))
		}
	}
	for _, r := range p.Ports {
		if r.First == 0 || r.First > r.Last {
			errs = append(errs, fmt.Errorf("netguard: ports %s: want from 1 up to 65535, the lower one first", r))
		}
	}
	return errors.Join(errs...)
}

// Verdict is why an address is refused; the zero value allows it.
type Verdict struct {
	Block string // what the address belongs to: "private use (RFC 1918)"
	Via   string // the form that hides it in another address: "6to4 (RFC 3056)"; "" for none
	Local bool   // AllowPrivate would allow it
}

// Allowed reports whether the address may be connected to.
func (v Verdict) Allowed() bool { return v.Block == "" }

// Reason is the refusal in words, "" for none.
func (v Verdict) Reason() string {
	if v.Block == "" || v.Via == "" {
		return v.Block
	}
	return v.Block + " inside " + v.Via
}

// worse is the verdict that more has to be done about; v when both weigh the same.
func worse(v, w Verdict) Verdict {
	if w.Block != "" && (v.Block == "" || v.Local && !w.Local) {
		return w
	}
	return v
}

// Judge gives p's word on an address. It costs no allocation.
func (p Policy) Judge(addr netip.Addr) Verdict { return p.judge(addr) }

func (p *Policy) judge(addr netip.Addr) Verdict {
	if !addr.IsValid() {
		return Verdict{Block: "not an address"}
	}
	addr = addr.WithZone("").Unmap()
	v := p.judgeAlone(addr)
	if addr.Is4() {
		return v
	}
	return p.judgeEmbedded(addr, v)
}

// judgeAlone does not look inside the address.
func (p *Policy) judgeAlone(addr netip.Addr) Verdict {
	switch {
	case contains(p.Deny, addr):
		return Verdict{Block: "denied by configuration"}
	case contains(p.Allow, addr), p.translated(addr) >= 0:
		return Verdict{}
	}
	v := lookup(addr)
	if v.Local && p.AllowPrivate {
		return Verdict{}
	}
	return v
}

// contains knows that ::ffff:10.0.0.0/104 is 10.0.0.0/8, which netip does not.
func contains(prefixes []netip.Prefix, addr netip.Addr) bool {
	for _, prefix := range prefixes {
		if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
		}
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// ForbiddenError is the refusal of an address.
type ForbiddenError struct {
	Addr   netip.Addr
	Reason string // "loopback (RFC 1122)", "private use (RFC 1918)", ...
}

func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("netguard: connect %s: address is %s", e.Addr, e.Reason)
}

// Forbidden reports whether the strict policy refuses an address, and why.
func Forbidden(addr netip.Addr) (reason string, bad bool) {
	v := Policy{}.Judge(addr)
	return v.Reason(), !v.Allowed()
}

// Check gives nil for an address that may be connected to, else a *ForbiddenError.
// Only an error costs an allocation.
func (p Policy) Check(addr netip.Addr) error {
	v := p.judge(addr)
	if v.Allowed() {
		return nil
	}
	return &ForbiddenError{Addr: addr, Reason: v.Reason()}
}

// Control is a net.Dialer's Control: it sees each address, numeric by then, just
// before the connection is made, and refuses what Check or CheckPort refuses.
func (p Policy) Control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("netguard: connect: %w", err)
	}
	if err := p.Check(at.Addr()); err != nil {
		return err
	}
	return p.CheckPort(at.Port())
}
