package extract

import (
	"bytes"
	"hash/maphash"
	"strings"

	"orbweaver/core/robots"
	"orbweaver/core/spider"
	"orbweaver/core/weburl"
)

// AppendLinks implements spider.Document.
func (d *document) AppendLinks(dst []string, rule spider.LinkRule) []string {
	d.scan()
	anchors := d.scanner.anchors
	if w := wantedBy(&rule); w != nil {
		anchors = d.pick(w)
	}
	if len(anchors) == 0 || !d.settleBase() {
		return dst
	}
	exact := rule.KeepFragments || rule.Canonicalize
	if exact {
		d.clearSeen(2 * len(anchors))
	} else {
		d.clearSeen(len(anchors))
	}
	for i := range anchors {
		a := &anchors[i]
		if a.nofollow && !rule.Nofollow || a.invisible && !rule.Invisible {
			continue
		}
		href := trim(a.href)
		if !rule.KeepFragments {
			if k := bytes.IndexByte(href, '#'); k >= 0 {
				href = href[:k]
			}
			if len(href) == 0 && d.inPage {
				continue
			}
		}
		if len(href) > hrefLimitBytes || otherScheme(href) || !rule.Repeats && !d.firstSeen(href) {
			continue
		}
		if d.codec.enc != nil {
			href = d.codec.escapeQuery(href)
		}
		u, ok := d.base.Resolve(href)
		if rule.KeepFragments {
			u, ok = d.base.ResolveWhole(href)
		}
		if !ok || !rule.Admits(u) {
			continue
		}
		if exact {
			if u, ok = d.exact(u, &rule); !ok {
				continue
			}
		}
		dst = append(dst, u)
	}
	return dst
}

// exact gives a link in the form that the rule asks for; false when its
// canonical form came before.
func (d *document) exact(u string, rule *spider.LinkRule) (string, bool) {
	canonical, err := weburl.Canonicalize(u, weburl.CanonicalOptions{KeepFragments: !rule.Canonicalize})
	if err != nil {
		return "", false
	}
	if !rule.Repeats && !d.firstHash(^maphash.String(d.seed, canonical)) {
		return "", false
	}
	if rule.Canonicalize {
		u = canonical
	}
	return u, true
}

// pick scans the page once more for elements that the usual scan passes over.
func (d *document) pick(w *wanted) []anchor {
	if !d.HTML() {
		return nil
	}
	p := &d.picker
	p.wanted = w
	p.reset(d.text)
	p.run()
	return p.anchors
}

// Resolve implements spider.Document.
func (d *document) Resolve(href string) (string, bool) {
	d.scan()
	ref := trim([]byte(href))
	if len(ref) > hrefLimitBytes || !d.settleBase() {
		return "", false
	}
	return d.resolve(ref)
}

// resolve gives the clean URL of a link; the base is settled.
func (d *document) resolve(href []byte) (string, bool) {
	if d.codec.enc != nil {
		href = d.codec.escapeQuery(href)
	}
	return d.base.ResolveWhole(href)
}

// settleBase finds what the page's links are relative to: its own URL, or what
// the first base element with an href says. False: the page has no http URL, so
// its links lead nowhere.
func (d *document) settleBase() bool {
	if d.based {
		return d.base != nil
	}
	d.based = true
	page, err := weburl.NewBase(d.url)
	if err != nil {
		return false
	}
	d.base = page
	if s := &d.scanner; s.base != nil {
		if u, ok := page.Resolve(s.base); ok {
			if b, err := weburl.NewBase(u); err == nil {
				d.base, d.inPage = b, false
			}
		}
	}
	return true
}

// Refresh implements spider.Document.
func (d *document) Refresh() (seconds float64, url string, ok bool) {
	d.scan()
	r := &d.scanner.refresh
	if !r.set || len(r.target) > hrefLimitBytes || !d.settleBase() {
		return 0, "", false
	}
	u, ok := d.resolve(trim(r.target))
	if !ok {
		return 0, "", false
	}
	return r.seconds, u, true
}

// Robots implements spider.Document.
func (d *document) Robots(token string) (asked robots.Directives) {
	for i := range d.resp.Headers {
		if h := &d.resp.Headers[i]; len(h.Name) == len(robotsHeader) && strings.EqualFold(h.Name, robotsHeader) {
			asked.AddHeader(h.Value, token)
		}
	}
	d.scan()
	for _, n := range d.scanner.notesFound {
		asked.AddMeta(string(n.name), string(n.content), token)
	}
	return asked
}

const robotsHeader = "X-Robots-Tag"
