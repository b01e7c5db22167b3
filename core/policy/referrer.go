package policy

import (
	"strings"

	"orbweaver/core/crawl"
	"orbweaver/core/weburl"
)

// ReferrerPolicy says what the Referer field of a request holds of the page that
// led to it (W3C Referrer Policy). The zero value is Scrapy's default, which is
// NoReferrerWhenDowngrade.
type ReferrerPolicy uint8

// The policies of the W3C.
const (
	NoReferrerWhenDowngrade     ReferrerPolicy = iota // the whole URL, but not from https to http
	NoReferrer                                        // nothing
	SameOrigin                                        // the whole URL within an origin
	Origin                                            // the origin
	StrictOrigin                                      // the origin, but not from https to http
	OriginWhenCrossOrigin                             // the whole URL within an origin, else the origin
	StrictOriginWhenCrossOrigin                       // the same, but not from https to http
	UnsafeURL                                         // the whole URL
)

func (r ReferrerPolicy) String() string {
	return [...]string{
		"no-referrer-when-downgrade", "no-referrer", "same-origin", "origin", "strict-origin",
		"origin-when-cross-origin", "strict-origin-when-cross-origin", "unsafe-url",
	}[r]
}

// scrapyDefault is the name of Scrapy for its own default.
const scrapyDefault = "scrapy-default"

// ParseReferrerPolicy reads a policy's name, or a list of names with commas between:
// then the last that is known counts, as in a Referrer-Policy field. "" and
// "scrapy-default" are the default.
func ParseReferrerPolicy(names string) (ReferrerPolicy, bool) {
	for {
		i := strings.LastIndexByte(names, ',')
		name := strings.ToLower(strings.Trim(names[i+1:], " \t"))
		if name == "" || name == scrapyDefault {
			return NoReferrerWhenDowngrade, true
		}
		for r := NoReferrerWhenDowngrade; r <= UnsafeURL; r++ {
			if name == r.String() {
				return r, true
			}
		}
		if i < 0 {
			return NoReferrerWhenDowngrade, false
		}
		names = names[:i]
	}
}

// Referrer is what the Referer field of a request for to says when from led there,
// both clean URLs: from without fragment, user and password, its origin, or "".
func (r ReferrerPolicy) Referrer(from, to string) string {
	downgrade := isSecure(from) && !isSecure(to)
	same := false
	switch r {
	case SameOrigin, OriginWhenCrossOrigin, StrictOriginWhenCrossOrigin:
		same = weburl.Origin(from) == weburl.Origin(to)
	default:
	}
	switch {
	case r == UnsafeURL, r == NoReferrerWhenDowngrade && !downgrade, same:
		return stripped(from)
	case r == Origin, r == StrictOrigin && !downgrade, r == OriginWhenCrossOrigin, r == StrictOriginWhenCrossOrigin && !downgrade:
		if origin := weburl.Origin(from); origin != "" {
			return origin + "/"
		}
	}
	return ""
}

// Referrers is the policy of the requests that a page leads to: that of its
// Referrer-Policy field where it has one, else the crawl's. A request's own
// `referrer_policy` in meta goes before both; see Follow.
func (p *Policy) Referrers(resp *crawl.Response) ReferrerPolicy {
	for i := range resp.Headers {
		h := &resp.Headers[i]
		if len(h.Name) == len("Referrer-Policy") && strings.EqualFold(h.Name, "Referrer-Policy") {
			if r, ok := ParseReferrerPolicy(h.Value); ok {
				return r
			}
			break
		}
	}
	return p.cfg.ReferrerPolicy
}

// referer is the Referer of a request for to, made by a page at from.
func (p *Policy) referer(r ReferrerPolicy, from, to string, meta []byte) string {
	if !p.cfg.RefererEnabled {
		return ""
	}
	if len(meta) > 0 {
		if name := readDirectives(meta).ReferrerPolicy; name != nil {
			if own, ok := ParseReferrerPolicy(*name); ok {
				r = own
			}
		}
	}
	return r.Referrer(from, to)
}

func isSecure(url string) bool { return strings.HasPrefix(url, "https:") }

// stripped is a URL without fragment, user and password.
func stripped(url string) string {
	if i := strings.IndexByte(url, '#'); i >= 0 {
		url = url[:i]
	}
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		return scheme + "://" + rest[at+1:]
	}
	return url
}
