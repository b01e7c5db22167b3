// Package blocked recognises answers that are no pages but a refusal: a challenge,
// a block, a demand for payment or a login. It goes by stated signs (signs.go), so
// that what it says can be checked. Recognise judges one answer; Watch, the main
// type, knows for each host whether it is time to leave the site alone. Nothing
// here solves or evades a challenge.
package blocked

import (
	"strings"

	"orbweaver/core/crawl"
)

// Kind is what an answer is in place of the page.
type Kind string

// The kinds. The names are the ones of stats (blocked/<kind>) and reasons.
const (
	Challenge Kind = "challenge" // a test that a person is to pass
	Block     Kind = "block"     // a refusal by a firewall in front of the site
	Payment   Kind = "payment"   // status 402
	Login     Kind = "login"     // credentials are asked for
)

// Finding is what was recognised; the zero value is nothing.
type Finding struct {
	Kind Kind
	Sign string // the name of the sign: "Cloudflare"
}

// Reason is the finding in words, for marks and logs; "" for nothing.
func (f Finding) Reason() string {
	switch f.Kind {
	case "":
		return ""
	case Payment:
		return "payment required (" + f.Sign + ")"
	default:
		return string(f.Kind) + ": " + f.Sign
	}
}

// maxBody is how much of a body is looked at, in bytes, and the largest body of an
// answer of 2xx that is looked at: a challenge is small.
const maxBody = 64 << 10

// UnknownLinks stands for the number of a page's links.
const UnknownLinks = -1

// Recognise judges one answer. links is how many links the page has, UnknownLinks
// when nobody looked: one of 2xx with more than a few is a page. The headers come first;
// the body is parsed only when it holds a word of the signs. sentAuth says that the
// request carried credentials of ours.
func Recognise(resp *crawl.Response, links int, sentAuth bool) Finding {
	if resp.Cause != crawl.CauseNone || resp.Status == 0 {
		return Finding{}
	}
	if resp.Status == 402 {
		return Finding{Payment, "402"}
	}
	if f := byHeader(resp); f.Kind != "" {
		return f
	}
	switch {
	case resp.Status == 401 && !sentAuth && resp.Header("WWW-Authenticate") != "":
		return Finding{Login, "401"}
	case resp.Status == 407 && !sentAuth && resp.Header("Proxy-Authenticate") != "":
		return Finding{Login, "407"}
	case resp.Status >= 300 && resp.Status < 400:
		return byLocation(resp)
	}
	return byBody(resp, links)
}

// byHeader goes by header fields alone.
func byHeader(resp *crawl.Response) Finding {
	for i := range resp.Headers {
		h := &resp.Headers[i]
		if n := len(h.Name); n < 6 || n > 18 {
			continue
		}
		for _, s := range headerSigns {
			if len(s.field) != len(h.Name) || !strings.EqualFold(s.field, h.Name) {
				continue
			}
			value := strings.TrimSpace(h.Value)
			if (s.value == "" || strings.EqualFold(s.value, value)) && (!s.refused || refuses(resp.Status)) {
				return Finding{s.kind, s.name}
			}
		}
	}
	return Finding{}
}

// refuses reports whether a status is no page's.
func refuses(status int) bool { return status >= 400 }

// byBody goes by what the page holds.
func byBody(resp *crawl.Response, links int) Finding {
	body := resp.Body
	if !refuses(resp.Status) {
		if links > maxLinks || len(body) > maxBody {
			return Finding{}
		}
	} else if len(body) > maxBody {
		body = body[:maxBody]
	}
	if !suspicious(body) {
		return Finding{}
	}
	f := readFacts(body)
	for i := range bodySigns {
		if s := &bodySigns[i]; s.holds(&f, resp.Status) {
			return Finding{s.kind, s.name}
		}
	}
	return Finding{}
}
