package extract_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/extract"
	"orbweaver/core/spider"
)

const pageURL = "http://example.com/dir/page.html?x=1"

// read gives the page of a body, with the Content-Type header when that is not "".
func read(contentType, body string) *spider.Page {
	resp := &crawl.Response{URL: pageURL, Status: 200, Body: []byte(body)}
	if contentType != "" {
		resp.Headers = []crawl.Header{{Name: "content-type", Value: contentType}}
	}
	return extract.New().Page(&crawl.Request{URL: pageURL}, resp)
}

func TestLinks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, html string
		want       []string
	}{
		{"relative forms", `<a href=a>1</a><a href="./b">2</a><a href="../c">3</a><a href="/d">4</a><a href="//h.example/e">5</a><a href="?q">6</a>`, []string{
			"http://example.com/dir/a", "http://example.com/dir/b", "http://example.com/c", "http://example.com/d", "http://h.example/e", "http://example.com/dir/page.html?q",
		}},
		{"area too, others not", `<map><area href=/a></map><link href=/l><iframe src=/f></iframe><frame src=/g><img src=/i><form action=/o>`, []string{"http://example.com/a"}},
		{"each once", `<a href=a></a><a href="a"></a><a href="a#x"></a><a href=" a "></a><a href=b></a>`, []string{"http://example.com/dir/a", "http://example.com/dir/b"}},
		{"fragment alone is the page itself", `<a href="#top">t</a><a href="">e</a><a href="#">f</a>`, nil},
		{"fragment cut", `<a href="/p#!x">t</a>`, []string{"http://example.com/p"}},
		{"other schemes", `<a href="mailto:a@b.c"><a href="JavaScript:void(0)"><a href="data:text/html,x"><a href="tel:1"><a href="ftp://f/"><a href="java` + "\n" + `script:1"><a href="about:blank">`, nil},
		{"http in any case", `<a href="HTTP://UP.example/X">`, []string{"http://up.example/X"}},
		{"colon that is no scheme", `<a href="./a:b"><a href="/x:y"><a href="?a:b">`, []string{"http://example.com/dir/a:b", "http://example.com/x:y", "http://example.com/dir/page.html?a:b"}},
		{"nofollow left out", `<a rel="external NOFOLLOW" href=/n>x</a><a href=/y rel=nofollowed>y</a>`, []string{"http://example.com/y"}},
		{"followed where one of two links allows it", `<a rel=nofollow href=/n>x</a><a href=/n>y</a>`, []string{"http://example.com/n"}},
		{"base", `<base href="http://b.example/x/"><a href=a><a href="#f">`, []string{"http://b.example/x/a", "http://b.example/x/"}},
		{"base is relative and the first counts", `<base href="/o/"><base href="/p/"><a href=a>`, []string{"http://example.com/o/a"}},
		{"base that is no http URL is ignored", `<base href="data:x"><a href=a>`, []string{"http://example.com/dir/a"}},
		{"base after the links counts too", `<a href=a><base href="/o/">`, []string{"http://example.com/o/a"}},
		{"noscript is markup", `<noscript><a href=/n></noscript>`, []string{"http://example.com/n"}},
		{"hidden places", `<!--<a href=/1>--><script>"<a href=/2>"</script><style><a href=/3></style><textarea><a href=/4></textarea>`, nil},
		{"references", `<a href="/a?x=1&amp;y=2"><a href="/b?x=1&y=2"><a href="/c?a&copy=2"><a href="/d?q=&quot;">`, []string{
			"http://example.com/a?x=1&y=2", "http://example.com/b?x=1&y=2", "http://example.com/c?a&copy=2", "http://example.com/d?q=%22",
		}},
		{"not a URL", `<a href="http://[bad/"><a href="http://a:99999/"><a href="http:///">`, nil},
		{"too long", `<a href="/` + strings.Repeat("x", 70_000) + `"><a href=/ok>`, []string{"http://example.com/ok"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := read("text/html", tt.html).Doc.AppendLinks(nil, spider.LinkRule{})
			require.Equal(t, tt.want, got)
		})
	}
}

func TestLinksWithNofollow(t *testing.T) {
	t.Parallel()
	got := read("text/html", `<a rel=nofollow href=/n>x</a>`).Doc.AppendLinks([]string{"before"}, spider.LinkRule{Nofollow: true})
	require.Equal(t, []string{"before", "http://example.com/n"}, got)
}

