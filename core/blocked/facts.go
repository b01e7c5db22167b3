package blocked

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// facts are what the signs go by. Texts are lower case, blanks collapsed.
type facts struct {
	title  string
	markup string // values of attributes, but those of links, and text of scripts
	text   string // visible, without code samples
	size   int    // bytes of all visible text
	links  int
	fields int // that a person types into
}

// readFacts reads a page of at most maxBody bytes.
func readFacts(body []byte) facts {
	if t := bytes.TrimSpace(body); len(t) > 0 && t[0] == '{' { // JSON, for programs
		return facts{markup: strings.ToLower(string(t))}
	}
	r := reader{z: html.NewTokenizer(bytes.NewReader(body))}
	r.z.SetMaxBuf(maxBody)
	for {
		switch r.z.Next() {
		case html.ErrorToken:
			return r.facts()
		case html.StartTagToken, html.SelfClosingTagToken:
			r.start()
		case html.EndTagToken:
			r.end()
		case html.TextToken:
			r.words(r.z.Text())
		case html.CommentToken, html.DoctypeToken:
		}
	}
}

// reader gathers the facts of one page.
type reader struct {
	z                   *html.Tokenizer
	title, markup, text bytes.Buffer
	size, links, fields int
	in                  string // the raw element that is open: title, script, style, textarea
	code                int    // open elements that show samples
}

func (r *reader) facts() facts {
	return facts{
		title: strings.TrimSpace(strings.ToLower(collapse(r.title.String()))), markup: strings.ToLower(r.markup.String()),
		text: strings.ToLower(r.text.String()), size: r.size, links: r.links, fields: r.fields,
	}
}

func (r *reader) start() {
	name, more := r.z.TagName()
	tag := string(name)
	kind, hidden := "text", false
	isLink := tag == "a" || tag == "area"
	for more {
		var key, value []byte
		key, value, more = r.z.TagAttr()
		switch {
		case isLink:
			if string(key) == "href" && len(value) > 0 && value[0] != '#' {
				r.links++
			}
		case string(key) == "type":
			kind = strings.ToLower(string(value))
		case string(key) == "hidden":
			hidden = true
		default:
			r.markup.Write(key)
			r.markup.WriteByte('=')
			r.markup.Write(value)
			r.markup.WriteByte(' ')
		}
	}
	switch tag {
	case "title", "script", "style", "textarea":
		r.in = tag
		if tag == "textarea" && !hidden {
			r.fields++
		}
	case "pre", "code", "template", "samp":
		r.code++
	case "select":
		r.fields++
	case "input":
		switch kind {
		case "hidden", "submit", "button", "image", "checkbox", "reset":
		default:
			if !hidden {
				r.fields++
			}
		}
	}
}

func (r *reader) end() {
	name, _ := r.z.TagName()
	switch string(name) {
	case "title", "script", "style", "textarea":
		r.in = ""
	case "pre", "code", "template", "samp":
		r.code = max(0, r.code-1)
	}
}

func (r *reader) words(b []byte) {
	switch r.in {
	case "title":
		r.title.Write(b)
		return
	case "script":
		r.markup.Write(b)
		r.markup.WriteByte(' ')
		return
	case "style", "textarea":
		return
	}
	s := collapse(string(b))
	if s == "" || s == " " {
		return
	}
	r.size += len(s)
	if r.code == 0 {
		r.text.WriteString(s)
		r.text.WriteByte(' ')
	}
}

// collapse makes runs of blanks one.
func collapse(s string) string {
	s = strings.ReplaceAll(s, "’", "'")
	return strings.Join(strings.Fields(s), " ")
}
