package blocked

import "strings"

// What a page may hold at most and still be nothing but a challenge.
const (
	maxLinks = 4    // of an answer of 2xx
	bareText = 1500 // visible bytes; of an answer of 2xx half of it
	bareRefs = 10   // links of an answer that refuses
	tinyText = 400
)

// headerSign is a header field that says it all.
type headerSign struct {
	kind    Kind
	name    string
	field   string
	value   string // "": any
	refused bool   // only with a status of 400 or more
}

var headerSigns = []headerSign{ //nolint:gochecknoglobals // constant table
	// developers.cloudflare.com, "Detect a Challenge Page response".
	{Challenge, "Cloudflare", "cf-mitigated", "challenge", false},
	// AWS WAF developer guide, "CAPTCHA and Challenge action behavior": with 202 and 405.
	{Challenge, "AWS WAF", "x-amzn-waf-action", "challenge", false},
	{Challenge, "AWS WAF", "x-amzn-waf-action", "captcha", false},
	// vercel.com/docs, "Vercel Firewall": x-vercel-mitigated.
	{Challenge, "Vercel", "x-vercel-mitigated", "challenge", false},
	{Block, "Vercel", "x-vercel-mitigated", "deny", true},
	// docs.datadome.co: X-DD-B is on refused requests; X-DataDome alone is on every answer.
	{Challenge, "DataDome", "x-dd-b", "", true},
	// SiteGround's anti-bot answer, with 202.
	{Challenge, "SiteGround", "sg-captcha", "challenge", false},
}

// bodySign is a page that is nothing but a challenge. Every condition that is set
// must hold; each list needs one of its words. All words are lower case.
//
// Signs look where they cannot be quoted: markup is the values of attributes and the
// text of scripts, never visible text, where documentation shows its samples.
type bodySign struct {
	kind    Kind
	name    string
	refused bool     // only with a status of 400 or more
	tiny    bool     // hardly any text and no link
	input   bool     // may ask for one line of text
	title   []string // begins with
	markup  []string
	markup2 []string
	text    []string
	text2   []string
}