func TestTenThousandLinks(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 10_000 {
		b.WriteString("<a href='/p/")
		b.WriteString(strings.Repeat("x", i%7))
		b.WriteByte(byte('0' + i/1000))
		b.WriteString(strings.Repeat("y", i%1000))
		b.WriteString("'>")
	}
	got := read("text/html", b.String()).Doc.AppendLinks(nil, spider.LinkRule{})
	want := map[string]bool{}
	for _, u := range got {
		want[u] = true
	}
	require.Len(t, want, len(got), "a link came twice")
	require.Len(t, got, 10_000)
}

func TestTitle(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, html, want string }{
		{"plain", "<title>Item 1</title>", "Item 1"},
		{"white space", "<title>\n  a\t b\r\n c  </title>", "a b c"},
		{"no-break space stays", "<title> a\u00a0b&nbsp;c </title>", "a\u00a0b\u00a0c"},
		{"references and tags", "<title>a &lt;b&gt; &amp;amp; <i>c</i></title>", "a <b> &amp; <i>c</i>"},
		{"first counts", "<title>a</title><title>b</title>", "a"},
		{"none", "<p>x", ""},
		{"never closed", "<title>a <p>b", "a <p>b"},
		{"not UTF-8 though it says so", "<meta charset=utf-8><title>a\xff\xfeb\xe2\x82</title>", "a\ufffd\ufffdb\ufffd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, read("text/html", tt.html).Doc.Title())
		})
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	const utf8Page, latinPage = "<title>é ü</title>", "<title>\xe9 \xfc</title>"
	pad := strings.Repeat(" ", 5000)
	tests := []struct{ name, contentType, html, want string }{
		{"declared by header", "text/html; charset=ISO-8859-1", latinPage, "é ü"},
		{"header in quotes", `text/html; Charset="latin1"`, latinPage, "é ü"},
		{"header with blanks", `text/html; charset = latin1 ; x=y`, latinPage, "é ü"},
		{"header without semicolon", `text/html charset=latin1`, latinPage, "é ü"},
		{"charset inside another parameter is none", "text/html; x=charset=gbk", utf8Page, "é ü"},
		{"header utf-8", "text/html; charset=utf-8", utf8Page, "é ü"},
		{"unknown in header, then meta", "text/html; charset=nonsense", "<meta charset=latin1>" + latinPage, "é ü"},
		{"header before meta", "text/html; charset=utf-8", "<meta charset=gbk>" + utf8Page, "é ü"},
		{"meta charset", "text/html", "<meta charset='windows-1252'>" + latinPage, "é ü"},
		{"meta http-equiv", "text/html", `<meta content="text/html; charset=latin1" http-equiv=Content-Type>` + latinPage, "é ü"},
		{"meta of something else counts too", "text/html", "<meta name=d content='charset=gbk'><title>\xc4\xe3</title>", "你"},
		{"unknown meta, then a guess", "text/html", `<meta charset=nonsense><meta charset=utf-8>` + latinPage, "é ü"},
		{"known and not readable, then meta", "text/html; charset=utf-7", "<meta charset=gbk><title>\xc4\xe3</title>", "你"},
		{"meta in a comment", "text/html", `<!--<meta charset=gbk>-->` + utf8Page, "é ü"},
		{"meta after 4096 bytes", "text/html", pad + `<meta charset=gbk>` + utf8Page, "é ü"},
		{"meta in the body", "text/html", `<body><meta charset=gbk>` + utf8Page, "é ü"},
		{"meta says utf-16 in ASCII", "text/html", `<meta charset=utf-16>` + utf8Page, "é ü"},
		{"XML declaration", "application/xhtml+xml", `<?xml version="1.0" encoding="iso-8859-1"?>` + latinPage, "é ü"},
		{"undeclared UTF-8", "text/html", utf8Page, "é ü"},
		{"undeclared and not UTF-8", "text/html", latinPage, "é ü"},
		{"UTF-8 mark beats all", "text/html; charset=latin1", "\xef\xbb\xbf<meta charset=gbk>" + utf8Page, "é ü"},
		{"UTF-32 by mark", "text/html", "\xff\xfe\x00\x00<\x00\x00\x00t\x00\x00\x00i\x00\x00\x00t\x00\x00\x00l\x00\x00\x00e\x00\x00\x00>\x00\x00\x00\xe9\x00\x00\x00", "é"},
		{"UTF-16 little endian by mark", "text/html", "\xff\xfe" + wide("<title>é ü</title>", false), "é ü"},
		{"UTF-16 big endian by mark", "text/html; charset=utf-8", "\xfe\xff" + wide("<title>é ü</title>", true), "é ü"},
		{"Chinese", "text/html; charset=gb2312", "<title>\xc4\xe3\xba\xc3</title>", "你好"},
		{"Japanese", "text/html", "<meta charset=shift_jis><title>\x93\xfa\x96\x7b</title>", "日本"},
		{"undecodable bytes", "text/html; charset=gbk", "<title>a\xff b</title>", "a\ufffd b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, read(tt.contentType, tt.html).Doc.Title())
		})
	}
}

