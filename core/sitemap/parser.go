package sitemap

// depthLimit is how deep elements may be nested, as in libxml2.
const depthLimit = 256

// frame is an open element.
type frame struct {
	parent   int    // the frame that it is a child of; -1: none
	prefixes int    // namespace prefixes declared outside of it
	entry    *Entry // it is a url or sitemap element
	field    string // it is a child of an entry, of this local name
	value    string // the field's text, once settled
	settled  bool
}

// parser reads one document as libxml2's push parser recovers: any end tag closes
// the innermost element, what is wrong in text is left out. An element whose start
// tag is not well-formed is empty, what it holds belongs to its parent, and its end
// tag closes both: so one bad tag costs its own entry.
type parser struct {
	in       source
	limits   Limits
	yield    func(*Entry) bool
	kind     Kind
	err      error
	done     bool
	given    int
	frames   []frame
	nodes    []int           // the frames that can have children and text, innermost last
	prefixes []string        // declared for the open elements
	entities map[string]bool // declared in the document type
	text     text            // of the innermost element, if it is a field
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
	p.startTag()
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
	case in.take("<?"): // neither
		in.through("?>", nil)
	case in.take("<![CDATA["):
		in.through("]]>", p.collect)
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
	declared := !known && p.entities[string(name)]
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
	f := p.node()
	return f != nil && f.field != "" && !f.settled
}

func (p *parser) collect(b []byte) {
	if p.collects() {
		p.text.add(b)
	}
}

// settle ends the text of the innermost element: only what stands before its
// first child counts.
func (p *parser) settle() {
	if f := p.node(); f != nil && !f.settled {
		f.settled = true
		if f.field == "" {
			return
		}
		f.value = p.text.take()
		if p.held+len(f.value) > heldLimit {
			f.value = ""
		}
	}
}

// node is the innermost element that can have children and text, nil without one.
func (p *parser) node() *frame {
	if len(p.nodes) == 0 {
		return nil
	}
	return &p.frames[p.nodes[len(p.nodes)-1]]
}

// open makes an element the innermost one; whole says that its tag is well-formed.
func (p *parser) open(local string, prefixes int, whole bool) {
	if len(p.frames) >= depthLimit {
		p.stop(ErrTooDeep)
		return
	}
	f := frame{parent: -1, prefixes: prefixes, settled: !whole}
	if len(p.nodes) > 0 {
		f.parent = p.nodes[len(p.nodes)-1]
	}
	if p.entry(f.parent) != nil && local != "link" {
		f.field = local
		p.text.reset()
	}
	if local == "url" || local == "sitemap" {
		f.entry = p.newEntry()
	}
	if whole {
		p.nodes = append(p.nodes, len(p.frames))
	}
	p.frames = append(p.frames, f)
}

// entry is that of a frame, nil if it has none.
func (p *parser) entry(frame int) *Entry {
	if frame < 0 {
		return nil
	}
	return p.frames[frame].entry
}

// close ends the innermost element.
func (p *parser) close() {
	p.settle()
	if n := len(p.nodes); n > 0 {
		p.nodes = p.nodes[:n-1]
	}
	f := p.frames[len(p.frames)-1]
	p.frames = p.frames[:len(p.frames)-1]
	p.prefixes = p.prefixes[:f.prefixes]
	parent := p.entry(f.parent)
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
