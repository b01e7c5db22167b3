package extract_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/extract"
	"orbweaver/core/robots"
	"orbweaver/core/spider"
	"orbweaver/core/weburl"
)

func TestLinkRules(t *testing.T) {
	t.Parallel()
	re := regexp.MustCompile
	tests := []struct {
		name, html string
		rule       spider.LinkRule
		want       []string
	}{
		{"ignored extensions", `<a href=/a.pdf><a href=/b.JPG?x=1><a href=/c.tar.gz><a href=/d.html><a href=/e.gz><a href=/f?g.zip>`, spider.LinkRule{}, []string{
			"http://example.com/d.html", "http://example.com/e.gz", "http://example.com/f?g.zip",
		}},
		{"own extensions", `<a href=/a.pdf><a href=/b.html>`, spider.LinkRule{DenyExtensions: spider.NewExtensions([]string{".HTML"})}, []string{"http://example.com/a.pdf"}},
		{"no extensions", `<a href=/a.pdf>`, spider.LinkRule{DenyExtensions: spider.NewExtensions(nil)}, []string{"http://example.com/a.pdf"}},
		{"other elements", `<a href=/a><IFRAME Src="/f"></iframe><frame src=/g><img src=/h>`, spider.LinkRule{Tags: []string{"iframe", "frame"}, Attrs: []string{"src"}}, []string{
			"http://example.com/f", "http://example.com/g",
		}},
		{"attributes in their order, the first of two", `<a data-x=/2 href=/1 href=/3><area data-x=/4>`, spider.LinkRule{Attrs: []string{"href", "data-x"}}, []string{
			"http://example.com/2", "http://example.com/1", "http://example.com/4",
		}},
		{
			"other elements with nofollow, hidden and base",
			`<base href=/b/><p cite=x rel=nofollow></p><p cite=y hidden></p><div hidden><p cite=z></p></div><p cite=w>`,
			spider.LinkRule{Tags: []string{"p"}, Attrs: []string{"cite"}},
			[]string{"http://example.com/b/w"},
		},
		{"allow and deny", `<a href=/a1><a href=/a2><a href=/b1>`, spider.LinkRule{Allow: []*regexp.Regexp{re("/a"), re("/c")}, Deny: []*regexp.Regexp{re("2$")}}, []string{"http://example.com/a1"}},
		{
			"domains",
			`<a href=//a.example/1><a href=//x.a.example/2><a href=//xa.example/3><a href=//b.a.example/4>`,
			spider.LinkRule{AllowDomains: []string{"a.example"}, DenyDomains: []string{"b.a.example"}},
			[]string{"http://a.example/1", "http://x.a.example/2"},
		},
		{"canonical", `<a href="/x?b=2&a=1#f"><a href="/x?a=1&b=2"><a href="/y">`, spider.LinkRule{Canonicalize: true}, []string{"http://example.com/x?a=1&b=2", "http://example.com/y"}},
		{"fragments", `<a href="#a"><a href="/x#b"><a href="/x#c"><a href="/x#b">`, spider.LinkRule{KeepFragments: true}, []string{pageURL + "#a", "http://example.com/x#b", "http://example.com/x#c"}},
		{"absolute links are new", `<a href="http://b.example/x">`, spider.LinkRule{KeepFragments: true}, []string{"http://b.example/x"}},
		{"repeats", `<a href=/a><a href=/a>`, spider.LinkRule{Repeats: true}, []string{"http://example.com/a", "http://example.com/a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, read("text/html", tt.html).Doc.AppendLinks(nil, tt.rule))
		})
	}
}

