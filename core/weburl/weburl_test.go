package weburl_test

import (
	"net/url"
	"strings"
	"testing"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/weburl"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, raw, want string }{
		{"plain", "http://example.com/a?b=c#d", "http://example.com/a?b=c#d"},
		{"no path", "http://example.com", "http://example.com/"},
		{"case, default port, dots", "HTTP://EXAMPLE.com:80/a/../b/./c%2e%2E/%2e", "http://example.com/b/c%2e%2E/"},
		{"spaces and line ends", "  http://exam\nple.com/a b\t", "http://example.com/a%20b"},
		{"backslashes", `https:\\a\b?c\d`, "https://a/b?c%5Cd"},
		{"unsafe bytes", "http://a/[x]|'?[y]|'#[z]|'", "http://a/%5Bx%5D%7C'?%5By%5D%7C%27#%5Bz%5D%7C'"},
		{"empty query and fragment", "http://a/?#", "http://a/"},
		{"unicode", "http://bücher.example/ü?ü#ü", "http://xn--bcher-kva.example/%C3%BC?%C3%BC#%C3%BC"},
		{"not UTF-8", "http://a/\xff", "http://a/%EF%BF%BD"},
		{"ipv4 forms", "http://0x7f.1:8080/", "http://127.0.0.1:8080/"},
		{"ipv6", "http://[0:0::0:1]:443/", "http://[::1]:443/"},
		{"user", "http://us%65r:p%40ss@a/", "http://user:p%40ss@a/"},
		{"user empty", "http://:@a/", "http://a/"},
		{"trailing dot stays", "http://a.example./", "http://a.example./"},
		{"underscore", "http://a_b.example/", "http://a_b.example/"},
		{"one slash", "http:/a/b", "http://a/b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := weburl.Clean(tt.raw)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
			again, err := weburl.Clean(got)
			require.NoError(t, err)
			require.Equal(t, got, again)
		})
	}
}

func TestCleanRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, raw string
		want      error
	}{
		{"empty", "", weburl.ErrRelative},
		{"relative", "example.com/a", weburl.ErrRelative},
		{"rooted", "/a", weburl.ErrRelative},
		{"scheme", "ftp://a/", weburl.ErrScheme},
		{"mailto", "mailto:a@b", weburl.ErrScheme},
		{"no host", "http://", weburl.ErrHostMissing},
		{"no host, port", "http://:80/", weburl.ErrHostMissing},
		{"port", "http://a:65536/", weburl.ErrPort},
		{"port text", "http://a:b/", weburl.ErrPort},
		{"space in host", "http://a b/", weburl.ErrHost},
		{"braces in host", "http://{a}/", weburl.ErrHost},
		{"template in host", "http://$host/", weburl.ErrHost},
		{"escaped space in host", "http://a%20b/", weburl.ErrHost},
		{"dots only", "http://../", weburl.ErrHost},
		{"long host", "http://" + strings.Repeat("a.", 127) + "a/", weburl.ErrHost},
		{"ipv4 range", "http://256.1.1.1/", weburl.ErrHost},
		{"ipv6 open", "http://[::1/", weburl.ErrHost},
		{"ipv6 zone", "http://[fe80::1%25eth0]/", weburl.ErrHost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := weburl.Clean(tt.raw)
			require.ErrorIs(t, err, tt.want, "gave %q", got)
			require.Less(t, len(err.Error()), 600)
		})
	}
}

