package e2e

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/webtest"
)

// endless answers for a host full of traps: every path but those of pages leads on.
func endless(v webtest.Visit) *webtest.Answer {
	link := func(s *strings.Builder, href string) { fmt.Fprintf(s, "<a href=%q>more</a> ", href) }
	h := fnv.New64a()
	_, _ = h.Write([]byte(v.Path))
	path, _, _ := strings.Cut(v.Path, "?")
	number, _ := strconv.Atoi(path[strings.LastIndexByte(path, '/')+1:])
	var b strings.Builder
	switch {
	case v.Path == "/robots.txt":
		return nil
	case v.Page == 0:
		b.WriteString(v.Site.PageHTML(v.Host, 0))
		now := time.Now()
		for _, href := range []string{
			fmt.Sprintf("/calendar/%d/%d", now.Year(), now.Month()), "/list/1", "/deep/", "/shop/a",
		} {
			link(&b, href)
		}
	case v.Page > 0:
		return nil
	case strings.HasPrefix(path, "/calendar/"):
		var y, m int
		_, _ = fmt.Sscanf(path, "/calendar/%d/%d", &y, &m)
		fmt.Fprintf(&b, "<title>%d/%d</title>No events in month %d of %d. ", m, y, m, y)
		link(&b, fmt.Sprintf("/calendar/%d/%d", y+m/12, m%12+1))
		link(&b, fmt.Sprintf("/calendar/%d/%d", y-(13-m)/12, (m+10)%12+1))
	case strings.HasPrefix(path, "/list/"):
		b.WriteString("<title>List</title>There is nothing here. ")
		link(&b, fmt.Sprint("/list/", number+1))
	case strings.HasPrefix(path, "/deep/"):
		fmt.Fprintf(&b, "<title>%s</title>Page %d. ", path, h.Sum64())
		link(&b, "en/news/")
	case strings.HasPrefix(path, "/shop/"):
		b.WriteString("<title>Shop</title>Shoes. ")
		for _, page := range []string{"a", "b", "c"} {
			link(&b, fmt.Sprintf("/shop/%s?PHPSESSID=%032x", page, h.Sum64()))
		}
	}
	return &webtest.Answer{Body: b.String()}
}

// A host full of traps costs a bounded number of fetches; its pages are all crawled.
func TestTrapsEnd(t *testing.T) {
	site := webtest.New(t, webtest.Config{Pages: 30, Script: endless})
	file := filepath.Join(t.TempDir(), "items.jsonl")
	n := run(t, crawl(site.Roots(0, 1), unthrottled(), embedded(t.TempDir()), []string{"-o", file})...).finish()
	require.Subset(t, urls(lines(t, readFile(t, file))), site.PageURLs())
	// 22 years of months and 24 more, about 100 pages of the list, three levels, three
	// pages of the shop.
	require.Less(t, site.Count(), 30+23*12+24+160+10)
	for _, stat := range []string{"trap/calendar: ", "trap/closed/pattern: 1", "trap/pattern: ", "trap/repeated_segments: 1", "trap/session_id: "} {
		require.Contains(t, n.err.String(), stat)
	}
	shop := 0
	for _, a := range site.Arrivals(0) {
		if strings.HasPrefix(a.Path, "/shop/") {
			shop++
		}
	}
	require.LessOrEqual(t, shop, 4)
}

// A host that says the same under ever new names is put aside, and the crawl ends.
func TestEndlessHostIsParked(t *testing.T) {
	site := webtest.New(t, webtest.Config{Script: func(v webtest.Visit) *webtest.Answer {
		if v.Path == "/robots.txt" {
			return nil
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(v.Path))
		word := func(n uint64) string { // letters alone, so that each is a pattern of its own
			w := []byte("aaaaaaaa")
			for i := range w {
				w[i] += byte(n >> (8 * i) % 26)
			}
			return string(w)
		}
		b := "<title>Not found</title>This page does not exist. "
		for i := range uint64(3) {
			b += fmt.Sprintf("<a href=%q>more</a> ", "/"+word((h.Sum64()+i)*0x9e3779b97f4a7c15)+"/"+word(h.Sum64()>>i))
		}
		return &webtest.Answer{Body: b}
	}})
	n := run(t, crawl(site.Roots(0, 1), unthrottled(), embedded(t.TempDir()), nil)...)
	require.Less(t, site.Count(), 1000)
	require.Contains(t, n.err.String(), "trap: ever new URLs bring no new content")
	require.Contains(t, n.err.String(), "trap/closed/host: 1")
}

// DOMAIN_PAGE_LIMIT bounds each host by itself; what robots.txt forbids counts too.
func TestDomainPageLimit(t *testing.T) {
	const limit = 25
	site := webtest.New(t, webtest.Config{Hosts: 2, Pages: 60})
	n := run(t, crawl(site.Roots(0, 2), unthrottled(), embedded(t.TempDir()), []string{"-s", "DOMAIN_PAGE_LIMIT=" + strconv.Itoa(limit)})...).finish()
	for host := range 2 {
		require.Positive(t, site.PagesOf(host))
		require.LessOrEqual(t, len(site.Arrivals(host)), limit+1, "with robots.txt")
	}
	require.Contains(t, n.err.String(), "scheduler/enqueued/redis: "+strconv.Itoa(2*limit))
	require.Contains(t, n.err.String(), "trap/page_limit: ")
}