// TestRulesInTurn asks one document twice: the usual scan is not disturbed by
// one for other elements, nor the next page by either.
func TestRulesInTurn(t *testing.T) {
	t.Parallel()
	e := extract.New()
	for _, host := range []string{"http://a.example/", "http://b.example/"} {
		doc := e.Page(&crawl.Request{URL: host}, &crawl.Response{URL: host, Body: []byte("<p><a href=x><img src=y>")}).Doc
		for range 2 {
			require.Equal(t, []string{host + "x"}, doc.AppendLinks(nil, spider.LinkRule{}))
			require.Equal(t, []string{host + "y"}, doc.AppendLinks(nil, spider.LinkRule{Tags: []string{"img"}, Attrs: []string{"src"}}))
		}
		e.Release()
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	doc := read("text/html; charset=latin1", "<base href=/b/><a href=x>").Doc
	tests := []struct{ href, want string }{
		{"", "http://example.com/b/"},
		{" x#y ", "http://example.com/b/x#y"},
		{"?q=é", "http://example.com/b/?q=%E9"},
		{"https://o.example", "https://o.example/"},
		{"mailto:x@y", ""},
		{"javascript:0", ""},
		{"http://[", ""},
		{"/" + strings.Repeat("x", 70_000), ""},
	}
	for _, tt := range tests {
		got, ok := doc.Resolve(tt.href)
		require.Equal(t, tt.want != "", ok, "%.50q", tt.href)
		require.Equal(t, tt.want, got, "%.50q", tt.href)
	}
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	tests := []struct {
		html    string
		seconds float64
		want    string
	}{
		{`<meta http-equiv=refresh content="0;url=/r">`, 0, "http://example.com/r"},
		{`<meta content=" .5 ; URL = /r " http-equiv=Refresh>`, 0, ""},
		{`<meta content=" .5 ; URL= '/r' " http-equiv=" Refresh ">`, .5, "http://example.com/r"},
		{`<base href=//b.example/x/><meta http-equiv=refresh content='3; url=r'>`, 3, "http://b.example/x/r"},
		{`<meta http-equiv=refresh content=5><meta http-equiv=refresh content="1;url=/2"><meta http-equiv=refresh content="1;url=/3">`, 1, "http://example.com/2"},
		{`<noscript><meta http-equiv=refresh content="0;url=/1"></NOSCRIPT><meta http-equiv=refresh content="0;url=/2">`, 0, "http://example.com/2"},
		{`<meta http-equiv=refresh content="0;url=mailto:x">`, 0, ""},
		{`<meta http-equiv=refresh content="1e3;url=/r"><meta http-equiv=refresh content="1.2.3;url=/r"><meta http-equiv=refresh content=";url=/r">`, 0, ""},
		{`<meta name=refresh content="0;url=/r"><meta http-equiv=refresh>`, 0, ""},
	}
	for _, tt := range tests {
		seconds, url, ok := read("text/html", tt.html).Doc.Refresh()
		require.Equal(t, tt.want != "", ok, tt.html)
		require.Equal(t, tt.want, url, tt.html)
		require.InDelta(t, tt.seconds, seconds, 0, tt.html)
	}
}

func TestRobotsOfAPage(t *testing.T) {
	t.Parallel()
	index, follow, both := robots.Directives{Noindex: true}, robots.Directives{Nofollow: true}, robots.Directives{Noindex: true, Nofollow: true}
	tests := []struct {
		name, contentType, html string
		headers                 []string
		want                    robots.Directives
	}{
		{"none", "text/html", "<meta name=robots content=index>", nil, robots.Directives{}},
		{"meta", "text/html", `<META NAME="Robots" CONTENT="NoIndex, NoFollow">`, nil, both},
		{"meta after a header's charset", "text/html; charset=utf-8", `<meta content=noindex name=robots>`, nil, index},
		{"meta in another encoding", "text/html", `<meta charset=gbk><meta name=robots content=nofollow>`, nil, follow},
		{"ours, not another's", "text/html", `<meta name=otherbot content=noindex><meta name=orbweaver content=nofollow>`, nil, follow},
		{"reference in the value", "text/html", `<meta name=robots content="no&#105;ndex">`, nil, index},
		{"in a comment", "text/html", `<!--<meta name=robots content=none>-->`, nil, robots.Directives{}},
		{"description", "text/html", `<meta name=description content="none of it: noindex">`, nil, robots.Directives{}},
		{"after many others", "text/html", strings.Repeat(`<meta name=x content="nothing">`, 500) + `<meta name=robots content=none>`, nil, both},
		{"header", "text/html", "", []string{"noarchive", "otherbot: nofollow", "noindex"}, index},
		{"header of what is not HTML", "application/pdf", `<meta name=robots content=nofollow>`, []string{"noindex"}, index},
		{"header and meta", "text/html", `<meta name=robots content=nofollow>`, []string{"orbweaver: noindex"}, both},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := read(tt.contentType, tt.html)
			resp := *p.Response
			for _, v := range tt.headers {
				resp.Headers = append(resp.Headers, crawl.Header{Name: "x-robots-tag", Value: v})
			}
			require.Equal(t, tt.want, extract.New().Page(p.Request, &resp).Doc.Robots("orbweaver"))
		})
	}
}

// FuzzLinks: every rule gives clean URLs that it admits.
func FuzzLinks(f *testing.F) {
	f.Add("<a href='a.pdf'><base href=/b/><a href='?q#f'><img src=//h/x.png?y>", "a img", "href src", true, true)
	f.Add("<meta http-equiv=refresh content='1;url=x'><a href=\"http://[::1]:80/\" rel=nofollow>", "", "", false, true)
	f.Fuzz(func(t *testing.T, page, tags, attrs string, canonical, fragments bool) {
		doc := read("", page).Doc
		rule := spider.LinkRule{Canonicalize: canonical, KeepFragments: fragments, Nofollow: true, Tags: strings.Fields(tags), Attrs: strings.Fields(attrs)}
		if _, url, ok := doc.Refresh(); ok {
			clean, err := weburl.Clean(url)
			require.NoError(t, err)
			require.Equal(t, clean, url)
		}
		seen := map[string]bool{}
		for _, u := range doc.AppendLinks(nil, rule) {
			require.False(t, canonical && seen[u], "%q twice", u)
			seen[u] = true
			if canonical {
				continue
			}
			clean, err := weburl.Clean(u)
			require.NoError(t, err)
			require.Equal(t, clean, u)
			require.True(t, rule.Admits(u))
		}
		_ = doc.Robots("orbweaver")
	})
}
