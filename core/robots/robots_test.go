package robots_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/robots"
	"orbweaver/internal/vectors"
)

type answers struct {
	Protego    *bool    `json:"protego_allowed"`
	RFC        *bool    `json:"rfc_allowed"`
	CrawlDelay *float64 `json:"crawl_delay"`
	Sitemaps   []string
}

type vector struct {
	ID, Kind, UA, URL string
	Robots            string
	Base64            string `json:"robots_b64"`
	Expect            answers
	ExpectNewest      answers `json:"expect_newest"`
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	data := vectors.Read(t, "robots.json")
	var file struct {
		Header struct{ Count int }
		Cases  []vector
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.NotEmpty(t, file.Cases)
	require.Len(t, file.Cases, file.Header.Count)
	return file.Cases
}

func TestVectors(t *testing.T) {
	for _, v := range readVectors(t) {
		t.Run(v.Kind+"/"+v.ID, func(t *testing.T) {
			body := []byte(v.Robots)
			if v.Base64 != "" {
				var err error
				body, err = base64.StdEncoding.DecodeString(v.Base64)
				require.NoError(t, err)
			}
			rules := robots.Parse(body)
			want := v.Expect.RFC
			if want == nil {
				want = v.Expect.Protego
				if v.ExpectNewest.Protego != nil {
					want = v.ExpectNewest.Protego
				}
			}
			require.NotNil(t, want)
			require.Equal(t, *want, rules.Allowed(v.UA, v.URL), "%q: %q for %q", body, v.URL, v.UA)
			require.Equal(t, *want, rules.For(v.UA).Allowed(v.URL))

			delay, ok := rules.CrawlDelay(v.UA)
			require.Equal(t, v.Expect.CrawlDelay != nil, ok)
			if ok {
				require.InDelta(t, *v.Expect.CrawlDelay, delay.Seconds(), 1e-9)
			}
			require.Equal(t, v.Expect.Sitemaps, append([]string{}, rules.Sitemaps()...))
		})
	}
}

func TestCrawlDelay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file string
		want       time.Duration
		ok         bool
	}{
		{"seconds", "User-agent: x\nCrawl-delay: 10", 10 * time.Second, true},
		{"fraction", "User-agent: x\ncrawl-delay:0.5 # half", 500 * time.Millisecond, true},
		{"zero", "User-agent: x\nCrawl-delay: 0", 0, true},
		{"for all", "User-agent: *\nCrawl-delay: 3", 3 * time.Second, true},
		{"own group has none", "User-agent: *\nCrawl-delay: 3\n\nUser-agent: x\nDisallow:", 0, false},
		{"last stands", "User-agent: x\nCrawl-delay: 3\nCrawl-delay: 2", 2 * time.Second, true},
		{"of a merged group", "User-agent: x\nDisallow: /a\nUser-agent: x\nCrawl-delay: 2", 2 * time.Second, true},
		{"other crawler", "User-agent: y\nCrawl-delay: 3", 0, false},
		{"before any group", "Crawl-delay: 3\nUser-agent: x\nDisallow: /", 0, false},
		{"empty", "User-agent: x\nCrawl-delay:", 0, false},
		{"text", "User-agent: x\nCrawl-delay: ten", 0, false},
		{"negative", "User-agent: x\nCrawl-delay: -1", 0, false},
		{"not a number", "User-agent: x\nCrawl-delay: nan", 0, false},
		{"infinite", "User-agent: x\nCrawl-delay: 1e400", 0, false},
		{"huge", "User-agent: x\nCrawl-delay: 1e300", 365 * 24 * time.Hour, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := robots.Parse([]byte(tt.file)).CrawlDelay("X/1.0")
			require.Equal(t, tt.ok, ok)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file string
		want       bool // for agent x, URL /a
	}{
		{"an empty rule parts groups", "User-agent: x\nDisallow:\nUser-agent: y\nDisallow: /", true},
		{"a delay parts groups", "User-agent: x\nCrawl-delay: 1\nUser-agent: y\nDisallow: /", true},
		{"an unknown line does not", "User-agent: x\nHost: h\nUser-agent: y\nDisallow: /", false},
		{"old Mac line ends", "User-agent: x\rDisallow: /\r", false},
		{"no line end", "User-agent: x\nDisallow: /", false},
		{"group name with version", "User-agent: x/2.0\nDisallow: /", false},
		{"equal length, allow wins", "User-agent: x\nDisallow: /a\nAllow: /a", true},
		{"longer disallow wins", "User-agent: x\nAllow: /\nDisallow: /a", false},
		{"nothing", "", true},
		{"noise", "\x00\xff:::\n:\n#\n<html>", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, robots.Parse([]byte(tt.file)).Allowed("x", "http://h/a"))
		})
	}
}

