package weburl_test

import (
	"hash/fnv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/weburl"
)

func TestHost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, url, want string }{
		{"plain", "http://a.example/x", "a.example"},
		{"port", "http://a.example:81/x", "a.example"},
		{"user", "http://u:p@a.example:81/x", "a.example"},
		{"upper case", "http://A.Example/", "a.example"},
		{"trailing dot", "http://a.example./", "a.example"},
		{"no path", "http://a?x", "a"},
		{"ipv4", "http://127.0.0.1:1/", "127.0.0.1"},
		{"ipv6", "http://[::1]:1/", "[::1]"},
		{"ipv6 long form", "http://[0:0:0:0:0:0:0:1]/", "[::1]"},
		{"braces", "http://{a}/", ""},
		{"space", "http://a b/", ""},
		{"newline", "http://a\n/", ""},
		{"not a URL", "a", ""},
		{"empty", "", ""},
		{"no host", "http:///a", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, weburl.Host(tt.url))
		})
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	require.Equal(t, "http://a:81", weburl.Origin("http://u:p@a:81/x?y#z"))
	require.Equal(t, "https://a", weburl.Origin("https://a"))
	require.Empty(t, weburl.Origin("ftp://a/"))
}

func TestRegistrableDomain(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"www.example.com":       "example.com",
		"example.com":           "example.com",
		"a.b.example.co.uk":     "example.co.uk",
		"co.uk":                 "co.uk",
		"com":                   "com",
		"localhost":             "localhost",
		"x.y.no-such-tld":       "y.no-such-tld",
		"me.github.io":          "me.github.io",
		"127.0.0.1":             "127.0.0.1",
		"[2001:db8::1]":         "[2001:db8::1]",
		"":                      "",
		".":                     ".",
		".a":                    ".a",
		"xn--bcher-kva.example": "xn--bcher-kva.example",
	} {
		require.Equal(t, want, weburl.RegistrableDomain(host), host)
	}
}

func TestShard(t *testing.T) {
	t.Parallel()
	require.Equal(t, weburl.Shard("example.com", 64), weburl.Shard("www.example.com", 64), "hosts of a domain share a shard")
	h := fnv.New32a()
	_, _ = h.Write([]byte("example.com"))
	require.Equal(t, int(h.Sum32()%1000), weburl.Shard("a.example.com", 1000))
	require.Zero(t, weburl.Shard("a", 1))
	require.Zero(t, weburl.Shard("a", 0))
	require.Zero(t, weburl.Shard("a", -1))
	seen := map[int]bool{}
	for c := 'a'; c <= 'z'; c++ {
		s := weburl.Shard(string(c)+"-site.example", 16)
		require.True(t, 0 <= s && s < 16)
		seen[s] = true
	}
	require.Greater(t, len(seen), 8)
}

func TestScope(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, spec string
		host       string
		want       bool
	}{
		{"seed", "seeds", "a.example", true},
		{"default is seeds", "", "a.example", true},
		{"subdomain of a seed", "seeds", "www.a.example", false},
		{"other", "seeds", "b.example", false},
		{"any", "any", "b.example", true},
		{"any, none", "any", "", false},
		{"domain", "example", "example", true},
		{"subdomain", "b.example, c.example", "x.y.c.example", true},
		{"suffix of a name", "b.example", "ab.example", false},
		{"written with dot and case", ".B.Example", "x.b.example", true},
		{"unicode", "bücher.example", "xn--bcher-kva.example", true},
		{"address", "127.0.0.1", "127.0.0.1", true},
		{"ipv6", "[::1]", "[::1]", true},
		{"seed outside of the domains", "b.example", "a.example", false},
		{"no host", "b.example", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := weburl.NewScope(tt.spec, []string{"a.example"})
			require.NoError(t, err)
			require.Equal(t, tt.want, s.Allows(tt.host))
			again, err := weburl.NewScope(s.String(), []string{"a.example"})
			require.NoError(t, err)
			require.Equal(t, tt.want, again.Allows(tt.host))
		})
	}
}

func TestScopeRefuses(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{",", "a.example,", "a b", "http://a.example/", "a.example/x", "a,any", "{a}", "a.example:80"} {
		_, err := weburl.NewScope(spec, nil)
		require.ErrorIs(t, err, weburl.ErrScope, spec)
	}
}

func TestScopeAddSeedWhileAsked(t *testing.T) {
	t.Parallel()
	s, err := weburl.NewScope("seeds", nil)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for c := 'a'; c <= 'z'; c++ {
		wg.Go(func() {
			s.AddSeed(string(c))
			require.True(t, s.Allows(string(c)))
		})
	}
	wg.Wait()
	for c := 'a'; c <= 'z'; c++ {
		require.True(t, s.Allows(string(c)))
	}
}

// TestAllocations holds the hot functions to what they promise.
func TestAllocations(t *testing.T) {
	scope, err := weburl.NewScope("a.example,b.example", nil)
	require.NoError(t, err)
	base, err := weburl.NewBase("http://site.example:81/x/y?z")
	require.NoError(t, err)
	const clean = "http://site.example:81/p/123?a=1&b=2"
	long := "/" + strings.Repeat("long/", 40)
	for name, tt := range map[string]struct {
		want float64
		run  func()
	}{
		"scope":       {0, func() { scope.Allows("x.y.example") }},
		"host":        {0, func() { weburl.Host(clean) }},
		"origin":      {0, func() { weburl.Origin(clean) }},
		"clean":       {0, func() { _, _ = weburl.Clean(clean) }},
		"safe":        {0, func() { _, _ = weburl.SafeURL(clean, "") }},
		"canonical":   {0, func() { _, _ = weburl.Canonicalize(clean, weburl.CanonicalOptions{}) }},
		"fingerprint": {0, func() { new(weburl.Fingerprinter).Fingerprint(&crawl.Request{URL: clean}) }},
		"rooted":      {1, func() { base.Resolve([]byte("/p/123")) }},
		"absolute":    {1, func() { base.Resolve([]byte("http://b.example/p/1")) }},
		"name":        {1, func() { base.Resolve([]byte("p.html")) }},
	} {
		require.LessOrEqual(t, testing.AllocsPerRun(100, tt.run), tt.want, name)
	}
	href := []byte(long)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { base.Resolve(href) }), 1.0)
}
