package seeds

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"orbweaver/core/crawl"
)

// depthLimit bounds the depth that a seed may claim.
const depthLimit = 1 << 20

// extras is what only this product reads, under the meta key "orbweaver".
type extras struct {
	Priority int32           `json:"priority"`
	Headers  json.RawMessage `json:"headers"`
}

// setMeta takes the meta of a message. What Python takes for nothing (null, an
// empty list, string or object, 0, false) is no meta.
func setMeta(req *crawl.Request, raw json.RawMessage) error {
	switch string(raw) {
	case "null", `""`, "0", "false", "0.0", "-0":
		return nil
	}
	if raw[0] == '[' && len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0 {
		return nil
	}
	fields, err := objectFields(raw)
	if err != nil {
		return errors.New("meta is not an object")
	}
	if len(fields) == 0 {
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return fmt.Errorf("meta: %w", err)
	}
	req.Meta = compact.Bytes()
	for _, f := range fields {
		switch f.name {
		case "depth":
			var depth int32
			if json.Unmarshal(f.value, &depth) == nil && depth > 0 && depth <= depthLimit {
				req.Depth = depth
			}
		case "orbweaver":
			if err := setExtras(req, f.value); err != nil {
				return fmt.Errorf("meta orbweaver: %w", err)
			}
		}
	}
	return nil
}

func setExtras(req *crawl.Request, raw json.RawMessage) error {
	var x extras
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&x); err != nil {
		return err
	}
	req.Priority = x.Priority
	if len(x.Headers) == 0 || string(x.Headers) == "null" {
		return nil
	}
	fields, err := objectFields(x.Headers)
	if err != nil {
		return errors.New("headers is not an object")
	}
	for _, f := range fields {
		value, ok := stringValue(f.value)
		if !ok {
			return fmt.Errorf("header %q is not a string", f.name)
		}
		if !isHeader(f.name, value) {
			return fmt.Errorf("header %q is not one of HTTP", f.name)
		}
		req.Headers = append(req.Headers, crawl.Header{Name: f.name, Value: value})
	}
	return nil
}

// setDefaultHeader adds a header unless the request has one of that name.
func setDefaultHeader(req *crawl.Request, name, value string) {
	for _, h := range req.Headers {
		if strings.EqualFold(h.Name, name) {
			return
		}
	}
	req.Headers = append(req.Headers, crawl.Header{Name: name, Value: value})
}

// isHeader reports whether a header can be sent and is the seed's to set.
func isHeader(name, value string) bool {
	if name == "" {
		return false
	}
	for i := range len(name) {
		if !isToken(name[i]) {
			return false
		}
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	switch strings.ToLower(name) {
	case "host", "content-length", "transfer-encoding", "connection", "te", "trailer", "upgrade", "keep-alive", "proxy-connection":
		return false // the connection's, not the request's: they could split a request in two
	}
	return true
}

// isToken reports whether c may stand in a token (RFC 9110 §5.6.2).
func isToken(c byte) bool {
	return c > ' ' && c < 0x7f && strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) < 0
}