func TestBaseResolve(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, base, href, want string }{
		{"rooted", "http://a.example:81/x/y?q", "/p/123", "http://a.example:81/p/123"},
		{"rooted, query, fragment", "http://a/x", "/p?a=b&c#d", "http://a/p?a=b&c"},
		{"same origin", "http://a/x/y", "http://a/z", "http://a/z"},
		{"same origin, fragment", "http://a/x/y", "http://a/z#f", "http://a/z"},
		{"origin is a prefix only", "http://a/x/y", "http://ab/z", "http://ab/z"},
		{"other host", "http://a/x/y", "https://b.example/z", "https://b.example/z"},
		{"other host without path", "http://a/x/y", "https://b.example", "https://b.example/"},
		{"address", "http://a/", "http://127.0.0.1:8080/p/1", "http://127.0.0.1:8080/p/1"},
		{"default port", "http://a/", "http://b:80/", "http://b/"},
		{"name", "http://a/x/y?q", "z.html", "http://a/x/z.html"},
		{"name with colon", "http://a/x/y", "./z:1", "http://a/x/z:1"},
		{"folders up", "http://a/x/y/z", "../w", "http://a/x/w"},
		{"dots", "http://a/x/y/z", "/a/./b/%2E%2e/c", "http://a/a/c"},
		{"query", "http://a/x/y?q", "?r=1#f", "http://a/x/y?r=1"},
		{"query with unsafe", "http://a/x/y?q", "?r='", "http://a/x/y?r=%27"},
		{"empty query", "http://a/x/y?q", "?", "http://a/x/y"},
		{"fragment", "http://a/x/y?q", "#f", "http://a/x/y?q"},
		{"empty", "http://a/x/y?q#g", "", "http://a/x/y?q"},
		{"spaces", "http://a/x/y", " \n z \t", "http://a/x/z"},
		{"network path", "https://a/x/y", "//b/c", "https://b/c"},
		{"backslashes", "https://a/x/y", `\\b\c`, "https://b/c"},
		{"same scheme, relative", "http://a/x/y", "http:z", "http://a/x/z"},
		{"other scheme, relative", "http://a/x/y", "https:z", "https://z/"},
		{"escapes kept", "http://a/", "/%7e%zz", "http://a/%7e%zz"},
		{"user kept", "http://u:p@a/x", "/y", "http://u:p@a/y"},
		{"unicode", "http://a/", "/ü", "http://a/%C3%BC"},
		{"mailto", "http://a/", "mailto:x@y", ""},
		{"javascript", "http://a/", "javascript:void(0)", ""},
		{"data", "http://a/", "data:,x", ""},
		{"bad host", "http://a/", "http://b c/", ""},
		{"bad port", "http://a/", "//b:x/", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, err := weburl.NewBase(tt.base)
			require.NoError(t, err)
			got, ok := b.Resolve([]byte(tt.href))
			require.Equal(t, tt.want != "", ok)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestBaseInEncoding(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, encoding, href, want string }{
		{"one byte each", "windows-1251", "/мир?q=мир", "http://a/%D0%BC%D0%B8%D1%80?q=%EC%E8%F0"},
		{"two bytes each", "Shift_JIS", "/?q=мир", "http://a/?q=%84%7D%84y%84%82"},
		{"unknown character", "windows-1251", "/?q=м好", "http://a/?q=%EC%26%2322909%3B"},
		{"plain link", "windows-1251", "/?q=1", "http://a/?q=1"},
		{"UTF-16 counts as UTF-8", "utf-16le", "/?q=é", "http://a/?q=%C3%A9"},
		{"unknown encoding", "x-none", "/?q=é", "http://a/?q=%C3%A9"},
		{"UTF-8", "utf-8", "/?q=é", "http://a/?q=%C3%A9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, err := weburl.NewBase("http://a/x")
			require.NoError(t, err)
			got, ok := b.InEncoding(tt.encoding).Resolve([]byte(tt.href))
			require.True(t, ok)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestNewBaseRefuses(t *testing.T) {
	t.Parallel()
	_, err := weburl.NewBase("ftp://a/")
	require.ErrorIs(t, err, weburl.ErrScheme)
}

func TestSafeURLEncodings(t *testing.T) {
	t.Parallel()
	_, err := weburl.SafeURL("http://a/", "no-such-encoding")
	require.ErrorContains(t, err, "no-such-encoding")
	_, err = weburl.SafeURL("http://a/?好", "latin-1")
	require.ErrorIs(t, err, weburl.ErrEncoding)
	got, err := weburl.SafeURL("http://a/?\xff", "cp1251")
	require.NoError(t, err)
	require.Equal(t, "http://a/?%FF", got)
}

func TestParseRule(t *testing.T) {
	t.Parallel()
	for _, r := range []weburl.Rule{weburl.Rule27, weburl.Rule26, weburl.RuleScrapyRedis} {
		got, err := weburl.ParseRule(r.String())
		require.NoError(t, err)
		require.Equal(t, r, got)
	}
	_, err := weburl.ParseRule("3")
	require.Error(t, err)
}

// TestLongURLs holds every function to linear time on 100 KB of hostile input.
func TestLongURLs(t *testing.T) {
	t.Parallel()
	b, err := weburl.NewBase("http://a/")
	require.NoError(t, err)
	const n = 50_000
	for _, s := range []string{
		"http://" + strings.Repeat("a@", n) + "h/",
		"http://" + strings.Repeat("a.", n),
		"http://" + strings.Repeat("é.", n),
		"http://" + strings.Repeat("%", n),
		"http://" + strings.Repeat("[", n),
		"http://1" + strings.Repeat("0", n),
		"http://h/" + strings.Repeat("a/", n) + strings.Repeat("../", n),
		"http://h/" + strings.Repeat("%2e%2e/", n),
		"http://h/?" + strings.Repeat("a&", n),
		"http://h/?" + strings.Repeat(";", n) + "#!" + strings.Repeat("&", n),
		strings.Repeat("a", n) + ":",
		"a:" + strings.Repeat("@", n),
		strings.Repeat("\t", n) + "http://h/",
		strings.Repeat("\xff", n),
	} {
		_, _ = weburl.Clean(s)
		_, _ = weburl.Parse(s)
		_, _ = b.Resolve([]byte(s))
		for _, rule := range []weburl.Rule{weburl.Rule27, weburl.Rule26, weburl.RuleScrapyRedis} {
			f := weburl.Fingerprinter{Rule: rule, KeepFragments: true}
			require.NotZero(t, f.Fingerprint(&crawl.Request{URL: s}))
		}
		_ = weburl.Host(s)
		_ = weburl.Origin(s)
	}
}

// oracleKnows reports where the oracle follows the URL standard: it refuses
// names that only look like punycode, and takes "+1" for a number in an address.
func oracleKnows(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
		if s[i] == '+' || s[i] == '-' {
			return false
		}
	}
	return true
}

// FuzzResolve holds our parser against the oracle, and the fast ways against the
// general one.
func FuzzResolve(f *testing.F) {
	for _, seed := range [][2]string{
		{"http://a.example/x/y?q#f", "/p/123"},
		{"http://a:81/", "http://a:81/p"},
		{"https://a/", "//b/../c"},
		{"http://a/b/c", "d.html?e=f#g"},
		{"http://a/", "?q=1"},
		{"http://a/", "http://127.0.0.1:8080/"},
		{"http://a/", "http://1.2.3/"},
		{"http://a/", "http://[::ffff:1.2.3.4]/"},
		{"http://a/", "%2e%2E/x"},
		{"http://u:p@a/", "http:b"},
		{"http://a/", "http://a@b@c:d@e/"},
		{"http://a/", `\\b\..\c`},
		{"http://a/", "http://0x.0x.0/"},
		{"http://a/", "/.."},
		{"http://a//b", "..//"},
		{"http://a/", "b:c"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, base, ref string) {
		if len(base)+len(ref) > 2000 {
			return
		}
		parsed, err := weburl.Parse(base)
		if err != nil || !strings.HasPrefix(parsed, "http") {
			return
		}
		got, err := weburl.Resolve(base, ref)
		if oracleKnows(base + ref) {
			u, oracleErr := whatwg.ParseRef(base, ref)
			require.Equal(t, oracleErr == nil, err == nil, "%q beside %q: we say %v, oracle %v", ref, base, err, oracleErr)
			if err == nil {
				require.Equal(t, u.Href(false), got, "%q beside %q", ref, base)
			}
		}

		b, err := weburl.NewBase(base)
		if err != nil {
			return
		}
		link, ok := b.Resolve([]byte(ref))
		if !ok {
			return
		}
		clean, err := weburl.Clean(link)
		require.NoError(t, err)
		require.Equal(t, clean, link, "a resolved link is clean")
		browser, err := weburl.Resolve(b.String(), ref)
		require.NoError(t, err, "a link that we follow is one that a browser follows")
		again, err := weburl.Clean(browser)
		require.NoError(t, err)
		again, _, _ = strings.Cut(again, "#")
		require.Equal(t, again, link, "the fast ways and the general one agree on %q beside %q", ref, base)
	})
}

// FuzzClean holds what a clean URL promises.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"http://a/", "HTTP://Ü.example:080/ä?ö#ü", "http://u:p@[::1]:1/{}", "http://a.b./c", "http://0x7f.1/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		clean, err := weburl.Clean(raw)
		for _, rule := range []weburl.Rule{weburl.Rule27, weburl.Rule26, weburl.RuleScrapyRedis} {
			f := weburl.Fingerprinter{Rule: rule}
			require.NotZero(t, f.Fingerprint(&crawl.Request{URL: raw}))
		}
		if host := weburl.Host(raw); host != "" {
			require.False(t, strings.ContainsAny(host, "{} \t\r\n/@"), host)
		}
		if err != nil {
			return
		}
		again, err := weburl.Clean(clean)
		require.NoError(t, err)
		require.Equal(t, clean, again)
		safe, err := weburl.SafeURL(clean, "")
		require.NoError(t, err)
		require.Equal(t, clean, safe, "a clean URL is what w3lib calls safe")
		u, err := url.Parse(strings.ReplaceAll(clean, "%", "%25"))
		require.NoError(t, err, "%q", clean)
		host := weburl.Host(clean)
		require.NotEmpty(t, host)
		require.Equal(t, strings.TrimRight(strings.Trim(u.Hostname(), "[]"), "."), strings.Trim(host, "[]"))
		require.True(t, strings.HasPrefix(clean, u.Scheme+"://"))
		require.NotEmpty(t, weburl.RegistrableDomain(host))

		canonical, err := weburl.Canonicalize(clean, weburl.CanonicalOptions{})
		require.NoError(t, err)
		require.NotContains(t, canonical, "#")
	})
}
