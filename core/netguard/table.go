package netguard

import "net/netip"

// block is one row of a registry, with what becomes of its addresses.
type block struct {
	prefix netip.Prefix
	verdict
}

func local(prefix, reason string) block {
	return block{netip.MustParsePrefix(prefix), verdict{reason, true}}
}

func never(prefix, reason string) block {
	return block{netip.MustParsePrefix(prefix), verdict{reason, false}}
}

func open(prefix string) block { return block{prefix: netip.MustParsePrefix(prefix)} }

// The tables are searched in order, so a row stands before the rows that
// contain it. Source: iana-ipv4-special-registry and iana-ipv6-special-registry
// (RFC 6890), with the multicast blocks of RFC 5771 and RFC 4291. Rows that the
// registries call globally reachable are left out unless a wider row would
// catch them.
//
//nolint:gochecknoglobals // constant tables; nothing writes them
var (
	v4 = [...]block{
		never("0.0.0.0/8", "unspecified (RFC 791)"),
		local("10.0.0.0/8", "private use (RFC 1918)"),
		local("100.64.0.0/10", "shared address space (RFC 6598)"),
		local("127.0.0.0/8", "loopback"),
		local("169.254.0.0/16", "link-local (RFC 3927)"),
		local("172.16.0.0/12", "private use (RFC 1918)"),
		never("192.0.0.0/24", "protocol assignment (RFC 6890)"),
		never("192.0.2.0/24", "documentation (RFC 5737)"),
		never("192.88.99.0/24", "6to4 relay (RFC 7526)"),
		local("192.168.0.0/16", "private use (RFC 1918)"),
		local("198.18.0.0/15", "benchmarking (RFC 2544)"),
		never("198.51.100.0/24", "documentation (RFC 5737)"),
		never("203.0.113.0/24", "documentation (RFC 5737)"),
		never("224.0.0.0/4", "multicast"),
		never("255.255.255.255/32", "broadcast"),
		never("240.0.0.0/4", "reserved (RFC 1112)"),
	}

	v6 = [...]block{
		never("::/128", "unspecified"),
		local("::1/128", "loopback"),
		never("::/96", "IPv4-compatible (RFC 4291)"),
		local("64:ff9b:1::/48", "local-use translation (RFC 8215)"),
		never("100::/64", "discard-only (RFC 6666)"),
		never("100:0:0:1::/64", "dummy prefix (RFC 9780)"),
		open("2001::/32"),       // Teredo: judged by the addresses inside
		open("2001:3::/32"),     // AMT, RFC 7450
		open("2001:4:112::/48"), // AS112, RFC 7535
		local("2001:2::/48", "benchmarking (RFC 5180)"),
		never("2001::/23", "protocol assignment (RFC 2928)"),
		never("2001:db8::/32", "documentation (RFC 3849)"),
		never("3fff::/20", "documentation (RFC 9637)"),
		never("5f00::/16", "segment routing (RFC 9602)"),
		local("fc00::/7", "unique local (RFC 4193)"),
		local("fe80::/10", "link-local (RFC 4291)"),
		local("fec0::/10", "site-local (RFC 3879)"),
		never("ff00::/8", "multicast"),
	}

	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
	teredo    = netip.MustParsePrefix("2001::/32")
)
