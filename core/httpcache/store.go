package httpcache

import (
	"bufio"
	"bytes"
	"crypto/sha1" //nolint:gosec // a file name, not a security boundary
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"orbweaver/core/crawl"
)

// maxMeta bounds the first line of a file, bytes.
const maxMeta = 4 << 20

// entry is one stored answer. Its file holds it as a line of JSON, then the body.
type entry struct {
	URL     string    `json:"url"`
	Method  string    `json:"method"`
	Status  int       `json:"status"`
	Stored  time.Time `json:"stored"`
	Headers fields    `json:"headers"`
	// Chosen are the fields of the request that the answer depends on: what Vary
	// names, and credentials in any case.
	Chosen []crawl.Header `json:"chosen,omitempty"`
	Gzip   bool           `json:"gzip,omitempty"`

	body []byte
}

// fields is header fields whose values survive JSON byte for byte: each byte is
// written as the character of that number.
type fields []crawl.Header

// MarshalJSON implements json.Marshaler.
func (f fields) MarshalJSON() ([]byte, error) {
	pairs := make([][2]string, len(f))
	for i, h := range f {
		pairs[i] = [2]string{wide(h.Name), wide(h.Value)}
	}
	return json.Marshal(pairs)
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *fields) UnmarshalJSON(b []byte) error {
	var pairs [][2]string
	if err := json.Unmarshal(b, &pairs); err != nil {
		return err
	}
	*f = make(fields, len(pairs))
	for i, p := range pairs {
		(*f)[i] = crawl.Header{Name: narrow(p[0]), Value: narrow(p[1])}
	}
	return nil
}

func wide(s string) string {
	out := make([]rune, len(s))
	for i := range len(s) {
		out[i] = rune(s[i])
	}
	return string(out)
}

func narrow(s string) string {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		out = append(out, byte(r)) //nolint:gosec // as wide wrote it
	}
	return string(out)
}

func (c *Cache) entryOf(req *crawl.Request, resp *crawl.Response) *entry {
	return &entry{
		URL: req.URL, Method: req.MethodOrGet(), Status: resp.Status, Stored: c.now(),
		Headers: resp.Headers, Chosen: chosen(req, resp.Headers), body: resp.Body,
	}
}

// chosen lists the request's fields that an answer depends on (RFC 9111 §4.1). The
// value of credentials is not kept, only its hash.
func chosen(req *crawl.Request, fields []crawl.Header) []crawl.Header {
	names := []string{"authorization", "cookie"}
	for _, f := range fields {
		if strings.EqualFold(f.Name, "Vary") {
			for name := range strings.SplitSeq(f.Value, ",") {
				names = append(names, strings.ToLower(strings.TrimSpace(name)))
			}
		}
	}
	slices.Sort(names)
	var out []crawl.Header
	for _, name := range slices.Compact(names) {
		for _, h := range req.Headers {
			if name != "" && strings.EqualFold(h.Name, name) {
				sum := sha1.Sum([]byte(strings.TrimSpace(h.Value))) //nolint:gosec // compares, protects nothing
				out = append(out, crawl.Header{Name: name, Value: hex.EncodeToString(sum[:])})
			}
		}
	}
	return out
}

// response is the answer to req.
func (e *entry) response(req *crawl.Request, stats ...string) *crawl.Response {
	return &crawl.Response{URL: req.URL, Status: e.Status, Headers: e.Headers, Body: e.body, Cached: true, Counted: stats}
}

// answer is the stored answer in place of one that a fetch brought.
func (e *entry) answer(fetched *crawl.Response, stats ...string) *crawl.Response {
	out := *fetched
	out.Status, out.Headers, out.Body = e.Status, e.Headers, e.body
	out.Cause, out.Err = crawl.CauseNone, ""
	out.Counted = append(out.Counted, stats...)
	return &out
}

// path is the file of a request's answer.
func (c *Cache) path(name string, req *crawl.Request) string {
	fp := req.Fingerprint
	if fp == (crawl.Fingerprint{}) {
		fp = sha1.Sum([]byte(req.URL)) //nolint:gosec // a file name
	}
	key := fp.String()
	if req.MethodOrGet() == "HEAD" {
		key += ".head"
	}
	return filepath.Join(c.cfg.Dir, folder(name), key[:2], key)
}

// read gives a request's stored answer; nil when there is none that is its.
func (c *Cache) read(name string, req *crawl.Request) (*entry, error) {
	path := c.path(name, req)
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil //nolint:nilnil // a miss is no error
		}
		return nil, fmt.Errorf("httpcache: read answer: %w", err)
	}
	defer f.Close()
	e, err := c.decode(f)
	if err != nil {
		return nil, fmt.Errorf("httpcache: read %s: %w", path, err)
	}
	if c.cfg.Expiration > 0 && c.now().Sub(e.Stored) > c.cfg.Expiration {
		return nil, nil //nolint:nilnil // as above
	}
	if c.cfg.Policy == RFC9111 && !slices.Equal(e.Chosen, chosen(req, e.Headers)) {
		return nil, nil //nolint:nilnil // as above
	}
	return e, nil
}

var errBody = errors.New("body is over DOWNLOAD_MAXSIZE")

func (c *Cache) decode(from io.Reader) (*entry, error) {
	r := bufio.NewReader(io.LimitReader(from, maxMeta+c.cfg.MaxSize+1))
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		var rest []byte
		line = bytes.Clone(line)
		rest, err = r.ReadBytes('\n')
		line = append(line, rest...)
	}
	if err != nil {
		return nil, fmt.Errorf("first line: %w", err)
	}
	var e entry
	if err := json.Unmarshal(line, &e); err != nil {
		return nil, fmt.Errorf("first line: %w", err)
	}
	var body io.Reader = r
	if e.Gzip {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
		body = z
	}
	e.body, err = io.ReadAll(io.LimitReader(body, c.cfg.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	if int64(len(e.body)) > c.cfg.MaxSize {
		return nil, errBody
	}
	return &e, nil
}

// write stores an answer: whole, or not at all.
func (c *Cache) write(name string, req *crawl.Request, e *entry) error {
	path := c.path(name, req)
	if err := c.replace(path, e); err != nil {
		return fmt.Errorf("httpcache: store answer: %w", err)
	}
	return nil
}

func (c *Cache) replace(path string, e *entry) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	err = errors.Join(c.encode(f, e), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func (c *Cache) encode(to io.Writer, e *entry) error {
	e.Gzip = c.cfg.Gzip
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := to.Write(append(line, '\n')); err != nil {
		return err
	}
	if !e.Gzip {
		_, err = to.Write(e.body)
		return err
	}
	z := gzip.NewWriter(to)
	_, err = z.Write(e.body)
	return errors.Join(err, z.Close())
}
