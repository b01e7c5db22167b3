package trap

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// present is the date of all tests.
func present() time.Time { return time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC) }

func newDetector(t testing.TB, change ...func(*Config)) *Detector {
	t.Helper()
	cfg := Default()
	for _, f := range change {
		f(&cfg)
	}
	d, err := New(cfg)
	require.NoError(t, err)
	return d
}

func TestURLRules(t *testing.T) {
	t.Parallel()
	params := func(n int, name string) string { return strings.Repeat("&"+name+"=x", n) }
	var many strings.Builder
	for i := range 25 {
		many.WriteString("&p")
		many.WriteByte(byte('a' + i))
		many.WriteString("=1")
	}
	tests := []struct {
		name, url string
		want      Kind
	}{
		{"three in a row", "/a/news/news/news/x", None},
		{"four in a row", "/a/news/news/news/news/x", RepeatedSegments},
		{"cycle of two twice", "/a/b/a/b", None},
		{"cycle of two three times", "/a/b/a/b/a/b", RepeatedSegments},
		{"cycle of two three times, with a tail", "/x/en/shop/en/shop/en/shop/cart", RepeatedSegments},
		{"cycle of three", "/en/de/fr/en/de/fr/en/de/fr", RepeatedSegments},
		{"cycle of numbers", "/1/2/1/2/1/2", RepeatedSegments},
		{"zeros of a shard", "/tiles/0/0/0/0/12.png", None},
		{"too many zeros", "/tiles/0/0/0/0/0/0/0", RepeatedSegments},
		{"empty segments do not hide a cycle", "/a//b/a//b/a/b", RepeatedSegments},
		{"six times anywhere", "/lib/a/lib/b/lib/c/lib/d/lib/e/lib/f", None},
		{"seven times anywhere", "/lib/a/lib/b/lib/c/lib/d/lib/e/lib/f/lib/g", RepeatedSegments},
		{"depth", strings.Repeat("/x", 0) + "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29/30/31/32", None},
		{"too deep", "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29/30/31/32/33", PathDepth},
		{"one name often", "/s?q=1" + params(12, "f"), RepeatedParams},
		{"one pair thrice", "/s?q=1" + params(3, "f"), None},
		{"one pair four times", "/s?q=1" + params(4, "f"), RepeatedParams},
		{"names with numbers are one", "/s?f[0]=a&f[1]=b&f[2]=c&f[3]=d&f[4]=e&f[5]=f&f[6]=g&f[7]=h&f[8]=i&f[9]=j&f[10]=k&f[11]=l&f[12]=m", RepeatedParams},
		{"too many parameters", "/s?q=1" + many.String(), QueryParams},
		{"a target in a target", "/login?next=%2Flogin%3Fnext%3D%252Fx", None},
		{"and on", "/login?next=%2Flogin%3Fnext%3D%25252525252Fx", Nested},
		{"number", "/i/12345678901234567890123456789012", None},
		{"long number", "/i/123456789012345678901234567890123", LongNumber},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, newDetector(t).Link("h", "http://h"+tt.url, present()))
			off := newDetector(t, func(c *Config) { *c = Config{Duplicates: 95, MemoryBytes: 1 << 20} })
			require.Equal(t, None, off.Link("h", "http://h"+tt.url, present()), "every rule can be turned off")
		})
	}
}

