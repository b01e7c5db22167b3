package netguard

import "net/netip"

// block is one row: addresses with a special purpose and what becomes of them.
// A row without a name is judged by the IPv4 address inside.
type block struct {
	prefix netip.Prefix
	name   string // with its source, for people: "private use (RFC 1918)"
	local  bool   // AllowPrivate lets it through
}

func local(prefix, name string) block { return block{netip.MustParsePrefix(prefix), name, true} }
func never(prefix, name string) block { return block{netip.MustParsePrefix(prefix), name, false} }
func inside(prefix string) block      { return block{prefix: netip.MustParsePrefix(prefix)} }

// metadata is where clouds tell a machine its secrets, over HTTP and without
// asking who it is. AllowPrivate does not open it; Allow does.
const metadata = "cloud metadata"

// The tables are searched in order, so a row stands before the rows that contain
// it. They hold every block of IANA's iana-ipv4-special-registry and
// iana-ipv6-special-registry (RFC 6890, RFC 8190), the globally reachable ones
// too: these are tunnel relays, sinks and the nearest NAT box or registrar, on
// which no site is published. "+" marks what the registries do not list. The RFC
// is the one that made the block.
//
//nolint:gochecknoglobals // constant tables; nothing writes them
var (
	v4 = [...]block{
		never("0.0.0.0/32", "unspecified (RFC 1122)"),
		never("0.0.0.0/8", "this network (RFC 791)"),
		local("10.0.0.0/8", "private use (RFC 1918)"),
		never("100.100.100.200/32", metadata), // + Alibaba
		local("100.64.0.0/10", "shared address space (RFC 6598)"),
		local("127.0.0.0/8", "loopback (RFC 1122)"),
		never("168.63.129.16/32", metadata),   // + Azure's host agent
		never("169.254.169.254/32", metadata), // + most
		never("169.254.170.2/32", metadata),   // + AWS, containers
		never("169.254.170.23/32", metadata),  // + AWS, pods
		local("169.254.0.0/16", "link-local (RFC 3927)"),
		local("172.16.0.0/12", "private use (RFC 1918)"),
		never("192.0.0.0/29", "IPv4 service continuity (RFC 7335)"),
		never("192.0.0.8/32", "dummy (RFC 7600)"),
		never("192.0.0.9/32", "port control anycast (RFC 7723)"),
		never("192.0.0.10/32", "TURN anycast (RFC 8155)"),
		never("192.0.0.170/31", "NAT64 discovery (RFC 8880)"),
		never("192.0.0.0/24", "protocol assignment (RFC 6890)"),
		never("192.0.2.0/24", "documentation (RFC 5737)"),
		never("192.31.196.0/24", "AS112 sink (RFC 7535)"),
		never("192.52.193.0/24", "multicast relay (RFC 7450)"),
		never("192.88.99.2/32", "6a44 relay (RFC 6751)"),
		never("192.88.99.0/24", "6to4 relay (RFC 7526)"),
		local("192.168.0.0/16", "private use (RFC 1918)"),
		never("192.175.48.0/24", "AS112 sink (RFC 7534)"),
		local("198.18.0.0/15", "benchmarking (RFC 2544)"),
		never("198.51.100.0/24", "documentation (RFC 5737)"),
		never("203.0.113.0/24", "documentation (RFC 5737)"),
		never("224.0.0.0/4", "multicast (RFC 5771)"), // +
		never("255.255.255.255/32", "broadcast (RFC 919)"),
		never("240.0.0.0/4", "reserved (RFC 1112)"),
	}

	v6 = [...]block{
		never("::/128", "unspecified (RFC 4291)"),
		local("::1/128", "loopback (RFC 4291)"),
		never("::/96", "IPv4-compatible (RFC 4291)"),     // +
		never("::ffff:0:0/96", "IPv4-mapped (RFC 4291)"), // none comes here: Judge unmaps
		inside("64:ff9b::/96"),                           // RFC 6052
		local("64:ff9b:1::/48", "local-use translation (RFC 8215)"),
		never("100::/64", "discard-only (RFC 6666)"),
		never("100:0:0:1::/64", "dummy (RFC 9780)"),
		inside("2001::/32"), // RFC 4380
		never("2001:1::1/128", "port control anycast (RFC 7723)"),
		never("2001:1::2/128", "TURN anycast (RFC 8155)"),
		never("2001:1::3/128", "service registration anycast (RFC 9665)"),
		local("2001:2::/48", "benchmarking (RFC 5180)"),
		never("2001:3::/32", "multicast relay (RFC 7450)"),
		never("2001:4:112::/48", "AS112 sink (RFC 7535)"),
		never("2001:10::/28", "ORCHID (RFC 4843)"),
		never("2001:20::/28", "ORCHIDv2 (RFC 7343)"),
		never("2001:30::/28", "drone identity (RFC 9374)"),
		never("2001::/23", "protocol assignment (RFC 2928)"),
		never("2001:db8::/32", "documentation (RFC 3849)"),
		inside("2002::/16"), // RFC 3056
		never("2620:4f:8000::/48", "AS112 sink (RFC 7534)"),
		never("3fff::/20", "documentation (RFC 9637)"),
		never("5f00::/16", "segment routing (RFC 9602)"),
		never("fd00:ec2::254/128", metadata), // + AWS
		never("fd00:ec2::23/128", metadata),  // + AWS, pods
		never("fd20:ce::254/128", metadata),  // + Google
		local("fc00::/7", "unique local (RFC 4193)"),
		local("fe80::/10", "link-local (RFC 4291)"),
		local("fec0::/10", "site-local (RFC 3879)"), // +
		never("ff00::/8", "multicast (RFC 4291)"),   // +
	}
)

// lookup is the table's word on one address without zone and not mapped, without
// a look at what is inside it. Outside of 2000::/3 and the blocks of the table,
// IANA has assigned no IPv6 unicast addresses.
func lookup(addr netip.Addr) Verdict {
	table := v6[:]
	if addr.Is4() {
		table = v4[:]
	}
	for i := range table {
		if b := &table[i]; b.prefix.Contains(addr) {
			return Verdict{Block: b.name, Local: b.local}
		}
	}
	if b := addr.As16(); addr.Is6() && b[0]&0xe0 != 0x20 {
		return Verdict{Block: "not global unicast (RFC 4291)"}
	}
	return Verdict{}
}
