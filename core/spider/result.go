package spider

import (
	"fmt"

	"orbweaver/core/crawl"
	"orbweaver/core/robots"
)

// Result collects what a spider makes of one page. The zero value is empty and
// ready. It is not safe for concurrent use.
type Result struct {
	// Links are absolute http or https URLs to follow with GET, in order.
	Links []string
	// Requests are to be followed as they are, after Links: URL, Method,
	// Headers, Body, Priority, DontFilter and Meta are taken from them, the
	// other fields are set by the crawler.
	Requests []crawl.Request
	// Items are JSON objects, one line each. Add encodes them; a spider may
	// also append bytes that it encoded itself and does not touch again.
	Items [][]byte
	// Asked is what the page asked of crawlers and the spider obeyed; it is counted.
	Asked robots.Directives
}

// Reset empties r and keeps the room of Links and Requests. Items are let go:
// their bytes belong to whoever took them.
func (r *Result) Reset() {
	clear(r.Links)
	clear(r.Requests)
	r.Links, r.Requests, r.Items = r.Links[:0], r.Requests[:0], nil
	r.Asked = robots.Directives{}
}

// Follow adds an absolute URL to follow.
func (r *Result) Follow(url string) { r.Links = append(r.Links, url) }

// Field is one key of an item.
type Field struct {
	Name  string
	Value any // whatever encoding/json encodes
}

// Add encodes the fields, in their order, as one JSON object and appends it to
// Items. The bytes are those of Scrapy's JSON encoder: ASCII only, ", " between
// fields and ": " after a name (values that are no plain string, number, bool
// or nil are encoded as encoding/json does, made ASCII). On error nothing is added.
func (r *Result) Add(fields ...Field) error {
	b := make([]byte, 0, 256)
	b = append(b, '{')
	for i := range fields {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendString(b, fields[i].Name)
		b = append(b, ": "...)
		var err error
		if b, err = appendValue(b, fields[i].Value); err != nil {
			return fmt.Errorf("spider: encode field %q: %w", fields[i].Name, err)
		}
	}
	r.Items = append(r.Items, append(b, '}'))
	return nil
}
