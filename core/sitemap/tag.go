package sitemap

import (
	"slices"
	"strings"
)

// startTag reads a start tag behind its <, if it is one.
func (p *parser) startTag() {
	name := p.in.name()
	if name == nil {
		return
	}
	qname := known(name)
	p.settle()
	prefixes := len(p.prefixes)
	href := p.attributes()
	local := p.local(qname)
	if len(p.frames) == 0 {
		p.kind = Kind(local)
	}
	if n := len(p.nodes); n > 0 && local == "link" && href != "" {
		if parent := p.entry(p.nodes[n-1]); parent != nil {
			p.alternate(parent, href)
		}
	}
	empty := p.in.take("/>")
	p.open(local, prefixes, empty || p.in.take(">"))
	if empty && !p.done {
		p.close()
	}
}

// prefixLimit bounds the namespace prefixes that are declared at once.
const prefixLimit = 64

// attributes reads the attributes of a tag as far as they are well-formed, and
// gives the value of href.
func (p *parser) attributes() (href string) {
	in := &p.in
	in.blanks()
	for in.fill(1) && in.byte() != '>' && !in.at("/>") {
		raw := in.name()
		if raw == nil {
			return href
		}
		isHref := string(raw) == "href"
		prefix, declares := strings.CutPrefix(string(raw), "xmlns:")
		if in.blanks(); !in.take("=") {
			return href
		}
		in.blanks()
		if !p.value() {
			return href
		}
		switch {
		case isHref:
			href = p.attr.take()
		case declares && len(p.prefixes) < prefixLimit:
			p.prefixes = append(p.prefixes, prefix)
		}
		if !in.blanks() {
			return href
		}
	}
	return href
}

// value reads a quoted attribute value into p.attr. What ends it too early stays
// in the input, where the tag then ends as malformed.
func (p *parser) value() bool {
	in := &p.in
	quote := in.byte()
	if quote != '"' && quote != '\'' {
		return false
	}
	in.pos++
	p.attr.reset()
	for w := in.window(); w != nil; w = in.window() {
		n := 0
		for n < len(w) && w[n] != quote && w[n] != '<' && w[n] != '&' && (w[n] >= ' ' || isBlank(w[n])) {
			n++
		}
		p.attr.add(w[:n])
		in.pos += n
		if n == len(w) {
			continue
		}
		switch w[n] {
		case quote:
			in.pos++
			return true
		case '&':
			p.attrReference()
		default:
			return w[n] != '<'
		}
	}
	return true
}

func (p *parser) attrReference() {
	in := &p.in
	in.pos++
	if in.byte() == '#' {
		if c, ok := p.charRef(); ok {
			p.attr.addRune(c)
		}
		return
	}
	name := in.name()
	if name == nil {
		return
	}
	c, ok := predefined(name)
	if in.take(";") && ok {
		p.attr.addRune(c)
	}
}

// local is a name without its namespace prefix. One that is not declared is part
// of the name.
func (p *parser) local(qname string) string {
	prefix, local, ok := strings.Cut(qname, ":")
	if !ok || local == "" || prefix != "xml" && !slices.Contains(p.prefixes, prefix) {
		return qname
	}
	return known([]byte(local))
}

// known is a name as a string, without allocating for those that sitemaps have.
func known(name []byte) string {
	switch string(name) {
	case "url":
		return "url"
	case "loc":
		return "loc"
	case "lastmod":
		return "lastmod"
	case "changefreq":
		return "changefreq"
	case "priority":
		return "priority"
	case "sitemap":
		return "sitemap"
	case "link":
		return "link"
	case "xhtml:link":
		return "xhtml:link"
	case "image:image":
		return "image:image"
	case "image:loc":
		return "image:loc"
	default:
		return string(name)
	}
}

// doctype reads a document type behind its first word: the names of the entities
// that it declares, nothing else.
func (p *parser) doctype() {
	const entityLimit = 256
	in := &p.in
	p.entities = map[string]bool{}
	subset := false
	for in.fill(1) {
		switch c := in.byte(); {
		case c == '>' && !subset:
			in.pos++
			return
		case c == '"', c == '\'':
			in.pos++
			in.through(string(c), nil)
		case c == '[':
			in.pos++
			subset = true
		case c == ']':
			in.pos++
			subset = false
		case in.take("<!--"):
			in.through("-->", nil)
		case in.take("<?"):
			in.through("?>", nil)
		case in.take("<!ENTITY"):
			in.blanks()
			if name := in.name(); name != nil && len(p.entities) < entityLimit {
				p.entities[string(name)] = true
			}
		default:
			in.pos++
		}
	}
}
