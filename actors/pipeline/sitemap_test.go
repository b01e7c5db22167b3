package pipeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/sitemap"
)

func xmlPage(body string) crawl.Response {
	return crawl.Response{Status: 200, Body: []byte(body), Headers: []crawl.Header{{Name: "Content-Type", Value: "text/xml"}}}
}

func urlset(locs ...string) crawl.Response {
	return xmlPage("<urlset><url><loc>" + strings.Join(locs, "</loc></url><url><loc>") + "</loc></url></urlset>")
}

func index(locs ...string) crawl.Response {
	return xmlPage("<sitemapindex><sitemap><loc>" + strings.Join(locs, "</loc></sitemap><sitemap><loc>") + "</loc></sitemap></sitemapindex>")
}

func at(url string, level int) func(r *crawl.Request) {
	return func(r *crawl.Request) {
		if r.URL = url; level > 0 {
			r.Meta = sitemap.Mark(level)
		}
	}
}

func seed(r *crawl.Request) { r.Seed = true }

func TestSitemapURLsAreLinks(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	o := p.judge(urlset("http://a.test/1", "http://b.test/", "/relative", "", " http://a.test/ä "), at("http://a.test/s.xml", 1))
	require.Equal(t, []string{"http://a.test/1", "http://a.test/%C3%A4"}, linkURLs(o))
	require.Empty(t, o.page.Items, "a sitemap is no item")
	require.True(t, o.isDoc)
	require.Nil(t, o.page.Links[0].Request.Meta)
	require.EqualValues(t, 1, o.page.Links[0].Request.Depth)
	require.EqualValues(t, 1, stat(o, statSitemaps))
	require.EqualValues(t, 3, stat(o, statSitemapURLs))
	require.EqualValues(t, 2, stat(o, statSitemapBadURLs))
	again := p.judge(urlset("http://a.test/1"), at("http://a.test/s.xml", 1))
	require.Equal(t, o.page.Links[0].Request.ID, again.page.Links[0].Request.ID)
}

func TestIndexAsksForSitemaps(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	o := p.judge(index("http://a.test/1.xml", "http://a.test/2.xml.gz"), at("http://a.test/s.xml", 2))
	require.Equal(t, []string{"http://a.test/1.xml", "http://a.test/2.xml.gz"}, linkURLs(o))
	for _, l := range o.page.Links {
		require.Equal(t, 3, sitemap.Level(l.Request.Meta))
	}
	o = p.judge(index("http://a.test/1.xml"), at("http://a.test/s.xml", sitemap.MaxLevel))
	require.Empty(t, o.page.Links, "indexes may not go on for ever")
}

// Who is asked for as a sitemap, or may be one, and who not.
func TestWhatIsASitemap(t *testing.T) {
	t.Parallel()
	const link = "http://a.test/1"
	notes := xmlPage("<notes><url><loc>" + link + "</loc></url></notes>")
	for _, tt := range []struct {
		name     string
		sitemaps bool
		resp     crawl.Response
		change   []func(r *crawl.Request)
		links    int
		items    int
	}{
		{"seed", false, urlset(link), []func(r *crawl.Request){seed}, 1, 0},
		{"linked page", false, urlset(link), nil, 0, 1},
		{"linked page with SITEMAP", true, urlset(link), nil, 1, 0},
		{"other XML", true, notes, nil, 0, 1},
		{"other XML asked for as a sitemap", false, notes, []func(r *crawl.Request){at("http://a.test/s.xml", 1)}, 0, 0},
		{"page asked for as a sitemap", false, html("<a href=/1>1</a>"), []func(r *crawl.Request){at("http://a.test/s", 1)}, 0, 0},
		{"page with SITEMAP", true, html("<a href=/1>1</a>"), nil, 1, 1},
		{"robots.txt as a page", true, crawl.Response{Status: 200, Body: []byte("Sitemap: " + link)}, []func(r *crawl.Request){at("http://a.test/robots.txt", 0)}, 0, 1},
		{"robots.txt", false, crawl.Response{Status: 200, Body: []byte("\xef\xbb\xbfSitemap: /s.xml\nSitemap: mailto:x\n")}, []func(r *crawl.Request){at("http://a.test/robots.txt", 1)}, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newParser(t)
			p.job.Sitemaps = tt.sitemaps
			o := p.judge(tt.resp, tt.change...)
			require.Len(t, o.page.Links, tt.links)
			require.Len(t, o.page.Items, tt.items)
		})
	}
}

func TestSeedAsksForRobotsTxt(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	p.job.RobotsSitemaps = true
	for _, resp := range []crawl.Response{html("<p>"), {Status: 404}} {
		o := p.judge(resp, seed)
		require.Equal(t, []string{"http://a.test/robots.txt"}, linkURLs(o), fmt.Sprint(resp.Status))
		require.Equal(t, 1, sitemap.Level(o.page.Links[0].Request.Meta))
		require.Zero(t, o.page.Links[0].Request.Depth)
	}
	require.Empty(t, p.judge(html("<p>")).page.Links, "it is no seed")
}

func TestSitemapSince(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	p.job.SitemapLimits.Since = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	o := p.judge(xmlPage(`<urlset><url><loc>http://a.test/old</loc><lastmod>2025-12-31</lastmod></url>
<url><loc>http://a.test/new</loc><lastmod>2026-01-01</lastmod></url><url><loc>http://a.test/unsaid</loc></url></urlset>`), at("http://a.test/s.xml", 1))
	require.Equal(t, []string{"http://a.test/new", "http://a.test/unsaid"}, linkURLs(o))
}
