package weburl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/weburl"
)

func BenchmarkBaseResolve(b *testing.B) {
	base, err := weburl.NewBase("http://site17.example:8080/p/17")
	require.NoError(b, err)
	for _, bb := range []struct{ name, href string }{
		{"rooted", "/p/123"},
		{"same-origin", "http://site17.example:8080/p/123"},
		{"other-host", "http://other.example:8080/p/123"},
		{"address", "http://127.0.0.1:8080/p/123"},
		{"long", "/w/index.php?title=Special:RecentChanges&from=20260101000000&days=30&limit=500"},
		{"name", "page-2.html"},
		{"fragment", "#top"},
		{"dots", "../library/os.html#os.path"},
		{"unsafe", "/a b/[ü]?x='1'"},
		{"mailto", "mailto:someone@example.com"},
	} {
		href := []byte(bb.href)
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				base.Resolve(href)
			}
		})
	}
}

func BenchmarkClean(b *testing.B) {
	for _, bb := range []struct{ name, url string }{
		{"plain", "http://site17.example:8080/p/123?a=1&b=2"},
		{"odd", "HTTP://Site17.example:80/a/../b c?x='1'"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = weburl.Clean(bb.url)
			}
		})
	}
}

func BenchmarkCanonicalize(b *testing.B) {
	for _, bb := range []struct{ name, url string }{
		{"plain", "http://site17.example:8080/p/123?a=1&b=2"},
		{"odd", "http://site17.example:8080/%7Ep/123?b=2&a=1"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = weburl.Canonicalize(bb.url, weburl.CanonicalOptions{})
			}
		})
	}
}

func BenchmarkFingerprint(b *testing.B) {
	for _, bb := range []struct {
		name string
		f    weburl.Fingerprinter
		url  string
	}{
		{"2.7", weburl.Fingerprinter{}, "http://site17.example:8080/p/123"},
		{"2.6", weburl.Fingerprinter{Rule: weburl.Rule26}, "http://site17.example:8080/p/123"},
		{"scrapy-redis", weburl.Fingerprinter{Rule: weburl.RuleScrapyRedis}, "http://site17.example:8080/p/123"},
		{"2.7-unsorted", weburl.Fingerprinter{}, "http://site17.example:8080/p/123?b=2&a=1"},
	} {
		r := &crawl.Request{URL: bb.url}
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bb.f.Fingerprint(r)
			}
		})
	}
}

func BenchmarkSite(b *testing.B) {
	const url = "http://www.site17.example.co.uk:8080/p/123"
	scope, err := weburl.NewScope("seeds", []string{"a.example", "www.site17.example.co.uk"})
	require.NoError(b, err)
	host := weburl.Host(url)
	b.Run("host", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			weburl.Host(url)
		}
	})
	b.Run("shard", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			weburl.Shard(host, 64)
		}
	})
	b.Run("scope", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			scope.Allows(host)
		}
	})
}
