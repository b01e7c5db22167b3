package cookies_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/cookies"
)

var now = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

func jars(t testing.TB, change func(*cookies.Config)) *cookies.Jars {
	t.Helper()
	cfg := cookies.Default()
	if change != nil {
		change(&cfg)
	}
	j, err := cookies.New(cfg)
	require.NoError(t, err)
	return j
}

func TestWhoGetsACookie(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, set, line, get, want string
	}{
		{"no domain", "http://example.com/", "a=1", "http://example.com/", "a=1"},
		{"no domain, below", "http://example.com/", "a=1", "http://www.example.com/", ""},
		{"parent", "http://www.example.com/", "a=1; Domain=example.com", "http://x.y.example.com/", "a=1"},
		{"parent, from below", "http://a.b.example.com/", "a=1; Domain=b.example.com", "http://example.com/", ""},
		{"suffix of a name", "http://notexample.com/", "a=1; Domain=example.com", "http://example.com/", ""},
		{"ICANN suffix", "http://a.co.uk/", "a=1; Domain=co.uk", "http://b.co.uk/", ""},
		{"private suffix", "http://me.github.io/", "a=1; Domain=github.io", "http://other.github.io/", ""},
		{"a public suffix itself", "http://github.io/", "a=1; Domain=github.io", "http://github.io/", "a=1"},
		{"a public suffix itself, below", "http://github.io/", "a=1; Domain=github.io", "http://other.github.io/", ""},
		{"address", "http://192.0.2.1/", "a=1; Domain=192.0.2.1", "http://192.0.2.1:81/", "a=1"},
		{"end of an address", "http://192.0.2.1/", "a=1; Domain=0.2.1", "http://192.0.2.1/", ""},
		{"IPv6", "http://[2001:db8::1]/", "a=1", "http://[2001:db8::1]:8080/", "a=1"},
		{"one label", "http://localhost/", "a=1", "http://localhost/", "a=1"},
		{"two dots", "http://www.example.com/", "a=1; Domain=..example.com", "http://www.example.com/", ""},
		{"first domain counts", "http://www.example.com/", "a=1; Domain=example.com; Domain=other.com", "http://example.com/", "a=1"},
		{"secure", "https://example.com/", "a=1; Secure", "http://example.com/", ""},
		{"secure, again", "https://example.com/", "a=1; Secure", "https://example.com/", "a=1"},
		{"path", "http://example.com/docs/", "a=1; Path=/docs", "http://example.com/docs/x?y", "a=1"},
		{"path, no boundary", "http://example.com/docs/", "a=1; Path=/docs", "http://example.com/docsx", ""},
		{"path of others", "http://example.com/docs/", "a=1; Path=/admin", "http://example.com/admin", ""},
		{"path, no slash", "http://example.com/", "a=1; Path=x", "http://example.com/", ""},
		{"path, escapes", "http://example.com/%7ea/b", "a=1", "http://example.com/%7Ea/c", "a=1"},
		{"no path in the URL", "http://example.com?x=/y/z", "a=1", "http://example.com/", "a=1"},
		{"no value", "http://example.com/", "a", "http://example.com/", "a"},
		{"empty value", "http://example.com/", "a=", "http://example.com/", "a="},
		{"no name", "http://example.com/", "=1", "http://example.com/", ""},
		{"control character", "http://example.com/", "a=1\x00", "http://example.com/", ""},
		{"line feed", "http://example.com/", "a=1\nb", "http://example.com/", ""},
		{"too large", "http://example.com/", "a=" + strings.Repeat("x", 4096), "http://example.com/", ""},
		{"largest", "http://example.com/", "a=" + strings.Repeat("x", 4095), "http://example.com/", "a=" + strings.Repeat("x", 4095)},
		{"huge age", "http://example.com/", "a=1; Max-Age=99999999999999999999", "http://example.com/", "a=1"},
		{"hugely negative age", "http://example.com/", "a=1; Max-Age=-99999999999999999999", "http://example.com/", ""},
		{"zone", "http://example.com/", "a=1; Expires=Tue, 01 Dec 2026 00:30:00 +0100", "http://example.com/", ""},
		{"unknown zone", "http://example.com/", "a=1; Expires=Tue, 01 Dec 2020 00:30:00 EST", "http://example.com/", "a=1"},
		{"far past", "http://example.com/", "a=1; Expires=Mon, 01 Jan 1900 00:00:00 GMT", "http://example.com/", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := jars(t, nil)
			j.Set("", tt.set, []string{tt.line}, now)
			require.Equal(t, tt.want, j.Header("", tt.get, now))
		})
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	j := jars(t, nil)
	j.Set("", "http://a.example/", []string{"a=1; Max-Age=10", "b=2"}, now)
	require.Equal(t, "a=1; b=2", j.Header("", "http://a.example/", now.Add(9*time.Second)))
	require.Equal(t, "b=2", j.Header("", "http://a.example/", now.Add(10*time.Second)))
	require.Equal(t, 1, j.Len())
	j.Set("", "http://a.example/", []string{"b=; Max-Age=0"}, now)
	require.Zero(t, j.Len())
	counted, kept := j.Bytes()
	require.Zero(t, counted)
	require.Zero(t, kept)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	j := jars(t, func(c *cookies.Config) { c.PerDomain, c.MaxBytes = 3, 2000 })
	for i := range 5 {
		j.Set("", "http://a.example/", []string{fmt.Sprintf("c%d=1", i)}, now)
	}
	require.Equal(t, "c2=1; c3=1; c4=1", j.Header("", "http://a.example/", now), "the oldest went")
	for i := range 50 {
		j.Set("", fmt.Sprintf("http://h%d.example/", i), []string{"c=1"}, now)
		require.NotEmpty(t, j.Header("", "http://a.example/", now), "what is used stays")
	}
	require.Empty(t, j.Header("", "http://h0.example/", now))
	require.Equal(t, "c=1", j.Header("", "http://h49.example/", now))
	counted, kept := j.Bytes()
	require.Equal(t, counted, kept)
	require.LessOrEqual(t, kept, 2000)
}

