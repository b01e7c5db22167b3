package extract

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"orbweaver/core/charset"
)

// found is what a scan gives, in a form to compare.
type found struct {
	Anchors  []string // href, and " nofollow" where so marked
	Title    string
	HasTitle bool
	Base     string
	HasBase  bool
}

// byScanner is the answer of the scanner under test.
func byScanner(page []byte) found {
	var s scanner
	s.reset(page)
	s.run()
	f := found{HasTitle: s.title != nil, HasBase: s.base != nil, Base: string(s.base)}
	if f.HasTitle {
		f.Title = titleText(s.title)
	}
	for _, a := range s.anchors {
		f.Anchors = append(f.Anchors, written(string(a.href), a.nofollow))
	}
	return f
}

func written(href string, nofollow bool) string {
	if nofollow {
		return href + " nofollow"
	}
	return href
}

// byTokenizer is the answer of x/net/html.
func byTokenizer(page []byte) found {
	var f found
	z := html.NewTokenizer(bytes.NewReader(bytes.Clone(page)))
	inTitle := false
	for {
		tt := z.Next()
		if inTitle && tt != html.TextToken {
			inTitle = false
		}
		switch tt {
		case html.ErrorToken:
			return f
		case html.TextToken:
			if inTitle {
				f.Title = collapse(string(charset.UTF8.Decode(z.Text())))
				inTitle = false
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			tag := string(name)
			if tag == "noscript" {
				z.NextIsNotRawText()
			}
			attrs := map[string]string{}
			for more {
				var k, v []byte
				k, v, more = z.TagAttr()
				if _, ok := attrs[string(k)]; !ok {
					attrs[string(k)] = string(v)
				}
			}
			href, ok := attrs["href"]
			switch tag {
			case "a", "area":
				if ok {
					nofollow := false
					for _, word := range strings.FieldsFunc(attrs["rel"], func(r rune) bool { return strings.ContainsRune(" \t\r\n\f", r) }) {
						nofollow = nofollow || asciiLower(word) == "nofollow"
					}
					f.Anchors = append(f.Anchors, written(href, nofollow))
				}
			case "base":
				if ok && !f.HasBase {
					f.Base, f.HasBase = href, true
				}
			case "title":
				inTitle = !f.HasTitle
				f.HasTitle = true
			}
		}
	}
}

func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}

