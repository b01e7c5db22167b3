package weburl

import (
	"crypto/sha1" //nolint:gosec // fingerprints are Scrapy's SHA-1, not a security boundary
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"orbweaver/core/crawl"
)

// Rule is how a request's fingerprint is made. The zero value is Scrapy 2.7's.
type Rule uint8

// The rules. Their hashes of one request all differ.
const (
	Rule27          Rule = iota // Scrapy since 2.7, on w3lib 2.4
	Rule26                      // Scrapy's request_fingerprint up to 2.6, scrapy-redis before 0.8; w3lib 2.1.1
	RuleScrapyRedis             // scrapy-redis 0.9; w3lib 2.1.1
)

// ParseRule reads "2.7", "2.6" (as REQUEST_FINGERPRINTER_IMPLEMENTATION has them)
// or "scrapy-redis"; "" is 2.7.
func ParseRule(s string) (Rule, error) {
	switch strings.ToLower(s) {
	case "", "2.7":
		return Rule27, nil
	case "2.6":
		return Rule26, nil
	case "scrapy-redis":
		return RuleScrapyRedis, nil
	}
	return 0, fmt.Errorf("weburl: fingerprint rule %q: want 2.7, 2.6 or scrapy-redis", s)
}

// String is the rule as ParseRule reads it.
func (r Rule) String() string {
	switch r {
	case Rule26:
		return "2.6"
	case RuleScrapyRedis:
		return "scrapy-redis"
	default:
		return "2.7"
	}
}

func (r Rule) dialect() dialect {
	if r == Rule27 {
		return newest
	}
	return w3lib2point1
}

// RequestURL is the URL as the Scrapy of this rule holds it in a Request made
// for raw on a page in the given encoding. Fingerprints that must equal those
// of that Scrapy for odd URLs start from it; for a clean URL it is the same.
func (r Rule) RequestURL(raw, encoding string) (string, error) {
	d := r.dialect()
	url, err := safeURL(raw, encoding, d)
	if err == nil && d == w3lib2point1 {
		url = escapeAjax(url)
	}
	return url, err
}

// Fingerprinter makes fingerprints; the zero value is Scrapy 2.7's default. It
// is safe for concurrent use while its fields do not change.
type Fingerprinter struct {
	Rule           Rule
	IncludeHeaders []string // header names to hash, in any case; RuleScrapyRedis ignores it
	KeepFragments  bool     // RuleScrapyRedis ignores it
}

// Fingerprint hashes method, canonical URL, body and the included headers. A URL
// without canonical form is hashed as it is. A clean GET without body costs no
// allocation.
func (f *Fingerprinter) Fingerprint(r *crawl.Request) crawl.Fingerprint {
	var buf [2 * stackBytes]byte
	return crawl.Fingerprint(sha1.Sum(f.appendText(buf[:0], r))) //nolint:gosec // not a security boundary
}

// appendText writes what is hashed.
func (f *Fingerprinter) appendText(dst []byte, r *crawl.Request) []byte {
	method := strings.ToUpper(r.MethodOrGet())
	url := f.canonical(r.URL)
	if f.Rule == Rule26 {
		dst = append(append(append(dst, method...), url...), r.Body...)
		return f.appendHeaders26(dst, r.Headers)
	}
	// Python's json.dumps(sort_keys=True).
	dst = append(dst, `{"body": "`...)
	dst = hex.AppendEncode(dst, r.Body)
	dst = append(dst, '"')
	if f.Rule == Rule27 {
		dst = append(dst, `, "headers": {`...)
		dst = f.appendHeaders27(dst, r.Headers)
		dst = append(dst, '}')
	}
	dst = append(dst, `, "method": "`...)
	dst = appendJSON(dst, method)
	dst = append(dst, `", "url": "`...)
	dst = appendJSON(dst, url)
	return append(dst, `"}`...)
}

func (f *Fingerprinter) canonical(url string) string {
	keep := f.KeepFragments && f.Rule != RuleScrapyRedis
	if end, ok := canonicalEnd(url); ok && (!keep || end == len(url)) {
		return url[:end]
	}
	var out string
	var err error
	if f.Rule.dialect() == newest {
		out, err = Canonicalize(url, CanonicalOptions{KeepFragments: keep})
	} else {
		out, err = canonicalizeOld(escapeAjax(url), keep)
	}
	if err != nil {
		return url
	}
	return out
}

// appendHeaders27 writes the included headers that r has: hex of the lower-case
// names, sorted, and for each the hex of its values.
func (f *Fingerprinter) appendHeaders27(dst []byte, headers []crawl.Header) []byte {
	names := make([]string, 0, len(f.IncludeHeaders))
	for _, name := range f.IncludeHeaders {
		names = append(names, strings.ToLower(name))
	}
	slices.Sort(names)
	first := true
	for _, name := range slices.Compact(names) {
		n := 0
		for _, h := range headers {
			if !strings.EqualFold(h.Name, name) {
				continue
			}
			if n == 0 {
				if !first {
					dst = append(dst, ", "...)
				}
				first = false
				dst = append(hex.AppendEncode(append(dst, '"'), []byte(name)), `": [`...)
			} else {
				dst = append(dst, ", "...)
			}
			n++
			dst = append(hex.AppendEncode(append(dst, '"'), []byte(h.Value)), '"')
		}
		if n > 0 {
			dst = append(dst, ']')
		}
	}
	return dst
}

// appendHeaders26 writes names, sorted as given and then lower-cased, and values.
func (f *Fingerprinter) appendHeaders26(dst []byte, headers []crawl.Header) []byte {
	names := slices.Clone(f.IncludeHeaders)
	slices.Sort(names)
	for _, name := range names {
		n := 0
		for _, h := range headers {
			if !strings.EqualFold(h.Name, name) {
				continue
			}
			if n == 0 {
				dst = append(dst, strings.ToLower(name)...)
			}
			n++
			dst = append(dst, h.Value...)
		}
	}
	return dst
}

// appendJSON writes the inside of a JSON string as Python does: ASCII only.
func appendJSON(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:])
			i += size - 1
			if r > 0xFFFF {
				r -= 0x10000
				dst = appendUTF16(dst, 0xD800|uint16(r>>10))   //nolint:gosec // ten bits
				dst = appendUTF16(dst, 0xDC00|uint16(r&0x3FF)) //nolint:gosec // ten bits
			} else {
				dst = appendUTF16(dst, uint16(r)) //nolint:gosec // at most 0xFFFF
			}
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c == '\b':
			dst = append(dst, `\b`...)
		case c == '\f':
			dst = append(dst, `\f`...)
		case c < ' ' || c == 0x7F:
			dst = appendUTF16(dst, uint16(c))
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func appendUTF16(dst []byte, u uint16) []byte {
	const lowerHex = "0123456789abcdef"
	return append(dst, '\\', 'u', lowerHex[u>>12], lowerHex[u>>8&15], lowerHex[u>>4&15], lowerHex[u&15])
}
