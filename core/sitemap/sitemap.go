// Package sitemap reads sitemaps (https://www.sitemaps.org/protocol.html) as they
// are found: urlset and sitemapindex, plain or gzipped, in any encoding, broken
// or hostile. Open says whether a response is one and gives its XML, Parse gives
// its entries one by one, RobotsSitemaps those that a robots.txt names. It
// follows Scrapy's SitemapSpider; XML that is not well-formed is read as libxml2
// does when told to recover. It fetches nothing, and no entity is ever expanded.
package sitemap

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// What can be wrong with a sitemap.
var (
	ErrNoXML   = errors.New("no XML element found")
	ErrTooBig  = errors.New("larger than a sitemap may be")
	ErrTooDeep = errors.New("nested too deeply")
)

// Kind is the local name of a document's root element.
type Kind string

// The kinds that lead anywhere; entries of any other kind are given but mean nothing.
const (
	URLSet Kind = "urlset"       // the entries are pages
	Index  Kind = "sitemapindex" // the entries are sitemaps
)

// Bounds that the protocol sets, and how deep indexes may lead to further ones:
// the protocol allows one level, sites use two.
const (
	DefaultURLs  = 50_000
	DefaultBytes = 50 << 20
	MaxLevel     = 5
)

// Limits bounds what is read of one sitemap.
type Limits struct {
	URLs  int       // entries given; 0 is DefaultURLs
	Bytes int64     // of the XML, unpacked; 0 is DefaultBytes
	Since time.Time // entries last modified before are left out; zero: none is
}

func (l Limits) withDefaults() Limits {
	if l.URLs <= 0 {
		l.URLs = DefaultURLs
	}
	if l.Bytes <= 0 {
		l.Bytes = DefaultBytes
	}
	return l
}

// Parse reads a sitemap and calls yield for each entry with a loc, which may be
// empty, in document order, until it returns false. Memory does not grow with
// the sitemap.
//
// Errors: ErrNoXML when there is nothing to read, ErrTooBig and ErrTooDeep when a
// bound is reached. What came before was given, and the kind is known. A reader
// that fails has ended: of a damaged sitemap one takes what is there.
func Parse(r io.Reader, limits Limits, yield func(*Entry) bool) (Kind, error) {
	limits = limits.withDefaults()
	utf8, err := toUTF8(&bounded{r: r, left: limits.Bytes})
	if err != nil {
		return "", fmt.Errorf("sitemap: parse: %w", err)
	}
	p := &parser{limits: limits, yield: yield}
	p.in.r = utf8
	p.document()
	if p.kind == "" && p.err == nil {
		p.err = ErrNoXML
	}
	if p.err == nil && !p.done && len(p.frames) > 0 && errors.Is(p.in.err, ErrTooBig) {
		p.err = ErrTooBig
	}
	if p.err != nil {
		return p.kind, fmt.Errorf("sitemap: parse: %w", p.err)
	}
	return p.kind, nil
}

// bounded fails with ErrTooBig where a sitemap goes on past its limit.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if b.left == 0 { // one byte more tells the end from an excess
		n, err := b.r.Read(p[:1])
		if n > 0 {
			return 0, ErrTooBig
		}
		return 0, err
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	return n, err
}
