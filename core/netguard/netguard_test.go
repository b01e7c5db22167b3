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
		{"169.254.169.254", local},
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
		{"::ffff:169.254.169.254", local},
		{"64:ff9b::10.0.0.1", local},
		{"64:ff9b::127.0.0.1", local},
		{"64:ff9b:1::1.1.1.1", local},
		{"2002:7f00:1::", local},
		{"2002:a00:1::1", local},
		{"2001:0:7f00:1:0:0:fefe:fefe", local},  // Teredo: server 127.0.0.1
		{"2001:0:101:101:0:0:80ff:fffe", local}, // Teredo: client 127.0.0.1
		{"2001:2::1", local},
		{"fc00::1", local},
		{"fd00:ec2::254", local},
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

func TestCheckHost(t *testing.T) {
	t.Parallel()
	tests := []struct {
		host         string
		strict, flag string // what the error says; "" for none
		private      string // the error with AllowPrivate
	}{
		{host: "example.org"},
		{host: "1.1.1.1"},
		{host: "[2606:4700::1]"},
		{host: "localhost.example.org"},
		{host: "127.0.0.1", strict: "loopback", flag: "--allow-private"},
		{host: "[::1]", strict: "loopback", flag: "--allow-private"},
		{host: "localhost", strict: "loopback", flag: "--allow-private"},
		{host: "a.LOCALHOST.", strict: "loopback", flag: "--allow-private"},
		{host: "192.168.0.1", strict: "private use", flag: "--allow-private"},
		{host: "0.0.0.0", strict: "unspecified", private: "unspecified"},
		{host: "255.255.255.255", strict: "broadcast", private: "broadcast"},
		{host: "[ff02::1]", strict: "multicast", private: "multicast"},
	}
	for _, tt := range tests {
		t.Run(tt.host, func(t *testing.T) {
			t.Parallel()
			err := netguard.CheckHost(tt.host)
			if tt.strict == "" {
				require.NoError(t, err)
			} else {
				var host *netguard.HostError
				require.ErrorAs(t, err, &host)
				require.ErrorContains(t, err, tt.strict)
				require.Equal(t, tt.flag, host.Flag)
			}
			err = netguard.Policy{AllowPrivate: true}.CheckHost(tt.host)
			if tt.private == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.private)
			}
		})
	}
}
