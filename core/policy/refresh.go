package policy

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"orbweaver/core/crawl"
	"orbweaver/core/weburl"
)

// refreshHeadBytes is how much of a page is searched for a meta refresh, as Scrapy
// does (there in characters).
const refreshHeadBytes = 4096

// Refresh says where the meta refresh of an HTML page leads: Redirect, or Dead past
// REDIRECT_MAX_TIMES; ok is false when the page has none that is to be followed. text
// is the page in UTF-8. Ask for responses that Decide has parsed or ignored, whatever
// their status, but not for answers to be retried: they say to come back later.
func (p *Policy) Refresh(req *crawl.Request, resp *crawl.Response, text []byte) (a Action, ok bool) {
	text = text[:min(len(text), refreshHeadBytes)]
	if !p.cfg.MetaRefreshEnabled || !mentionsRefresh(text) || req.MethodOrGet() == "HEAD" {
		return Action{}, false
	}
	d := readDirectives(req.Meta)
	if d.DontRedirect {
		return Action{}, false
	}
	content, base := p.findRefresh(text)
	delay, target, ok := parseRefresh(content)
	if !ok || delay >= p.cfg.MetaRefreshMaxDelay.Seconds() {
		return Action{}, false
	}
	from := resp.URL
	if from == "" {
		from = req.URL
	}
	if base != "" {
		if b, err := weburl.Resolve(from, base); err == nil {
			from = b
		}
	}
	url, err := redirectTarget(from, target)
	if err != nil {
		return Action{}, false
	}
	return p.follow(req, resp, d, url, true), true
}

// MayRefresh reports whether the body of a page may hold a meta refresh: most do not,
// and need not be read as text to know it.
func MayRefresh(body []byte) bool {
	if len(body) > 1 && (body[0] == 0 || body[1] == 0 || body[0] >= 0xfe) {
		return true // UTF-16
	}
	return mentionsRefresh(body[:min(len(body), refreshHeadBytes)])
}

// mentionsRefresh reports whether a text may hold a meta refresh: most pages do not,
// and are not looked at further. The dash is looked for since little else has one.
func mentionsRefresh(text []byte) bool {
	const http, equiv = "http", "equiv"
	for from := 0; ; {
		i := bytes.IndexByte(text[from:], '-')
		if i < 0 {
			return false
		}
		at := from + i
		from = at + 1
		if at < len(http) || from+len(equiv) > len(text) || text[from]|0x20 != 'e' || text[at-1]|0x20 != 'p' {
			continue
		}
		if bytes.EqualFold(text[at-len(http):at], []byte(http)) && bytes.EqualFold(text[from:from+len(equiv)], []byte(equiv)) {
			return bytes.Contains(bytes.ToLower(text), []byte("refresh")) || bytes.Contains(text, []byte("&#"))
		}
	}
}

// findRefresh gives the content of the first meta refresh outside of the ignored
// elements, and the href of the base element before it or after.
func (p *Policy) findRefresh(text []byte) (content, base string) {
	z := html.NewTokenizer(bytes.NewReader(text))
	z.SetMaxBuf(2 * refreshHeadBytes)
	ignored := "" // the element that is being passed over
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return content, base
		}
		if kind == html.TextToken || kind == html.CommentToken || kind == html.DoctypeToken {
			continue
		}
		name, more := z.TagName()
		if kind == html.EndTagToken {
			if string(name) == ignored {
				ignored = ""
			}
			continue
		}
		if string(name) == "noscript" {
			z.NextIsNotRawText() // it is markup for a crawler without scripts
		}
		if ignored != "" {
			continue
		}
		if kind == html.StartTagToken {
			for _, tag := range p.cfg.MetaRefreshIgnoreTags {
				if strings.EqualFold(tag, string(name)) {
					ignored = string(name)
				}
			}
		}
		switch {
		case !more || ignored != "":
		case string(name) == "base" && base == "":
			base = attribute(z, "href")
		case string(name) == "meta" && content == "":
			content = refreshContent(z)
		}
	}
}

// attribute reads a tag's attributes and gives one.
func attribute(z *html.Tokenizer, name string) (value string) {
	for more := true; more; {
		var key, val []byte
		if key, val, more = z.TagAttr(); value == "" && string(key) == name {
			value = string(val)
		}
	}
	return value
}

// refreshContent is the content of a meta element that is a refresh; "" of others.
func refreshContent(z *html.Tokenizer) (content string) {
	refresh := false
	for more := true; more; {
		var key, val []byte
		switch key, val, more = z.TagAttr(); string(key) {
		case "http-equiv":
			refresh = refresh || bytes.EqualFold(bytes.TrimSpace(val), []byte("refresh"))
		case "content":
			content = string(val)
		}
	}
	if !refresh {
		return ""
	}
	return content
}

// parseRefresh reads "5; url=there" (HTML, shared declarative refresh steps). ok is
// false without a target: a page that only loads itself again leads nowhere.
func parseRefresh(content string) (seconds float64, target string, ok bool) {
	s := strings.TrimLeft(content, " \t\r\n\f")
	n := 0
	for n < len(s) && (s[n]-'0' <= 9 || s[n] == '.') {
		n++
	}
	number, _, _ := strings.Cut(s[:n], ".")
	if n == 0 {
		return 0, "", false
	}
	if number != "" {
		var err error
		if seconds, err = strconv.ParseFloat(number, 64); err != nil {
			seconds = math.Inf(1)
		}
	}
	rest := strings.TrimLeft(s[n:], " \t\r\n\f")
	if rest == "" || rest == s[n:] && rest[0] != ';' && rest[0] != ',' {
		return 0, "", false
	}
	if rest[0] == ';' || rest[0] == ',' {
		rest = strings.TrimLeft(rest[1:], " \t\r\n\f")
	}
	if len(rest) >= len("url") && strings.EqualFold(rest[:len("url")], "url") {
		if value := strings.TrimLeft(rest[len("url"):], " \t\r\n\f"); strings.HasPrefix(value, "=") {
			rest = strings.TrimLeft(value[1:], " \t\r\n\f")
		}
	}
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		quote := rest[0]
		rest = rest[1:]
		if i := strings.IndexByte(rest, quote); i >= 0 {
			rest = rest[:i]
		}
	}
	rest = strings.Trim(rest, " \t\r\n\f")
	return seconds, rest, rest != ""
}