func TestExpiredCookiesMakeRoom(t *testing.T) {
	t.Parallel()
	j := jars(t, func(c *cookies.Config) { c.PerDomain = 2 })
	j.Set("", "http://a.example/", []string{"a=1", "b=1; Max-Age=5"}, now)
	j.Set("", "http://a.example/", []string{"c=1"}, now.Add(6*time.Second))
	require.Equal(t, "a=1; c=1", j.Header("", "http://a.example/", now.Add(6*time.Second)))
	j = jars(t, func(c *cookies.Config) { c.PerDomain = 1 })
	j.Set("", "http://a.example/", []string{"a=1; Max-Age=5"}, now)
	j.Set("", "http://a.example/", []string{"b=1"}, now.Add(6*time.Second))
	require.Equal(t, "b=1", j.Header("", "http://a.example/", now.Add(6*time.Second)))
}

func TestKey(t *testing.T) {
	t.Parallel()
	tests := []struct {
		meta, key string
		kept      bool
	}{
		{"", "", true},
		{"{", "", true},
		{"[]", "", true},
		{`{"cookiejar": null}`, "", true},
		{`{"cookiejar": 1}`, "1", true},
		{`{"cookiejar": "1"}`, `"1"`, true},
		{`{"cookiejar": [1, 2]}`, "[1,2]", true},
		{`{"dont_merge_cookies": true}`, "", false},
		{`{"dont_merge_cookies": false, "cookiejar": 2}`, "2", true},
		{`{"cookiejar": "` + strings.Repeat("x", 2000) + `"}`, "", true},
	}
	for _, tt := range tests {
		key, kept := cookies.Key([]byte(tt.meta))
		require.Equal(t, tt.key, key, tt.meta)
		require.Equal(t, tt.kept, kept, tt.meta)
	}
}

