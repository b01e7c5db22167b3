package extract

import (
	"bytes"
	"strconv"
	"testing"
	"time"

	"golang.org/x/net/html"

	"orbweaver/core/crawl"
	"orbweaver/core/spider"
)

// shopPage is a page of 8 KiB with 20 links, as small shops have them.
func shopPage() []byte {
	b := []byte("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Item 7 of shop 1</title></head>\n" +
		"<body><h1 class=\"title\">Item 7</h1>\n<p class=\"price\">$12.50</p>\n<ul class=\"links\">\n")
	for i := range 20 {
		if i%5 == 4 {
			b = append(b, "<li><a href=\"http://127.1.0."+strconv.Itoa(i)+":8800/p/"+strconv.Itoa(i*37)+"\">Item</a></li>\n"...)
		} else {
			b = append(b, "<li><a href=\"/p/"+strconv.Itoa(i*41)+"\">Item</a></li>\n"...)
		}
	}
	b = append(b, "</ul>\n"...)
	for len(b) < 8<<10 {
		b = append(b, "<div class=\"row\"><p>A plain paragraph of filler text that a crawler must read past, with <b>bold</b> and "+
			"<i>italic</i> words, <span class=\"x\">spans</span> and &amp; an entity.</p></div>\n"...)
	}
	return append(b, "</body></html>\n"...)
}

// BenchmarkPage is all that the default spider costs: encoding, scan, links, item.
func BenchmarkPage(b *testing.B) {
	e := New()
	req := &crawl.Request{URL: "http://127.1.0.1:8800/p/7", Depth: 2}
	resp := &crawl.Response{
		URL: req.URL, Status: 200, Body: shopPage(), SentAt: time.Unix(1, 0),
		Headers: []crawl.Header{{Name: "Server", Value: "x"}, {Name: "Content-Type", Value: "text/html; charset=utf-8"}},
	}
	var out spider.Result
	shop := spider.Default{RobotsToken: "orbweaver"}
	b.SetBytes(int64(len(resp.Body)))
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		if err := shop.Parse(e.Page(req, resp), &out); err != nil || len(out.Links) != 20 {
			b.Fatal(err, len(out.Links))
		}
		e.Release()
	}
}

func BenchmarkScan(b *testing.B) {
	page := shopPage()
	var s scanner
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		s.reset(page)
		s.run()
	}
}

// BenchmarkTokenizer is x/net/html's tokenizer over the same page.
func BenchmarkTokenizer(b *testing.B) {
	page := shopPage()
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		z := html.NewTokenizer(bytes.NewReader(page))
		for z.Next() != html.ErrorToken {
			z.TagName()
		}
	}
}
