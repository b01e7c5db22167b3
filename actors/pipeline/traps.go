package pipeline

import (
	"github.com/sirupsen/logrus"

	"orbweaver/core/crawl"
	"orbweaver/core/spider"
	"orbweaver/core/trap"
	"orbweaver/messages"
)

// Statistics of traps; Scrapy has none. A link that is dropped counts under
// statTrap and its kind.
const (
	statTrap        = "trap/"
	statTrapSession = "trap/session_id"       // links that were compared without their session id
	statTrapClosed  = "trap/closed/"          // patterns and hosts closed
	statPageLimit   = statTrap + "page_limit" // links past DOMAIN_PAGE_LIMIT
)

// fingerprint fingerprints a link. A session id in it does not count: the page is
// fetched once, as the first link to it is written.
func (w *worker) fingerprint(job *Job, found *crawl.Request, t *tally) {
	if job.Traps != nil {
		if bare, ok := trap.WithoutSession(found.URL); ok {
			written := found.URL
			found.URL = bare
			found.Fingerprint = job.Fingerprint.Fingerprint(found)
			found.URL = written
			t.sessions++
			return
		}
	}
	found.Fingerprint = job.Fingerprint.Fingerprint(found)
}

// trapped reports whether a link leads into a trap, and counts that.
func (w *worker) trapped(job *Job, host, url string, out *outcome) bool {
	if job.Traps == nil {
		return false
	}
	kind := job.Traps.Link(host, url, w.now)
	if kind == trap.Host && host == w.host && job.Traps.Released(host, w.sent) {
		kind = job.Traps.Link(host, url, w.now)
	}
	if kind == trap.None {
		return false
	}
	name := statTrap + string(kind)
	for i := range out.stats {
		if out.stats[i].name == name {
			out.stats[i].n++
			return true
		}
	}
	out.stats = append(out.stats, count{name, 1})
	return true
}

// watch holds a page's text against those of earlier pages. It says why the page's
// host should be put aside; "" when it should not.
func (w *worker) watch(job *Job, msg *messages.Page, page *spider.Page, out *outcome) string {
	if job.Traps == nil || !page.Doc.HTML() {
		return ""
	}
	host, url, now := msg.Lease.Host, msg.Lease.Request.URL, w.now
	var text trap.Signature
	switch job.Traps.Visit(host, url, now) {
	case trap.WantText:
		text = w.reader.Sum(page.Doc.Text(), page.Doc.Title())
	case trap.WantDateless:
		text = w.reader.SumDateless(page.Doc.Text(), page.Doc.Title())
	default:
		return ""
	}
	v := job.Traps.Page(host, url, text, now)
	if v.Kind == trap.None {
		return ""
	}
	out.stats = append(out.stats, count{statTrapClosed + string(v.Kind), 1})
	if v.Kind == trap.Host {
		return v.Reason
	}
	w.log.WithFields(logrus.Fields{"domain": host, "url": url, "reason": v.Reason}).Warn("links are no longer followed")
	return ""
}
