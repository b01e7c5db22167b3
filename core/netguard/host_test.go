package netguard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/netguard"
	"orbweaver/core/weburl"
)

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

func TestCheckHostRefusesWhatIsNone(t *testing.T) {
	t.Parallel()
	for _, host := range []string{
		"", ".", "..", "[", "[]", "[::1", "[1::2::3]", "1.2.3.4.5", "256.1.1.1", "1.1.1.256", "0x100000000", "4294967296",
		"127.0.0.08", "08.1.1.09", "a b", "a/b", "127.0.0.1/", "a?b", "a#b", "a\\@127.0.0.1", "%2f", "%25", "%2531.1.1.1", "a%00b", "a<b",
		"a:b:c", "a:99999", "%ff", "\xff", "user:secret/word@example.org",
	} {
		err := netguard.Policy{AllowPrivate: true}.CheckHost(host)
		require.Error(t, err, host)
		require.NotContains(t, err.Error(), "secret")
	}
	require.ErrorIs(t, netguard.CheckHost("a/b"), weburl.ErrHost)
	require.NoError(t, netguard.CheckHost("under_score.example.org."))
	require.NoError(t, netguard.CheckHost("123.example.org"))
	require.NoError(t, netguard.CheckHost("bücher.example"))
}

func TestLocalhostFollowsTheLists(t *testing.T) {
	t.Parallel()
	require.NoError(t, netguard.Policy{Allow: prefixes("127.0.0.1/32")}.CheckHost("localhost"))
	require.NoError(t, netguard.Policy{Allow: prefixes("::1/128")}.CheckHost("a.localhost"))
	err := netguard.Policy{AllowPrivate: true, Deny: prefixes("127.0.0.0/8", "::1/128")}.CheckHost("localhost")
	var host *netguard.HostError
	require.ErrorAs(t, err, &host)
	require.Empty(t, host.Flag)
	require.ErrorContains(t, err, "denied by configuration")
	for _, form := range []string{"LOCALHOST", "localhost.", "%6cocalhost", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "localhost:80", "me@localhost", "loc\u00adalhost"} {
		require.ErrorContains(t, netguard.CheckHost(form), "loopback", form)
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	strict := netguard.Policy{}
	for _, url := range []string{
		"http://example.org/", "https://example.org", "HTTP://example.org:8080/a?b#c", "https://u:p@example.org:8443/", "http://1.1.1.1/", "http://[2606:4700::1]:81/",
		"http:example.org",
	} {
		require.NoError(t, strict.CheckURL(url), url)
	}
	tests := []struct {
		url, text string
		is        error
	}{
		{url: "ftp://example.org/", is: weburl.ErrScheme},
		{url: "file:///etc/passwd", is: weburl.ErrScheme},
		{url: "gopher://127.0.0.1:6379/_FLUSHALL", is: weburl.ErrScheme},
		{url: "javascript:alert(1)", is: weburl.ErrScheme},
		{url: "data:text/html,x", is: weburl.ErrScheme},
		{url: "view-source:http://example.org/", is: weburl.ErrScheme},
		{url: "http://", is: weburl.ErrHostMissing},
		{url: "http://example.org:0/", is: netguard.ErrPort},
		{url: "http://example.org:25/", is: netguard.ErrPort},
		{url: "https://u:p@example.org:6667/", is: netguard.ErrPort},
		{url: "http://[2606:4700::1]:22/", is: netguard.ErrPort},
		{url: "http://example.org:65536/", is: weburl.ErrPort},
		{url: "http://127.0.0.1\\@example.org/", text: "loopback"},
		{url: "http://example.org@127.0.0.1/", text: "loopback"},
		{url: "http:\\\\127.1/", text: "loopback"},
		{url: "http:127.1", text: "loopback"},
		{url: "  http://12\t7.0.0.\n1/", text: "loopback"},
		{url: "http://user:secret@0x7f.1:8080/secret?secret", text: "loopback"},
		{url: "http://user:secret@exa mple/secret?secret", is: weburl.ErrHost},
		{url: "http://[::ffff:a9fe:a9fe]/latest/meta-data/", text: "cloud metadata"},
	}
	for _, tt := range tests {
		err := strict.CheckURL(tt.url)
		require.Error(t, err, tt.url)
		require.NotContains(t, err.Error(), "secret")
		if tt.is != nil {
			require.ErrorIs(t, err, tt.is, tt.url)
		}
		require.ErrorContains(t, err, tt.text)
	}
}

func TestCheckPort(t *testing.T) {
	t.Parallel()
	for port, want := range map[uint16]bool{
		0: false, 1: false, 22: false, 25: false, 80: true, 81: true, 443: true, 6000: false, 6379: true, 8080: true, 10080: false, 65535: true,
	} {
		require.Equal(t, want, netguard.Policy{}.CheckPort(port) == nil, port)
	}
	listed := netguard.Policy{Ports: []netguard.PortRange{{First: 80, Last: 80}, {First: 0, Last: 25}, {First: 8000, Last: 8999}}}
	for port, want := range map[uint16]bool{0: false, 25: true, 26: false, 80: true, 443: false, 8000: true, 8999: true, 9000: false} {
		err := listed.CheckPort(port)
		require.Equal(t, want, err == nil, port)
		if !want {
			require.ErrorIs(t, err, netguard.ErrPort)
		}
	}
}

func TestParsePorts(t *testing.T) {
	t.Parallel()
	got, err := netguard.ParsePorts(" 80, 443,8000-8999 ")
	require.NoError(t, err)
	require.Equal(t, []netguard.PortRange{{80, 80}, {443, 443}, {8000, 8999}}, got)
	got, err = netguard.ParsePorts("  ")
	require.NoError(t, err)
	require.Nil(t, got)
	for _, bad := range []string{",", "80,", "0", "65536", "-1", "80-", "-80", "90-80", "1-2-3", "http", "８０", "80 81"} {
		_, err := netguard.ParsePorts(bad)
		require.ErrorContains(t, err, "netguard: parse ports", bad)
	}
}
