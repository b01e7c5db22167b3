package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"orbweaver/core/crawl"
)

// headersValue is HTTP fields in order. Text sources give it as a JSON object,
// as Scrapy's getdict takes it.
type headersValue struct{ p *[]crawl.Header }

func (v headersValue) kind() string { return "mapping" }
func (v headersValue) text() string { return headersJSON(*v.p) }
func (v headersValue) plain() any   { return json.RawMessage(headersJSON(*v.p)) }

func (v headersValue) set(in input) error {
	pairs, err := in.mapping()
	if err != nil {
		return err
	}
	for i, h := range pairs {
		if err := checkHeader(h); err != nil {
			return err
		}
		if slices.ContainsFunc(pairs[:i], func(o crawl.Header) bool { return strings.EqualFold(o.Name, h.Name) }) {
			return fmt.Errorf("header %s is given twice: keep one", quote(h.Name))
		}
	}
	*v.p = pairs
	return nil
}

// masked is the headers with the values of credentials replaced.
func (v headersValue) masked() []crawl.Header {
	out := slices.Clone(*v.p)
	for i := range out {
		switch strings.ToLower(out[i].Name) {
		case "authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token":
			out[i].Value = mask
		}
	}
	return out
}

func headersJSON(headers []crawl.Header) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, h := range headers {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(jsonString(h.Name) + ": " + jsonString(h.Value))
	}
	b.WriteByte('}')
	return b.String()
}

// jsonString is s as a JSON string that people can read: no HTML escapes. It is
// also a double-quoted YAML string.
func jsonString(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // not reached: a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// headersOfJSON reads a JSON object of strings, keeping its order.
func headersOfJSON(s string) ([]crawl.Header, error) {
	wrong := errors.New(`is not a mapping: write a JSON object of strings, such as {"Accept-Language": "en"}`)
	dec := json.NewDecoder(strings.NewReader(s))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, wrong
	}
	var headers []crawl.Header
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, wrong
		}
		val, err := dec.Token()
		if err != nil {
			return nil, wrong
		}
		text, ok := val.(string)
		if !ok {
			return nil, wrong
		}
		headers = append(headers, crawl.Header{Name: name.(string), Value: text})
	}
	if t, err := dec.Token(); err != nil || t != json.Delim('}') || dec.More() {
		return nil, wrong
	}
	return headers, nil
}

// checkHeader refuses what RFC 9110 §5 does not allow in a field, and the
// fields that frame a message or name its target, which the client sets.
func checkHeader(h crawl.Header) error {
	if err := checkToken(h.Name); err != nil {
		return fmt.Errorf("header name %w", err)
	}
	switch strings.ToLower(h.Name) {
	case "host", "content-length", "transfer-encoding", "connection", "te", "trailer", "upgrade":
		return fmt.Errorf("header %s is set by the client itself: take it out", h.Name)
	case "user-agent":
		return errors.New("header User-Agent has its own setting: use USER_AGENT (fetch.user_agent)")
	}
	if strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return fmt.Errorf("header %s has a control character in its value: take it out", h.Name)
	}
	return nil
}

// checkToken accepts a token of RFC 9110 §5.6.2.
func checkToken(s string) error {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	}) {
		return fmt.Errorf("%s is not a header name: use letters, digits and dashes", quote(s))
	}
	return nil
}
