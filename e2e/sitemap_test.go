package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
	"orbweaver/internal/webtest"
)

// sitemapSite is a site without a link: every page but the root is named only by
// sitemaps, those by an index, and that by robots.txt.
func sitemapSite(t *testing.T, pages int) *webtest.Site {
	t.Helper()
	gz := func(xml string) *webtest.Answer {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write([]byte(xml))
		if err == nil {
			err = z.Close()
		}
		if err != nil {
			t.Error(err)
		}
		return &webtest.Answer{Header: http.Header{"Content-Type": {"application/gzip"}}, Body: b.String()}
	}
	urls := func(v webtest.Visit, from, to int) string {
		var b strings.Builder
		b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "<url><loc>\n%s\n</loc><lastmod>2026-11-%02d</lastmod></url>", v.Site.PageURL(v.Host, i), 1+i%30)
		}
		return b.String() + "</urlset>"
	}
	return webtest.New(t, webtest.Config{
		Pages:  pages,
		Robots: "User-agent: *\nDisallow: /private/\nSitemap: /sitemaps/index.xml.gz\n",
		Script: func(v webtest.Visit) *webtest.Answer {
			switch {
			case v.Page >= 0:
				return &webtest.Answer{Body: fmt.Sprintf("<title>Page %d</title><p>no links", v.Page)}
			case v.Path == "/sitemaps/index.xml.gz":
				return gz(fmt.Sprintf(`<sitemapindex><sitemap><loc>%s</loc></sitemap><sitemap><loc>%s</loc></sitemap></sitemapindex>`,
					v.Site.URL(v.Host, "/sitemaps/0.xml.gz"), v.Site.URL(v.Host, "/sitemaps/1.xml")))
			case v.Path == "/sitemaps/0.xml.gz":
				return gz(urls(v, 0, pages/2))
			case v.Path == "/sitemaps/1.xml":
				return &webtest.Answer{Header: http.Header{"Content-Type": {"application/xml"}}, Body: urls(v, pages/2, pages)}
			default:
				return nil
			}
		},
	})
}

func TestSiteThatOnlyItsSitemapKnows(t *testing.T) {
	const pages = 3000
	site := sitemapSite(t, pages)
	for _, tt := range []struct {
		name    string
		seeds   []string
		sitemap string
	}{
		{"robots", site.Roots(0, 1), "robots"},
		{"setting", nil, site.URL(0, "/sitemaps/index.xml.gz")},
		{"seed", []string{site.URL(0, "/sitemaps/index.xml.gz")}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			site.Forget()
			dir := t.TempDir()
			file := filepath.Join(dir, "items.jsonl")
			n := run(t, crawl(tt.seeds, unthrottled(), embedded(dir), []string{"-o", file, "-s", "SITEMAP=" + tt.sitemap})...).finish()
			requireExact(t, site, lines(t, readFile(t, file)))
			require.Zero(t, site.Refetched())
			require.Contains(t, n.err.String(), "sitemap/url_count")
		})
	}
}

func TestSitemapSince(t *testing.T) {
	site := sitemapSite(t, 60)
	n := run(t, crawl(nil, unthrottled(), embedded(t.TempDir()),
		[]string{"-o", "-", "-s", "SITEMAP=" + site.URL(0, "/sitemaps/index.xml.gz"), "-s", "SITEMAP_SINCE=2026-11-21"})...).finish()
	require.Len(t, lines(t, n.out.String()), 20)
}

// The largest sitemaps that the protocol allows are let in whole.
func TestFullSitemaps(t *testing.T) {
	site := sitemapSite(t, 100_000)
	n := run(t, crawl(nil, unthrottled(), embedded(t.TempDir()),
		[]string{"--max-pages", "20", "-s", "SITEMAP=" + site.URL(0, "/sitemaps/0.xml.gz") + "," + site.URL(0, "/sitemaps/1.xml")})...).finish()
	require.Regexp(t, `sitemap/url_count\D+100000`, n.err.String())
	require.NotContains(t, n.err.String(), "sitemap/invalid_count")
}

// A service reads sitemaps too: the given ones when it makes the crawl, those of
// robots.txt when a seed comes.
func TestServiceReadsSitemaps(t *testing.T) {
	for _, robots := range []bool{false, true} {
		site := sitemapSite(t, 40)
		server := redistest.New(t)
		rdb := server.Client()
		setting := site.URL(0, "/sitemaps/index.xml.gz")
		if robots {
			setting = "robots"
		}
		n := start(t, service([]string{"--redis", server.URL(), "--name", "shop", "--admin", "off", "-s", "SITEMAP=" + setting})...)
		n.say("node is up")
		if robots {
			require.NoError(t, rdb.RPush(within(t), "shop:start_urls", site.PageURL(0, 0)).Err())
		}
		requireExact(t, site, stored(t, rdb, "shop", 40))
		n.signal(syscall.SIGTERM)
		require.Equal(t, 130, n.wait())
	}
}
