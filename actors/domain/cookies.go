package domain

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"orbweaver/core/cookies"
	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

// jar is a crawl's cookies as a domain uses them. The zero value keeps none.
type jar struct {
	jars    *cookies.Jars // shared by the crawl's hosts on this node; nil: none are kept
	persist bool
	state   jarState
	unsaved []rqueue.Cookie // the store failed to take them; at most maxUnsaved
}

// maxUnsaved is how many changed cookies wait for a store that fails; older ones go.
const maxUnsaved = 256

// jarState is whether the cookies that the store has for this host are in the jars.
// Nothing is sent before they are.
type jarState uint8

const (
	jarUnread  jarState = iota
	jarReading          // asked for
	jarReady
)

// jarOf is a crawl's cookies.
func (d *Domain) jarOf(c *rqueue.Crawl) jar {
	if d.deps.Cookies == nil {
		return jar{state: jarReady}
	}
	jars, persist := d.deps.Cookies(c)
	if jars == nil || !persist {
		return jar{jars: jars, state: jarReady}
	}
	return jar{jars: jars, persist: true}
}

// cookie is the Cookie field that a request is to be sent with. One that brings its
// own keeps it.
func (d *Domain) cookie(w *work, req *crawl.Request) string {
	if w.jar.jars == nil || w.jar.jars.Empty() {
		return ""
	}
	key, kept := cookies.Key(req.Meta)
	if !kept {
		return ""
	}
	for i := range req.Headers {
		if isCookie(req.Headers[i].Name) {
			return ""
		}
	}
	field := w.jar.jars.Header(key, req.URL, time.Now())
	if field != "" && d.cfg.CookiesDebug {
		d.log().WithFields(logrus.Fields{"url": req.URL, "cookie": field}).Info("cookies sent")
	}
	return field
}

// isCookie reports whether a field's name is Cookie, in any case.
func isCookie(name string) bool {
	const lower = "cookie"
	if len(name) != len(lower) {
		return false
	}
	for i := range len(lower) {
		if name[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}

// onCookies sees to the cookies that an answer changed: the fetcher has put them into
// the jar already.
func (d *Domain) onCookies(ctx actor.Context, f *flight, o messages.Outcome) {
	if d.cfg.CookiesDebug {
		for _, c := range o.Cookies {
			d.log().WithFields(logrus.Fields{"url": f.lease.Request.URL, "cookie_domain": c.Domain, "cookie": c.Line}).Info("cookie received")
		}
	}
	if f.work == nil || !f.work.jar.persist {
		return
	}
	w := f.work
	wait := len(w.jar.unsaved) > 0 // or an older one would overtake
	for _, c := range o.Cookies {
		w.jar.unsaved = append(w.jar.unsaved, rqueue.Cookie{Domain: c.Domain, ID: c.ID, Line: c.Line})
	}
	if !wait {
		d.saveCookies(ctx, w)
	}
}

// saveCookies stores what is not stored yet.
func (d *Domain) saveCookies(ctx actor.Context, w *work) {
	if len(w.jar.unsaved) > 0 {
		d.ask(ctx, &rqueue.CookiesPut{Crawl: w.crawl, Host: d.slot, Cookies: w.jar.unsaved})
		w.jar.unsaved = nil
	}
}

func (d *Domain) onCookiesSaved(now time.Time, op *rqueue.CookiesPut) {
	if !d.failed(now, op.Err) {
		return
	}
	if w := d.find(op.Crawl); w != nil {
		all := slices.Concat(op.Cookies, w.jar.unsaved)
		w.jar.unsaved = all[max(0, len(all)-maxUnsaved):]
	}
}

// readCookies asks the store for what this host may be sent.
func (d *Domain) readCookies(ctx actor.Context, w *work) {
	if w.jar.state == jarReading {
		return
	}
	w.jar.state = jarReading
	d.ask(ctx, &rqueue.CookiesGet{Crawl: w.crawl, Host: d.slot, Domains: cookies.Domains(d.slot)})
}

func (d *Domain) onCookiesRead(now time.Time, op *rqueue.CookiesGet) {
	w := d.find(op.Crawl)
	if w == nil || w.jar.state != jarReading {
		return
	}
	if d.failed(now, op.Err) {
		w.jar.state = jarUnread
		return
	}
	w.jar.state = jarReady // also when the run is over: then nothing is leased either
	for _, c := range op.Cookies {
		w.jar.jars.Load(c.Domain, []string{c.Line}, now)
	}
}