func wide(s string, big bool) string {
	var b bytes.Buffer
	for _, r := range s {
		if big {
			b.Write([]byte{byte(r >> 8), byte(r)})
		} else {
			b.Write([]byte{byte(r), byte(r >> 8)})
		}
	}
	return b.String()
}

func TestQueriesKeepThePagesEncoding(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, contentType, html, want string }{
		{"latin", "text/html; charset=latin1", "<a href='/\xe9?q=\xe9&amp;r=&#8364;&#x6f22;'>", "http://example.com/%C3%A9?q=%E9&r=%80%26%2328450%3B"},
		{"utf-8", "text/html; charset=utf-8", "<a href='/é?q=é'>", "http://example.com/%C3%A9?q=%C3%A9"},
		{"gbk", "text/html; charset=gbk", "<a href='/\xc4\xe3?q=\xba\xc3'>", "http://example.com/%E4%BD%A0?q=%BA%C3"},
		{"shift_jis", "text/html; charset=shift_jis", "<a href='?q=\x96\x7b\x83e'>", "http://example.com/dir/page.html?q=%96%7B%83e"},
		{"undeclared and ASCII is windows-1252", "text/html", "<a href='/&eacute;?q=&eacute;'>", "http://example.com/%C3%A9?q=%E9"},
		{"utf-16 uses utf-8", "text/html", "\xff\xfe" + wide("<a href='/é?q=é'>", false), "http://example.com/%C3%A9?q=%C3%A9"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, []string{tt.want}, read(tt.contentType, tt.html).Doc.AppendLinks(nil, spider.LinkRule{}))
		})
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	const page = "<html><title>t</title><a href=/x>"
	tests := []struct {
		name, contentType, body string
		want                    bool
	}{
		{"html", "text/html", page, true},
		{"html with parameters", "Text/HTML ; charset=x", page, true},
		{"xhtml", "application/xhtml+xml", page, true},
		{"image", "image/png", page, false},
		{"json", "application/json", page, false},
		{"pdf", "application/pdf", page, false},
		{"plain text", "text/plain", page, false},
		{"xml", "text/xml", page, false},
		{"no header, html", "", " \n<!DOCTYPE HTML >" + page, true},
		{"no header, fragment", "", "<P>x", true},
		{"no header, comment", "", "<!-- x -->" + page, true},
		{"no header, xhtml", "", "<?xml version='1.0'?><HTML>", true},
		{"no header, html behind a mark", "", "\xef\xbb\xbf<html>", true},
		{"no header, UTF-16", "", "\xff\xfe" + wide(page, false), true},
		{"no header, image", "", "\x89PNG\r\n\x1a\n<html>", false},
		{"no header, json", "", `{"a": "<html>"}`, false},
		{"no header, rss", "", "<?xml version='1.0'?><rss>", false},
		{"no header, pdf", "", "%PDF-1.7", false},
		{"no header, other tag, but the name of a page", "", "<pre>x", true},
		{"no header, nothing", "", "", false},
		{"header without a type", "charset=utf-8", page, true},
		{"unknown type", "application/unknown", page, true},
		{"mobile xhtml", "application/vnd.wap.xhtml+xml", page, true},
		{"xhtml sent as xml", "application/xml", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">`, true},
		{"rss with xhtml in it", "text/xml", `<rss><x xmlns="http://www.w3.org/1999/xhtml"><html>`, false},
		{"bytes, html", "application/octet-stream", page, true},
		{"bytes, other", "application/octet-stream", "words <a href=x>", false},
		{"pdf sent as html", "text/html", "%PDF-1.7\n" + page, false},
		{"picture sent as html", "text/html; charset=utf-8", "\x89PNG\r\n\x1a\n" + page, false},
		{"archive sent as html", "text/html", "PK\x03\x04" + page, false},
		{"film sent as html", "text/html", "\x00\x00\x00\x18ftypmp42" + page, false},
		{"sound sent as html", "text/html", "RIFF\x24\x00\x00\x00WAVEfmt ", false},
		{"words like a signature", "text/html", "RIFF is a word, GIF too", true},
		{"html that begins with words", "text/html", "PK <a href=x> and more", true},
		{"empty html", "text/html", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			doc := read(tt.contentType, tt.body).Doc
			require.Equal(t, tt.want, doc.HTML())
			if !tt.want {
				require.Empty(t, doc.Title())
				require.Empty(t, doc.AppendLinks(nil, spider.LinkRule{}))
			}
		})
	}
}

