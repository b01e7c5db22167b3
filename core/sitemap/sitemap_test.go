package sitemap_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"orbweaver/core/sitemap"
)

// locs reads a document and gives the locs of its entries.
func locs(t *testing.T, doc string, limits sitemap.Limits) ([]string, sitemap.Kind, error) {
	t.Helper()
	var out []string
	// A byte at a time: nothing may depend on where a read ends.
	kind, err := sitemap.Parse(iotest.OneByteReader(strings.NewReader(doc)), limits, func(e *sitemap.Entry) bool {
		out = append(out, e.Loc())
		return true
	})
	var whole []string
	again, errAgain := sitemap.Parse(strings.NewReader(doc), limits, func(e *sitemap.Entry) bool {
		whole = append(whole, e.Loc())
		return true
	})
	require.Equal(t, out, whole)
	require.Equal(t, kind, again)
	require.Equal(t, err, errAgain)
	return out, kind, err
}

// What libxml2 makes of text that is not well-formed, told to recover.
func TestText(t *testing.T) {
	t.Parallel()
	const a = "http://a/"
	for _, tt := range []struct{ name, loc, want string }{
		{"plain", a, a},
		{"white space", "\n\t http://a/ \r\n", a},
		{"CDATA", "<![CDATA[http://a/?x&y]]>", "http://a/?x&y"},
		{"CDATA among text", "http://<![CDATA[a]]>/", a},
		{"open CDATA", "<![CDATA[http://a/", ""},
		{"references", "http://a/?x&amp;y&lt;&gt;&quot;&apos;&#65;&#x42;", "http://a/?x&y<>\"'AB"},
		{"forbidden references", "http://a/&#0;&#x1F;&#xD800;&#xFFFE;&#x110000;&#99999999999;", a},
		{"broken references", "http://a/&#;&#x;&;& &1", "http://a/; 1"},
		{"undeclared entity", "http://a/&nbsp;x", "http://a/x"},
		{"no semicolon", "http://a/?x=1&y=2", "http://a/?x=1=2"},
		{"child", "http://a/<b>x</b>y", a},
		{"processing instruction", "http://a/<?x?>y", "http://a/y"},
		{"comment", "http://a/<!-- <loc> & -->y", "http://a/y"},
		{"lone <", "http://a/< 1", "http://a/ 1"},
		{"controls", "http://a/\x01\x1f\bx", "http://a/x"},
		{"line ends", "a\r\nb\rc\nd", "a\nb\nc\nd"},
		{"Latin-1 byte in UTF-8", "http://a/\xe9é", "http://a/éé"},
		{"namespaces", "http://a/", a},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, kind, err := locs(t, "<urlset><url><loc>"+tt.loc+"</loc></url></urlset>", sitemap.Limits{})
			require.NoError(t, err)
			require.Equal(t, sitemap.URLSet, kind)
			if tt.name == "open CDATA" {
				require.Empty(t, got)
				return
			}
			require.Equal(t, []string{tt.want}, got)
		})
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, doc string
		kind      sitemap.Kind
		want      []string
	}{
		{"prefixes", `<s:urlset xmlns:s="u"><s:url><s:loc>1</s:loc></s:url></s:urlset>`, "urlset", []string{"1"}},
		{"undeclared prefix", `<urlset><url><loc>1</loc><image:loc>2</image:loc></url></urlset>`, "urlset", []string{"1"}},
		{"declared prefix", `<urlset xmlns:image="i"><url><loc>1</loc><image:loc>2</image:loc></url></urlset>`, "urlset", []string{"2"}},
		{"prefix out of scope", `<urlset><x xmlns:i="i"/><url><loc>1</loc><i:loc>2</i:loc></url></urlset>`, "urlset", []string{"1"}},
		{"images", `<urlset xmlns:image="i"><url><image:image><image:loc>2</image:loc></image:image><loc>1</loc></url></urlset>`, "urlset", []string{"1"}},
		{"blank lines first", "\n\n<?xml version='1.0' encoding='bogus'?>\n<urlset><url><loc>1</loc></url></urlset>", "urlset", []string{"1"}},
		{"empty root", "<urlset/>", "urlset", nil},
		{"empty elements", "<urlset><url/><url><loc/></url></urlset>", "urlset", []string{""}},
		{"upper case is other names", "<urlset><URL><loc>1</loc></URL></urlset>", "urlset", nil},
		{"any depth", "<urlset><x><url><loc>1</loc></url></x></urlset>", "urlset", []string{"1"}},
		{"cut off", "<urlset><url><loc>1</loc></url><url><loc>2", "urlset", []string{"1"}},
		{"wrong end tags", "<urlset><url><loc>1</x></y><url><loc>2</loc></url>", "urlset", []string{"1", "2"}},
		{"end tag without end", "<urlset><url><loc>1</loc</url></urlset>", "urlset", []string{"1"}},
		{"end tag with attributes", "<urlset><url><loc>1</loc x='1'></url></urlset>", "urlset", []string{"1"}},
		{"attributes", `<urlset><url a = "1>" b='<' ><loc>1</loc></url><url c="&amp;&x;&#65;"><loc>2</loc></url></urlset>`, "urlset", []string{"2"}},
		{"attribute without value", "<urlset x><url y><loc>1</loc></url></urlset>", "urlset", []string{"1"}},
		{"unquoted attribute", "<urlset><url x=1><loc>1</loc></url><url><loc>2</loc></url></urlset>", "urlset", []string{"2"}},
		{"unquoted attribute of the root", "<urlset x=1><url><loc>1</loc></url></urlset>", "urlset", []string{"1"}},
		{"unquoted attribute of a loc", "<urlset><url><loc x=1>1</loc></url><url><loc>2</loc></url></urlset>", "urlset", []string{"", "2"}},
		{"nested entries", "<urlset><url><loc>1</loc><url><loc>2</loc></url></url></urlset>", "urlset", []string{"2"}},
		{"doctype", `<!DOCTYPE urlset SYSTEM "x>" [<!-- ]> --><!ENTITY a "]>"><?p ]>?><!ELEMENT b ANY>] ><urlset><url><loc>1&a;2</loc></url></urlset>`, "urlset", []string{"1"}},
		{"entity bomb", `<!DOCTYPE u [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]><urlset><url><loc>http://a/&c;</loc></url></urlset>`, "urlset", []string{"http://a/"}},
		{"other root", "<rss><channel><image><url>u</url></image></channel></rss>", "rss", nil},
		{"page", "<!DOCTYPE html><html><head><link href=/x><title>t</title></head><body>x", "html", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, kind, err := locs(t, tt.doc, sitemap.Limits{})
			require.NoError(t, err)
			require.Equal(t, tt.kind, kind)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestNoDocument(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{
		"", " ", "text", "<", "<!DOCTYPE", "<!-- ", "<?xml", "</urlset>", "<1>", "\x00<urlset/>",
		"<?xml version='1.0' encoding='x-none'?><urlset/>", "&lt;urlset/>",
	} {
		got, kind, err := locs(t, doc, sitemap.Limits{})
		require.ErrorIs(t, err, sitemap.ErrNoXML, doc)
		require.Empty(t, kind, doc)
		require.Empty(t, got, doc)
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	utf16 := func(order string, doc string) string {
		var b strings.Builder
		for _, r := range doc {
			hi, lo := byte(r>>8), byte(r) //nolint:gosec // below U+10000
			if order == "le" {
				hi, lo = lo, hi
			}
			b.Write([]byte{hi, lo})
		}
		return b.String()
	}
	const body = "<urlset><url><loc>http://a/é</loc></url></urlset>"
	const latin = "<urlset><url><loc>http://a/\xe9</loc></url></urlset>"
	for _, doc := range []string{
		"\xef\xbb\xbf" + body,
		utf16("be", "\ufeff"+body), utf16("le", "\ufeff"+body),
		utf16("be", "<?xml version='1.0'?>"+body), utf16("le", "<?xml version='1.0'?>"+body),
		"<?xml version='1.0' encoding='UTF8'?>" + body,
		"<?xml version='1.0' encoding=\"utf-16\"?>" + body, // it is not
		"<?xml version='1.0' encoding = 'ISO-8859-1' ?>" + latin,
		"<?xml version='1.0' encoding='windows-1252'?>" + latin,
		"<?xml version='1.0' encoding='latin1'?>" + latin,
		"<?xml version='1.0' encoding='koi8-r'?>" + strings.ReplaceAll(latin, "\xe9", "&#233;"),
	} {
		got, _, err := locs(t, doc, sitemap.Limits{})
		require.NoError(t, err)
		require.Equal(t, []string{"http://a/é"}, got, "%q", doc)
	}
}

func TestEntry(t *testing.T) {
	t.Parallel()
	const doc = `<urlset xmlns:xhtml="x"><url><loc>1</loc><lastmod>2024-05-01T10:00+02:00</lastmod><x>a</x><x>b</x>
<xhtml:link href="http://a/?b&amp;c"/><xhtml:link/><xhtml:link href=''/><link href='2'>text</link></url></urlset>`
	n := 0
	_, err := sitemap.Parse(strings.NewReader(doc), sitemap.Limits{}, func(e *sitemap.Entry) bool {
		n++
		require.Equal(t, []sitemap.Field{{"loc", "1"}, {"lastmod", "2024-05-01T10:00+02:00"}, {"x", "b"}}, e.Fields)
		require.Equal(t, []string{"http://a/?b&c", "2"}, e.Alternates)
		at, ok := e.LastMod()
		require.True(t, ok)
		require.Equal(t, "2024-05-01T08:00:00Z", at.UTC().Format(time.RFC3339))
		_, ok = e.Field("none")
		require.False(t, ok)
		return true
	})
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2024": "2024-01-01T00:00:00Z", "2024-05": "2024-05-01T00:00:00Z", " 2024-05-06 ": "2024-05-06T00:00:00Z",
		"2024-05-06T07:08Z": "2024-05-06T07:08:00Z", "2024-05-06T07:08:09+01:00": "2024-05-06T06:08:09Z",
		"2024-05-06T07:08:09.123-02:00": "2024-05-06T09:08:09Z", "2024-05-06T07:08:09": "2024-05-06T07:08:09Z",
		"2024-05-06T07:08:09+0100": "2024-05-06T06:08:09Z", "2024-05-06 07:08:09": "2024-05-06T07:08:09Z",
	} {
		got, ok := sitemap.ParseTime(text)
		require.True(t, ok, text)
		require.Equal(t, want, got.UTC().Format(time.RFC3339), text)
	}
	for _, text := range []string{"", "yesterday", "24-05-06", "2024-13-01", "06.05.2024"} {
		_, ok := sitemap.ParseTime(text)
		require.False(t, ok, text)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	entries := func(n int) string {
		var b strings.Builder
		b.WriteString("<urlset>")
		for i := range n {
			fmt.Fprintf(&b, "<url><loc>http://a/%d</loc></url>", i)
		}
		return b.String() + "</urlset>"
	}
	got, kind, err := locs(t, entries(100), sitemap.Limits{URLs: 10})
	require.ErrorIs(t, err, sitemap.ErrTooBig)
	require.Equal(t, sitemap.URLSet, kind)
	require.Len(t, got, 10)
	got, _, err = locs(t, entries(10), sitemap.Limits{URLs: 10})
	require.NoError(t, err)
	require.Len(t, got, 10)

	doc := entries(100)
	got, _, err = locs(t, doc, sitemap.Limits{Bytes: int64(len(doc)) / 2})
	require.ErrorIs(t, err, sitemap.ErrTooBig)
	require.InDelta(t, 50, len(got), 5)
	got, _, err = locs(t, doc, sitemap.Limits{Bytes: int64(len(doc))})
	require.NoError(t, err)
	require.Len(t, got, 100)

	_, _, err = locs(t, "<urlset>"+strings.Repeat("<x>", 300), sitemap.Limits{})
	require.ErrorIs(t, err, sitemap.ErrTooDeep)
	got, _, err = locs(t, "<urlset>"+strings.Repeat("<x>", 200)+"<url><loc>1</loc></url>", sitemap.Limits{})
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, got)

	// An entry holds no more than it may, and what is too long is no value.
	huge := strings.Repeat("x", 17<<10)
	got, _, err = locs(t, "<urlset><url><loc>"+huge+"</loc></url><url><loc>2</loc></url></urlset>", sitemap.Limits{})
	require.NoError(t, err)
	require.Equal(t, []string{"", "2"}, got)
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "<f%d>x</f%d><link href='h'/>", i, i)
	}
	n, err := sitemap.Parse(strings.NewReader("<urlset><url><loc>1</loc>"+many.String()+"</url></urlset>"), sitemap.Limits{}, func(e *sitemap.Entry) bool {
		require.LessOrEqual(t, len(e.Fields), 64)
		require.Len(t, e.Alternates, 1000)
		return true
	})
	require.NoError(t, err)
	require.Equal(t, sitemap.URLSet, n)
}

