package blocked

import (
	"strings"

	"orbweaver/core/crawl"
)

// captchaPlaces are addresses that redirects of challenges lead to.
var captchaPlaces = []struct{ part, name string }{ //nolint:gochecknoglobals // constant table
	{"captcha-delivery.com/", "DataDome"},
	{"//validate.perfdrive.com", "Radware"},
	{"/sorry/index", "Google"}, // www.google.com/sorry/index?continue=
	{"/.well-known/sgcaptcha/", "SiteGround"},
	{"/_sec/cp_challenge/", "Akamai"},
	{"/errors/validatecaptcha", "Amazon"},
}

// loginNames are path segments of login pages, without an ending such as .php.
var loginNames = map[string]bool{ //nolint:gochecknoglobals // constant table
	"login": true, "log-in": true, "log_in": true, "signin": true, "sign-in": true, "sign_in": true, "logon": true,
	"wp-login": true, "userlogin": true, "user-login": true, "sso": true, "saml": true,
}

// captchaNames are path segments of pages that hold a challenge.
var captchaNames = map[string]bool{ //nolint:gochecknoglobals // constant table
	"captcha": true, "recaptcha": true, "are-you-human": true, "human-verification": true, "bot-check": true, "robot-check": true,
}

// byLocation goes by where a redirect leads.
func byLocation(resp *crawl.Response) Finding {
	to := strings.ToLower(resp.Header("Location"))
	if to == "" {
		return Finding{}
	}
	if i := strings.IndexAny(to, "?#"); i >= 0 {
		to = to[:i]
	}
	for _, p := range captchaPlaces {
		if strings.Contains(to, p.part) {
			return Finding{Challenge, p.name}
		}
	}
	for segment := range strings.SplitSeq(pathOf(to), "/") {
		name, _, _ := strings.Cut(segment, ".")
		switch {
		case loginNames[name]:
			return Finding{Login, clip(to)}
		case captchaNames[name]:
			return Finding{Challenge, "captcha"}
		}
	}
	return Finding{}
}

// pathOf is the path of a URL without query, absolute or not.
func pathOf(url string) string {
	if i := strings.Index(url, "//"); i >= 0 {
		_, url, _ = strings.Cut(url[i+2:], "/")
	}
	return url
}

// isLogin reports whether a URL is a login page's. That one answers says nothing of
// the site's other pages.
func isLogin(url string) bool {
	if i := strings.IndexAny(url, "?#"); i >= 0 {
		url = url[:i]
	}
	for segment := range strings.SplitSeq(pathOf(url), "/") {
		if len(segment) < 3 || len(segment) > 14 {
			continue
		}
		name, _, _ := strings.Cut(segment, ".")
		if loginNames[strings.ToLower(name)] {
			return true
		}
	}
	return false
}

func clip(s string) string {
	if len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "")
	}
	return s
}
