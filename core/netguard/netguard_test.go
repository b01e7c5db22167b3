package netguard_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/netguard"
)

func TestPolicy(t *testing.T) {
	t.Parallel()
	const (
		open  = iota // both policies allow it
		local        // only AllowPrivate allows it
		never
	)
	tests := []struct {
		addr string
		want int
	}{
		{"1.1.1.1", open},
		{"93.184.216.34", open},
		{"9.255.255.255", open},
		{"11.0.0.0", open},
		{"100.63.255.255", open},
		{"100.128.0.0", open},
		{"172.15.255.255", open},
		{"172.32.0.0", open},
		{"192.0.1.0", open},
		{"192.31.196.1", never},
		{"192.52.193.1", never},
		{"192.175.48.1", never},
		{"198.17.255.255", open},
		{"198.20.0.0", open},
		{"223.255.255.255", open},
		{"10.0.0.0", local},
		{"10.255.255.255", local},
		{"100.64.0.0", local},
		{"100.127.255.255", local},
		{"127.0.0.1", local},
		{"127.255.255.254", local},
		{"169.254.169.254", never},
		{"169.254.170.2", never},
		{"169.254.170.23", never},
		{"100.100.100.200", never},
		{"168.63.129.16", never},
		{"168.63.129.17", open},
		{"169.254.169.253", local},
		{"172.16.0.1", local},
		{"172.31.255.255", local},
		{"192.168.1.1", local},
		{"198.18.0.1", local},
		{"198.19.255.255", local},
		{"0.0.0.0", never},
		{"0.1.2.3", never},
		{"192.0.0.8", never},
		{"192.0.0.170", never},
		{"192.0.2.1", never},
		{"192.88.99.1", never},
		{"198.51.100.7", never},
		{"203.0.113.7", never},
		{"224.0.0.1", never},
		{"239.255.255.255", never},
		{"240.0.0.1", never},
		{"255.255.255.255", never},

		{"2606:4700:4700::1111", open},
		{"2001:200::1", open},
		{"2001:3::1", never},
		{"2001:4:112::1", never},
		{"2620:4f:8000::1", never},
		{"64:ff9b::1.1.1.1", open},
		{"2002:101:101::1", open},
		{"2001:0:101:101:0:0:fefe:fefe", open}, // Teredo: server 1.1.1.1, client 1.1.1.1
		{"::ffff:1.1.1.1", open},
		{"::1", local},
		{"::ffff:127.0.0.1", local},
		{"::ffff:10.0.0.1", local},
		{"::ffff:169.254.169.254", never},
		{"64:ff9b::10.0.0.1", local},
		{"64:ff9b::127.0.0.1", local},
		{"64:ff9b:1::1.1.1.1", local},
		{"2002:7f00:1::", local},
		{"2002:a00:1::1", local},
		{"2001:0:7f00:1:0:0:fefe:fefe", local},  // Teredo: server 127.0.0.1
		{"2001:0:101:101:0:0:80ff:fffe", local}, // Teredo: client 127.0.0.1
		{"2001:2::1", local},
		{"fc00::1", local},
		{"fd00:ec2::254", never},
		{"fd00:ec2::23", never},
		{"fd20:ce::254", never},
		{"fd00:ec2::253", local},
		{"fe80::1", local},
		{"fe80::1%eth0", local},
		{"fec0::1", local},
		{"::", never},
		{"::ffff:0.0.0.0", never},
		{"::ffff:255.255.255.255", never},
		{"::7f00:1", never},
		{"::ffff:0:7f00:1", never}, // IPv4-translated, RFC 2765
		{"64:ff9b::0.0.0.0", never},
		{"64:ff9b::224.0.0.1", never},
		{"2002:e000:1::1", never},
		{"100::1", never},
		{"100:0:0:1::1", never},
		{"2001:10::1", never},
		{"2001:1::1", never},
		{"2001:1ff::1", never},
		{"2001:db8::1", never},
		{"3fff::1", never},
		{"4000::1", never},
		{"5f00::1", never},
		{"ff02::1", never},
	}
	for _, tt := range tests {
		t.Run(tt.addr, func(t *testing.T) {
			t.Parallel()
			addr := netip.MustParseAddr(tt.addr)
			reason, bad := netguard.Forbidden(addr)
			require.Equal(t, tt.want != open, bad, reason)
			require.Equal(t, bad, reason != "")
			require.Equal(t, tt.want == open, netguard.Policy{}.Check(addr) == nil)
			require.Equal(t, tt.want != never, netguard.Policy{AllowPrivate: true}.Check(addr) == nil)
		})
	}
	_, bad := netguard.Forbidden(netip.Addr{})
	require.True(t, bad, "the zero address is no address")
}

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range list {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

func TestLists(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name            string
		policy          netguard.Policy
		allowed, denied []string
	}{
		{
			name:    "allow beats the table",
			policy:  netguard.Policy{Allow: prefixes("10.1.0.0/16", "192.0.2.7/32", "fd00::/16")},
			allowed: []string{"10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "2002:a01:203::1", "192.0.2.7", "fd00::1", "fd00::1%eth0", "1.1.1.1"},
			denied:  []string{"10.2.0.1", "192.0.2.8", "fd01::1", "64:ff9b::10.2.0.1"},
		},
		{
			name:    "deny beats allow and AllowPrivate",
			policy:  netguard.Policy{AllowPrivate: true, Allow: prefixes("0.0.0.0/0", "::/0"), Deny: prefixes("10.0.0.0/8", "2606:4700::/32", "169.254.169.254/32")},
			allowed: []string{"127.0.0.1", "192.0.2.1", "::1", "ff02::1", "::7f00:1", "169.254.1.1"},
			denied: []string{
				"10.0.0.1", "::ffff:10.0.0.1", "::a00:1", "64:ff9b::10.0.0.1", "64:ff9b:1::10.0.0.1", "2002:a00:1::", "2606:4700::1",
				"::ffff:169.254.169.254", "2001:0:101:101:0:0:f5ff:fffe", "2a00::5efe:a00:1", "::ffff:0:a00:1",
			},
		},
		{
			name:    "deny narrows the public",
			policy:  netguard.Policy{Deny: prefixes("1.1.1.0/24")},
			allowed: []string{"1.1.2.1"},
			denied:  []string{"1.1.1.1", "::ffff:1.1.1.1", "2002:101:101::1", "64:ff9b::1.1.1.1"},
		},
		{
			name:    "mapped prefixes are IPv4 prefixes",
			policy:  netguard.Policy{Allow: prefixes("::ffff:10.0.0.0/104"), Deny: prefixes("::ffff:1.0.0.0/104", "::ffff:10.9.9.9/128")},
			allowed: []string{"10.0.0.1", "::ffff:10.0.0.1", "2.1.1.1"},
			denied:  []string{"1.1.1.1", "::ffff:1.1.1.1", "10.9.9.9"},
		},
		{
			name:    "allowing a form does not allow what it hides",
			policy:  netguard.Policy{Allow: prefixes("::/0")},
			allowed: []string{"::1", "64:ff9b:1::1.1.1.1", "::101:101"},
			denied:  []string{"127.0.0.1", "::ffff:127.0.0.1", "64:ff9b:1::10.0.0.1", "2002:7f00:1::", "::7f00:1", "fe80::5efe:7f00:1"},
		},
		{
			name:    "the network's own NAT64",
			policy:  netguard.Policy{NAT64: prefixes("fd00:64::/96", "64:ff9b:1:2::/64"), Deny: prefixes("9.9.9.9/32", "fd00:64::8.8.8.8/128")},
			allowed: []string{"fd00:64::1.1.1.1", "64:ff9b:1:2:1:101:100::", "64:ff9b:1:2:8:808:a00::"},
			denied:  []string{"fd00:64::10.0.0.1", "fd00:64::9.9.9.9", "fd00:64::8.8.8.8", "fd00:65::1.1.1.1", "64:ff9b:1:2:a:0:100::", "64:ff9b:1:3:1:101:100::"},
		},
		{
			name:    "NAT64 that looks like ISATAP",
			policy:  netguard.Policy{NAT64: prefixes("2a00:56::/56")},
			allowed: []string{"2a00:56:0:1:0:5efe::"}, // 1.0.94.254
			denied:  []string{"2a00:56:0:a:0:5efe::", "2a00:57:0:1:0:5efe::"},
		},
		{
			name:   "an unusable NAT64 prefix allows nothing",
			policy: netguard.Policy{NAT64: append(prefixes("fd00:64::/97", "fd00::/128", "10.0.0.0/32", "::ffff:0:0/96"), netip.Prefix{})},
			denied: []string{"fd00:64::1.1.1.1", "fd00::", "10.0.0.0"},
		},
		{
			name:    "private is not reserved",
			policy:  netguard.Policy{AllowPrivate: true},
			allowed: []string{"10.0.0.1", "64:ff9b:1::10.0.0.1", "fe80::5efe:a00:1"},
			denied:  []string{"0.0.0.0", "168.63.129.16", "64:ff9b:1::0.0.0.0", "fe80::5efe:0:0"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, s := range tt.allowed {
				require.NoError(t, tt.policy.Check(netip.MustParseAddr(s)))
			}
			for _, s := range tt.denied {
				err := tt.policy.Check(netip.MustParseAddr(s))
				var forbidden *netguard.ForbiddenError
				require.ErrorAs(t, err, &forbidden, s)
				require.Equal(t, netip.MustParseAddr(s), forbidden.Addr)
			}
		})
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	tests := []struct{ addr, want string }{
		{"10.0.0.1", "private use (RFC 1918)"},
		{"64:ff9b::10.0.0.1", "private use (RFC 1918) inside NAT64 (RFC 6052)"},
		{"2001:0:0:0:0:0:f5ff:fffe", "unspecified (RFC 1122) inside Teredo server (RFC 4380)"},
		{"2001:0:101:101:0:0:f5ff:fffe", "private use (RFC 1918) inside Teredo client (RFC 4380)"},
		{"fe80::5efe:0:0", "unspecified (RFC 1122) inside ISATAP (RFC 5214)"}, // worse than link-local
		{"fe80::5efe:a00:1", "link-local (RFC 4291)"},
		{"1.1.1.1", ""},
		{"192.0.0.1", "IPv4 service continuity (RFC 7335)"},
		{"192.0.0.8", "dummy (RFC 7600)"},
		{"192.0.0.9", "port control anycast (RFC 7723)"},
		{"192.0.0.10", "TURN anycast (RFC 8155)"},
		{"192.0.0.170", "NAT64 discovery (RFC 8880)"},
		{"192.0.0.171", "NAT64 discovery (RFC 8880)"},
		{"192.0.0.172", "protocol assignment (RFC 6890)"},
		{"192.88.99.2", "6a44 relay (RFC 6751)"},
		{"192.88.99.3", "6to4 relay (RFC 7526)"},
		{"255.255.255.254", "reserved (RFC 1112)"},
		{"255.255.255.255", "broadcast (RFC 919)"},
		{"::", "unspecified (RFC 4291)"},
		{"::2", "IPv4-compatible (RFC 4291)"},
		{"100::1", "discard-only (RFC 6666)"},
		{"100:0:0:1::1", "dummy (RFC 9780)"},
		{"100:0:0:2::1", "not global unicast (RFC 4291)"},
		{"2001:1::1", "port control anycast (RFC 7723)"},
		{"2001:1::2", "TURN anycast (RFC 8155)"},
		{"2001:1::3", "service registration anycast (RFC 9665)"},
		{"2001:1::4", "protocol assignment (RFC 2928)"},
		{"2001:3::1", "multicast relay (RFC 7450)"},
		{"2001:4:112::1", "AS112 sink (RFC 7535)"},
		{"2001:10::1", "ORCHID (RFC 4843)"},
		{"2001:20::1", "ORCHIDv2 (RFC 7343)"},
		{"2001:30::1", "drone identity (RFC 9374)"},
		{"5f00::1", "segment routing (RFC 9602)"},
	}
	for _, tt := range tests {
		reason, bad := netguard.Forbidden(netip.MustParseAddr(tt.addr))
		require.Equal(t, tt.want, reason)
		require.Equal(t, tt.want != "", bad)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	good := netguard.Policy{
		Allow: prefixes("10.0.0.0/8"), Deny: prefixes("::/0"), NAT64: prefixes("fd00:64::/96"),
		Ports: []netguard.PortRange{{First: 80, Last: 80}, {First: 1, Last: 65535}},
	}
	require.NoError(t, good.Validate())
	require.NoError(t, netguard.Policy{}.Validate())
	bad := netguard.Policy{
		Allow: []netip.Prefix{{}}, Deny: []netip.Prefix{{}}, NAT64: prefixes("fd00::/65", "10.0.0.0/32"),
		Ports: []netguard.PortRange{{First: 0, Last: 80}, {First: 90, Last: 80}},
	}
	err := bad.Validate()
	for _, want := range []string{"allow", "deny", "NAT64 fd00::/65", "NAT64 10.0.0.0/32", "ports 0-80", "ports 90-80"} {
		require.ErrorContains(t, err, want)
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	p := netguard.Policy{}
	require.NoError(t, p.Control("tcp4", "1.1.1.1:443", nil))
	require.NoError(t, p.Control("tcp6", "[2606:4700::1]:8080", nil))
	require.ErrorContains(t, p.Control("tcp4", "127.0.0.1:443", nil), "loopback")
	require.ErrorContains(t, p.Control("tcp6", "[fe80::1%eth0]:443", nil), "link-local")
	require.ErrorIs(t, p.Control("tcp4", "1.1.1.1:25", nil), netguard.ErrPort)
	require.ErrorContains(t, p.Control("unix", "/run/redis.sock", nil), "netguard: connect: ")
}

func TestJudgeAllocatesNothing(t *testing.T) {
	policy := netguard.Policy{Allow: prefixes("10.1.0.0/16", "::ffff:10.2.0.0/112"), Deny: prefixes("10.0.0.0/24"), NAT64: ownNAT64()}
	addrs := []netip.Addr{netip.MustParseAddr("1.1.1.1"), netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fe80::1%eth0"), netip.MustParseAddr("2606:4700::1")}
	open, closed := gateways(netip.MustParseAddr("10.9.9.9"))
	for _, forms := range []map[string]netip.Addr{open, closed} {
		for _, addr := range forms {
			addrs = append(addrs, addr)
		}
	}
	for _, addr := range addrs {
		require.Zero(t, testing.AllocsPerRun(100, func() { policy.Judge(addr) }), addr.String())
		if policy.Check(addr) == nil {
			require.Zero(t, testing.AllocsPerRun(100, func() { _ = policy.Check(addr) }), addr.String())
		}
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = policy.CheckPort(443) }))
}

func BenchmarkCheck(b *testing.B) {
	for _, s := range []string{"93.184.216.34", "2606:4700:4700::1111"} {
		addr := netip.MustParseAddr(s)
		b.Run(s, func(b *testing.B) {
			b.ReportAllocs()
			var p netguard.Policy
			for b.Loop() {
				_ = p.Check(addr)
			}
		})
	}
}