func TestMonth(t *testing.T) {
	t.Parallel()
	at := func(y, m int) int { return 12*y + m - 1 }
	tests := []struct {
		url  string
		want int // -1: none
	}{
		{"/2031/05/", at(2031, 5)},
		{"/blog/2014/3/a-title", at(2014, 3)},
		{"/calendar/2031-05", at(2031, 5)},
		{"/day/2031-05-12T00:00", at(2031, 5)},
		{"/events/20310512", at(2031, 5)},
		{"/calendar/203105", at(2031, 5)},
		{"/p/20310512", -1},
		{"/p/30010512", -1},
		{"/cal?year=2031&month=5", at(2031, 5)},
		{"/cal?month=12&year=1980", at(1980, 12)},
		{"/cal?y=2040&m=1", at(2040, 1)},
		{"/cal?year=2040", at(2040, 1)},
		{"/cal?date=2031-05-12", at(2031, 5)},
		{"/cal?d=2031%2F05%2F12", at(2031, 5)},
		{"/cal?day=20310512", at(2031, 5)},
		{"/x?q=20310512", -1},
		{"/x?id=1234567", -1},
		{"/2031/13/", -1},
		{"/2031", -1},
		{"/iso/1984-11a", -1},
		{"/model/3000/10", -1},
		{"/", -1},
		{"/?=&&year", -1},
	}
	for _, tt := range tests {
		t.Run(tt.url, func(t *testing.T) {
			t.Parallel()
			s := shapeOf("http://h" + tt.url)
			got, ok := s.month()
			if !ok {
				got = -1
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	same := [][2]string{
		{"/p/1", "/p/200"},
		{"/p?a=1&b=2", "/p?b=7&a=9"},
		{"/p?f[0]=1", "/p?f[3]=1&f[4]=2"},
		{"/blog/my-first-post", "/blog/another-post-of-mine"},
		{"/c/0a1b2c3d4e5f", "/c/ffffffff0000"},
		{"/c/550e8400-e29b-41d4-a716-446655440000", "/c/6ba7b810-9dad-11d1-80b4-00c04fd430c8"},
		{"/page12.html", "/page3.html"},
	}
	for _, tt := range same {
		require.Equal(t, shapeOf("http://h"+tt[0]).pattern, shapeOf("http://h"+tt[1]).pattern, tt)
	}
	different := [][2]string{
		{"/p/1", "/q/1"}, {"/p/1", "/p/1/2"}, {"/p?a=1", "/p?b=1"}, {"/p", "/p?a=1"}, {"/wiki/Berlin", "/wiki/Paris"}, {"/p/1.html", "/p/1.pdf"},
	}
	for _, tt := range different {
		require.NotEqual(t, shapeOf("http://h"+tt[0]).pattern, shapeOf("http://h"+tt[1]).pattern, tt)
	}
	s := shapeOf("http://h/cal/2031/a-long-slug/x9?year=1&f[3]=1")
	require.Equal(t, "/cal/#/*/x#?year&f[#]", s.example())
}

func TestWithoutSession(t *testing.T) {
	t.Parallel()
	const hex32 = "0123456789abcdef0123456789abcdef"
	tests := []struct{ url, want string }{
		{"http://h/a;jsessionid=" + hex32, "http://h/a"},
		{"http://h/a;JSESSIONID=0000abcdABCDabcd1234:15j?x=1", "http://h/a?x=1"},
		{"http://h/a?PHPSESSID=" + hex32, "http://h/a"},
		{"http://h/a?x=1&PHPSESSID=" + hex32 + "&y=2", "http://h/a?x=1&y=2"},
		{"http://h/a?sid=" + hex32 + "&t=5", "http://h/a?t=5"},
		{"http://h/a?t=5&s=" + hex32, "http://h/a?t=5"},
		{"http://h/(S(lit3py55t21z5v55vlm25s55))/o.aspx", "http://h/o.aspx"},
		{"http://h/a?ASPSESSIONIDQQGGQXCD=JLCPKBLDDJIBBAMBNMMKEOPA", "http://h/a"},
		{"http://h/a?CFID=123&CFTOKEN=456&x=1", "http://h/a?x=1"},
		{"http://h/a?osCsid=abcdefghij0123456789abcdef", "http://h/a"},
	}
	for _, tt := range tests {
		got, found := WithoutSession(tt.url)
		require.True(t, found, tt.url)
		require.Equal(t, tt.want, got)
	}
	for _, url := range []string{
		"http://h/", "http://h/a?sid=12", "http://h/a?sid=section-of-the-site-number-twelve", "http://h/a?s=shoes", "http://h/a;v=1.2",
		"http://h/a?CFID=1", "http://h/a?sessionid=12", "http://h/a?session=" + hex32, "http://h/a?doc=" + hex32, "http://h/a?", "http://h/(S(x))/",
		"http://h/a;jsessionid=", "http://h/a?&&=",
	} {
		got, found := WithoutSession(url)
		require.False(t, found, url)
		require.Equal(t, url, got)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	require.NoError(t, Default().Validate())
	_, err := New(Config{PathDepth: -1})
	require.ErrorContains(t, err, "TRAP_PATH_DEPTH is -1")
	require.ErrorContains(t, err, "TRAP_DUPLICATES is 0")
}