func TestYieldStops(t *testing.T) {
	t.Parallel()
	n := 0
	kind, err := sitemap.Parse(strings.NewReader("<urlset><url><loc>1</loc></url><url><loc>2</loc></url></urlset>"), sitemap.Limits{}, func(*sitemap.Entry) bool {
		n++
		return false
	})
	require.NoError(t, err)
	require.Equal(t, sitemap.URLSet, kind)
	require.Equal(t, 1, n)
}

func TestFailingReaderHasEnded(t *testing.T) {
	t.Parallel()
	r := io.MultiReader(strings.NewReader("<urlset><url><loc>1</loc></url>"), iotest.ErrReader(errors.New("gone")))
	n := 0
	_, err := sitemap.Parse(r, sitemap.Limits{}, func(*sitemap.Entry) bool { n++; return true })
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestOpen(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := z.Write([]byte("<urlset/>"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	const xml = "<?xml version='1.0'?><urlset/>"
	for _, tt := range []struct {
		url, contentType, body string
		ok, gzipped            bool
	}{
		{"http://a/s", "text/XML; charset=utf-8", "x", true, false},
		{"http://a/s", "application/rss+xml", "x", true, false},
		{"http://a/s", "text/html", xml, false, false},
		{"http://a/s", "application/json", xml, false, false},
		{"http://a/s", "", xml, true, false},
		{"http://a/s", "application/octet-stream", xml, true, false},
		{"http://a/s.txt", "", xml, false, false},
		{"http://a/s", "", "\x01" + xml, false, false},
		{"http://a/s", "", "<html>" + xml, false, false},
		{"http://a/s.xml", "text/html", "x", true, false},
		{"http://a/s.xml?x", "", "x", false, false},
		{"http://a/s.xml.gz", "text/plain", "x", true, false},
		{"http://a/s", "", zipped.String(), true, true},
		{"http://a/s.xml", "", zipped.String(), true, false},
		{"http://a/s", "image/png", "\x89PNG", false, false},
		{"http://a/s", "", "", false, false},
	} {
		r, gzipped, ok := sitemap.Open(tt.url, tt.contentType, []byte(tt.body))
		require.Equal(t, tt.ok, ok, "%v", tt)
		require.Equal(t, tt.gzipped, gzipped, "%v", tt)
		if gzipped {
			kind, err := sitemap.Parse(r, sitemap.Limits{}, func(*sitemap.Entry) bool { return true })
			require.NoError(t, err)
			require.Equal(t, sitemap.URLSet, kind)
		}
	}
}

// A body that unpacks to more than a sitemap may be costs no more than its limit.
func TestGzipBomb(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	z, err := gzip.NewWriterLevel(&zipped, gzip.BestSpeed)
	require.NoError(t, err)
	_, err = z.Write([]byte("<urlset><url><loc>1</loc></url><x>"))
	require.NoError(t, err)
	blanks := bytes.Repeat([]byte{' '}, 1<<20)
	for range 8 {
		_, err = z.Write(blanks)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	r, _, ok := sitemap.Open("http://a/s.xml.gz", "", zipped.Bytes())
	require.True(t, ok)
	_, err = sitemap.Parse(r, sitemap.Limits{Bytes: 1 << 20}, func(*sitemap.Entry) bool { return true })
	require.ErrorIs(t, err, sitemap.ErrTooBig)
}

func TestRobotsSitemaps(t *testing.T) {
	t.Parallel()
	const text = "User-agent: *\n  SITEMAP : http://no/\n\tsiteMAP:http://a/1 # 2\rSitemap: rel\nSitemap:\nSitemap: HTTP://a/é\n#Sitemap: http://no/"
	require.Equal(t, []string{"http://a/1 # 2", "http://h/d/rel", "http://h/d/robots.txt", "HTTP://a/é"},
		sitemap.RobotsSitemaps(text, "http://h/d/robots.txt"))
	require.Equal(t, []string{"http://a/1 # 2", "rel", "", "HTTP://a/é"}, sitemap.RobotsSitemaps(text, ""))
	require.Empty(t, sitemap.RobotsSitemaps("", ""))
}

func TestMark(t *testing.T) {
	t.Parallel()
	require.Equal(t, 3, sitemap.Level(sitemap.Mark(3)))
	for _, meta := range []string{"", "{}", `{"sitemap":1}`, `{"orbweaver":{"sitemap":"x"}}`, `{"orbweaver":{"sitemap":-1}}`, `"sitemap"`, `{"sitemap"`} {
		require.Zero(t, sitemap.Level([]byte(meta)), meta)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"<urlset><url><loc>http://a/</loc></url></urlset>",
		`<!DOCTYPE u [<!ENTITY a "x">]><s:sitemapindex xmlns:s="u"><s:sitemap><s:loc>a&a;&#65;&amp;</s:loc></s:sitemap>`,
		"<?xml version='1.0' encoding='utf-16'?><urlset><url><loc><![CDATA[x]]></loc><link href='a&b;'/>",
		"\xff\xfe<\x00u\x00/\x00>\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		const limit = 20
		read := func(r io.Reader) (locs []string, kind sitemap.Kind, err error) {
			kind, err = sitemap.Parse(r, sitemap.Limits{URLs: limit, Bytes: 1 << 20}, func(e *sitemap.Entry) bool {
				locs = append(locs, e.Loc())
				for _, s := range e.Fields {
					require.Equal(t, strings.TrimSpace(s.Value), s.Value)
				}
				return true
			})
			return locs, kind, err
		}
		a, kind, err := read(bytes.NewReader(doc))
		b, kindB, errB := read(iotest.OneByteReader(bytes.NewReader(doc)))
		require.Equal(t, a, b)
		require.Equal(t, kind, kindB)
		require.Equal(t, err, errB)
		require.Equal(t, kind == "", errors.Is(err, sitemap.ErrNoXML))
		if r, _, ok := sitemap.Open("http://a/s.xml.gz", "", doc); ok {
			_, _, _ = read(r)
		}
		sitemap.RobotsSitemaps(string(doc), "http://a/")
		sitemap.Level(doc)
	})
}

func BenchmarkParse(b *testing.B) {
	var doc strings.Builder
	doc.WriteString(`<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for i := range 10_000 {
		fmt.Fprintf(&doc, "\n  <url>\n    <loc>https://www.example.com/section/article-%d</loc>\n    <lastmod>2026-11-30</lastmod>\n    <priority>0.5</priority>\n  </url>", i)
	}
	doc.WriteString("\n</urlset>")
	b.SetBytes(int64(doc.Len()))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		_, err := sitemap.Parse(strings.NewReader(doc.String()), sitemap.Limits{}, func(*sitemap.Entry) bool { n++; return true })
		if err != nil || n != 10_000 {
			b.Fatal(n, err)
		}
	}
}
