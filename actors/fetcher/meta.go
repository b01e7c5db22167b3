package fetcher

import (
	"bytes"
	"encoding/json"
	"math"
	"time"

	"orbweaver/core/crawl"
)

// limits are those of one fetch: the client's, or what the request's meta has in
// their place under Scrapy's names.
type limits struct {
	timeout  time.Duration // download_timeout, seconds
	maxSize  int64         // download_maxsize, bytes
	warnSize int64         // download_warnsize, bytes; 0 or less never warns
}

// The most that a request may ask for, as the settings have it.
const (
	mostTimeout = 24 * time.Hour
	mostSize    = 16 << 30
)

// metaKey begins every key of a meta that is read here. A meta without it costs
// nothing more; a backslash may hide it.
var metaKey = []byte(`"download_`) //nolint:gochecknoglobals // a constant

// limitsOf gives the limits of a request. A value that is of another type, zero or
// out of range leaves the client's limit as it is, but download_warnsize of 0
// never warns.
func (c *Client) limitsOf(req *crawl.Request) limits {
	l := limits{c.cfg.Timeout, c.maxSize, c.cfg.WarnSize}
	if len(req.Meta) == 0 || !bytes.Contains(req.Meta, metaKey) && bytes.IndexByte(req.Meta, '\\') < 0 {
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
	return l
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
