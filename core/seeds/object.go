package seeds

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"orbweaver/core/crawl"
)

// field is one key of a JSON object, in its place.
type field struct {
	name  string
	value json.RawMessage
}

// topLevel reads a message as JSON. Text that is not JSON gives no object and
// no error, unless it begins like an object; JSON that is no object is an error.
func topLevel(text string) (fields []field, isObject bool, err error) {
	if fields, err = objectFields([]byte(text)); err == nil {
		return fields, true, nil
	}
	switch {
	case json.Valid([]byte(text)):
		return nil, false, errors.New("JSON, but not an object")
	case strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{"):
		return nil, false, fmt.Errorf("not a URL, and not JSON: %w", err)
	}
	return nil, false, nil
}

var errNotObject = errors.New("not an object")

// objectFields reads an object's keys in order. A key that comes twice keeps its
// first place and its last value, as in a Python dict.
func objectFields(raw []byte) ([]field, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	open, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('{') {
		return nil, errNotObject
	}
	var fields []field
	at := map[string]int{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, errNotObject
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		if i, ok := at[name]; ok {
			fields[i].value = value
			continue
		}
		at[name] = len(fields)
		fields = append(fields, field{name: name, value: value})
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the object")
	}
	return fields, nil
}

// fromObject makes the request of an object message.
func fromObject(fields []field) (*crawl.Request, error) {
	req := &crawl.Request{Method: "GET", Seed: true, DontFilter: true}
	var form []field
	for _, f := range fields {
		var err error
		switch f.name {
		case "url":
			req.URL, err = urlField(f.value)
		case "method":
			req.Method, err = methodField(f.value)
		case "meta":
			err = setMeta(req, f.value)
		default:
			form = append(form, f)
		}
		if err != nil {
			return nil, err
		}
	}
	if req.URL == "" {
		return nil, ErrNoURL
	}
	if len(form) == 0 {
		return req, nil
	}
	body, err := encodeForm(form)
	if err != nil {
		return nil, err
	}
	if req.Method == "POST" {
		req.Body = []byte(body)
		setDefaultHeader(req, "Content-Type", "application/x-www-form-urlencoded")
		return req, nil
	}
	req.URL, err = cleanURL(replaceQuery(req.URL, body))
	return req, err
}

func urlField(raw json.RawMessage) (string, error) {
	if string(raw) == "null" {
		return "", ErrNoURL
	}
	s, ok := stringValue(raw)
	if !ok {
		return "", errors.New("url is not a string")
	}
	return cleanURL(s)
}

// methodField reads a method. "" stays "" and is GET.
func methodField(raw json.RawMessage) (string, error) {
	s, ok := stringValue(raw)
	if !ok {
		return "", errors.New("method is not a string")
	}
	for i := range len(s) {
		if !isToken(s[i]) {
			return "", fmt.Errorf("method %q is not one of HTTP", s)
		}
	}
	return strings.ToUpper(s), nil
}

// encodeForm writes fields as Scrapy's FormRequest does.
func encodeForm(fields []field) (string, error) {
	var b strings.Builder
	add := func(name, value string) {
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(url.QueryEscape(name))
		b.WriteByte('=')
		b.WriteString(url.QueryEscape(value))
	}
	for _, f := range fields {
		if s, ok := stringValue(f.value); ok {
			add(f.name, s)
			continue
		}
		values, err := formValues(f.value)
		if err != nil {
			return "", fmt.Errorf("form field %q: %w", f.name, err)
		}
		for _, v := range values {
			add(f.name, v)
		}
	}
	return b.String(), nil
}

// formValues are the values of a field that is not one string.
func formValues(raw json.RawMessage) ([]string, error) {
	switch raw[0] {
	case '[':
		var elements []json.RawMessage
		if err := json.Unmarshal(raw, &elements); err != nil {
			return nil, err
		}
		values := make([]string, 0, len(elements))
		for _, e := range elements {
			s, ok := stringValue(e)
			if !ok {
				return nil, errors.New("the list holds something other than strings")
			}
			values = append(values, s)
		}
		return values, nil
	case '{': // Python goes through a dict by its keys
		fields, err := objectFields(raw)
		values := make([]string, 0, len(fields))
		for _, f := range fields {
			values = append(values, f.name)
		}
		return values, err
	default:
		return nil, errors.New("neither a string nor a list of strings")
	}
}

// replaceQuery gives a clean URL another query, already encoded; "" is none.
func replaceQuery(u, query string) string {
	u, fragment, hasFragment := strings.Cut(u, "#")
	u, _, _ = strings.Cut(u, "?")
	if query != "" {
		u += "?" + query
	}
	if hasFragment {
		u += "#" + fragment
	}
	return u
}

// stringValue reads a JSON string.
func stringValue(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil
}
