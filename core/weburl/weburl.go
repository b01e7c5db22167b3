// Package weburl decides everything about URLs: parsing and joining as
// browsers do (WHATWG), cleaning and the canonical form as w3lib does,
// request fingerprints as Scrapy does, host names, and which links are in
// scope. All functions are pure and safe for concurrent use. It resolves no
// names and fetches nothing.
//
// Clean makes the URL that a crawl requests, Base the same for the links of a
// page, Fingerprinter what the dupefilter compares.
package weburl

import (
	"errors"
	"fmt"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"golang.org/x/text/encoding"
)

// What makes a URL unusable.
var (
	ErrRelative    = errors.New("not an absolute URL")
	ErrScheme      = errors.New("not an http or https URL")
	ErrHostMissing = errors.New("host is empty")
	ErrHost        = errors.New("host is not valid")
	ErrPort        = errors.New("port is not valid")
	ErrTooLong     = errors.New("too long to parse")
	ErrEncoding    = errors.New("character does not exist in the encoding")
)

// otherSchemeLimitBytes bounds what Parse and Resolve take of schemes other
// than http and https, whose parser needs quadratic time for hostile input.
const otherSchemeLimitBytes = 16 << 10

// stackBytes is the length up to which a URL is built without allocating
// anything but the result.
const stackBytes = 256

// style says which bytes a URL keeps as they are, by part.
type style struct {
	path, query, fragment uint16
	clean                 bool              // w3lib's sets, hosts that can be looked up, no empty '?' or '#'
	encoding              encoding.Encoding // of the query; nil is UTF-8
}

func browserStyle() style { return style{path: inPath, query: inQuery, fragment: inFragment} }

func cleanStyle() style {
	return style{path: safePath, query: safeQuery, fragment: safePath, clean: true}
}

// Parse gives the serialised form of an absolute URL, as a browser shows it,
// for any scheme. See https://url.spec.whatwg.org/#url-parsing.
func Parse(raw string) (string, error) {
	if isPlain(raw) && strings.IndexByte(raw, '#') < 0 {
		return raw, nil
	}
	var buf [stackBytes]byte
	out, err := appendURL(buf[:0], strip(raw), nil, browserStyle(), true)
	if errors.Is(err, ErrScheme) {
		return parseOther("", raw)
	}
	if err != nil {
		return "", fmt.Errorf("weburl: parse %q: %w", clip(raw), err)
	}
	return string(out), nil
}

// Resolve joins ref to base as a browser does and gives the serialised form.
// An empty base is none. Pages with many links use a Base instead.
func Resolve(base, ref string) (string, error) {
	if base == "" {
		return Parse(ref)
	}
	href, err := Parse(base)
	if err != nil {
		return "", fmt.Errorf("weburl: resolve base: %w", err)
	}
	if !isHTTP(href) {
		return parseOther(href, ref)
	}
	var buf [stackBytes]byte
	b := newBase(href)
	out, err := appendURL(buf[:0], strip(ref), &b, browserStyle(), true)
	if errors.Is(err, ErrScheme) {
		return parseOther(href, ref)
	}
	if err != nil {
		return "", fmt.Errorf("weburl: resolve %q: %w", clip(ref), err)
	}
	return string(out), nil
}

// Clean gives the URL that a crawl requests for a seed or a redirect target:
// absolute http or https, joined and normalised as browsers do, cleaned as
// w3lib's safe_url_string does. Its host can be looked up: lower-case ASCII of
// letters, digits, '-', '_' and '.', at most 253 bytes, or an address. A
// fragment is kept. Cleaning a clean URL gives it back unchanged.
func Clean(raw string) (string, error) {
	if isPlain(raw) {
		return raw, nil
	}
	var buf [stackBytes]byte
	out, err := appendURL(buf[:0], strip(raw), nil, cleanStyle(), true)
	if err != nil {
		return "", fmt.Errorf("weburl: clean %q: %w", clip(raw), err)
	}
	return string(out), nil
}

// parseOther parses what is not http or https.
func parseOther(base, ref string) (string, error) {
	if len(base) > otherSchemeLimitBytes || len(ref) > otherSchemeLimitBytes {
		return "", fmt.Errorf("weburl: parse %q: %w", clip(ref), ErrTooLong)
	}
	u, err := whatwg.ParseRef(base, ref)
	if err != nil {
		return "", fmt.Errorf("weburl: parse %q: %w", clip(ref), err)
	}
	return u.Href(false), nil
}

// clip shortens a URL for an error text.
func clip(s string) string {
	const limitBytes = 120
	if len(s) <= limitBytes {
		return s
	}
	return s[:limitBytes] + "..."
}
