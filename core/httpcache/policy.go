package httpcache

import (
	"slices"
	"strings"
	"time"

	"orbweaver/core/crawl"
)

// forGood is how long an answer is fresh that says that it is permanent.
const forGood = 365 * 24 * time.Hour

func (c *Cache) control(fields []crawl.Header) control {
	return controlOf(fields, c.cfg.IgnoreControls)
}

// cachesResponse reports whether an answer may be stored.
func (c *Cache) cachesResponse(resp *crawl.Response) bool {
	if int64(len(resp.Body)) > c.cfg.MaxSize {
		return false
	}
	if c.cfg.Policy == Dummy {
		return !slices.Contains(c.cfg.IgnoreCodes, resp.Status)
	}
	cc := c.control(resp.Headers)
	switch {
	case resp.Status == 304, resp.Status == 206, cc.has("no-store"):
		return false
	case strings.TrimSpace(resp.Header("Vary")) == "*":
		return false // no request would ever match it
	case c.cfg.AlwaysStore, cc.has("max-age"), resp.Header("Expires") != "":
		return true
	}
	switch resp.Status {
	case 300, 301, 308:
		return true
	case 200, 203, 401:
		return resp.Header("Last-Modified") != "" || resp.Header("ETag") != ""
	default:
		return false
	}
}

// fresh reports whether a stored answer may be given unasked; else what to ask by.
func (c *Cache) fresh(e *entry, req *crawl.Request) (fields []crawl.Header, ok bool) {
	if c.cfg.Policy == Dummy {
		return nil, true
	}
	cc, asked := c.control(e.Headers), controlOf(req.Headers, nil)
	if !cc.has("no-cache") && !asked.has("no-cache") && c.freshByAge(e, cc, asked) {
		return nil, true
	}
	if etag, ok := header(e.Headers, "ETag"); ok {
		if _, given := header(req.Headers, "If-None-Match"); !given {
			fields = append(fields, crawl.Header{Name: "If-None-Match", Value: etag})
		}
	}
	if modified, ok := header(e.Headers, "Last-Modified"); ok {
		if _, given := header(req.Headers, "If-Modified-Since"); !given {
			fields = append(fields, crawl.Header{Name: "If-Modified-Since", Value: modified})
		}
	}
	return fields, false
}

func (c *Cache) freshByAge(e *entry, cc, asked control) bool {
	now := c.now()
	life, age := lifetime(e, cc), e.age(now)
	if most, ok := asked.seconds("max-age"); ok {
		life = min(life, most)
	}
	if least, ok := asked.seconds("min-fresh"); ok {
		age += least
	}
	if age < life {
		return true
	}
	if !asked.has("max-stale") || cc.has("must-revalidate") {
		return false
	}
	if asked["max-stale"] == "" {
		return true
	}
	more, _ := asked.seconds("max-stale")
	return age < life+more
}

// lifetime is how long an answer is fresh (RFC 9111 §4.2.1, §4.2.2).
func lifetime(e *entry, cc control) time.Duration {
	if life, ok := cc.seconds("max-age"); ok {
		return life
	}
	at, ok := date(e.Headers, "Date")
	if !ok {
		at = e.Stored
	}
	if _, stated := header(e.Headers, "Expires"); stated {
		expires, ok := date(e.Headers, "Expires")
		if !ok {
			return 0 // "0" and other text: stale
		}
		return max(0, expires.Sub(at))
	}
	if modified, ok := date(e.Headers, "Last-Modified"); ok && !modified.After(at) {
		return at.Sub(modified) / 10
	}
	switch e.Status {
	case 300, 301, 308:
		return forGood
	default:
		return 0
	}
}

// age is how old an answer is (RFC 9111 §4.2.3).
func (e *entry) age(now time.Time) time.Duration {
	age := time.Duration(0)
	if at, ok := date(e.Headers, "Date"); ok && e.Stored.After(at) {
		age = e.Stored.Sub(at)
	}
	if value, ok := header(e.Headers, "Age"); ok {
		age = max(age, deltaSeconds(value))
	}
	return age + max(0, now.Sub(e.Stored))
}

// stillValid reports whether a stored answer stands after the site was asked.
func (c *Cache) stillValid(e *entry, resp *crawl.Response) bool {
	switch {
	case c.cfg.Policy == Dummy:
		return true
	case resp.Status >= 500:
		return !c.control(e.Headers).has("must-revalidate")
	default:
		return resp.Status == 304
	}
}

// update takes over the fields of a 304 (RFC 9111 §4.3.4). Those that describe the
// transfer or the coding of the stored body stay.
func (c *Cache) update(e *entry, resp *crawl.Response) bool {
	for _, h := range resp.Headers {
		switch strings.ToLower(h.Name) {
		case "content-length", "content-encoding", "content-range", "transfer-encoding", "connection", "keep-alive", "trailer", "set-cookie":
			continue
		}
		e.Headers = slices.DeleteFunc(e.Headers, func(old crawl.Header) bool { return strings.EqualFold(old.Name, h.Name) })
	}
	for _, h := range resp.Headers {
		switch strings.ToLower(h.Name) {
		case "content-length", "content-encoding", "content-range", "transfer-encoding", "connection", "keep-alive", "trailer", "set-cookie":
			continue
		}
		e.Headers = append(e.Headers, h)
	}
	e.Stored = c.now()
	return true
}
