package netguard_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/netguard"
)

// registryV4 and registryV6 are the address blocks of IANA's special-purpose
// registries, and multicast.
func registryV4() []string {
	return strings.Fields(`0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16
		172.16.0.0/12 192.0.0.0/24 192.0.0.0/29 192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/32
		192.0.0.171/32 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.88.99.2/32
		192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4
		255.255.255.255/32 224.0.0.0/4`)
}

func registryV6() []string {
	return strings.Fields(`::1/128 ::/128 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001:1::1/128 2001:1::2/128
		2001:1::3/128 2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28 2001:30::/28
		2001:db8::/32 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10 ff00::/8`)
}

// ends are the first, a middle and the last address of a block.
func ends(block string) []netip.Addr {
	prefix := netip.MustParsePrefix(block)
	first := prefix.Masked().Addr().AsSlice()
	middle, last := append([]byte{}, first...), append([]byte{}, first...)
	for i := prefix.Bits(); i < 8*len(first); i++ {
		last[i/8] |= 0x80 >> (i % 8)
		if i%3 == 0 {
			middle[i/8] |= 0x80 >> (i % 8)
		}
	}
	var out []netip.Addr
	for _, b := range [][]byte{first, middle, last} {
		if addr, _ := netip.AddrFromSlice(b); len(out) == 0 || out[len(out)-1] != addr {
			out = append(out, addr)
		}
	}
	return out
}

// hostForms are the ways to write an address that clients take for it.
func hostForms(addr netip.Addr) map[string]string {
	s := addr.String()
	if addr.Is6() {
		return map[string]string{
			"brackets":  "[" + s + "]",
			"expanded":  "[" + addr.StringExpanded() + "]",
			"capitals":  "[" + strings.ToUpper(s) + "]",
			"user info": "user:password@[" + s + "]",
			"port":      "[" + s + "]:8080",
		}
	}
	b := addr.As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	each := func(format string) string { return fmt.Sprintf(format, b[0], b[1], b[2], b[3]) }
	percent, wide := "", ""
	for _, c := range s {
		percent += fmt.Sprintf("%%%02x", c)
		if c == '.' {
			wide += "。"
		} else {
			wide += string(c - '0' + '０')
		}
	}
	return map[string]string{
		"literal":       s,
		"decimal":       fmt.Sprint(n),
		"octal":         fmt.Sprintf("0%o", n),
		"hex":           fmt.Sprintf("0x%x", n),
		"octal parts":   each("0%o.0%o.0%o.0%o"),
		"hex parts":     each("0x%x.0X%X.0x%x.0x%x"),
		"long octal":    each("000%o.000%o.0%o.0%o"),
		"long hex":      each("0x00%x.0x%x.0x%x.0x%x"),
		"mixed parts":   each("%d.0x%x.0%o.%d"),
		"two parts":     fmt.Sprintf("%d.%d", b[0], n&0xffffff),
		"three parts":   fmt.Sprintf("%d.%d.%d", b[0], b[1], n&0xffff),
		"trailing dot":  s + ".",
		"brackets":      "[" + s + "]",
		"user info":     "user:password@" + s,
		"name as user":  "example.org@" + s,
		"name and port": "example.org:80@" + s,
		"port":          s + ":8080",
		"percent":       percent,
		"full width":    wide,
		"soft hyphen":   s[:1] + "\u00ad" + s[1:],
		"mapped":        "[::ffff:" + s + "]",
		"mapped hex":    fmt.Sprintf("[::ffff:%x:%x]", n>>16, n&0xffff),
		"6to4":          fmt.Sprintf("[2002:%x:%x::1]", n>>16, n&0xffff),
		"NAT64":         "[64:ff9b::" + s + "]",
	}
}