func TestStored(t *testing.T) {
	t.Parallel()
	j := jars(t, nil)
	changes := j.Set("7", "https://www.example.com/d/x", []string{
		"a=1; Domain=example.com; Secure; Max-Age=100", "b=\xe9", "c", "bad=1; Domain=com",
	}, now)
	require.Len(t, changes, 3)
	other := jars(t, nil)
	for _, c := range changes {
		require.True(t, strings.HasPrefix(c.Line, c.ID))
		other.Load(c.Domain, []string{c.Line, "junk", "\t\t\t"}, now)
	}
	for _, url := range []string{"https://www.example.com/d/y", "http://www.example.com/d/y", "https://x.example.com/d/y", "https://www.example.com/"} {
		require.Equal(t, j.Header("7", url, now), other.Header("7", url, now), url)
	}
	require.Equal(t, "b=\xe9; c; a=1", other.Header("7", "https://www.example.com/d/y", now))
	require.Empty(t, j.Set("7", "https://www.example.com/d/x", []string{"c"}, now), "nothing new")
	gone := j.Set("7", "https://www.example.com/d/x", []string{"c; Max-Age=0", "none=; Max-Age=0"}, now)
	require.Equal(t, []cookies.Change{{Domain: "www.example.com", ID: changes[2].ID}}, gone)
	// The later one counts, whichever is stored.
	later := j.Set("7", "https://www.example.com/d/x", []string{"b=2"}, now.Add(time.Second))
	j.Load(changes[1].Domain, []string{changes[1].Line}, now)
	require.Contains(t, j.Header("7", "https://www.example.com/d/x", now), "b=2")
	require.Contains(t, other.Header("7", "https://www.example.com/d/x", now), "b=\xe9")
	other.Load(later[0].Domain, []string{later[0].Line}, now)
	require.Contains(t, other.Header("7", "https://www.example.com/d/x", now), "b=2")
}

func TestDomains(t *testing.T) {
	t.Parallel()
	for host, want := range map[string][]string{
		"a.b.example.co.uk": {"a.b.example.co.uk", "b.example.co.uk", "example.co.uk"}, "github.io": {"github.io"},
		"192.0.2.1": {"192.0.2.1"}, "[::1]": {"[::1]"}, "localhost": {"localhost"}, "": nil,
	} {
		require.Equal(t, want, cookies.Domains(host), host)
	}
}

func TestNoCookiesCostNothing(t *testing.T) { //nolint:paralleltest // counts allocations
	j := jars(t, nil)
	require.Zero(t, testing.AllocsPerRun(10, func() { j.Header("", "http://www.example.com/a/b", now) }))
	j.Set("", "http://other.example/", []string{"a=1"}, now)
	require.Zero(t, testing.AllocsPerRun(10, func() { j.Header("", "http://www.example.com/a/b", now) }))
}

func FuzzSetCookie(f *testing.F) {
	for _, s := range []string{
		"a=1; Path=/; Domain=example.com; Max-Age=5; Expires=Thu, 31-Dec-2099 23:59:59 GMT; Secure; HttpOnly", "=", ";", "a", "a=\"q\";;",
		"x=y; Domain=.co.uk", "a=1; Expires=Sun, 06 Nov 94 08:49:37 +01:00 (x)", "a=1; Path=/%7e\xff", "a=1; Max-Age=-0",
	} {
		f.Add(s, "http://www.example.com/a/b")
	}
	f.Add("a=1; domain=2001", "http://[2001:db8::1]/")
	f.Fuzz(func(t *testing.T, line, url string) {
		j := jars(t, func(c *cookies.Config) { c.MaxBytes = 1 << 20 })
		changes := j.Set("", url, []string{line, line + "; Max-Age=9", "b=1"}, now)
		require.LessOrEqual(t, len(changes), 3)
		header := j.Header("", url, now)
		for i := range len(header) {
			require.False(t, header[i] < ' ' || header[i] == 0x7f, "%q", header)
		}
		stored := map[string]cookies.Change{}
		for _, c := range changes {
			require.NotContains(t, c.Line, "\n")
			stored[c.Domain+" "+c.ID] = c
		}
		other := jars(t, nil)
		for _, c := range stored {
			if c.Line != "" {
				require.True(t, strings.HasPrefix(c.Line, c.ID))
				other.Load(c.Domain, []string{c.Line}, now)
			}
		}
		for _, at := range []time.Time{now, now.Add(time.Minute)} {
			require.Len(t, other.Header("", url, at), len(j.Header("", url, at)), "what is stored is what is kept")
		}
		counted, kept := j.Bytes()
		require.Equal(t, counted, kept)
	})
}
