package blocked_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/blocked"
	"orbweaver/core/crawl"
)

// answer makes a response; fields come as "Name: value".
func answer(status int, body string, fields ...string) *crawl.Response {
	r := &crawl.Response{URL: "https://shop.example/a", Status: status, Body: []byte(body)}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		r.Headers = append(r.Headers, crawl.Header{Name: name, Value: value})
	}
	return r
}

func page(title, head, body string) string {
	return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + title + "</title>\n" + head + "</head>\n<body>" + body + "</body></html>"
}

// prose is visible text of about so many bytes.
func prose(n int) string {
	return "<p>" + strings.Repeat("The river rose in the night and by morning the lower fields were under water. ", n/78+1) + "</p>"
}

// nav is a menu of so many links.
func nav(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `<a href="/topic/%d">Topic %d</a> `, i, i)
	}
	return "<nav>" + b.String() + "</nav>"
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const ch, bl, pay, login = blocked.Challenge, blocked.Block, blocked.Payment, blocked.Login
	tests := []struct {
		name string
		kind blocked.Kind
		sign string
		resp *crawl.Response
	}{
		{"payment", pay, "402", answer(402, "")},
		{"payment with a page", pay, "402", answer(402, page("Pay per crawl", "", prose(2000)))},
		{"basic auth", login, "401", answer(401, "", "WWW-Authenticate: Basic realm=\"x\"")},
		{"bearer", login, "401", answer(401, "{}", "www-authenticate: Bearer")},
		{"proxy", login, "407", answer(407, "", "Proxy-Authenticate: Basic")},
		{"cloudflare header", ch, "Cloudflare", answer(403, "", "CF-Mitigated: challenge")},
		{"cloudflare header, 503", ch, "Cloudflare", answer(503, prose(9000), "cf-mitigated: challenge")},
		{"cloudflare header, 200", ch, "Cloudflare", answer(200, nav(50), "cf-mitigated: challenge")},
		{"aws challenge", ch, "AWS WAF", answer(202, "", "x-amzn-waf-action: challenge")},
		{"aws captcha", ch, "AWS WAF", answer(405, "", "x-amzn-waf-action: captcha")},
		{"aws page without the field", ch, "AWS WAF", answer(202, page("", `<script>window.awsWafCookieDomainList = [];</script><script src="https://0a1b.token.awswaf.com/0a1b/challenge.js"></script>`,
			`<div id="challenge-container"></div><noscript><h1>JavaScript is disabled</h1>In order to continue, we need to verify that you're not a robot.</noscript>`))},
		{"vercel header", ch, "Vercel", answer(429, "", "x-vercel-mitigated: challenge")},
		{"vercel deny", bl, "Vercel", answer(403, "", "X-Vercel-Mitigated: deny")},
		{"vercel page", ch, "Vercel", answer(429, page("Vercel Security Checkpoint", "", "<p>We're verifying your browser</p>"))},
		{"datadome header", ch, "DataDome", answer(403, "", "X-DataDome: protected", "X-DD-B: 1")},
		{"siteground header", ch, "SiteGround", answer(202, "", "SG-Captcha: challenge")},
		{"cloudflare, 403", ch, "Cloudflare", answer(403, page("Just a moment...", `<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=8a"></script>`, `<div class="main-content"><noscript>Enable JavaScript and cookies to continue</noscript></div>`))},
		{"cloudflare, 503", ch, "Cloudflare", answer(503, page("Just a moment...", "", `<form id="challenge-form" action="/?__cf_chl_f_tk=1"><input type="hidden" name="md"></form><div class="cf-browser-verification">Checking your browser before accessing shop.example.</div>`))},
		{"cloudflare, 200", ch, "Cloudflare", answer(200, page("Just a moment...", `<script>window._cf_chl_opt={cvId:'3'};</script>`, "Enable JavaScript and cookies to continue"))},
		{"cloudflare, 429", ch, "Cloudflare", answer(429, page("Just a moment...", `<script>window._cf_chl_opt={cvId:'3'};</script>`, ""))},
		{"cloudflare in French", ch, "Cloudflare", answer(403, page("Un instant…", `<script>(function(){window._cf_chl_opt={cType:'managed'};a.src='/cdn-cgi/challenge-platform/h/g/orchestrate/chl_page/v1';})()</script>`, "Veuillez activer JavaScript"))},
		{"cloudflare block", bl, "Cloudflare", answer(403, page("Attention Required! | Cloudflare", "", `<h1>Sorry, you have been blocked</h1><h2>You are unable to access shop.example</h2><a href="https://www.cloudflare.com/5xx-error-landing">Cloudflare</a>`))},
		{"cloudflare 1020", bl, "Cloudflare", answer(403, page("Access denied | shop.example used Cloudflare to restrict access", "", "<h1>Error 1020</h1><h2>Access denied</h2>"))},
		{"cloudflare captcha of old", ch, "Cloudflare", answer(403, page("Attention Required! | Cloudflare", "", "<h1>One more step</h1><h2>Please complete the security check to access shop.example</h2>"))},
		{"akamai", bl, "Akamai", answer(403, `<HTML><HEAD>
<TITLE>Access Denied</TITLE>
</HEAD><BODY>
<H1>Access Denied</H1>
You don't have permission to access "http&#58;&#47;&#47;shop&#46;example&#47;a" on this server.<P>
Reference&#32;&#35;18&#46;2d351ab8&#46;1557333295&#46;a4e16ab
</BODY>
</HTML>`)},
		{"akamai, 200", bl, "Akamai", answer(200, page("Access Denied", "", `<h1>Access Denied</h1>You don't have permission to access "http://shop.example/" on this server.<p>Reference #18.1a2b.1557.4e1</p><p>https://errors.edgesuite.net/18.1a2b</p>`))},
		{"akamai interstitial", ch, "Akamai", answer(200, page("", `<meta http-equiv="refresh" content="5; URL='/a?bm-verify=AAQAAAAE'">`, `<noscript></noscript><script>var i=1;</script>`))},
		{"akamai crypto challenge", ch, "Akamai", answer(428, page("", "", `<div id="sec-if-cpt-container" class="behavioral-content"></div><script src="/_sec/cp_challenge/sec-4-4.js" async defer></script>`))},
		{"datadome", ch, "DataDome", answer(403, `<html lang="en"><head><title>shop.example</title><style>#cmsg{}</style></head><body><p id="cmsg">Please enable JS and disable any ad blocker</p><script>var dd={'rt':'c','host':'geo.captcha-delivery.com'}</script><script src="https://ct.captcha-delivery.com/c.js"></script></body></html>`)},
		{"datadome, 200", ch, "DataDome", answer(200, page("shop.example", "", `<iframe src="https://geo.captcha-delivery.com/captcha/?initialCid=1" title="DataDome CAPTCHA"></iframe>`))},
		{"datadome as JSON", ch, "DataDome", answer(403, `{"url":"https://geo.captcha-delivery.com/captcha/?initialCid=AHrlq"}`)},
		{"human", ch, "HUMAN", answer(403, page("Access to this page has been denied", `<meta name="description" content="px-captcha">`, `<div id="px-captcha"></div><p>Press &amp; Hold to confirm you are a human (and not a bot).</p><script>window._pxAppId='PX1';window._pxUuid='1';var s='/PX1/captcha/captcha.js';</script>`))},
		{"human, 200", ch, "HUMAN", answer(200, page("Human Verification", "", `<script>window._pxCaptcha=1;</script><div id="px-captcha"></div>`))},
		{"human's words", ch, "HUMAN", answer(403, page("Denied", "", "<p>Access to this page has been denied because we believe you are using automation tools to browse the website.</p>"))},
		{"imperva", ch, "Imperva", answer(200, `<html style="height:100%"><head><META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW"><script src="/_Incapsula_Resource?SWJIYLWA=719"></script></head><body style="margin:0px"><iframe id="main-iframe" src="/_Incapsula_Resource?SWUDNSAI=31&amp;xinfo=1">Request unsuccessful. Incapsula incident ID: 1-2</iframe></body></html>`)},
		{"imperva's words", bl, "Imperva", answer(403, "<html><body>Request unsuccessful. Incapsula incident ID: 443000270049</body></html>")},
		{"sucuri", ch, "Sucuri", answer(200, `<html><title>You are being redirected...</title><noscript>Javascript is required. Please enable javascript before you are allowed to see this page.</noscript><script>var s={},u,c,U,r,i,l=0,a,e=eval,w=String.fromCharCode,sucuri_cloudproxy_js='',S='Y2';</script></html>`)},
		{"sucuri block", bl, "Sucuri", answer(403, page("Sucuri WebSite Firewall - Access Denied", "", "<h1>Access Denied - Sucuri Website Firewall</h1><p>Block reason: bad bot</p>"))},
		{"ddos-guard", ch, "DDoS-Guard", answer(403, page("DDoS-Guard", `<script src="/.well-known/ddos-guard/js-challenge/index.js"></script>`, "<h1>Checking your browser before accessing shop.example</h1>"))},
		{"ddos-guard script", ch, "DDoS-Guard", answer(200, page("", `<script src="https://check.ddos-guard.net/check.js"></script>`, ""))},
		{"siteground page", ch, "SiteGround", answer(202, `<html><head><link rel="icon" href="data:;"><meta http-equiv="refresh" content="0;/.well-known/sgcaptcha/?r=%2F&y=ipc:1"></meta></head></html>`)},
		{"alibaba", ch, "Alibaba Cloud", answer(200, `<html><script>var arg1='B1';function setCookie(n,v){};setCookie("acw_sc__v2",arg1);document.location.reload();</script></html>`)},
		{"kasada", ch, "Kasada", answer(429, `<html><head></head><body><script>window.KPSDK={};</script><script src="/149e9513-01fa/2d206a39/ips.js"></script></body></html>`)},
		{"radware", ch, "Radware", answer(200, page("Radware Bot Manager Captcha", "", "<p>We apologize for the inconvenience</p>"))},
		{"f5, 200", bl, "F5", answer(200, "<html><head><title>Request Rejected</title></head><body>The requested URL was rejected. Please consult with your administrator.<br><br>Your support ID is: 4527<br><br><a href='javascript:history.back();'>[Go Back]</a></body></html>")},
		{"amazon", ch, "Amazon", answer(200, page("Amazon.com", "", `<h4>Enter the characters you see below</h4><p>Sorry, we just need to make sure you're not a robot.</p><form method="get" action="/errors/validateCaptcha"><input type="hidden" name="amzn" value="1"><img src="/captcha/x.jpg"><input type="text" name="field-keywords"><button>Continue shopping</button></form><a href="/c">Conditions</a>`))},
		{"google", ch, "unusual traffic", answer(429, page("https://www.google.com/search?q=a", "", `<form id="captcha-form"><div id="recaptcha" class="g-recaptcha" data-sitekey="6L"></div><input type="hidden" name="q"></form><b>About this page</b><br>Our systems have detected unusual traffic from your computer network. This page checks to see if it's really you sending the requests, and not a robot.`))},
		{"recaptcha alone, 200", ch, "captcha", answer(200, page("Security check", `<script src="https://www.google.com/recaptcha/api.js"></script>`, `<form action="/verify" method="post"><p>Please confirm that you are human to continue.</p><div class="g-recaptcha" data-sitekey="6L"></div><input type="submit" value="Continue"></form>`))},
		{"hcaptcha alone, 403", ch, "captcha", answer(403, page("Forbidden", `<script src="https://js.hcaptcha.com/1/api.js" async></script>`, `<form method="post"><div class="h-captcha" data-sitekey="1"></div></form>`))},
		{"turnstile alone, 200", ch, "captcha", answer(200, page("shop.example", `<script src="https://challenges.cloudflare.com/turnstile/v0/api.js"></script>`, `<p>Verifying you are human. This may take a few seconds.</p><div class="cf-turnstile"></div>`))},
		{"browser check, 503", ch, "browser check", answer(503, page("Please wait", "", "<h1>Checking your browser before accessing the site</h1><p>This process is automatic.</p>"))},
		{"browser check, 200", ch, "browser check", answer(200, page("Robot Check", "", "<p>Are you a robot? Please wait.</p>"))},
		{"redirect to datadome", ch, "DataDome", answer(302, "", "Location: https://geo.captcha-delivery.com/captcha/?x=1")},
		{"redirect to radware", ch, "Radware", answer(302, "", "Location: https://validate.perfdrive.com/fb803/captcha?ssa=1")},
		{"redirect to google's sorry", ch, "Google", answer(302, "", "Location: https://www.google.com/sorry/index?continue=https://www.google.com/")},
		{"redirect to a captcha", ch, "captcha", answer(302, "", "Location: /captcha?back=%2Fa")},
		{"redirect to a captcha page", ch, "captcha", answer(303, "", "Location: https://shop.example/en/captcha.php")},
		{"redirect to a login", login, "/login", answer(302, "", "Location: /login?next=%2Fa")},
		{"redirect to another login", login, "https://id.example/users/sign_in", answer(302, "", "Location: https://id.example/users/sign_in#x")},
		{"redirect to wordpress's", login, "/wp-login.php", answer(307, "", "Location: /wp-login.php?redirect_to=x")},
	}
	require.GreaterOrEqual(t, len(tests), 40)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := blocked.Recognise(tt.resp, 0, false)
			require.Equal(t, blocked.Finding{Kind: tt.kind, Sign: tt.sign}, got)
			require.NotEmpty(t, got.Reason())
		})
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	recaptcha := `<script src="https://www.google.com/recaptcha/api.js"></script>`
	contact := `<h1>Contact us</h1><form method="post"><label>Name <input name="name"></label><label>Mail <input type="email" name="mail"></label><textarea name="text"></textarea><div class="g-recaptcha" data-sitekey="6L"></div><button>Send</button></form>`
	sample := func(s string) string {
		return "<pre><code>" + strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(s) + "</code></pre>"
	}
	tests := []struct {
		name  string
		resp  *crawl.Response
		links int
	}{
		{"ordinary", answer(200, page("River news", "", nav(20)+prose(4000))), 20},
		{"empty", answer(200, ""), 0},
		{"short", answer(200, page("Hello", "", "<p>Hello.</p>")), 0},
		{"not found", answer(404, page("Not found", "", "<h1>404</h1><p>Nothing here.</p>")), 0},
		{"plain 403", answer(403, page("403 Forbidden", "", "<center><h1>403 Forbidden</h1></center><hr><center>nginx</center>")), 0},
		{"plain 429", answer(429, page("429 Too Many Requests", "", "<h1>Too Many Requests</h1>"), "Retry-After: 5"), 0},
		{"plain 503", answer(503, page("Service Unavailable", "", "<h1>Be back soon</h1><p>We are working on the site.</p>")), 0},
		{"500", answer(500, page("Oops", "", "<p>Something broke.</p>")), 0},
		{"401 without a challenge", answer(401, "no"), 0},
		{"cloudflare in front", answer(200, page("River news", "", prose(3000)), "Server: cloudflare", "CF-RAY: 8a1", "cf-cache-status: HIT"), 3},
		{"cloudflare's detections", answer(200, page("River news", `<script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script>`, prose(300)+nav(3))), 3},
		{"cloudflare's detections, short", answer(200, page("Note", "", `<p>Gone fishing.</p><script>(function(){var a=document.createElement('script');a.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js';})();</script>`)), 0},
		{"cloudflare's 502", answer(502, page("shop.example | 502: Bad gateway", "", "<h1>Bad gateway</h1><p>The web server reported a bad gateway error.</p><p>Your IP: 1.2.3.4 Performance &amp; security by Cloudflare</p>")), 0},
		{"cloudflare's 522", answer(522, page("shop.example | 522: Connection timed out", "", "<h1>Connection timed out</h1><p>Performance &amp; security by Cloudflare</p>")), 0},
		{"datadome in front", answer(200, page("Shoes", `<script src="https://js.datadome.co/tags.js"></script>`, prose(500)), "X-DataDome: protected"), 2},
		{"datadome in front of a 404", answer(404, page("Not found", "", "<p>No such shoe.</p>"), "X-DataDome: protected"), 1},
		{"human's sensor", answer(200, page("Shoes", `<script>window._pxAppId='PX1';</script><script src="https://client.perimeterx.net/PX1/main.min.js"></script>`, prose(200))), 2},
		{"imperva's script", answer(200, page("Shoes", `<script src="/_Incapsula_Resource?SWJIYLWA=5074"></script>`, nav(4)+prose(500))), 4},
		{"aws integration on a page", answer(200, page("Shoes", `<script src="https://x.token.awswaf.com/x/challenge.js"></script><script>AwsWafIntegration.getToken();</script>`, prose(600))), 2},
		{"ddos-guard in front", answer(200, page("News", "", prose(900)), "Server: ddos-guard"), 4},
		{"kasada's script", answer(200, page("Tickets", `<script src="/x/ips.js"></script><script>window.KPSDK={}</script>`, "<p>Row 12.</p>")), 1},
		{"contact form", answer(200, page("Contact", recaptcha, contact)), 3},
		{"contact form that failed", answer(422, page("Contact", recaptcha, "<p>Please confirm that you are not a robot.</p>"+contact)), 3},
		{"newsletter", answer(200, page("Newsletter", recaptcha, `<p>Not a robot? Subscribe.</p><form><input type="email"><div class="h-captcha"></div></form>`)), 1},
		{"login form with a captcha", answer(200, page("Log in", recaptcha, `<form><input name="user"><input type="password" name="p"><div class="g-recaptcha"></div><p>Verify you are human</p></form>`)), 2},
		{"login form, 403", answer(403, page("Log in", recaptcha, `<form><input name="user"><input type="password"><div class="cf-turnstile"></div></form>`)), 2},
		{"search page with turnstile", answer(200, page("Search", "", `<form><input type="search" name="q"><div class="cf-turnstile"></div></form>`)), 0},
		{"comment form", answer(200, page("A post", recaptcha, prose(600)+`<form><textarea></textarea><div class="g-recaptcha"></div></form>`)), 2},
		{"invisible recaptcha on an article", answer(200, page("A post", recaptcha, prose(3000))), 1},
		{"article on captchas", answer(200, page("How CAPTCHAs work", "", prose(1500)+"<p>Sites ask you to verify you are human, or to tick “I am not a robot”.</p>")), 4},
		{"short note on captchas", answer(200, page("On captchas", "", "<p>I had to prove you are human again today. Silly.</p>")), 0},
		{"long article titled as a challenge", answer(200, page("Just a moment... a poem", "", prose(2000))), 2},
		{"poem titled as a challenge", answer(200, page("Just a moment...", "", "<p>Just a moment, said the river.</p>")), 1},
		{"blog titled Access Denied", answer(200, page("Access Denied", "", "<h1>Access Denied</h1><p>Notes from a locksmith. Today: the reference #4 pin tumbler.</p>"+nav(3))), 3},
		{"post that quotes akamai", answer(200, page("Fixing Access Denied", "", "<p>The page says: You don't have permission to access this on this server. Reference #18.2d35.</p>"+prose(700))), 3},
		{"docs of cloudflare", answer(200, page("Detect a challenge", "", prose(300)+sample(`<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script><script>window._cf_chl_opt={}</script>`))), 3},
		{"docs of recaptcha", answer(200, page("Adding reCAPTCHA", "", "<p>Put this into the page.</p>"+sample(recaptcha+`<div class="g-recaptcha"></div><p>Please verify you are human</p>`))), 2},
		{"docs of datadome", answer(200, page("Blocked requests", "", "<p>The page loads</p>"+sample(`<script src="https://ct.captcha-delivery.com/c.js"></script>`))), 1},
		{"docs of imperva", answer(200, page("Incident", "", prose(500)+"<p>You may see: Request unsuccessful. Incapsula incident ID: 1</p>")), 2},
		{"docs of human", answer(200, page("Captcha page", "", "<p>Use this element:</p>"+sample(`<div id="px-captcha"></div>`))), 2},
		{"docs of sucuri", answer(200, page("What is it", "", "<p>Look for <code>sucuri_cloudproxy_js</code>.</p>")), 2},
		{"source file", answer(200, "package x\n\nconst sign = \"geo.captcha-delivery.com\" // <script src=\n"), 0},
		{"forum thread", answer(200, page("Unusual traffic?", "", nav(12)+"<p>Google says: our systems have detected unusual traffic from your computer network.</p>")), 12},
		{"traffic news", answer(200, page("Unusual traffic on the M25", "", "<p>Unusual traffic was seen this morning.</p>")), 2},
		{"robots page", answer(200, page("Robots", "", "<p>Are you a robot lover? Visit the museum of robots.</p>")), 3},
		{"security firm", answer(200, page("Security check", "", "<p>Book a security check of your home today. Call us.</p>")), 2},
		{"404 with a captcha word", answer(404, page("Not found", "", "<p>Human error? The page is gone.</p>")), 1},
		{"404 with a form", answer(404, page("Not found", recaptcha, contact)), 3},
		{"request rejected, a story", answer(200, page("Request rejected", "", "<p>The council rejected the request for a bridge.</p>")), 2},
		{"403 of an application", answer(403, page("Forbidden", "", "<p>You may not see this project. Ask its owner.</p>"+nav(8))), 8},
		{"403 with a large page", answer(403, page("Forbidden", recaptcha, nav(30)+prose(5000))), 30},
		{"JSON", answer(200, `{"captcha": false, "title": "verify you are human"}`), 0},
		{"JSON error", answer(403, `{"error": "forbidden"}`), 0},
		{"binary", answer(200, "\x89PNG\r\n\x1a\n captcha \x00\xff"), 0},
		{"large", answer(200, page("Just a moment...", "<script>_cf_chl_opt</script>", prose(70<<10))), 0},
		{"redirect", answer(301, "", "Location: https://www.shop.example/"), 0},
		{"redirect to a post on logins", answer(301, "", "Location: /blog/login-pages-considered"), 0},
		{"redirect with login in the query", answer(302, "", "Location: /home?from=/login"), 0},
		{"redirect to a captcha shop", answer(302, "", "Location: /products/captcha-solver"), 0},
		{"redirect to nowhere", answer(302, ""), 0},
		{"304", answer(304, ""), 0},
		{"no answer", &crawl.Response{Cause: crawl.CauseTimeout, Body: []byte("captcha")}, 0},
		{"sitemap", answer(200, `<?xml version="1.0"?><urlset><url><loc>https://shop.example/captcha</loc></url></urlset>`), 0},
	}
	require.GreaterOrEqual(t, len(tests), 40)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Zero(t, blocked.Recognise(tt.resp, tt.links, false))
			if tt.resp.Status < 300 {
				require.Zero(t, blocked.Recognise(tt.resp, blocked.UnknownLinks, false), "also when nobody counted links")
			}
		})
	}
}

