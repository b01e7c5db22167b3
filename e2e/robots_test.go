package e2e

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/webtest"
)

// A robots.txt that lies at another host is fetched through that host's slot, and
// obeyed.
func TestRobotsAtAnotherHost(t *testing.T) {
	t.Parallel()
	const (
		own, led, far = 0, 1, 2 // whose rules are its own; led to its robots.txt; led through it to the last
		last          = 3       // is asked for rules alone
		pages         = 8
		delay         = 250 * time.Millisecond
	)
	site := webtest.New(t, webtest.Config{Hosts: 4, Pages: pages, Script: func(v webtest.Visit) *webtest.Answer {
		switch {
		case v.Host == led && v.Path == "/robots.txt":
			return webtest.Redirect(v.Site.URL(own, "/robots.txt"))
		case v.Host == far && v.Path == "/robots.txt":
			return webtest.Redirect(v.Site.URL(own, "/rules"))
		case v.Host == own && v.Path == "/rules":
			return webtest.Redirect(v.Site.URL(last, "/rules"))
		case v.Host == last && v.Path == "/rules":
			return &webtest.Answer{Body: "User-agent: *\nDisallow: " + webtest.RobotsDisallow + "\nDisallow: /p/3\n"}
		}
		return nil
	}})
	stats := filepath.Join(t.TempDir(), "stats.json")
	run(t, crawl(site.Roots(0, 3), unthrottled(), embedded(t.TempDir()), []string{
		"--stats", stats, "-s", "DOWNLOAD_DELAY=0.25", "-s", "RANDOMIZE_DOWNLOAD_DELAY=false",
	})...).finish()

	missing := []string{site.PageURL(far, 3)}
	for p := range pages {
		missing = append(missing, site.PageURL(last, p))
	}
	require.ElementsMatch(t, missing, site.Missing(), "the rules of /rules hold, and no others")
	require.Empty(t, site.Under(webtest.RobotsDisallow), "what is forbidden is not fetched")
	require.Len(t, site.Under("/rules"), 2)
	require.Len(t, site.Arrivals(last), 1)
	for host := range 3 {
		require.GreaterOrEqual(t, site.MinGap(host), delay-slack, "politeness at host %d", host)
	}

	var sum map[string]any
	require.NoError(t, json.Unmarshal([]byte(readFile(t, stats)), &sum))
	fetched := len(site.Under("/robots.txt")) + 2
	require.LessOrEqual(t, fetched, 6, "each host's, two of /rules, and the first host's once more if it was asked for twice at once")
	require.EqualValues(t, 3, sum["robotstxt/response_status_count/302"])
	require.EqualValues(t, fetched, sum["robotstxt/request_count"], "each fetch is counted, whoever asked")
	require.EqualValues(t, fetched, sum["robotstxt/response_count"])
	require.NotContains(t, sum, "robotstxt/exception_count/reset")
	require.Positive(t, sum["robotstxt/forbidden"])
}
