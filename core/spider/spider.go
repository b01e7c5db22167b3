// Package spider is where spiders plug in: a Spider turns one fetched page into
// links to follow and items to keep. The package holds the interface, the page
// it reads, the result it fills and the default spider. It parses no bytes
// itself (package extract does) and it decides nothing about scope, depth or
// duplicates (package policy and the frontier do).
package spider

import (
	"time"

	"orbweaver/core/crawl"
	"orbweaver/core/robots"
)

// Spider parses pages. One Spider serves all parse workers at once, so Parse
// must be safe for concurrent use; the simplest way is to keep no state.
//
// The same page may be parsed again after a crash. A Spider that gives the same
// links and items in the same order for the same page keeps the promise that
// nothing is stored twice, because ids are derived from the order.
type Spider interface {
	// Parse reads p and adds to out. An error fails this page only: it is
	// counted, retried and in the end dead-lettered; what was added is dropped.
	// Neither p nor anything that it gave may be used after Parse returned,
	// except strings.
	Parse(p *Page, out *Result) error
}

// Page is one fetched page. The response's body is the body with its content
// coding removed; Doc gives it as text.
type Page struct {
	Request  *crawl.Request
	Response *crawl.Response
	Doc      Document
}

// FetchedAt is when the request was sent, in UTC.
func (p *Page) FetchedAt() time.Time { return p.Response.SentAt.UTC() }

// Document is the text of a page. Everything is computed when first asked for.
type Document interface {
	// HTML reports whether the body is HTML, by its Content-Type or, where that
	// says nothing, by its name and first bytes. A file that is plainly no text is
	// not, whatever its type. When false there is no title and there are no links.
	HTML() bool
	// Text is the body in UTF-8, without a byte order mark. What does not decode
	// is U+FFFD. The slice must not be changed.
	Text() []byte
	// Title is the text of the first title element, white space collapsed.
	Title() string
	// AppendLinks appends the absolute http and https URLs of the page's links
	// that the rule wants to dst, in document order. By the zero rule they are
	// without fragment, each written form once, and links to the page itself by
	// fragment alone are left out.
	AppendLinks(dst []string, rule LinkRule) []string
	// Resolve gives the clean URL, with its fragment, to which a link with that
	// value leads, from the page's base and in its encoding. It is false when
	// that is no http or https URL.
	Resolve(href string) (string, bool)
	// Refresh is the first meta refresh that names a URL, outside noscript: the
	// delay in seconds, and where it leads as Resolve gives it. ok is false when
	// there is none.
	Refresh() (seconds float64, url string, ok bool)
	// Robots is what meta robots elements and X-Robots-Tag fields ask of the
	// crawler with that product token (robots.Token).
	Robots(token string) robots.Directives
}
