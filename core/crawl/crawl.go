// Package crawl holds the value types that every part of the crawler shares:
// Request, Response, Item, Fingerprint, ID, Outcome. It has no behaviour beyond
// encoding and deriving ids, and it imports nothing of ours.
package crawl

import (
	"crypto/sha1" //nolint:gosec // fingerprints are Scrapy's SHA-1, not a security boundary
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
)

// ID names one request for ever: enqueueing the same id twice is a no-op, and
// item ids are made from it. The zero value means "not set".
type ID [16]byte

// NewID hashes the parts (each length-prefixed) to an id.
func NewID(parts ...string) ID {
	h := sha1.New() //nolint:gosec // not a security boundary
	var n [4]byte
	for _, p := range parts {
		binary.BigEndian.PutUint32(n[:], uint32(len(p))) //nolint:gosec // parts are short
		h.Write(n[:])
		h.Write([]byte(p))
	}
	var id ID
	copy(id[:], h.Sum(nil))
	return id
}

// DeriveID gives the id of the index-th request that a page of request parent
// produces: the same page fetched again yields the same ids.
func DeriveID(parent ID, index uint32) ID {
	var b [20]byte
	copy(b[:16], parent[:])
	binary.BigEndian.PutUint32(b[16:], index)
	sum := sha1.Sum(b[:]) //nolint:gosec // not a security boundary
	var id ID
	copy(id[:], sum[:])
	return id
}

// IsZero reports whether the id was never set.
func (id ID) IsZero() bool { return id == ID{} }

// String is the id in 32 hex digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Member is the id as a member of the compact dupefilter.
func (id ID) Member() int64 { return int64(binary.BigEndian.Uint64(id[:8])) } //nolint:gosec // bit pattern

// ParseID reads what String wrote.
func ParseID(s string) (ID, error) {
	var id ID
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(id) {
		return ID{}, fmt.Errorf("crawl: request id %q: want 32 hex digits", s)
	}
	copy(id[:], b)
	return id, nil
}

// Fingerprint is a request's SHA-1 under one of the three rules of package weburl.
type Fingerprint [20]byte

// String is the fingerprint in 40 hex digits, as scrapy-redis stores it.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// Member is the fingerprint as a member of the compact dupefilter: its first
// eight bytes as a signed integer.
func (f Fingerprint) Member() int64 { return int64(binary.BigEndian.Uint64(f[:8])) } //nolint:gosec // bit pattern

// Header is one header field of a request or response, in the order given.
type Header struct{ Name, Value string }

// Request says what to fetch and how. The zero value of each field is its
// default: an empty Method is GET.
type Request struct {
	ID          ID
	URL         string // absolute, cleaned (weburl.Clean), may carry a fragment
	Method      string // upper case; "" is GET
	Headers     []Header
	Body        []byte
	Priority    int32 // higher first, as Scrapy's
	Depth       int32 // links from a seed; seeds have 0
	DontFilter  bool  // let in whatever the dupefilter says, once per ID
	Seed        bool
	Attempts    int32  // failed attempts so far (Scrapy's retry_times)
	Busy        int32  // 429 and 503 answers so far; they do not count as attempts
	Redirects   int32  // redirects that led here (redirect_times)
	Referer     string // URL of the page that linked here; "" for seeds
	Meta        []byte // JSON object given with a seed; nil when none
	Fingerprint Fingerprint

	unknown []byte // fields of a newer version, kept when the request is stored again
}

// MethodOrGet is the method with the default filled in.
func (r *Request) MethodOrGet() string {
	if r.Method == "" {
		return "GET"
	}
	return r.Method
}

// Item is one scraped result: a JSON object, encoded once where it was made.
type Item struct {
	ID   string // request id "/" index: the same page fetched again gives the same ids
	JSON []byte // one line, no newline
}

// ItemID is the id of the index-th item of a request.
func ItemID(id ID, index int) string { return id.String() + "/" + strconv.Itoa(index) }
