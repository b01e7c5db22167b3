package robots_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/robots"
)

func TestRequestRate(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	for _, tt := range []struct {
		name, file string
		want       robots.Rate
		gap        time.Duration
	}{
		{"seconds", "User-agent: x\nRequest-rate: 1/10", robots.Rate{Requests: 1, Per: 10 * time.Second}, 10 * time.Second},
		{"with a unit", "User-agent: x\nrequest-rate: 1/10s", robots.Rate{Requests: 1, Per: 10 * time.Second}, 10 * time.Second},
		{"minutes", "User-agent: x\nRequest-Rate:30/1m # half a minute's", robots.Rate{Requests: 30, Per: time.Minute}, 2 * time.Second},
		{"hours", "User-agent: *\nRequest-rate: 100/2H", robots.Rate{Requests: 100, Per: 2 * time.Hour}, 72 * time.Second},
		{"all day though it names hours", "User-agent: x\nRequest-rate: 1/5s 0800-1200", robots.Rate{Requests: 1, Per: 5 * time.Second}, 5 * time.Second},
		{"time after a tab", "User-agent: x\nRequest-rate: 1/5\t0800-1200", robots.Rate{Requests: 1, Per: 5 * time.Second}, 5 * time.Second},
		{"last stands", "User-agent: x\nRequest-rate: 1/5\nRequest-rate: 1/7", robots.Rate{Requests: 1, Per: 7 * time.Second}, 7 * time.Second},
		{"a broken one changes nothing", "User-agent: x\nRequest-rate: 1/5\nRequest-rate: often", robots.Rate{Requests: 1, Per: 5 * time.Second}, 5 * time.Second},
		{"of a merged group", "User-agent: x\nDisallow: /a\nUser-agent: x\nRequest-rate: 1/2", robots.Rate{Requests: 1, Per: 2 * time.Second}, 2 * time.Second},
		{"slower than the delay", "User-agent: x\nCrawl-delay: 1\nRequest-rate: 1/3", robots.Rate{Requests: 1, Per: 3 * time.Second}, 3 * time.Second},
		{"faster than the delay", "User-agent: x\nCrawl-delay: 5\nRequest-rate: 1/3", robots.Rate{Requests: 1, Per: 3 * time.Second}, 5 * time.Second},
		{"huge time", "User-agent: x\nRequest-rate: 1/99999999999999999999h", robots.Rate{Requests: 1, Per: year}, year},
		{"huge number", "User-agent: x\nRequest-rate: 99999999999999999999/1", robots.Rate{Requests: 1<<31 - 1, Per: time.Second}, 0},
		{"own group has none", "User-agent: *\nRequest-rate: 1/3\n\nUser-agent: x\nDisallow:", robots.Rate{}, 0},
		{"before any group", "Request-rate: 1/3\nUser-agent: x\nDisallow: /", robots.Rate{}, 0},
		{"no requests", "User-agent: x\nRequest-rate: 0/3", robots.Rate{}, 0},
		{"no time", "User-agent: x\nRequest-rate: 1/0", robots.Rate{}, 0},
		{"no slash", "User-agent: x\nRequest-rate: 10", robots.Rate{}, 0},
		{"negative", "User-agent: x\nRequest-rate: -1/3", robots.Rate{}, 0},
		{"fraction", "User-agent: x\nRequest-rate: 1/0.5", robots.Rate{}, 0},
		{"unit alone", "User-agent: x\nRequest-rate: 1/s", robots.Rate{}, 0},
		{"empty", "User-agent: x\nRequest-rate:", robots.Rate{}, 0},
		{"only a slash", "User-agent: x\nRequest-rate: /", robots.Rate{}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			group := robots.Parse([]byte(tt.file)).For("X/1.0")
			got, ok := group.RequestRate()
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.want.Requests > 0, ok)
			require.Equal(t, tt.gap, group.Delay())
		})
	}
	require.Zero(t, (*robots.Group)(nil).Delay())
	_, ok := (*robots.Group)(nil).RequestRate()
	require.False(t, ok)
	require.True(t, robots.Parse([]byte("User-agent: x\nRequest-rate: 1/2\nUser-agent: y\nDisallow: /")).Allowed("x", "/a"), "a rate parts groups")
}