func TestKindByName(t *testing.T) {
	t.Parallel()
	tests := []struct {
		url, contentType, disposition, body string
		want                                bool
	}{
		{"http://a.example/x.html", "", "", "words", true},
		{"http://a.example/x.HTM?y=z.png", "", "", "words", true},
		{"http://a.example/x.html", "", "", "\x00\x01\x02", false},
		{"http://a.example/x.html", "", "", "", false},
		{"http://a.example/x.html", "text/plain", "", "words", false},
		{"http://a.example/x", "", "", "words", false},
		{"http://a.example/x?y.html", "", "", "words", false},
		{"http://a.example/x", "", "", "<pre>x", false},
		{"http://a.example/x", "application/octet-stream", "attachment; filename=x.html", "<html>", false},
		{"http://a.example/x", "application/octet-stream", "inline", "<html>", true},
	}
	for _, tt := range tests {
		resp := &crawl.Response{URL: tt.url, Body: []byte(tt.body), Headers: []crawl.Header{
			{Name: "Content-Type", Value: tt.contentType}, {Name: "Content-Disposition", Value: tt.disposition},
		}}
		require.Equal(t, tt.want, extract.New().Page(&crawl.Request{URL: tt.url}, resp).Doc.HTML(), "%+v", tt)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "<p>é", string(read("text/html; charset=latin1", "<p>\xe9").Doc.Text()))
	require.Equal(t, "[é]", string(read("application/json", "[é]").Doc.Text()))
	require.Equal(t, "é", string(read("text/plain", "\xe9").Doc.Text()))
	require.Equal(t, "x", string(read("text/plain", "\xef\xbb\xbfx").Doc.Text()))
	require.Equal(t, "<p>\ufffd", string(read("text/html; charset=utf-8", "<p>\xe9").Doc.Text()))
}

func TestExtractorIsUsedAgain(t *testing.T) {
	t.Parallel()
	e := extract.New()
	var out spider.Result
	for _, tt := range []struct{ body, title, link string }{
		{"<title>a&amp;b</title><a href='/1?a&amp;b'>", "a&b", "http://example.com/1?a&b"},
		{"<title>c</title><base href='http://b.example/'><a href='2'>", "c", "http://b.example/2"},
		{"<meta charset=latin1><title>\xe9</title><a href='3'>", "é", "http://example.com/dir/3"},
		{"<title>d</title><a href='/1?a&amp;b'>", "d", "http://example.com/1?a&b"},
	} {
		out.Reset()
		p := e.Page(&crawl.Request{URL: pageURL}, &crawl.Response{
			URL: pageURL, Status: 200, Body: []byte(tt.body), Headers: []crawl.Header{{Name: "Content-Type", Value: "text/html"}},
		})
		require.NoError(t, spider.Default{}.Parse(p, &out))
		require.Equal(t, []string{tt.link}, out.Links)
		require.Equal(t, tt.title, p.Doc.Title())
		require.Len(t, out.Items, 1)
		e.Release()
		require.Nil(t, p.Response)
	}
}

func TestPageOfAStrangeURL(t *testing.T) {
	t.Parallel()
	p := extract.New().Page(&crawl.Request{URL: "nonsense"}, &crawl.Response{Status: 200, Body: []byte("<title>t</title><a href=/x>")})
	require.Equal(t, "t", p.Doc.Title())
	require.Empty(t, p.Doc.AppendLinks(nil, spider.LinkRule{}))
}

func FuzzPage(f *testing.F) {
	f.Add("text/html", "<meta charset=gbk><title>\xc4</title><a href='?\xc4'><base href=x>")
	f.Add("", "\xff\xfe<\x00a\x00")
	f.Add("text/html; charset=iso-2022-jp", "\x1b$B<a href=\"?\x1b$BFg\">")
	f.Fuzz(func(t *testing.T, contentType, body string) {
		doc := read(contentType, body).Doc
		_ = doc.Text()
		require.NotContains(t, doc.Title(), "\n")
		for _, u := range doc.AppendLinks(nil, spider.LinkRule{Nofollow: true}) {
			require.True(t, strings.HasPrefix(u, "http://") || strings.HasPrefix(u, "https://"), "%q", u)
			require.NotContains(t, u, "#")
		}
	})
}
