package trap

import (
	"fmt"
	"strings"
	"testing"
)

// A page of 8 KiB with links and prose, as the benchmark site's are.
func pageOf8KiB() []byte {
	var b strings.Builder
	b.WriteString("<!doctype html><html><head><title>Item</title></head><body>")
	for i := range 25 {
		fmt.Fprintf(&b, "<li><a href=\"/p/%d\">Item %d</a></li>\n", i*37, i*37)
	}
	for b.Len() < 8<<10 {
		b.WriteString("<p>" + words(40, b.Len()) + "</p>\n")
	}
	return []byte(b.String())
}

func BenchmarkSum(b *testing.B) {
	page, r := pageOf8KiB(), &Reader{}
	b.ReportAllocs()
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		r.Sum(page, "Item 12 of shop 3")
	}
}

func BenchmarkLink(b *testing.B) {
	d := newDetector(b)
	b.ReportAllocs()
	for b.Loop() {
		d.Link("shop.test", "http://shop.test/p/12345", present())
	}
}

func BenchmarkVisit(b *testing.B) {
	d := newDetector(b)
	b.ReportAllocs()
	for b.Loop() {
		d.Visit("shop.test", "http://shop.test/p/12345", present())
	}
}

func BenchmarkWithoutSession(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		WithoutSession("http://shop.test/c/shoes?color=red&size=9&page=3")
	}
}
