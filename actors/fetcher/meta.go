package fetcher

import (
	"bytes"
	"encoding/json"
	"math"
	"time"

	"orbweaver/core/crawl"
)

// options are those of one fetch: the client's, or what the request's meta has in
// their place under Scrapy's names.
type options struct {
	timeout  time.Duration // download_timeout, seconds
	maxSize  int64         // download_maxsize, bytes
	warnSize int64         // download_warnsize, bytes; 0 or less never warns
	way      way           // proxy
	proxy    string        // proxy's URL, when way says so
}

// way is what a request's meta says about proxies.
type way uint8

const (
	wayDefault way = iota // nothing: the settings decide
	wayDirect             // null: none
	wayProxy              // a URL
	wayUnknown            // something else
)

// The most that a request may ask for, as the settings have it.
const (
	mostTimeout = 24 * time.Hour
	mostSize    = 16 << 30
)

// Every key of a meta that is read here begins with one of these. A meta without
// them costs nothing more; a backslash may hide them.
//
//nolint:gochecknoglobals // constants
var (
	downloadKey = []byte(`"download_`)
	proxyKey    = []byte(`"proxy`)
)

// optionsOf gives the options of a request. A limit that is of another type, zero
// or out of range leaves the client's as it is, but download_warnsize of 0 never
// warns.
func (c *Client) optionsOf(req *crawl.Request) options {
	l := options{timeout: c.cfg.Timeout, maxSize: c.maxSize, warnSize: c.cfg.WarnSize}
	if len(req.Meta) == 0 || !bytes.Contains(req.Meta, downloadKey) && !bytes.Contains(req.Meta, proxyKey) && bytes.IndexByte(req.Meta, '\\') < 0 {
		return l
	}
	var meta map[string]json.RawMessage
	if json.Unmarshal(req.Meta, &meta) != nil {
		return l
	}
	if s, ok := number(meta["download_timeout"]); ok && s > 0 && s <= mostTimeout.Seconds() {
		l.timeout = max(time.Duration(s*float64(time.Second)), time.Millisecond)
	}
	if n, ok := number(meta["download_maxsize"]); ok && n >= 1 && n <= mostSize {
		l.maxSize = int64(n)
	}
	if n, ok := number(meta["download_warnsize"]); ok && n >= 0 && n <= math.MaxInt64/2 {
		l.warnSize = int64(n)
	}
	if raw, ok := meta["proxy"]; ok {
		l.way, l.proxy = wayOf(raw)
	}
	return l
}

func wayOf(raw json.RawMessage) (way, string) {
	var url *string
	switch {
	case json.Unmarshal(raw, &url) != nil:
		return wayUnknown, ""
	case url == nil:
		return wayDirect, ""
	default:
		return wayProxy, *url
	}
}

// number reads a JSON number; false for anything else.
func number(raw json.RawMessage) (float64, bool) {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	var f float64
	err := json.Unmarshal(raw, &f)
	return f, err == nil
}
