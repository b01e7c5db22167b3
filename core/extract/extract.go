// Package extract turns the bytes of a fetched page into what a spider reads:
// its text in UTF-8, its title and its links. The main type is Extractor. It
// builds no tree and calls no spider; scope, depth and duplicates between pages
// are decided elsewhere.
package extract

import (
	"hash/maphash"

	"orbweaver/core/charset"
	"orbweaver/core/crawl"
	"orbweaver/core/spider"
	"orbweaver/core/weburl"
)

// Extractor reads one page after the other and keeps its room between them.
// Each parse worker has its own: it is not safe for concurrent use.
type Extractor struct {
	page spider.Page
	doc  document
	none struct { // what a released document holds
		request  crawl.Request
		response crawl.Response
	}
}

// New makes an Extractor.
func New() *Extractor {
	e := &Extractor{}
	e.doc.seed = maphash.MakeSeed()
	e.page.Doc = &e.doc
	return e
}

// Page gives the page of a response. The body may be read until the next call,
// and so may the Page and what it gives, except strings, which are the caller's.
func (e *Extractor) Page(req *crawl.Request, resp *crawl.Response) *spider.Page {
	e.page.Request, e.page.Response = req, resp
	e.doc.reset(req, resp)
	return &e.page
}

// Release lets go of the page last given, so that a waiting worker holds no body.
func (e *Extractor) Release() {
	e.page.Request, e.page.Response = nil, nil
	e.doc.reset(&e.none.request, &e.none.response)
}

// document implements spider.Document.
type document struct {
	url     string
	body    []byte
	header  string // Content-Type
	scanner scanner
	picker  scanner // for rules that want other elements
	base    *weburl.Base
	based   bool // base is settled; nil: links lead nowhere
	inPage  bool // base is the page's own URL
	resp    *crawl.Response
	seed    maphash.Seed
	seen    []uint64 // open-addressed set of link hashes

	kind    kind
	scanned bool
	decoded bool // codec and text are settled
	valid   bool // text is known to be UTF-8
	titled  bool
	codec   codec
	text    []byte
	title   string
}

// kind is whether the body is HTML, once asked.
type kind uint8

const (
	kindUnasked kind = iota
	kindHTML
	kindOther
)

// Room kept between pages. One huge page must not pin its memory for ever.
const (
	keptAnchors      = 4096
	keptScratchBytes = 64 << 10
)

// hrefLimitBytes is past what any server takes; longer links are left out.
const hrefLimitBytes = 64 << 10

func (d *document) reset(req *crawl.Request, resp *crawl.Response) {
	d.url, d.body, d.header = resp.URL, resp.Body, ""
	if d.url == "" {
		d.url = req.URL
	}
	d.header = resp.Header("Content-Type")
	d.resp = resp
	d.base, d.based, d.inPage = nil, false, true
	d.kind, d.scanned, d.decoded, d.titled = kindUnasked, false, false, false
	d.codec, d.valid, d.text, d.title = codec{}, false, nil, ""
	if len(d.seen) > 4*keptAnchors {
		d.seen = nil
	}
	d.scanner.forget()
	if d.picker.src != nil {
		d.picker.forget()
	}
}

// HTML implements spider.Document.
func (d *document) HTML() bool {
	if d.kind == kindUnasked {
		d.kind = kindOther
		if isHTML(d.resp, d.url) {
			d.kind = kindHTML
		}
	}
	return d.kind == kindHTML
}

// Text implements spider.Document.
func (d *document) Text() []byte {
	d.decode()
	if !d.valid {
		// Links and title do without: they are made valid one by one.
		d.text, d.valid = charset.UTF8.Decode(d.text), true
	}
	return d.text
}

// Title implements spider.Document.
func (d *document) Title() string {
	d.scan()
	if !d.titled {
		d.titled = true
		d.title = titleText(d.scanner.title)
	}
	return d.title
}

// scan reads an HTML page once: encoding, title, base and anchors.
func (d *document) scan() {
	if d.scanned {
		return
	}
	d.scanned = true
	if !d.HTML() {
		return
	}
	d.decode()
	d.scanner.reset(d.text)
	d.scanner.run()
}

// decode settles the encoding and the text. A body in UTF-8 stays as it came.
func (d *document) decode() {
	if d.decoded {
		return
	}
	d.decoded = true
	e, mark := charset.Of(d.header, d.body)
	d.codec, d.text = newCodec(e), d.body[mark:]
	if e != charset.UTF8 {
		d.text, d.valid = e.Decode(d.text), true
	}
}
