// Package httpcache answers requests from disk, so that a spider can be worked on
// without asking the site again (Scrapy's HttpCacheMiddleware). Policy RFC9111 keeps
// to what servers say of their answers, and asks them whether what is stored is still
// good; Dummy keeps everything and asks nobody.
package httpcache

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"orbweaver/core/crawl"
)

// The policies.
const (
	RFC9111 = "RFC9111"
	Dummy   = "Dummy"
)

// Config is the settings of a cache.
type Config struct {
	// Dir is HTTPCACHE_DIR: the folder; entries are in a folder of each crawl.
	Dir string
	// Policy is RFC9111 or Dummy (HTTPCACHE_POLICY).
	Policy string
	// Expiration is HTTPCACHE_EXPIRATION_SECS: older entries are not there. Zero:
	// they do not expire.
	Expiration time.Duration
	// IgnoreMissing is HTTPCACHE_IGNORE_MISSING: what is not stored is not fetched.
	IgnoreMissing bool
	// IgnoreCodes is HTTPCACHE_IGNORE_HTTP_CODES: answers that Dummy does not store.
	IgnoreCodes []int
	// IgnoreSchemes is HTTPCACHE_IGNORE_SCHEMES, lower case.
	IgnoreSchemes []string
	// Gzip is HTTPCACHE_GZIP: bodies are compressed.
	Gzip bool
	// AlwaysStore is HTTPCACHE_ALWAYS_STORE: RFC9111 stores whatever no-store does
	// not forbid.
	AlwaysStore bool
	// IgnoreControls is HTTPCACHE_IGNORE_RESPONSE_CACHE_CONTROLS: directives of
	// answers that are not seen, lower case.
	IgnoreControls []string
	// Refused recognises answers that are no pages but a challenge or another refusal:
	// they are passed on, never stored and never given. nil: none are.
	Refused func(*crawl.Response) bool
	// MaxSize bounds a stored body in bytes; larger ones are not stored and not read.
	MaxSize int64
}

// Validate reports a policy that there is not, or a folder that is not named.
func (c Config) Validate() error {
	var errs []error
	if c.Policy != RFC9111 && c.Policy != Dummy {
		errs = append(errs, fmt.Errorf("httpcache: HTTPCACHE_POLICY is %q: want %s or %s", c.Policy, RFC9111, Dummy))
	}
	if c.Dir == "" {
		errs = append(errs, errors.New("httpcache: HTTPCACHE_DIR is empty: name a folder"))
	}
	if c.MaxSize < 1 {
		errs = append(errs, fmt.Errorf("httpcache: largest body is %d: want 1 or more", c.MaxSize))
	}
	return errors.Join(errs...)
}

// The counters, under Scrapy's names.
const (
	statHit          = "httpcache/hit"
	statMiss         = "httpcache/miss"
	statIgnore       = "httpcache/ignore"
	statFirsthand    = "httpcache/firsthand"
	statStore        = "httpcache/store"
	statUncacheable  = "httpcache/uncacheable"
	statRevalidate   = "httpcache/revalidate"
	statInvalidate   = "httpcache/invalidate"
	statErrorRecover = "httpcache/errorrecovery"
)

// Cache is safe for concurrent use, by several processes too: the last to store an
// answer wins.
type Cache struct {
	cfg Config
	now func() time.Time
}

// New makes a cache; cfg must be valid. now gives wall time.
func New(cfg Config, now func() time.Time) *Cache {
	return &Cache{cfg: cfg, now: now}
}

// Look is what a cache knows of a request before it is sent.
type Look struct {
	// Response answers the request; nil: it is to be fetched.
	Response *crawl.Response
	// Fields are to be sent with the request besides its own: they ask whether what
	// is stored is still good.
	Fields []crawl.Header

	skip   bool // the cache has nothing to do with the request
	stored *entry
	stats  []string
}

