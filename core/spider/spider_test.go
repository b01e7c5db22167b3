package spider_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/robots"
	"orbweaver/core/spider"
)

// document is a Document with fixed answers.
type document struct {
	title string
	links []string
	asked robots.Directives
}

func (document) HTML() bool      { return true }
func (document) Text() []byte    { return nil }
func (d document) Title() string { return d.title }
func (d document) AppendLinks(dst []string, _ spider.LinkRule) []string {
	return append(dst, d.links...)
}

func (document) Resolve(href string) (string, bool) { return href, true }
func (document) Refresh() (float64, string, bool)   { return 0, "", false }
func (d document) Robots(string) robots.Directives  { return d.asked }

func page(title string, links ...string) *spider.Page {
	return &spider.Page{
		Request: &crawl.Request{URL: "http://a.example/x", Depth: 3},
		Response: &crawl.Response{
			URL: "http://a.example/x", Status: 200,
			SentAt: time.Date(2026, 11, 30, 23, 4, 5, 67_890_000, time.FixedZone("", 3600)),
		},
		Doc: document{title: title, links: links},
	}
}

func TestDefault(t *testing.T) {
	t.Parallel()
	var out spider.Result
	require.NoError(t, spider.Default{}.Parse(page("Été \"1\" 😀", "http://a.example/1", "http://b.example/"), &out))
	require.Equal(t, []string{"http://a.example/1", "http://b.example/"}, out.Links)
	require.Len(t, out.Items, 1)
	//nolint:testifylint // the very bytes are promised
	require.Equal(t, `{"url": "http://a.example/x", "status": 200, "title": "\u00c9t\u00e9 \"1\" \ud83d\ude00", `+
		`"depth": 3, "fetched_at": "2026-11-30T22:04:05.067Z"}`, string(out.Items[0]))
}

func TestDefaultTakesTheRequestURLWhenTheResponseHasNone(t *testing.T) {
	t.Parallel()
	p := page("t")
	p.Response.URL = ""
	var out spider.Result
	require.NoError(t, spider.Default{}.Parse(p, &out))
	require.Contains(t, string(out.Items[0]), `{"url": "http://a.example/x"`)
}

func TestDefaultObeysThePage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		asked        robots.Directives
		ignore       bool
		links, items int
	}{
		{"nothing asked", robots.Directives{}, false, 1, 1},
		{"nofollow", robots.Directives{Nofollow: true}, false, 0, 1},
		{"noindex", robots.Directives{Noindex: true}, false, 1, 0},
		{"both", robots.Directives{Noindex: true, Nofollow: true}, false, 0, 0},
		{"not obeyed", robots.Directives{Noindex: true, Nofollow: true}, true, 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := page("t", "http://a.example/1")
			p.Doc = document{links: []string{"http://a.example/1"}, asked: tt.asked}
			var out spider.Result
			require.NoError(t, spider.Default{IgnoreRobots: tt.ignore}.Parse(p, &out))
			require.Len(t, out.Links, tt.links)
			require.Len(t, out.Items, tt.items)
			require.Equal(t, tt.asked != robots.Directives{} && !tt.ignore, out.Asked != robots.Directives{})
			out.Reset()
			require.Zero(t, out.Asked)
		})
	}
}

func TestResultReset(t *testing.T) {
	t.Parallel()
	var out spider.Result
	require.NoError(t, spider.Default{}.Parse(page("t", "http://a.example/1"), &out))
	out.Requests = append(out.Requests, crawl.Request{URL: "http://a.example/2"})
	kept := out.Items[0]
	before := string(kept)
	out.Reset()
	require.Empty(t, out.Links)
	require.Empty(t, out.Requests)
	require.Empty(t, out.Items)
	require.NoError(t, spider.Default{}.Parse(page("another title altogether"), &out))
	require.Equal(t, before, string(kept), "an item taken before Reset was written over")
}

func TestAdd(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		fields []spider.Field
		want   string
	}{
		{"empty", nil, `{}`},
		{"order kept", []spider.Field{{"b", 1}, {"a", int64(-2)}}, `{"b": 1, "a": -2}`},
		{"nil and bool", []spider.Field{{"n", nil}, {"t", true}}, `{"n": null, "t": true}`},
		{"nested is ASCII", []spider.Field{{"x", map[string]any{"é": []string{"😀"}}}}, `{"x": {"\u00e9":["\ud83d\ude00"]}}`},
		{"controls", []spider.Field{{"s", "\x00\b\f\n\r\t\x1f\x7f/"}}, `{"s": "\u0000\b\f\n\r\t\u001f\u007f/"}`},
		{"broken UTF-8", []spider.Field{{"s", "a\xffb"}}, `{"s": "a\ufffdb"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out spider.Result
			require.NoError(t, out.Add(tt.fields...))
			require.Equal(t, tt.want, string(out.Items[0]))
		})
	}
}

func TestAddRefusesWhatJSONCannotHold(t *testing.T) {
	t.Parallel()
	var out spider.Result
	require.ErrorContains(t, out.Add(spider.Field{Name: "f", Value: func() {}}), `spider: encode field "f"`)
	require.Empty(t, out.Items)
}

func FuzzAddString(f *testing.F) {
	f.Add("plain")
	f.Add("é\u2028😀\xff\"\\")
	f.Fuzz(func(t *testing.T, s string) {
		var out spider.Result
		require.NoError(t, out.Add(spider.Field{Name: "s", Value: s}))
		var got map[string]string
		require.NoError(t, json.Unmarshal(out.Items[0], &got))
		require.Equal(t, string([]rune(s)), got["s"])
		for _, c := range out.Items[0] {
			require.Less(t, c, byte(utf8.RuneSelf))
		}
	})
}

func ExampleSpider() {
	var s spider.Spider = spider.Default{}
	var out spider.Result
	if err := s.Parse(page("Hello", "http://a.example/next"), &out); err != nil {
		fmt.Println(err)
	}
	fmt.Println(out.Links[0])
	fmt.Println(string(out.Items[0]))
	// Output:
	// http://a.example/next
	// {"url": "http://a.example/x", "status": 200, "title": "Hello", "depth": 3, "fetched_at": "2026-11-30T22:04:05.067Z"}
}
