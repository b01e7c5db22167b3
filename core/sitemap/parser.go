package sitemap

import "slices"

// depthLimit is how deep elements may be nested, as in libxml2.
const depthLimit = 256

// frame is an open element.
type frame struct {
	prefixes int    // namespace prefixes declared outside of it
	entry    *Entry // it is a url or sitemap element
	field    string // it is a child of an entry, of this local name
	value    string // the field's text, once settled
	settled  bool
}

// parser reads one document. A tag that is not well-formed opens no element, any
// end tag closes the innermost one, what is wrong in text is left out: that is
// how libxml2 recovers.
type parser struct {
	in       source
	limits   Limits
	yield    func(*Entry) bool
	kind     Kind
	err      error
	done     bool
	given    int
	frames   []frame
	prefixes []string // declared for the open elements
	entities []string // declared in the document type
	text     text     // of the innermost element, if it is a field
	attr     text
	spare    []*Entry
	held     int // bytes of open entries
}

// document reads to the end of the root element.
func (p *parser) document() {
	if !p.prolog() {
		return
	}
	p.in.pos++ // <
	if !p.startTag() {
		return
	}
	for !p.done && len(p.frames) > 0 && p.in.fill(1) {
		switch p.in.byte() {
		case '<':
			p.markup()
		case '&':
			p.reference()
		default:
			p.characters()
		}
	}
}

// prolog skips what stands before the root element and reports whether one follows.
func (p *parser) prolog() bool {
	for {
		switch in := &p.in; {
		case in.blanks():
		case in.take("<?"):
			in.through("?>", nil)
		case in.take("<!--"):
			in.through("-->", nil)
		case in.take("<!DOCTYPE"):
			p.doctype()
		default:
			return in.byte() == '<'
		}
	}
}

// markup reads what begins with <.
func (p *parser) markup() {
	switch in := &p.in; {
	case in.take("</"):
		in.name()
		in.blanks()
		in.take(">")
		p.close()
	case in.take("<!--"): // no node: text goes on behind it
		in.through("-->", nil)
	case in.take("<![CDATA["):
		in.through("]]>", p.collect)
	case in.take("<?"): // a node
		p.settle()
		in.through("?>", nil)
	default:
		in.pos++
		p.startTag()
	}
}

// characters reads text to the next markup or reference.
func (p *parser) characters() {
	w := p.in.window()
	n := 0
	for n < len(w) && w[n] != '<' && w[n] != '&' {
		n++
	}
	p.collect(w[:n])
	p.in.pos += n
}

// reference reads what begins with &. What is no reference is left out, and so is
// one to an entity that is not declared; one that is declared is a node.
func (p *parser) reference() {
	p.in.pos++
	if p.in.byte() == '#' {
		if c, ok := p.charRef(); ok && p.collects() {
			p.text.addRune(c)
		}
		return
	}
	name := p.in.name()
	if name == nil {
		return
	}
	c, known := predefined(name)
	declared := !known && slices.ContainsFunc(p.entities, func(e string) bool { return e == string(name) })
	switch {
	case !p.in.take(";"):
	case declared:
		p.settle()
	case known && p.collects():
		p.text.addRune(c)
	}
}

// collects reports whether text belongs to a field.
func (p *parser) collects() bool {
	f := &p.frames[len(p.frames)-1]
	return f.field != "" && !f.settled
}

func (p *parser) collect(b []byte) {
	if p.collects() {
		p.text.add(b)
	}
}

// settle ends the text of the innermost element: only what stands before its
// first child counts.
func (p *parser) settle() {
	f := &p.frames[len(p.frames)-1]
	if f.settled {
		return
	}
	f.settled = true
	if f.field != "" {
		f.value = p.text.take()
		if p.held+len(f.value) > heldLimit {
			f.value = ""
		}
	}
}

// open makes an element the innermost one. Its name may be used until then only.
func (p *parser) open(local string, prefixes int) {
	if len(p.frames) >= depthLimit {
		p.stop(ErrTooDeep)
		return
	}
	f := frame{prefixes: prefixes}
	if parent := p.parentEntry(); parent != nil && local != "link" {
		f.field = local
		p.text.reset()
	}
	if local == "url" || local == "sitemap" {
		f.entry = p.newEntry()
	}
	p.frames = append(p.frames, f)
}

// parentEntry is the innermost element, if it is an entry.
func (p *parser) parentEntry() *Entry {
	if len(p.frames) == 0 {
		return nil
	}
	return p.frames[len(p.frames)-1].entry
}

// close ends the innermost element.
func (p *parser) close() {
	p.settle()
	f := p.frames[len(p.frames)-1]
	p.frames = p.frames[:len(p.frames)-1]
	p.prefixes = p.prefixes[:f.prefixes]
	parent := p.parentEntry()
	if f.entry != nil {
		p.give(f.entry)
		p.drop(f.entry)
		if parent != nil { // Scrapy frees what it has read: the entry's text and all before it
			p.held -= parent.bytes
			parent.reset()
			f.value = ""
		}
	}
	if parent != nil && f.field != "" {
		p.add(parent, f.field, f.value)
	}
}

func (p *parser) add(e *Entry, field, value string) {
	p.held -= e.bytes
	e.set(field, value)
	p.held += e.bytes
}

func (p *parser) alternate(e *Entry, href string) {
	if len(e.Alternates) < alternateLimit && p.held+len(href) <= heldLimit {
		e.Alternates = append(e.Alternates, href)
		e.bytes += len(href)
		p.held += len(href)
	}
}

// give yields an entry that has a loc.
func (p *parser) give(e *Entry) {
	loc, ok := e.Field("loc")
	if !ok {
		return
	}
	if !p.limits.Since.IsZero() {
		if t, ok := e.LastMod(); ok && t.Before(p.limits.Since) {
			return
		}
	}
	if p.given == p.limits.URLs {
		p.stop(ErrTooBig)
		return
	}
	if loc != "" {
		p.given++
	}
	if !p.yield(e) {
		p.done = true
	}
}

func (p *parser) stop(err error) { p.done, p.err = true, err }

func (p *parser) newEntry() *Entry {
	if n := len(p.spare); n > 0 {
		e := p.spare[n-1]
		p.spare = p.spare[:n-1]
		return e
	}
	return &Entry{}
}

func (p *parser) drop(e *Entry) {
	p.held -= e.bytes
	e.reset()
	p.spare = append(p.spare, e)
}
