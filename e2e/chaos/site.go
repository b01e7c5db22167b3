package chaos

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"orbweaver/internal/webtest"
)

// The pages of a host come in batches of batchPages: a seed, four pages that it
// links to, and their children. The last of a batch is linked from the host before
// alone, so that links cross hosts. Nothing leads out of a batch: what is to be
// crawled is what was seeded.
const (
	batchPages = 25
	crossPage  = batchPages - 1
)

// slowEvery is which hosts take longer to answer than the delay, so that their
// limit is what is in flight.
const slowEvery = 8

// mostPages is more than a run can reach.
const mostPages = 1 << 24

// site is the website, and what was visited of it.
type site struct {
	web     *webtest.Site
	hosts   int
	visited []atomic.Int64 // by host: pages that were asked for once or more
}

func newSite(tb *testbed, hosts int, delay time.Duration) *site {
	s := &site{hosts: hosts, visited: make([]atomic.Int64, hosts)}
	s.web = webtest.New(tb, webtest.Config{Hosts: hosts, Pages: mostPages, Script: func(v webtest.Visit) *webtest.Answer {
		return s.answer(v, delay)
	}})
	return s
}

func (s *site) answer(v webtest.Visit, delay time.Duration) *webtest.Answer {
	if v.Host < 0 {
		return &webtest.Answer{Status: http.StatusNotFound, Body: "no host"}
	}
	latency := time.Duration(20+(v.Host*7)%31) * time.Millisecond
	if v.Host%slowEvery == slowEvery-1 {
		latency = delay * 3 / 2
	}
	switch {
	case v.Path == "/robots.txt":
		return &webtest.Answer{
			Header: http.Header{"Content-Type": {"text/plain"}}, Delay: latency,
			Body: "User-agent: *\nDisallow: " + webtest.RobotsDisallow + "\n",
		}
	case v.Page < 0:
		return nil
	}
	if v.Attempt == 1 {
		s.visited[v.Host].Add(1)
	}
	return &webtest.Answer{Body: s.html(v.Host, v.Page), Delay: latency}
}

func (s *site) html(host, page int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html><html><head><title>Page %d of %s</title></head><body>\n", page, s.web.Host(host))
	b.WriteString("<p>")
	said := rand.New(rand.NewPCG(uint64(host), uint64(page))) //nolint:gosec // text: pages that all say the same would be a trap
	for range 60 {
		b.WriteString(strconv.FormatUint(said.Uint64()>>40, 36) + " ")
	}
	b.WriteString("</p>\n")
	link := func(href string) { b.WriteString(`<a href="` + href + "\">link</a>\n") }
	batch, at := page-page%batchPages, page%batchPages
	switch {
	case at == 0:
		for c := 1; c <= 4; c++ {
			link(webtest.PagePath(batch + c))
		}
	case at <= 4:
		for c := 5 * at; c < min(5*at+5, crossPage); c++ {
			link(webtest.PagePath(batch + c))
		}
		if at == 1 {
			link(s.web.PageURL((host+1)%s.hosts, batch+crossPage))
		}
	}
	if at != crossPage { // the host itself may not have got so far
		link(webtest.PagePath(batch)) // seen long since
	}
	link(webtest.PagePath(page) + "#top")
	link(webtest.RobotsDisallow + strconv.Itoa(page))
	b.WriteString("</body></html>\n")
	return b.String()
}

// pagesOf are the pages that a batch of a host leads to, its seed among them.
func (s *site) pagesOf(host, batch int) []string {
	out := make([]string, 0, batchPages)
	for p := range crossPage {
		out = append(out, s.web.PageURL(host, batch*batchPages+p))
	}
	return append(out, s.web.PageURL((host+1)%s.hosts, batch*batchPages+crossPage))
}

func (s *site) seedOf(host, batch int) string { return s.web.PageURL(host, batch*batchPages) }