func TestZeroValues(t *testing.T) {
	t.Parallel()
	var g *robots.Group
	require.True(t, g.Allowed("http://h/a"))
	_, ok := g.CrawlDelay()
	require.False(t, ok)
	require.True(t, new(robots.Rules).Allowed("x", "http://h/a"))
}

func TestLimit(t *testing.T) {
	t.Parallel()
	head := "User-agent: *\nDisallow: /a\n"
	file := head + strings.Repeat("#", robots.LimitBytes-len(head)-len("\nDisallow: /b")) + "\nDisallow: /bcd\nDisallow: /e\n"
	rules := robots.Parse([]byte(file))
	require.False(t, rules.Allowed("x", "/a"), "before the limit")
	require.True(t, rules.Allowed("x", "/b"), "a line that is cut")
	require.True(t, rules.Allowed("x", "/e"), "after the limit")
	require.True(t, robots.Parse(bytes.Repeat([]byte("a"), 2*robots.LimitBytes)).Allowed("x", "/a"))
}

// TestHostileFiles holds parsing and deciding to about linear time.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	url := "http://h/" + strings.Repeat("a", 4000)
	for name, file := range map[string]string{
		"one pattern of stars":    "User-agent: *\nDisallow: /" + strings.Repeat("*a", 200_000) + "b",
		"only stars":              "User-agent: *\nDisallow: " + strings.Repeat("*", 400_000) + "$",
		"many patterns":           "User-agent: *\n" + strings.Repeat("Disallow: *a*a*a*b\n", 20_000),
		"many different patterns": "User-agent: *\n" + distinct(20_000),
		"many groups":             strings.Repeat("User-agent: x\nDisallow: /b\n", 15_000),
		"many agents":             strings.Repeat("User-agent: y\n", 30_000) + "Disallow: /",
		"a line without end":      "User-agent: *\nDisallow: /" + strings.Repeat("%", 400_000),
		"escapes without end":     "User-agent: *\nDisallow: /" + strings.Repeat("%c3", 100_000),
		"dollars":                 "User-agent: *\nDisallow: /" + strings.Repeat("$", 400_000),
		"line ends":               strings.Repeat("\r\n", 250_000),
		"colons":                  strings.Repeat(":", 500_000),
	} {
		rules := robots.Parse([]byte(file))
		group := rules.For("x")
		for range 10 {
			group.Allowed(url)
		}
		require.NotNil(t, group, name)
	}
}

func distinct(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("Disallow: /*a*")
		for ; i > 0; i /= 26 {
			b.WriteByte(byte('a' + i%26))
		}
		b.WriteString("*z\n")
	}
	return b.String()
}

// matches is the definition of a pattern, slow and plain.
func matches(pattern, path string) bool {
	if pattern == "" {
		return true
	}
	if pattern == "$" {
		return path == ""
	}
	if pattern[0] == '*' {
		for i := range len(path) + 1 {
			if matches(pattern[1:], path[i:]) {
				return true
			}
		}
		return false
	}
	return path != "" && pattern[0] == path[0] && matches(pattern[1:], path[1:])
}

// FuzzAllowed holds the matcher against the definition, and Parse to any bytes.
func FuzzAllowed(f *testing.F) {
	for _, s := range [][2]string{
		{"/a*b*c$", "/aXbYc"}, {"*$", "/a"}, {"/*", "/"}, {"$", "/"}, {"/a$b", "/a$b"}, {"/**a", "/ba"}, {"/*a$", "/aba"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		robots.Parse([]byte(pattern)).Allowed(path, pattern)
		if len(pattern) > 24 || len(path) > 24 {
			return
		}
		clean := strings.Map(func(r rune) rune {
			if r <= ' ' || r > '~' || strings.ContainsRune("#%:?", r) {
				return 'a'
			}
			return r
		}, pattern)
		path = "/" + strings.Map(func(r rune) rune {
			if r <= ' ' || r > '~' || strings.ContainsRune("#%:?*", r) {
				return 'a'
			}
			return r
		}, path)
		if clean == "" || path == "/robots.txt" {
			return
		}
		got := robots.Parse([]byte("User-agent: *\nDisallow: "+clean)).Allowed("x", path)
		require.Equal(t, !matches(clean, path), got, "pattern %q, path %q", clean, path)
	})
}

func BenchmarkAllowed(b *testing.B) {
	const few = "User-agent: *\nDisallow: /admin/\nDisallow: /*.pdf$\nDisallow: /search?\nAllow: /search?q=\nDisallow: /tmp\n"
	group := robots.Parse([]byte(few)).For("orbweaver")
	many := robots.Parse([]byte("User-agent: *\n" + distinct(1000))).For("orbweaver")
	b.Run("few", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			group.Allowed("http://site17.example:8080/p/123?a=1")
		}
	})
	b.Run("thousand", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			many.Allowed("http://site17.example:8080/p/123?a=1")
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			robots.Parse([]byte(few)).For("orbweaver")
		}
	})
}
