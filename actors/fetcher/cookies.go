package fetcher

import (
	"slices"
	"strings"
	"time"

	"orbweaver/core/cookies"
	"orbweaver/core/crawl"
	"orbweaver/messages"
)

// withCookie is the request with a Cookie field. The request itself stays as it is: it
// may be stored again, for another try.
func withCookie(req *crawl.Request, cookie string) *crawl.Request {
	r := *req
	r.Headers = append(slices.Clone(req.Headers), crawl.Header{Name: "Cookie", Value: cookie})
	return &r
}

// keepCookies puts what an answer sets into the request's jar.
func keepCookies(msg *messages.Fetch, resp *crawl.Response) []cookies.Change {
	var lines []string
	for i := range resp.Headers {
		if h := &resp.Headers[i]; len(h.Name) == len("Set-Cookie") && strings.EqualFold(h.Name, "Set-Cookie") {
			lines = append(lines, h.Value)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	jar, kept := cookies.Key(msg.Lease.Request.Meta)
	if !kept {
		return nil
	}
	return msg.Cookies.Set(jar, resp.URL, lines, time.Now())
}
