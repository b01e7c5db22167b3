package policy

import (
	"slices"
	"strings"

	"orbweaver/core/crawl"
	"orbweaver/core/weburl"
)

// RedirectIndex is the index in crawl.DeriveID of the request that a redirect
// produces: no page has so many links.
const RedirectIndex uint32 = 1 << 31

func isRedirect(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	default:
		return false
	}
}

// redirect gives the action for a redirect; false when the response is to be
// taken as it is, because it names no target.
func (p *Policy) redirect(req *crawl.Request, resp *crawl.Response, d directives) (Action, bool) {
	location, ok := lastHeader(resp.Headers, "Location")
	if !ok {
		return Action{}, false
	}
	target, err := redirectTarget(req.URL, location)
	if err != nil {
		if p.isAllowed(resp.Status, d) {
			return Action{}, false
		}
		return Action{Kind: Ignore, Reason: "redirect not followed: " + err.Error()}, true
	}
	return p.follow(req, resp, d, target, becomesGet(resp.Status, req.MethodOrGet())), true
}

// follow gives the request for where an answer leads, with what of its fields may go
// there, or gives up past the redirects in a row.
func (p *Policy) follow(req *crawl.Request, resp *crawl.Response, d directives, target string, get bool) Action {
	ttl := p.cfg.RedirectMaxTimes
	if d.RedirectTTL != nil {
		ttl = min(ttl, *d.RedirectTTL)
	}
	if int(req.Redirects) >= ttl {
		return Action{Kind: Dead, Cause: crawl.CauseRedirects, Reason: "max redirections reached"}
	}
	next := *req
	next.ID = crawl.DeriveID(req.ID, RedirectIndex)
	next.URL = target
	next.Redirects++
	next.Attempts, next.Busy = 0, 0
	next.Priority = addPriority(req.Priority, p.cfg.RedirectPriorityAdjust)
	next.Referer = p.referer(p.Referrers(resp), req.URL, target, req.Meta)
	next.Fingerprint = crawl.Fingerprint{}
	next.Headers = slices.Clone(req.Headers)
	if get {
		next.Method, next.Body = "GET", nil
		dropHeaders(&next, "Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Location")
	}
	dropHeaders(&next, "Referer")
	if weburl.Origin(req.URL) != weburl.Origin(target) {
		dropHeaders(&next, "Authorization", "Proxy-Authorization")
	}
	if !sameCookies(req.URL, target) {
		dropHeaders(&next, "Cookie")
	}
	return Action{Kind: Redirect, Request: &next}
}

// redirectTarget joins a Location to the URL it came from. A Location without a
// scheme is cleaned before it is joined, as Scrapy does (a backslash is a
// character of the path, not a slash), and "//" of any length starts a host.
func redirectTarget(from, location string) (string, error) {
	if !hasScheme(location) {
		clean, err := weburl.SafeURL(location, "")
		if err != nil {
			return "", err
		}
		if strings.HasPrefix(location, "//") {
			scheme, _, _ := strings.Cut(from, "://")
			clean = scheme + "://" + strings.TrimLeft(clean, "/")
		}
		location = clean
	}
	joined, err := weburl.Resolve(from, location)
	if err != nil {
		return "", err
	}
	target, err := weburl.Clean(joined)
	if err != nil {
		return "", err
	}
	if _, fragment, ok := strings.Cut(from, "#"); ok && strings.IndexByte(target, '#') < 0 {
		target += "#" + fragment
	}
	return target, nil
}

// hasScheme reports whether a colon stands before the first slash, query or fragment.
func hasScheme(location string) bool {
	i := strings.IndexAny(location, `:/\?#`)
	return i > 0 && location[i] == ':'
}

// becomesGet reports whether a redirect changes the method to GET, as browsers
// do (Fetch, HTTP-redirect fetch, step 12).
func becomesGet(status int, method string) bool {
	switch status {
	case 301, 302:
		return method == "POST"
	case 303:
		return method != "GET" && method != "HEAD"
	default:
		return false
	}
}

// sameCookies reports whether a Cookie header may go along: the same host, and
// not from https to http.
func sameCookies(from, to string) bool {
	return weburl.Host(from) == weburl.Host(to) && (!isSecure(from) || isSecure(to))
}

// lastHeader gives the last field of that name: Scrapy's choice where a
// response has several.
func lastHeader(headers []crawl.Header, name string) (string, bool) {
	for _, h := range slices.Backward(headers) {
		if strings.EqualFold(h.Name, name) {
			return h.Value, true
		}
	}
	return "", false
}

// dropHeaders takes the named fields out. It writes to req.Headers.
func dropHeaders(req *crawl.Request, names ...string) {
	req.Headers = slices.DeleteFunc(req.Headers, func(h crawl.Header) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, h.Name) })
	})
}
