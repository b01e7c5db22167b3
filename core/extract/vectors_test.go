package extract_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"orbweaver/core/crawl"
	"orbweaver/core/extract"
	"orbweaver/core/spider"
	"orbweaver/core/weburl"
	"orbweaver/internal/vectors"
)

// linkAnswers are the columns of a case; absent ones are nil.
type linkAnswers struct {
	BaseURL       *string   `json:"base_url"`
	Links         *[][]any  `json:"links"` // [url, text, fragment, nofollow]
	Canonicalized *[]string `json:"links_canonicalized_urls"`
	All           *[]string `json:"links_all_urls"`
	Follow        []*string `json:"follow_each_a"`
	Refresh       *[2]any   `json:"meta_refresh"`
}

type linkCase struct {
	ID, Kind, URL, HTML, Enc string
	Base64                   string                     `json:"html_b64"`
	ContentType              string                     `json:"content_type"`
	Args                     map[string]json.RawMessage `json:"args"`
	Expect                   linkAnswers
	Newest                   json.RawMessage `json:"expect_newest"`
}

func readLinkCases(t *testing.T) []linkCase {
	t.Helper()
	data := vectors.Read(t, "links.json")
	var file struct {
		Header struct{ Count int }
		Cases  []linkCase
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.NotEmpty(t, file.Cases)
	require.Len(t, file.Cases, file.Header.Count)
	for i := range file.Cases {
		if c := &file.Cases[i]; len(c.Newest) > 0 {
			require.NoError(t, json.Unmarshal(c.Newest, &c.Expect)) // lays its columns over
		}
	}
	return file.Cases
}

// body is the page as it came over the wire.
func (c *linkCase) body(t *testing.T) []byte {
	t.Helper()
	if c.Base64 != "" {
		b, err := base64.StdEncoding.DecodeString(c.Base64)
		require.NoError(t, err)
		return b
	}
	if c.Enc == "" {
		return []byte(c.HTML)
	}
	enc, _ := charset.Lookup(strings.ReplaceAll(c.Enc, "latin-1", "latin1")) // Python's name
	require.NotNil(t, enc, c.Enc)
	b, err := enc.NewEncoder().Bytes([]byte(c.HTML))
	require.NoError(t, err)
	return b
}

// rule gives the LinkExtractor of the arguments; false where it needs selectors.
func (c *linkCase) rule(t *testing.T) (rule spider.LinkRule, ok bool) {
	t.Helper()
	rule = spider.LinkRule{Nofollow: true, Invisible: true, KeepFragments: true}
	for name, raw := range c.Args {
		words := func() []string {
			var many []string
			if json.Unmarshal(raw, &many) == nil {
				return many
			}
			var one string
			require.NoError(t, json.Unmarshal(raw, &one))
			return []string{one}
		}
		patterns := func() (out []*regexp.Regexp) {
			for _, w := range words() {
				out = append(out, regexp.MustCompile(w))
			}
			return out
		}
		switch name {
		case "restrict_css", "restrict_xpaths":
			return rule, false
		case "allow":
			rule.Allow = patterns()
		case "deny":
			rule.Deny = patterns()
		case "allow_domains":
			rule.AllowDomains = words()
		case "deny_domains":
			rule.DenyDomains = words()
		case "deny_extensions":
			rule.DenyExtensions = spider.NewExtensions(words())
		case "tags":
			rule.Tags = words()
		case "attrs":
			rule.Attrs = words()
		case "unique":
			rule.Repeats = string(raw) == "false"
		case "canonicalize":
			rule.Canonicalize = string(raw) == "true"
		case "strip": // a URL parser strips: there is no rule that does not
		default:
			require.Fail(t, "unknown argument", name)
		}
	}
	return rule, true
}

// cleaned gives expected URLs in the form that we request, without those that
// are not http.
func cleaned(urls ...string) []string {
	out := []string{}
	for _, u := range urls {
		if c, err := weburl.Clean(u); err == nil {
			out = append(out, c)
		}
	}
	return out
}

// linksOf is AppendLinks that is never nil.
func linksOf(doc spider.Document, rule spider.LinkRule) []string {
	return doc.AppendLinks([]string{}, rule)
}

// hrefsOf are the values of the page's a elements, read by another parser.
func hrefsOf(page []byte) (out []string) {
	z := html.NewTokenizer(bytes.NewReader(page))
	for z.Next() != html.ErrorToken {
		tok := z.Token()
		if tok.Type != html.StartTagToken || tok.Data != "a" {
			continue
		}
		for _, a := range tok.Attr {
			if a.Key == "href" {
				out = append(out, a.Val)
				break
			}
		}
	}
	return out
}

// answeredOtherwise are the links that we find where browsers read HTML or join
// URLs in another way than libxml2 and Python do (docs/conformance.md).
func answeredOtherwise() map[string][]string {
	const dir = "http://example.com/dir/"
	return map[string][]string{
		"e9c391f4d7": {"http://example.com/a", "http://example.com/a;p?b", "http://example.com/;p", "http://example.com/..;x"},
		"23e2e5bc61": {dir + "a", dir + "a/", dir + "b", "http://example.com/x"},
		"71a6017fab": {"http://example.com/ok", "http://example.com/ns", "http://example.com/tpl"},
		"c186767712": {"http://example.com/y"},
		"c1f9c6f7c1": {"http://example.com/a", "http://example.com/b", "http://example.com/c"},
		"0f5c39caa1": {"http://up.example/", "https://x.example/", dir + "rel", "http://example.com/one", "http://three/"},
		"f1e316ffdb": {
			"http://example.com/a?x=1&y=2", "http://example.com/b?x=1&y=2", "http://example.com/c?a=1&copy=2", "http://example.com/d?a&lt=2",
			"http://example.com/e?&z", "http://example.com/f?x=1&amp;y", "http://example.com/g%C3%A9", "http://example.com/h?q=%22x%22",
			"http://example.com/i?a=1%AE_id=3", "http://example.com/j?a%B6",
		},
	}
}

func TestLinkVectors(t *testing.T) {
	t.Parallel()
	otherwise := answeredOtherwise()
	for _, c := range readLinkCases(t) {
		rule, ok := c.rule(t)
		if !ok {
			continue // needs selectors, which there are none of
		}
		contentType := cmp.Or(c.ContentType, "text/html")
		doc := extract.New().Page(&crawl.Request{URL: c.URL}, &crawl.Response{
			URL: c.URL, Status: 200, Body: c.body(t), Headers: []crawl.Header{{Name: "Content-Type", Value: contentType}},
		}).Doc
		if want, ok := otherwise[c.ID]; ok {
			require.Equal(t, want, linksOf(doc, rule), c.ID)
			continue
		}
		t.Run(c.Kind+"/"+c.ID, func(t *testing.T) {
			want := []string{}
			for _, l := range *c.Expect.Links {
				want = append(want, cleaned(l[0].(string))...)
			}
			require.Equal(t, want, linksOf(doc, rule))
			all := rule
			all.Repeats, all.DenyExtensions = true, spider.NewExtensions(nil)
			require.Equal(t, cleaned(*c.Expect.All...), linksOf(doc, all), "all")
			canonical := rule
			canonical.Canonicalize = true
			require.Equal(t, cleaned(*c.Expect.Canonicalized...), linksOf(doc, canonical), "canonical")
			c.checkFollowed(t, doc)
			c.checkNofollow(t, doc, rule)
			if r := c.Expect.Refresh; r != nil {
				seconds, url, ok := doc.Refresh()
				require.Equal(t, r[1] != nil, ok)
				if ok {
					require.Equal(t, [2]any{r[0], r[1]}, [2]any{seconds, url})
				}
			}
		})
	}
}

// checkFollowed resolves each a element's href, as Response.follow does.
func (c *linkCase) checkFollowed(t *testing.T, doc spider.Document) {
	t.Helper()
	page, _, _ := strings.Cut(*c.Expect.BaseURL, "#")
	base, ok := doc.Resolve("")
	require.True(t, ok)
	require.Equal(t, cleaned(page)[0], base)
	if c.Expect.Follow == nil {
		return
	}
	hrefs := hrefsOf(doc.Text())
	require.Len(t, hrefs, len(c.Expect.Follow))
	for i, href := range hrefs {
		got := []string{}
		if u, ok := doc.Resolve(href); ok {
			got = append(got, u)
		}
		want := []string{}
		if u := c.Expect.Follow[i]; u != nil {
			want = cleaned(*u)
		}
		require.Equal(t, want, got, "%q", href)
	}
}

// checkNofollow holds that a link that is only there with nofollow is left out
// where the rule says so.
func (c *linkCase) checkNofollow(t *testing.T, doc spider.Document, rule spider.LinkRule) {
	t.Helper()
	rule.Nofollow = false
	got := linksOf(doc, rule)
	for _, l := range *c.Expect.Links {
		if u := cleaned(l[0].(string)); len(u) == 1 && l[3] == false {
			require.Contains(t, got, u[0])
		}
	}
}
