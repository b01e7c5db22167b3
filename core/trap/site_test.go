package trap

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// page is what a synthetic site answers.
type page struct {
	title string
	text  string
	links []string
}

// site is a synthetic site: a page for every path. nil is a 404.
type site func(path string) *page

func (p *page) html() []byte {
	var b strings.Builder
	b.WriteString("<!doctype html><html><head><title>" + p.title + "</title><script>var x = " + fmt.Sprint(len(p.links)) + ";</script></head><body>")
	b.WriteString(boilerplate)
	b.WriteString("<p>" + p.text + "</p>")
	for _, l := range p.links {
		b.WriteString(`<a href="` + l + `">more</a>`)
	}
	return []byte(b.String())
}

// boilerplate is what all pages of a site share.
const boilerplate = `<nav><ul><li>Home</li><li>Products</li><li>About us</li><li>Contact</li></ul></nav>
<footer>All rights reserved. Imprint, privacy, terms and conditions, shipping and returns, newsletter, careers, press.</footer>`

// tour is how a crawl of a site went.
type tour struct {
	fetched  int
	dropped  map[Kind]int
	closed   []Verdict
	stopped  bool // more than the cap was to be fetched
	byPrefix map[string]int
}

// visit crawls a site breadth first, at most most pages of it.
func visit(d *Detector, name string, s site, most int) tour {
	t := tour{dropped: map[Kind]int{}, byPrefix: map[string]int{}}
	reader := &Reader{}
	seen := map[string]bool{"/": true}
	queue := []string{"/"}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		if t.fetched == most {
			t.stopped = true
			return t
		}
		t.fetched++
		first, _ := nextSegment(path)
		first, _, _ = strings.Cut(first, "?")
		t.byPrefix[first]++
		p := s(path)
		if p == nil {
			continue
		}
		for _, l := range p.links {
			bare, _ := WithoutSession(l)
			if seen[bare] {
				continue
			}
			if k := d.Link(name, "http://"+name+l, present()); k != None {
				t.dropped[k]++
				continue
			}
			seen[bare] = true
			queue = append(queue, l)
		}
		var v Verdict
		switch url := "http://" + name + path; d.Visit(name, url, present()) {
		case WantText:
			v = d.Page(name, url, reader.Sum(p.html(), p.title), present())
		case WantDateless:
			v = d.Page(name, url, reader.SumDateless(p.html(), p.title), present())
		}
		if v.Kind != None {
			t.closed = append(t.closed, v)
		}
	}
	return t
}

// words gives n words that depend on the seed, of a vocabulary as a language has.
func words(n int, seed ...any) string {
	h := hashSegment(fmt.Sprint(seed...))
	r := rand.New(rand.NewPCG(h, 7)) //nolint:gosec // a repeatable text
	var b strings.Builder
	for range n {
		k := int(r.ExpFloat64() * 800)
		b.WriteString(syllables[k%16] + syllables[k/16%16] + syllables[k/256%16])
		b.WriteByte(' ')
	}
	return b.String()
}

//nolint:gochecknoglobals // a constant table
var syllables = [16]string{"ba", "ke", "lo", "mi", "nu", "ra", "se", "to", "vi", "da", "fe", "go", "hi", "ju", "pa", "zu"}
