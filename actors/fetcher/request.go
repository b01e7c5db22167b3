package fetcher

import (
	"cmp"
	"errors"
	"strings"

	"github.com/valyala/fasthttp"

	"orbweaver/core/crawl"
)

var (
	errMethod = errors.New("method is not a token")
	errHeader = errors.New("header field with a malformed name or value")
)

// proxyAuth is never taken from a request's own fields.
const proxyAuth = "Proxy-Authorization"

// appendRequest appends the request's bytes as they go on the wire: the fields
// of req in their order, then the defaults that it lacks. Framing is ours:
// Content-Length and Transfer-Encoding of req are left out, and
// Proxy-Authorization: only what a proxy's own URL says is sent, to it alone. hold is false when
// the request itself asks to close the connection.
func (c *Client) appendRequest(dst []byte, t *target, req *crawl.Request, via *proxy) (wire []byte, hold bool, err error) {
	method := req.MethodOrGet()
	if !validToken(method) {
		return dst, false, errMethod
	}
	r := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(r)
	h := &r.Header
	h.DisableNormalizing()
	h.DisableSpecialHeader() // or fasthttp sorts, merges and drops fields
	h.SetMethod(method)
	path := t.path
	if path[0] != '/' {
		path = "/" + path
	}
	if via.forwards(t) {
		path = "http://" + t.authority + path
	}
	h.SetRequestURI(path)
	if headerIndex(req.Headers, "Host") < 0 {
		h.Add("Host", t.authority)
	}
	hold = true
	for i := range req.Headers {
		f := &req.Headers[i]
		if !validToken(f.Name) || !validValue(f.Value) {
			return dst, false, errHeader
		}
		switch {
		case strings.EqualFold(f.Name, "Content-Length"), strings.EqualFold(f.Name, "Transfer-Encoding"),
			strings.EqualFold(f.Name, proxyAuth):
			continue
		case strings.EqualFold(f.Name, "Connection") && hasToken(f.Value, "close"):
			hold = false
		}
		h.Add(f.Name, f.Value)
	}
	for i := range c.defaults {
		if f := &c.defaults[i]; headerIndex(req.Headers, f.Name) < 0 {
			h.Add(f.Name, f.Value)
		}
	}
	if req.Referer != "" && validValue(req.Referer) && headerIndex(req.Headers, "Referer") < 0 {
		h.Add("Referer", req.Referer)
	}
	if auth := cmp.Or(t.auth, c.auth.forTarget(t)); auth != "" && headerIndex(req.Headers, "Authorization") < 0 {
		h.Add("Authorization", auth)
	}
	if via.forwards(t) && via.auth != "" {
		h.Add(proxyAuth, via.auth)
	}
	if len(req.Body) > 0 || method == fasthttp.MethodPost || method == fasthttp.MethodPut || method == fasthttp.MethodPatch {
		var n [20]byte
		h.AddBytesV("Content-Length", fasthttp.AppendUint(n[:0], len(req.Body)))
	}
	return append(h.AppendBytes(dst), req.Body...), hold, nil
}

// headerIndex is the index of the first field of that name, or -1.
func headerIndex(fields []crawl.Header, name string) int {
	for i := range fields {
		if len(fields[i].Name) == len(name) && strings.EqualFold(fields[i].Name, name) {
			return i
		}
	}
	return -1
}

// hasToken reports whether a comma-separated list has the token.
func hasToken(list, token string) bool {
	for part := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.TrimSpace(part), token) {
			return true
		}
	}
	return false
}

// validToken reports whether s is a token of RFC 9110 section 5.6.2.
func validToken(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}

// validValue reports whether s can be a field's value: no bytes that could end
// the line or the string early.
func validValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
