package pipeline

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"

	"github.com/sirupsen/logrus"

	"orbweaver/core/crawl"
	"orbweaver/core/robots"
	"orbweaver/core/rqueue"
	"orbweaver/core/sitemap"
	"orbweaver/core/weburl"
	"orbweaver/messages"
)

// Statistics of sitemaps; Scrapy has none.
const (
	statSitemaps       = "sitemap/response_count"
	statSitemapURLs    = "sitemap/url_count"
	statSitemapInvalid = "sitemap/invalid_count"     // responses that should have been sitemaps
	statSitemapBadURLs = "sitemap/invalid_url_count" // entries without an absolute URL
)

// sitemap reads a page that is a sitemap: its URLs become links, those of an index
// requests for further sitemaps. What is asked for as one is; a seed, or with
// SITEMAP any page, is one if it reads as one. False: the page is for the spider.
func (w *worker) sitemap(job *Job, msg *messages.Page, out *outcome) bool {
	req, resp := msg.Lease.Request, msg.Response
	level := sitemap.Level(req.Meta)
	if level == 0 && !req.Seed && !job.Sitemaps {
		return false
	}
	w.result.Reset()
	if level > 0 && strings.HasSuffix(req.URL, robotsPath) {
		for _, url := range sitemap.RobotsSitemaps(robotsText(resp.Body), req.URL) {
			w.furtherSitemap(url, level, out)
		}
	} else if !w.readSitemap(job, msg, level, out) {
		w.result.Reset()
		return false
	}
	out.isDoc = true
	w.links(job, req, out)
	return true
}

// readSitemap gathers what a sitemap names; false when it is none and nobody said
// that it should be.
func (w *worker) readSitemap(job *Job, msg *messages.Page, level int, out *outcome) bool {
	req, resp := msg.Lease.Request, msg.Response
	var kind sitemap.Kind
	var bad int64
	r, _, ok := sitemap.Open(req.URL, resp.Header("Content-Type"), resp.Body)
	err := errNoSitemap
	if ok {
		kind, err = w.entries(r, job.SitemapLimits, &bad)
	}
	known := kind == sitemap.URLSet || kind == sitemap.Index
	if !known && level == 0 {
		return false
	}
	if !known || err != nil {
		out.stats = append(out.stats, count{statSitemapInvalid, 1})
		w.log.WithFields(logrus.Fields{"url": req.URL, "kind": kind, "err": err}).Warn("sitemap cannot be read, or not to its end")
	}
	if !known {
		w.result.Reset()
		return true
	}
	out.stats = append(out.stats, count{statSitemaps, 1}, count{statSitemapURLs, int64(len(w.result.Links))})
	if bad > 0 {
		out.stats = append(out.stats, count{statSitemapBadURLs, bad})
	}
	if kind == sitemap.Index {
		locs := w.result.Links
		w.result.Links = locs[:0]
		for _, url := range locs {
			w.furtherSitemap(url, max(level, 1)+1, out)
		}
		clear(locs)
	}
	return true
}

var errNoSitemap = errors.New("neither XML nor gzip")

// entries adds the URLs of a sitemap to the links.
func (w *worker) entries(r io.Reader, limits sitemap.Limits, bad *int64) (sitemap.Kind, error) {
	return sitemap.Parse(r, limits, func(e *sitemap.Entry) bool {
		url, err := weburl.Clean(e.Loc())
		if err != nil {
			*bad++
			return true
		}
		w.result.Follow(url)
		return true
	})
}

// furtherSitemap asks for a sitemap that another file names.
func (w *worker) furtherSitemap(url string, level int, out *outcome) {
	url, err := weburl.Clean(url)
	if err != nil || level > sitemap.MaxLevel {
		out.stats = append(out.stats, count{statSitemapBadURLs, 1})
		return
	}
	w.result.Requests = append(w.result.Requests, crawl.Request{URL: url, Meta: sitemap.Mark(level)})
}

const robotsPath = "/robots.txt"

// robotsText is the part of a robots.txt that is read.
func robotsText(body []byte) string {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	return string(body[:min(len(body), robots.LimitBytes)])
}

// robotsSitemaps asks for the robots.txt of a seed's host, as a page that names
// sitemaps: the domain's own robots.txt may be one that was fetched long ago.
func (w *worker) robotsSitemaps(job *Job, req *crawl.Request, out *outcome) {
	if !job.RobotsSitemaps || !req.Seed {
		return
	}
	url, err := weburl.Resolve(req.URL, robotsPath)
	if err != nil {
		return
	}
	found := &crawl.Request{ID: crawl.DeriveID(req.ID, math.MaxUint32), URL: url, Depth: req.Depth, Meta: sitemap.Mark(1)}
	found.Fingerprint = job.Fingerprint.Fingerprint(found)
	host := weburl.Host(url)
	if job.Scope.Allows(host) && !job.Crawl.Known(found.Fingerprint.Member()) {
		out.page.Links = append(out.page.Links, rqueue.Link{Crawl: job.Crawl, Host: host, Request: found})
	}
}
