package rqueue

import (
	"strings"
	"time"
)

// The limits of a crawl's stored cookies.
const (
	cookieDomainBytes = 64 << 10 // of one domain; the oldest go past it
	cookieDomains     = 10_000   // in one shard; more are not stored
)

// Cookie is one stored cookie; its form is the caller's (package cookies).
type Cookie struct {
	Domain string // all of a domain are kept together
	ID     string // what replaces what; Line begins with it
	Line   string // "" removes the one with this ID; holds no line feed
}

// CookiesGet reads the stored cookies of some domains (rule 22). ErrStaleRun when the
// crawl was flushed or deleted.
type CookiesGet struct {
	OpBase
	Crawl   *Crawl
	Host    string   // whose shard has them
	Domains []string // of one shard; at most 127

	Cookies []Cookie // out; ID is not set
}

// CookiesPut stores cookies of one host's domains, or removes them. ErrStaleRun when the
// crawl was flushed or deleted: then nothing is stored.
type CookiesPut struct {
	OpBase
	Crawl   *Crawl
	Host    string
	Cookies []Cookie
}

func (op *CookiesGet) build(f *Frontier, a *args) *script {
	sh := op.Crawl.keys.host(op.Host).shard
	a.key(sh.run)
	a.key(sh.cookies)
	a.str(op.Crawl.runText())
	for _, d := range op.Domains {
		a.str(d)
	}
	return f.scripts.cookiesGet
}

func (op *CookiesGet) parse(_ *Frontier, r *reply, _ time.Time) error {
	n := r.array()
	if r.err == nil && n != len(op.Domains) {
		return ErrStaleRun
	}
	op.Cookies = nil
	for i := range n {
		for line := range strings.SplitSeq(r.string(), "\n") {
			if line != "" {
				op.Cookies = append(op.Cookies, Cookie{Domain: op.Domains[i], Line: line})
			}
		}
	}
	return r.err
}

func (op *CookiesPut) build(f *Frontier, a *args) *script {
	sh := op.Crawl.keys.host(op.Host).shard
	a.key(sh.run)
	a.key(sh.cookies)
	a.str(op.Crawl.runText())
	a.int(cookieDomainBytes)
	a.int(cookieDomains)
	for _, c := range op.Cookies {
		a.str(c.Domain)
		a.str(c.ID)
		a.str(c.Line)
	}
	return f.scripts.cookiesPut
}

func (op *CookiesPut) parse(_ *Frontier, r *reply, _ time.Time) error {
	if n := r.int(); r.err == nil && n == 0 {
		return ErrStaleRun
	}
	return r.err
}