func TestOurOwnCredentials(t *testing.T) {
	t.Parallel()
	require.Zero(t, blocked.Recognise(answer(401, "", "WWW-Authenticate: Basic"), 0, true), "they were wrong: that is no wall")
}

func TestReason(t *testing.T) {
	t.Parallel()
	require.Empty(t, blocked.Finding{}.Reason())
	require.Equal(t, "challenge: Cloudflare", blocked.Finding{Kind: blocked.Challenge, Sign: "Cloudflare"}.Reason())
	require.Equal(t, "payment required (402)", blocked.Finding{Kind: blocked.Payment, Sign: "402"}.Reason())
}

func FuzzRecognise(f *testing.F) {
	f.Add(200, page("Just a moment...", "<script>_cf_chl_opt", "x"), "/login/")
	f.Add(403, "<title>Access Denied<pre><code></pre></code><input type=hidden><a href=x><textarea>captcha", "//h//captcha.")
	f.Add(302, "", "https://x/sorry/index")
	f.Fuzz(func(t *testing.T, status int, body, location string) {
		r := answer(status, body, "Location: "+location)
		got := blocked.Recognise(r, blocked.UnknownLinks, false)
		require.Equal(t, got, blocked.Recognise(r, blocked.UnknownLinks, false))
		require.Less(t, len(got.Reason()), 200)
	})
}

func BenchmarkOrdinaryPage(b *testing.B) {
	r := answer(200, page("River news", "", nav(40)+prose(6000)), "Server: nginx", "Content-Type: text/html", "Date: x", "Cache-Control: no-cache", "Vary: Accept", "ETag: 1")
	w := blocked.NewWatch()
	req := &crawl.Request{URL: r.URL}
	b.ReportAllocs()
	for b.Loop() {
		w.Answer("shop.example", req, r, 40)
	}
}

func BenchmarkPageWithoutLinks(b *testing.B) {
	r := answer(200, page("River news", "", prose(8000)), "Server: nginx")
	for b.Loop() {
		blocked.Recognise(r, 1, false)
	}
}