// oddPages are constructs in which tags hide, end or begin in unusual places.
func oddPages() []string {
	return []string{
		`<a href="/1">x</a><A HREF=/2>y</A><a href='/3' href='/no'>`,
		`<a href>b</a><a href=>e</a><a name=x>n</a><a/href=/4><a / href = "/5" / >`,
		"<a\nhref\n=\n'/6'\n>x</a><a href= /7 >z</a><a href='/8>w</a><a href=\"/e\">v</a>",
		`<a href="/x?a=1&amp;b=2&copy=3&copy&lt;&notit;&notin;&#x26;&#38&#0;&#x80;&#;&#x;&semi;&amp">`,
		`<a href="&NotEqualTilde;&CounterClockwiseContourIntegral;&CounterClockwiseContourIntegrals;">`,
		"<a href=\"a\r\nb\rc\x00d\">", "<a hr\x00ef=x href=y>", "<a\x00 href=y>",
		`<a rel="a NoFollow b" href=x><a href=y rel=nofollow><a rel rel=nofollow href=z><a rel=no&#102;ollow href=z>`,
		`<!-- <a href=x> --><!--><a href=1><!---><a href=2><!----><a href=3><!--x--!><a href=4><!--x--!-><a href=5>-->`,
		`<!--a--!--><a href=1><!----!><a href=2><!--->--><a href=3><!-- -- > --><a href=4><!--!><a href=5>-->`,
		`<!doctype html><a href=1><!DOCTYPE "><a href=2>"><![CDATA[<a href=3>]]><a href=4><!><a href=5><!x><?php "<a href=6>" ?><a href=7>`,
		`</ x="<a href=1>"></><a href=2></a b=">"><a href=3></b/><a href=4></x x=y/><<a href=5><1 <a href=6>`,
		`<script>"<a href=1>"</script><a href=2><script><!-- <script> </script> <a href=3> </script> --> <a href=4></script><a href=5>`,
		`<script><!--<script></script><a href=1>--></script><a href=2><script><!-- < --><a href=3></script><a href=4>`,
		`<script><!--</script><a href=1><script><!-x</script><a href=2><script>--><!---</script><a href=3><script><!--x</scriptx></script ><a href=4>`,
		`<script><!--<script>-</script-><a href=1>--></SCRIPT/><a href=2><script><!--<scrip></script><a href=3>`,
		`<style><a href=1></style><xmp><a href=2></xmp><iframe><a href=3></iframe><noembed><a href=4></noembed><noframes><a href=5></noframes><a href=6>`,
		`<textarea><a href=1></textarea><title>a&amp;b <a href=2> &copy=1</title><title>second</title><noscript><a href=3></noscript><a href=4>`,
		`<style></sty</style><a href=1><style></stylex></style x="><a href=2>"><a href=3><STYLE/><a href=4></sTyLe><a href=5>`,
		`<title>unclosed <a href=1>`, `<title></title><a href=1>`, "<title>\x00 a\r\n b&#13;c</title>", `<title/>x</title><svg><title>y</title>`,
		`<plaintext><a href=1></plaintext>`, `<a href=1><plaintext/>`, `<noscript><style><a href=1></noscript></style><a href=2>`,
		`<base href="/b"><base href="/c"><base><a href=x>`, `<base href="">`, `<area href=1><area shape=x href=2/><a href=x/ ><a href="x"y=z>`,
		`<a =href=1 href=2><a ==x><a "href"=1 'x' href=3><a <b href=4><a href="1"<b>`,
		`<a`, `<a href`, `<a href=`, `<a href="`, `<a href="x"`, `<a href=x`, `</`, `</a`, `<!`, `<!-`, `<!--`, `<!doc`, `<`, ``, `<script`, `<script>`, `<script></`, `<script><!--<`, `<?`,
		`<div class="x>y" data-a='>' id=1><a href=1></div><p title=<a href=2>><a href=3>`,
		"<a href=\"\xff\xfe\">", "<ſcript><a href=1>", "<K><a\u212a href=1>",
	}
}

func TestScannerFindsWhatTheTokenizerFinds(t *testing.T) {
	t.Parallel()
	for _, page := range oddPages() {
		require.Equal(t, byTokenizer([]byte(page)), byScanner([]byte(page)), "%q", page)
	}
	// Every beginning of every page: what is cut off must end alike.
	for _, page := range oddPages() {
		for n := range len(page) {
			require.Equal(t, byTokenizer([]byte(page[:n])), byScanner([]byte(page[:n])), "%q", page[:n])
		}
	}
}

// TestScannerOnMixtures runs the two against each other over pages put together
// from pieces of the odd ones, by a fixed generator.
func TestScannerOnMixtures(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"<", ">", "/", "!", "-", "--", "\"", "'", "=", " ", "\n", "&", ";", "a", "x", "href", "href=", "rel=nofollow", "<a ", "</a>", "<a href=",
		"<a href=\"", "<script", "</script", "<!--", "-->", "--!>", "<style>", "</style>", "<title>", "</title>", "<textarea>", "</textarea", "<noscript>", "</noscript>",
		"<!doctype ", "<?", "&amp;", "&copy", "&#", "x41;", "\x00", "\r", "<base href=", "script", "</", "<plaintext", "<iframe>", "</iframe>",
	}
	state := uint64(20261130)
	next := func(n int) int {
		state = state*6364136223846793005 + 1442695040888963407
		return int(state >> 33 % uint64(n))
	}
	var b bytes.Buffer
	for range 30000 {
		b.Reset()
		for range 1 + next(14) {
			b.WriteString(pieces[next(len(pieces))])
		}
		require.Equal(t, byTokenizer(b.Bytes()), byScanner(b.Bytes()), "%q", b.String())
	}
}

func FuzzScanner(f *testing.F) {
	for _, page := range oddPages() {
		f.Add([]byte(page))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		before := bytes.Clone(page)
		got := byScanner(page)
		require.Equal(t, before, page, "the page was written to")
		require.Equal(t, byTokenizer(page), got)
	})
}