func TestLifetime(t *testing.T) {
	t.Parallel()
	const least, most = 5 * time.Minute, 24 * time.Hour
	for _, tt := range []struct {
		name, control, age string
		want               time.Duration
	}{
		{"nothing said", "", "", most},
		{"max-age", "max-age=3600", "", time.Hour},
		{"in any case, among others", "public, MAX-AGE=3600, must-revalidate", "", time.Hour},
		{"with spaces", " public ,\tmax-age = 3600 ", "", time.Hour},
		{"quoted", `max-age="3600"`, "", time.Hour},
		{"less its age", "max-age=3600", "600", 50 * time.Minute},
		{"older than that", "max-age=3600", "9999", least},
		{"an age alone", "", "9999", most},
		{"a broken age", "max-age=3600", "-5", time.Hour},
		{"longer than we keep", "max-age=31536000", "", most},
		{"more than fits", "max-age=99999999999999999999999", "", most},
		{"none", "max-age=0", "", least},
		{"the shortest of two", "max-age=7200, max-age=3600", "", time.Hour},
		{"no-store", "no-store", "", least},
		{"no-cache", "max-age=7200, no-cache", "", least},
		{"no-cache of a field", `no-cache="set-cookie", max-age=7200`, "", 2 * time.Hour},
		{"a comma in quotes", `ext="a, no-store", max-age=7200`, "", 2 * time.Hour},
		{"an open quote", `ext="a, no-store`, "", most},
		{"an escape at the end", `ext="\`, "", most},
		{"for shared caches", "s-maxage=60", "", most},
		{"no number", "max-age=soon", "", most},
		{"negative", "max-age=-1", "", most},
		{"empty", "max-age=", "", most},
		{"commas", ",,,", "", most},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, robots.Lifetime(tt.control, tt.age, least, most))
		})
	}
	require.Equal(t, time.Minute, robots.Lifetime("no-store", "", time.Hour, time.Minute), "most bounds least")
}

func FuzzLifetime(f *testing.F) {
	for _, s := range [][2]string{{"max-age=60, no-cache", "5"}, {`a="\",no-store`, ""}, {"max-age=\"1\"", "x"}, {"no-store", ""}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, control, age string) {
		got := robots.Lifetime(control, age, time.Minute, time.Hour)
		require.GreaterOrEqual(t, got, time.Minute)
		require.LessOrEqual(t, got, time.Hour)
	})
}

// FuzzParse holds every reading of any bytes to its bounds.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"\xef\xbb\xbfUser-agent: *\r\nDisallow: /a\rAllow: /a/b\nCrawl-delay: 2\nRequest-rate: 1/5m 0800-0900\nSitemap: /s.xml",
		"<!doctype html><html><body>User-agent: *<br>Disallow: /</body></html>",
		"User-agent: x\nRequest-rate: 9999999999/99999999h\nCrawl-delay: 1e308",
	} {
		f.Add([]byte(s), "x/1.0", "http://h/a?b=%zz")
	}
	f.Fuzz(func(t *testing.T, body []byte, agent, url string) {
		rules := robots.Parse(body)
		group := rules.For(agent)
		require.Equal(t, rules.Allowed(agent, url), group.Allowed(url))
		require.True(t, group.Allowed("/robots.txt"))
		require.GreaterOrEqual(t, group.Delay(), time.Duration(0))
		require.LessOrEqual(t, group.Delay(), 365*24*time.Hour)
		if rate, ok := group.RequestRate(); ok {
			require.Positive(t, rate.Requests)
			require.Positive(t, rate.Per)
		}
		for _, sitemap := range rules.Sitemaps() {
			require.NotEmpty(t, sitemap)
		}
	})
}
