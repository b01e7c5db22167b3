package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/webtest"
)

// linkSite has a page each behind links of every kind, and pages that ask not to
// be followed or kept.
func linkSite(t *testing.T) *webtest.Site {
	t.Helper()
	pages := map[string]string{
		"/": `<a href=/plain>x</a><a rel="ugc nofollow" href=/nofollow>x</a><div style="display:none"><a href=/hidden>x</a></div>` +
			`<a href=/file.pdf>x</a><a href=/asks-nofollow>x</a><a href=/asks-noindex>x</a><a href=/asks-other>x</a>`,
		"/asks-nofollow": `<a href=/unfollowed>x</a>`,
		"/asks-noindex":  `<meta name="Robots" content="noindex"><a href=/behind>x</a>`,
		"/asks-other":    `<meta name=otherbot content=none><a href=/beyond>x</a>`,
	}
	return webtest.New(t, webtest.Config{
		Robots: "User-agent: *\nAllow: /\n",
		Script: func(v webtest.Visit) *webtest.Answer {
			if v.Path == "/robots.txt" {
				return nil
			}
			a := &webtest.Answer{Header: http.Header{"Content-Type": {"text/html"}}, Body: "<title>" + v.Path + "</title>" + pages[v.Path]}
			if v.Path == "/asks-nofollow" {
				a.Header.Set("X-Robots-Tag", "nofollow")
			}
			return a
		},
	})
}

func TestLinksThatAreFollowed(t *testing.T) {
	polite := "/ /asks-nofollow /asks-noindex /asks-other /behind /beyond /plain"
	tests := []struct {
		name           string
		settings       []string
		fetched, items string
		counted        bool
	}{
		{
			"by default",
			nil,
			polite, strings.ReplaceAll(polite, " /asks-noindex", ""), true,
		},
		{
			"all that Scrapy would",
			[]string{"FOLLOW_NOFOLLOW=true", "FOLLOW_INVISIBLE=true", "IGNORED_EXTENSIONS=", "METAROBOTS_OBEY=false"},
			polite + " /file.pdf /hidden /nofollow /unfollowed", polite + " /file.pdf /hidden /nofollow /unfollowed", false,
		},
		{
			"asked by our name",
			[]string{"ROBOTSTXT_USER_AGENT=OtherBot/2.0"},
			strings.ReplaceAll(polite, " /beyond", ""), "/ /asks-nofollow /behind /plain", true,
		},
	}
	site := linkSite(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			site.Forget()
			args := []string{"-o", "-"}
			for _, s := range tt.settings {
				args = append(args, "-s", s)
			}
			n := run(t, crawl([]string{site.URL(0, "/")}, unthrottled(), embedded(t.TempDir()), args)...).finish()
			var fetched, items []string
			for _, a := range site.Arrivals(0) {
				if a.Path != "/robots.txt" {
					fetched = append(fetched, a.Path)
				}
			}
			for _, it := range lines(t, n.out.String()) {
				items = append(items, it.Title)
			}
			require.ElementsMatch(t, strings.Fields(tt.fetched), fetched)
			require.ElementsMatch(t, strings.Fields(tt.items), items)
			for _, s := range []string{"metarobots/nofollow", "metarobots/noindex"} {
				require.Equal(t, tt.counted, strings.Contains(n.err.String(), s), s)
			}
		})
	}
}