// gateways are the IPv6 addresses by which a gateway is asked for an IPv4 address.
// closed ones are refused whatever is inside.
func gateways(addr netip.Addr) (open, closed map[string]netip.Addr) {
	b := addr.As4()
	hi, lo := uint16(b[0])<<8|uint16(b[1]), uint16(b[2])<<8|uint16(b[3])
	parse := func(format string, args ...any) netip.Addr {
		return netip.MustParseAddr(fmt.Sprintf(format, args...))
	}
	open = map[string]netip.Addr{
		"mapped":           parse("::ffff:%s", addr),
		"mapped with zone": parse("::ffff:%s%%eth0", addr),
		"NAT64":            parse("64:ff9b::%s", addr),
		"6to4":             parse("2002:%x:%x::1", hi, lo),
		"6to4 with ISATAP": parse("2002:101:101::5efe:%x:%x", hi, lo),
		"Teredo server":    parse("2001:0:%x:%x:0:0:fefe:fefe", hi, lo),
		"Teredo client":    parse("2001:0:101:101:0:0:%x:%x", ^hi, ^lo),
		"ISATAP":           parse("2606:4700::5efe:%x:%x", hi, lo),
		"universal ISATAP": parse("2606:4700::200:5efe:%x:%x", hi, lo),
		"own NAT64 /32":    parse("2a00:32:%x:%x::", hi, lo),
		"own NAT64 /40":    parse("2a00:40:%x:%x:%x::", uint16(b[0]), uint16(b[1])<<8|uint16(b[2]), uint16(b[3])),
		"own NAT64 /48":    parse("2a00:48:0:%x:%x:%x::", hi, uint16(b[2]), uint16(b[3])<<8),
		"own NAT64 /56":    parse("2a00:56:0:%x:%x:%x::", uint16(b[0]), uint16(b[1]), lo),
		"own NAT64 /64":    parse("2a00:64:0:0:%x:%x:%x::", uint16(b[0]), uint16(b[1])<<8|uint16(b[2]), uint16(b[3])<<8),
		"own NAT64 /96":    parse("fd00:96::%s", addr),
	}
	closed = map[string]netip.Addr{
		"compatible":        parse("::%x:%x", hi, lo),
		"translated":        parse("::ffff:0:%x:%x", hi, lo),
		"local NAT64":       parse("64:ff9b:1::%s", addr),
		"link-local ISATAP": parse("fe80::5efe:%x:%x", hi, lo),
	}
	return open, closed
}

// ownNAT64 are the prefixes of the forms "own NAT64".
func ownNAT64() []netip.Prefix {
	var out []netip.Prefix
	for p := range strings.FieldsSeq("2a00:32::/32 2a00:40::/40 2a00:48::/48 2a00:56::/56 2a00:64::/64 fd00:96::/96") {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// TestEveryBlockInEveryForm is the promise: no special-purpose address passes,
// however it is written or wrapped, and public addresses in the same forms do.
func TestEveryBlockInEveryForm(t *testing.T) {
	t.Parallel()
	strict := netguard.Policy{NAT64: ownNAT64()}
	require.NoError(t, strict.Validate())
	combinations, allowed := 0, []string{}
	refuse := func(what string, errs ...error) {
		for _, err := range errs {
			combinations++
			if err == nil {
				allowed = append(allowed, what)
			}
		}
	}
	for _, block := range append(registryV4(), registryV6()...) {
		for _, addr := range ends(block) {
			for form, host := range hostForms(addr) {
				what := fmt.Sprintf("%s as %s: %s", block, form, host)
				refuse(what, strict.CheckHost(host), strict.CheckURL("http://"+host+"/"))
			}
			refuse(block+" as address", strict.Check(addr), strict.Control("tcp", netip.AddrPortFrom(addr, 80).String(), nil))
			if addr.Is6() {
				refuse(block+" with zone", strict.Check(addr.WithZone("eth0")), strict.CheckHost(addr.WithZone("eth0").String()),
					strict.CheckHost("["+addr.WithZone("25eth0").String()+"]"), strict.CheckURL("http://["+addr.String()+"%25eth0]/"))
				continue
			}
			open, closed := gateways(addr)
			for _, forms := range []map[string]netip.Addr{open, closed} {
				for form, wrapped := range forms {
					refuse(fmt.Sprintf("%s as %s: %s", block, form, wrapped), strict.Check(wrapped), strict.CheckHost("["+wrapped.String()+"]"))
				}
			}
		}
	}
	require.Empty(t, allowed)
	require.Greater(t, combinations, 500)
	t.Logf("%d combinations, %d allowed", combinations, len(allowed))
}

func TestPublicAddressesInEveryForm(t *testing.T) {
	t.Parallel()
	strict := netguard.Policy{NAT64: ownNAT64()}
	for _, s := range []string{"1.1.1.1", "93.184.216.34", "8.8.8.8", "223.255.255.255", "2606:4700:4700::1111", "2a00:1450:4001::71"} {
		addr := netip.MustParseAddr(s)
		require.NoError(t, strict.Check(addr))
		for form, host := range hostForms(addr) {
			require.NoError(t, strict.CheckHost(host), "%s %s", form, host)
			if form == "brackets" && addr.Is4() {
				continue // no URL
			}
			require.NoError(t, strict.CheckURL("https://"+host+"/"), "%s %s", form, host)
		}
		if addr.Is6() {
			continue
		}
		open, closed := gateways(addr)
		for form, wrapped := range open {
			require.NoError(t, strict.Check(wrapped), "%s %s", form, wrapped)
		}
		for form, wrapped := range closed {
			require.Error(t, strict.Check(wrapped), "%s %s", form, wrapped)
		}
	}
}