// Look looks for an answer. An error is a stored answer that cannot be read: the look
// is then a miss.
func (c *Cache) Look(name string, req *crawl.Request) (Look, error) {
	if !c.cachesRequest(req) {
		return Look{skip: true}, nil
	}
	e, err := c.read(name, req)
	if e != nil && c.refused(e.response(req)) { // stored before it was known for one
		e = nil
	}
	if e == nil {
		l := Look{stats: []string{statMiss}}
		if c.cfg.IgnoreMissing {
			l.stats = append(l.stats, statIgnore)
			l.Response = &crawl.Response{URL: req.URL, Cause: crawl.CauseMissing, Err: "not in the cache, and HTTPCACHE_IGNORE_MISSING is set", Counted: l.stats, Cached: true}
		}
		return l, err
	}
	fields, fresh := c.fresh(e, req)
	if !fresh {
		return Look{Fields: fields, stored: e}, nil
	}
	return Look{Response: e.response(req, statHit)}, nil
}

// Done takes what a fetch after Look brought, and gives what the request is answered
// by: resp, or the stored answer when that is still good. An error is an answer that
// could not be stored.
func (c *Cache) Done(name string, req *crawl.Request, l *Look, resp *crawl.Response) (*crawl.Response, error) {
	if l.skip {
		return resp, nil
	}
	stats := l.stats
	if c.refused(resp) { // a stored answer must not hide it either
		resp.Counted = append(append(resp.Counted, stats...), statUncacheable)
		return resp, nil
	}
	if e := l.stored; e != nil {
		if resp.Cause != crawl.CauseNone {
			if !failed(resp.Cause) || c.cfg.Policy == Dummy {
				return resp, nil
			}
			if c.control(e.Headers).has("must-revalidate") {
				return resp, nil
			}
			return e.answer(resp, statErrorRecover), nil
		}
		if c.stillValid(e, resp) {
			var err error
			if resp.Status == 304 && c.update(e, resp) {
				err = c.write(name, req, e)
			}
			return e.answer(resp, statRevalidate), err
		}
		stats = append(stats, statInvalidate)
	} else if resp.Cause == crawl.CauseNone {
		stats = append(stats, statFirsthand)
	}
	resp.Counted = append(resp.Counted, stats...)
	if resp.Cause != crawl.CauseNone {
		return resp, nil
	}
	if !c.cachesResponse(resp) {
		resp.Counted = append(resp.Counted, statUncacheable)
		return resp, nil
	}
	if err := c.write(name, req, c.entryOf(req, resp)); err != nil {
		return resp, err
	}
	resp.Counted = append(resp.Counted, statStore)
	return resp, nil
}

func (c *Cache) refused(resp *crawl.Response) bool {
	return c.cfg.Refused != nil && resp.Cause == crawl.CauseNone && c.cfg.Refused(resp)
}

// failed reports whether a fetch ended without an answer by the site's or the
// network's fault, so that the stored one may stand in.
func failed(cause crawl.Cause) bool {
	return cause.SiteFault() || cause == crawl.CauseMalformed || cause == crawl.CauseEncoding
}

// cachesRequest reports whether the cache has to do with a request. Only GET and HEAD
// without a body are stored.
func (c *Cache) cachesRequest(req *crawl.Request) bool {
	if m := req.MethodOrGet(); m != "GET" && m != "HEAD" || len(req.Body) > 0 {
		return false
	}
	scheme, _, _ := strings.Cut(req.URL, ":")
	if slices.Contains(c.cfg.IgnoreSchemes, strings.ToLower(scheme)) {
		return false
	}
	if len(req.Meta) > 0 {
		var meta struct {
			DontCache bool `json:"dont_cache"`
		}
		_ = json.Unmarshal(req.Meta, &meta) // a wrong type is as none
		if meta.DontCache {
			return false
		}
	}
	return c.cfg.Policy == Dummy || !controlOf(req.Headers, nil).has("no-store")
}

// folder is the name of a crawl's folder.
func folder(name string) string {
	if name = url.PathEscape(name); strings.Trim(name, ".") == "" {
		return "_" + name
	}
	return name
}
