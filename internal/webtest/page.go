package webtest

import (
	"html"
	"strconv"
)

// fanout is how many children a page has: page n links to 4n+1 ... 4n+4, so that
// every page of a host is reached from its root.
const fanout = 4

// appendPage writes a page. Every page also links to the root, to itself with a
// fragment, and to a path that robots.txt forbids.
func (s *Site) appendPage(b []byte, host, page int) []byte {
	b = append(b, "<!DOCTYPE html><html><head><title>Page "...)
	b = strconv.AppendInt(b, int64(page), 10)
	b = append(b, " of "...)
	b = append(b, s.Host(host)...)
	b = append(b, "</title></head><body><h1>Page</h1>\n"...)
	for c := fanout*page + 1; c <= fanout*page+fanout && c < s.cfg.Pages; c++ {
		b = appendLink(b, PagePath(c))
	}
	b = appendLink(b, "/")
	b = appendLink(b, PagePath(page)+"#top")
	b = appendLink(b, RobotsDisallow+strconv.Itoa(page))
	if s.cfg.Cross && page == 0 {
		for c := 8*host + 1; c <= 8*host+8 && c < s.cfg.Hosts; c++ {
			b = appendLink(b, s.PageURL(c, 0))
		}
	}
	if s.cfg.Links != nil {
		for _, l := range s.cfg.Links(host, page) {
			b = appendLink(b, html.EscapeString(l))
		}
	}
	return append(b, "</body></html>\n"...)
}

func appendLink(b []byte, href string) []byte {
	b = append(b, `<a href="`...)
	b = append(b, href...)
	return append(b, "\">link</a>\n"...)
}

// PageHTML is a page as the site writes it.
func (s *Site) PageHTML(host, page int) string { return string(s.appendPage(nil, host, page)) }
