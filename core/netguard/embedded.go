package netguard

import "net/netip"

// judgeEmbedded is the worse of v, the word on an IPv6 address itself, and of the
// words on the IPv4 addresses inside it, to which a gateway on the way, or the
// machine itself, may connect instead.
func (p *Policy) judgeEmbedded(addr netip.Addr, v Verdict) Verdict {
	b := addr.As16()
	look := func(via string, i int, flip byte) {
		v = worse(v, p.judgeInner(via, [4]byte{b[i] ^ flip, b[i+1] ^ flip, b[i+2] ^ flip, b[i+3] ^ flip}))
	}
	own := p.translated(addr)
	if own >= 0 {
		v = worse(v, p.judgeInner("NAT64 (RFC 6052)", rfc6052(&b, own)))
	}
	switch head := [6]uint16{word(&b, 0), word(&b, 1), word(&b, 2), word(&b, 3), word(&b, 4), word(&b, 5)}; {
	case head == [6]uint16{} && (word(&b, 6) != 0 || word(&b, 7) > 1): // not :: and ::1
		look("IPv4-compatible (RFC 4291)", 12, 0)
	case head == [6]uint16{4: 0xffff}:
		look("IPv4-translated (RFC 2765)", 12, 0)
	case head == [6]uint16{0: 0x64, 1: 0xff9b}:
		look("NAT64 (RFC 6052)", 12, 0)
	case head[0] == 0x64 && head[1] == 0xff9b && head[2] == 1 && own < 0:
		// Which prefix of the block translates is local knowledge (Policy.NAT64);
		// without it, a /96.
		look("local NAT64 (RFC 8215)", 12, 0)
	case head[0] == 0x2002:
		look("6to4 (RFC 3056)", 2, 0)
	case head[0] == 0x2001 && head[1] == 0:
		look("Teredo server (RFC 4380)", 4, 0)
		look("Teredo client (RFC 4380)", 12, 0xff)
	}
	// An ISATAP interface identifier may stand behind any prefix; its first byte
	// carries the universal and group bits (RFC 5214 section 6.1).
	if own < 0 && b[8]&^3 == 0 && b[9] == 0 && word(&b, 5) == 0x5efe {
		look("ISATAP (RFC 5214)", 12, 0)
	}
	return v
}

func (p *Policy) judgeInner(via string, four [4]byte) Verdict {
	v := p.judgeAlone(netip.AddrFrom4(four))
	v.Via = via
	return v
}

// translated is the length of the NAT64 prefix that addr is in, -1 for none.
func (p *Policy) translated(addr netip.Addr) int {
	for _, prefix := range p.NAT64 {
		if prefix.Contains(addr) && validNAT64(prefix) {
			return prefix.Bits()
		}
	}
	return -1
}

// rfc6052 takes the IPv4 address out of an address with a NAT64 prefix of that
// many bits (RFC 6052 section 2.2): it follows the prefix and jumps over byte 8.
func rfc6052(b *[16]byte, bits int) (four [4]byte) {
	i := bits / 8
	for n := range four {
		if i == 8 {
			i++
		}
		four[n] = b[i]
		i++
	}
	return four
}

// validNAT64 reports whether RFC 6052 section 2.2 knows such a prefix.
func validNAT64(prefix netip.Prefix) bool {
	if !prefix.IsValid() || !prefix.Addr().Is6() || prefix.Addr().Is4In6() {
		return false
	}
	switch prefix.Bits() {
	case 32, 40, 48, 56, 64, 96:
		return true
	default:
		return false
	}
}

func word(b *[16]byte, i int) uint16 { return uint16(b[2*i])<<8 | uint16(b[2*i+1]) }
