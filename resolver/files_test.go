package resolver

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseResolvConf(t *testing.T) {
	t.Parallel()
	s := parseResolvConf([]byte("nameserver 10.0.0.1\nnameserver name.test\nnameserver fe80::1%lo\nsearch a.test b.test\noptions ndots:2 timeout:90 attempts:99\n"))
	require.Equal(t, []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:53"), netip.MustParseAddrPort("[fe80::1%lo]:53")}, s.addrs)
	require.Equal(t, []string{"x.a.test.", "x.b.test.", "x."}, s.names("x"))
	require.Equal(t, []string{"x.y.z.", "x.y.z.a.test.", "x.y.z.b.test."}, s.names("x.y.z"))
	require.Equal(t, 5, s.attempts)
	require.Empty(t, parseResolvConf(nil).addrs)
}

func FuzzParseFiles(f *testing.F) {
	f.Add([]byte("127.0.0.1 localhost\n::1 a b # c\n"))
	f.Add([]byte("nameserver 1.2.3.4\nsearch a\noptions ndots:-1 timeout:x attempts:\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, addrs := range parseHosts(data) {
			again, err := canonical(name)
			require.NoError(t, err)
			require.Equal(t, name, again)
			require.NotEmpty(t, addrs)
		}
		if s := parseResolvConf(data); s != nil {
			require.LessOrEqual(t, len(s.addrs), maxServers)
			require.LessOrEqual(t, len(s.names("a.b")), maxSearch+1)
		}
	})
}
