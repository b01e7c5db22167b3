package blocked

import (
	"strings"
	"sync"

	"orbweaver/core/crawl"
)

// How many such answers a host gives, with no page in between, before it is left
// alone. What is said for the whole site needs one; a firewall may refuse one
// address only; and public sites send visitors to their login from many links.
const (
	blocksInRow = 3
	loginsInRow = 50
)

// maxHosts bounds the hosts that a Watch knows; past it all are forgotten, which
// makes it count anew.
const maxHosts = 4096

// Watch judges the answers of one crawl's hosts. It is in the node's memory only: a
// restart counts anew. Safe for concurrent use.
type Watch struct {
	mu    sync.Mutex
	hosts map[string]*hostWatch // guarded by mu
}

// hostWatch is what is known of one host.
type hostWatch struct {
	pages bool   // it has given a page
	row   int    // answers in a row that are no pages
	last  string // the reason of the last one
	told  bool   // that it is to be left alone
}

// NewWatch makes a Watch.
func NewWatch() *Watch { return &Watch{hosts: map[string]*hostWatch{}} }

// Verdict is what a Watch says to an answer.
type Verdict struct {
	Finding
	Park  bool // leave the host alone, for Reason
	First bool // Park was not said of this host since its last page
}

// Answer judges the answer to req by host; links as with Recognise. An answer of
// 2xx that nothing is found in counts as a page, but for a login page.
//
// A challenge or 402 parks at once. A block parks after 3, a login after 50 with no
// page in between and leading to the same place; the first answers of a host that are
// so park at once when req is a seed: there is nothing else to be had there.
func (w *Watch) Answer(host string, req *crawl.Request, resp *crawl.Response, links int) Verdict {
	f := Recognise(resp, links, sendsAuth(req))
	page := f.Kind == "" && resp.Cause == crawl.CauseNone && resp.Status >= 200 && resp.Status < 300
	if f.Kind == "" && (!page || isLogin(resp.URL)) {
		return Verdict{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.hosts[host]
	if h == nil {
		if len(w.hosts) >= maxHosts {
			clear(w.hosts)
		}
		h = new(hostWatch)
		w.hosts[host] = h
	}
	if page {
		h.pages, h.row, h.last, h.told = true, 0, "", false
		return Verdict{}
	}
	if reason := f.Reason(); reason != h.last {
		h.row, h.last = 0, reason
	}
	h.row++
	v := Verdict{Finding: f}
	switch f.Kind {
	case Challenge, Payment:
		v.Park = true
	case Block:
		v.Park = h.row >= blocksInRow
	case Login:
		v.Park = h.row >= loginsInRow
	}
	v.Park = v.Park || req.Seed && !h.pages
	v.First = v.Park && !h.told
	h.told = h.told || v.Park
	return v
}

// sendsAuth reports whether a request carries credentials of ours.
func sendsAuth(req *crawl.Request) bool {
	for i := range req.Headers {
		switch len(req.Headers[i].Name) {
		case len("Authorization"):
			if strings.EqualFold(req.Headers[i].Name, "authorization") {
				return true
			}
		case len("Proxy-Authorization"):
			if strings.EqualFold(req.Headers[i].Name, "proxy-authorization") {
				return true
			}
		}
	}
	return false
}
