package netguard_test

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orbweaver/core/netguard"
)

// TestFormsOfAnyAddress: whatever the address, its written forms get the word
// that the address itself gets, and a gateway's form never a milder one.
func TestFormsOfAnyAddress(t *testing.T) {
	t.Parallel()
	blocks := append(registryV4(), "0.0.0.0/0", "0.0.0.0/0")
	rapid.Check(t, func(t *rapid.T) {
		prefix := netip.MustParsePrefix(rapid.SampledFrom(blocks).Draw(t, "block"))
		b := prefix.Masked().Addr().As4()
		for i, random := range rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "host bits") {
			free := min(max(8*(i+1)-prefix.Bits(), 0), 8)
			b[i] |= random & (1<<free - 1)
		}
		addr := netip.AddrFrom4(b)
		policy := netguard.Policy{AllowPrivate: rapid.Bool().Draw(t, "private"), NAT64: ownNAT64()}
		want := policy.Judge(addr)
		for form, host := range hostForms(addr) {
			err := policy.CheckHost(host)
			if err == nil != want.Allowed() {
				t.Fatalf("%s %s: %v, the address %q", form, host, err, want.Reason())
			}
		}
		open, closed := gateways(addr)
		for form, wrapped := range open {
			if got := policy.Judge(wrapped); got.Allowed() != want.Allowed() || got.Local != want.Local {
				t.Fatalf("%s %s: %q, the address %q", form, wrapped, got.Reason(), want.Reason())
			}
		}
		for form, wrapped := range closed {
			if wrapped == netip.IPv6Loopback() {
				continue // that is what ::1 means, and not 0.0.0.1
			}
			if got := policy.Judge(wrapped); got.Allowed() && (!want.Allowed() || !policy.AllowPrivate) {
				t.Fatalf("%s %s passes, the address is %q", form, wrapped, want.Reason())
			}
		}
	})
}

func FuzzJudge(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1})
	f.Add(netip.MustParseAddr("64:ff9b::7f00:1").AsSlice())
	f.Add(netip.MustParseAddr("2001:0:101:101:0:0:80ff:fffe").AsSlice())
	f.Fuzz(func(t *testing.T, b []byte) {
		addr, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		// What the standard library calls not global unicast, we refuse too.
		reason, bad := netguard.Forbidden(addr)
		u := addr.Unmap()
		if !u.IsGlobalUnicast() || u.IsPrivate() {
			require.True(t, bad, addr.String())
		}
		require.Equal(t, bad, reason != "")
		// No policy but Allow is stricter than the strict one, and Deny has the last word.
		private := netguard.Policy{AllowPrivate: true}
		require.False(t, !bad && private.Check(addr) != nil, addr.String())
		all := netguard.Policy{Allow: prefixes("0.0.0.0/0", "::/0"), NAT64: ownNAT64()}
		require.NoError(t, all.Check(addr))
		all.Deny = prefixes("0.0.0.0/0", "::/0")
		require.Error(t, all.Check(addr))
	})
}

// FuzzCheckHost holds the guard against other parsers: a host that any of them
// takes for a forbidden address does not pass.
func FuzzCheckHost(f *testing.F) {
	for _, host := range hostForms(netip.MustParseAddr("127.0.0.1")) {
		f.Add(host)
	}
	for _, host := range []string{"[::1]", "[fe80::1%25eth0]", "0177.1", "localhost.", "1.1.1.1", "a\\@127.1", "[::ffff:7f00:1]:80", "[64:ff9b::7f00:1]", "127.1:80@x"} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if len(host) > 512 {
			return
		}
		err := netguard.CheckHost(host)
		forbid := func(parser, name string) {
			name = strings.TrimRight(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"), ".")
			if addr, e := netip.ParseAddr(name); e == nil {
				if _, bad := netguard.Forbidden(addr); bad {
					require.Error(t, err, "%s: %q is %s", parser, host, addr)
				}
			}
		}
		forbid("netip", host)
		raw := "http://" + host + "/"
		if u, e := url.Parse(raw); e == nil {
			forbid("net/url", u.Hostname())
		}
		if u, e := whatwg.Parse(raw); e == nil && u.Scheme() == "http" {
			forbid("whatwg", u.Hostname())
			// Where the host cannot end the authority early, both agree.
			if netguard.CheckHost(host) == nil {
				require.NoError(t, netguard.Policy{Ports: []netguard.PortRange{{First: 1, Last: 65535}}}.CheckHost(u.Hostname()))
			}
		}
		if (netguard.Policy{}).CheckURL(raw) == nil {
			require.False(t, err != nil && !strings.ContainsAny(host, "/\\?#"), "%q passes as URL only: %v", host, err)
		}
	})
}

func FuzzParsePorts(f *testing.F) {
	f.Add("80,443,8000-8999")
	f.Add("0")
	f.Fuzz(func(t *testing.T, text string) {
		ranges, err := netguard.ParsePorts(text)
		if err != nil {
			return
		}
		require.NoError(t, netguard.Policy{Ports: ranges}.Validate())
		var back []string
		for _, r := range ranges {
			back = append(back, r.String())
		}
		again, err := netguard.ParsePorts(strings.Join(back, ","))
		require.NoError(t, err)
		require.Equal(t, ranges, again)
	})
}