var bodySigns = []bodySign{ //nolint:gochecknoglobals // constant table
	// Cloudflare: managed and JavaScript challenges. Ordinary pages carry
	// /cdn-cgi/challenge-platform/scripts/jsd/main.js, so the script alone says nothing.
	{
		kind: Challenge, name: "Cloudflare", title: []string{"just a moment"},
		markup: []string{"/cdn-cgi/challenge-platform/", "_cf_chl_opt", "challenges.cloudflare.com", "cf-browser-verification", "cf-challenge"},
	},
	{kind: Challenge, name: "Cloudflare", markup: []string{"/cdn-cgi/challenge-platform/"}, markup2: []string{"_cf_chl_opt"}},
	{
		kind: Block, name: "Cloudflare", title: []string{"attention required! | cloudflare", "access denied |"}, refused: true,
		text: []string{"you have been blocked", "has banned", "error 1020", "error code: 1020", "error 1006", "error 1005"},
	},
	{kind: Challenge, name: "Cloudflare", title: []string{"attention required! | cloudflare"}, text: []string{"security check", "one more step", "are a human"}},
	// Akamai: the edge's refusal, with its reference; Bot Manager's interstitial.
	{
		kind: Block, name: "Akamai", tiny: true, title: []string{"access denied"}, text: []string{"you don't have permission to access"},
		text2: []string{"reference #", "reference&#32;#", "errors.edgesuite.net"},
	},
	{kind: Challenge, name: "Akamai", tiny: true, markup: []string{"bm-verify", "/_sec/cp_challenge/", "sec-if-cpt-container", "sec-cpt-if"}},
	// DataDome: the page loads its captcha from captcha-delivery.com.
	{kind: Challenge, name: "DataDome", markup: []string{"geo.captcha-delivery.com", "ct.captcha-delivery.com", "captcha-delivery.com/c.js", "captcha-delivery.com/i.js"}},
	// HUMAN (PerimeterX). Ordinary pages carry its sensor, but not its captcha.
	{kind: Challenge, name: "HUMAN", markup: []string{"_pxcaptcha", "px-captcha", "captcha.px-cdn.net", "captcha.px-cloud.net"}},
	{kind: Challenge, name: "HUMAN", refused: true, text: []string{"we believe you are using automation tools"}},
	// Imperva: ordinary pages carry the script of /_Incapsula_Resource, with a page around it.
	{kind: Challenge, name: "Imperva", tiny: true, markup: []string{"/_incapsula_resource"}},
	{kind: Block, name: "Imperva", tiny: true, text: []string{"incapsula incident id"}},
	// Sucuri: a script that sets a cookie and loads again; the firewall's page.
	{kind: Challenge, name: "Sucuri", markup: []string{"sucuri_cloudproxy_js"}},
	{kind: Block, name: "Sucuri", title: []string{"sucuri website firewall"}, text: []string{"access denied"}},
	// DDoS-Guard.
	{kind: Challenge, name: "DDoS-Guard", title: []string{"ddos-guard"}},
	{kind: Challenge, name: "DDoS-Guard", tiny: true, markup: []string{"check.ddos-guard.net", "/.well-known/ddos-guard/"}},
	// SiteGround, Alibaba Cloud, Kasada, Radware, F5.
	{kind: Challenge, name: "SiteGround", tiny: true, markup: []string{"/.well-known/sgcaptcha/"}},
	{kind: Challenge, name: "Alibaba Cloud", tiny: true, markup: []string{"acw_sc__v2", "acw_sc__v3"}},
	{kind: Challenge, name: "Kasada", refused: true, tiny: true, markup: []string{"kpsdk"}},
	{kind: Challenge, name: "Radware", title: []string{"radware bot manager captcha", "radware captcha page"}},
	{kind: Challenge, name: "Radware", tiny: true, markup: []string{"validate.perfdrive.com"}},
	{kind: Block, name: "F5", tiny: true, title: []string{"request rejected"}, text: []string{"the requested url was rejected"}, text2: []string{"support id"}},
	// Vercel's checkpoint; AWS WAF's script, should a proxy have dropped the field.
	{kind: Challenge, name: "Vercel", title: []string{"vercel security checkpoint"}},
	{kind: Challenge, name: "AWS WAF", tiny: true, markup: []string{"awswafintegration", "awswafcookiedomainlist", ".awswaf.com/"}, text: []string{"human", "robot", "javascript is disabled"}},
	// Amazon's own: one line of characters to type.
	{kind: Challenge, name: "Amazon", input: true, markup: []string{"/errors/validatecaptcha"}},
	// Google's own, and others that say the same.
	{kind: Challenge, name: "unusual traffic", text: []string{
		"detected unusual traffic", "unusual traffic from your", "unusual activity from your", "automated requests from your",
		"automated traffic from your",
	}, text2: []string{"captcha", "your computer network", "your network", "your ip", "robot", "block", "verify"}},
	// A widget with nothing around it but the words that ask for it. With a status of 200 the
	// words must be there; a form that asks for anything else is a form.
	{kind: Challenge, name: "captcha", markup: captchaWidgets, text: humanWords},
	{kind: Challenge, name: "captcha", refused: true, markup: captchaWidgets},
	{kind: Challenge, name: "browser check", refused: true, text: humanWords},
	{kind: Challenge, name: "browser check", title: []string{
		"checking your browser", "verify you are human", "are you a robot", "robot check", "security check", "human verification", "bot verification",
	}, text: humanWords},
}

// captchaWidgets are how reCAPTCHA, hCaptcha and Turnstile are put into a page, by their documentation.
var captchaWidgets = []string{ //nolint:gochecknoglobals // constant table
	"g-recaptcha", "recaptcha/api.js", "recaptcha/enterprise.js", "h-captcha", "hcaptcha.com/1/api.js",
	"cf-turnstile", "challenges.cloudflare.com/turnstile",
}

var humanWords = []string{ //nolint:gochecknoglobals // constant table
	"verify you are human", "verify that you are human", "verifying you are human", "verify you're human", "confirm you are human",
	"confirm that you are human", "prove you are human", "prove that you are human", "you are a human", "you're a human", "not a robot", "not a bot",
	"are you a robot", "are you human", "complete the captcha", "complete the security check", "complete a security check", "solve the captcha",
	"solve this captcha", "checking your browser", "checking if the site connection is secure", "enable javascript and cookies to continue",
	"needs to review the security of your connection", "pass the security check",
}

// holds reports whether a page shows the sign.
func (s *bodySign) holds(f *facts, status int) bool {
	refused := refuses(status)
	if s.refused && !refused {
		return false
	}
	text, links := bareText/2, maxLinks
	if refused {
		text, links = bareText, bareRefs
	}
	if s.tiny {
		text, links = tinyText, 2
	}
	if f.size > text || f.links > links || f.fields > 1 || f.fields == 1 && !s.input {
		return false
	}
	if s.title != nil && !hasPrefix(f.title, s.title) {
		return false
	}
	return has(f.markup, s.markup) && has(f.markup, s.markup2) && has(f.text, s.text) && has(f.text, s.text2)
}

func has(in string, words []string) bool {
	for _, w := range words {
		if strings.Contains(in, w) {
			return true
		}
	}
	return words == nil
}

func hasPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
