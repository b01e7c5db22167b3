package spider_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/spider"
)

func TestExtensions(t *testing.T) {
	t.Parallel()
	e := spider.NewExtensions([]string{"pdf", ".ZIP", "tar.gz", "", "."})
	require.Len(t, e, 3)
	tests := []struct {
		url  string
		want bool
	}{
		{"http://a.example/x.pdf", true},
		{"https://a.example/x.PDF", true},
		{"http://a.example/x.pdf?y=z.html", true},
		{"http://a.example/x.pdf#y", true},
		{"http://a.example/x.zip", true},
		{"http://a.example/.zip", true},
		{"http://a.example/x.tar.gz", true},
		{"http://a.example/x.gz", false},
		{"http://a.example/x.pdfs", false},
		{"http://a.example/xpdf", false},
		{"http://a.example/x.pdf/", false},
		{"http://a.example/x.pdf/y", false},
		{"http://a.example/x?y=/z.pdf", false},
		{"http://a.example/#/z.pdf", false},
		{"http://a.zip", false},
		{"http://a.zip/", false},
		{"http://a.pdf/x", false},
		{"http://a/.pdf.", false},
		{"http://a/x.averyverylongextension.pdf", true},
		{"http://a", false},
		{"", false},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, e.End(tt.url), tt.url)
		require.False(t, spider.NewExtensions(nil).End(tt.url), tt.url)
		require.False(t, spider.Extensions(nil).End(tt.url), tt.url)
	}
}

func TestRuleAdmits(t *testing.T) {
	t.Parallel()
	word := []*regexp.Regexp{regexp.MustCompile("item/[0-9]+"), regexp.MustCompile("^http://b")}
	tests := []struct {
		name string
		rule spider.LinkRule
		url  string
		want bool
	}{
		{"anything", spider.LinkRule{}, "http://a.example/x", true},
		{"picture", spider.LinkRule{}, "http://a.example/x.jpg", false},
		{"found", spider.LinkRule{Allow: word}, "http://a.example/item/12/view", true},
		{"found by the second", spider.LinkRule{Allow: word}, "http://b.example/", true},
		{"not found", spider.LinkRule{Allow: word}, "http://a.example/items", false},
		{"denied", spider.LinkRule{Deny: word}, "http://a.example/item/12", false},
		{"denied before allowed", spider.LinkRule{Allow: word, Deny: word}, "http://a.example/item/12", false},
		{"domain", spider.LinkRule{AllowDomains: []string{"a.example"}}, "http://a.example:8080/x", true},
		{"below the domain", spider.LinkRule{AllowDomains: []string{"a.example"}}, "http://x.y.a.example/", true},
		{"same end", spider.LinkRule{AllowDomains: []string{"a.example"}}, "http://xa.example/", false},
		{"denied domain", spider.LinkRule{DenyDomains: []string{"a.example"}}, "http://x.a.example/", false},
		{"other than the denied domain", spider.LinkRule{DenyDomains: []string{"a.example"}}, "http://b.example/", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, tt.rule.Admits(tt.url))
		})
	}
}
