package httpcache

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"orbweaver/core/crawl"
)

// control is the directives of Cache-Control fields, names in lower case (RFC 9111
// §5.2). Pragma: no-cache counts when there are none (§5.4).
type control map[string]string

// controlOf reads the directives of a header; ignored ones are left out.
func controlOf(fields []crawl.Header, ignored []string) control {
	var c control
	pragma := false
	for i := range fields {
		switch {
		case strings.EqualFold(fields[i].Name, "Cache-Control"):
			c = c.add(fields[i].Value, ignored)
		case strings.EqualFold(fields[i].Name, "Pragma"):
			pragma = pragma || strings.Contains(strings.ToLower(fields[i].Value), "no-cache")
		}
	}
	if c == nil && pragma && !slices.Contains(ignored, "no-cache") {
		c = control{"no-cache": ""}
	}
	return c
}

// add reads one field. The first of two directives of a name counts.
func (c control) add(value string, ignored []string) control {
	for value != "" {
		var part string
		part, value = cutDirective(value)
		name, arg, _ := strings.Cut(part, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		if name == "" || slices.Contains(ignored, name) {
			continue
		}
		if c == nil {
			c = control{}
		}
		if _, twice := c[name]; !twice {
			c[name] = strings.Trim(strings.TrimSpace(arg), `"`)
		}
	}
	return c
}

// cutDirective splits at the first comma that is not quoted.
func cutDirective(s string) (part, rest string) {
	quoted := false
	for i := range len(s) {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

func (c control) has(name string) bool {
	_, ok := c[name]
	return ok
}

// seconds gives a directive's delta-seconds (RFC 9111 §1.2.2). What is no number is
// stale at once (§4.2.1).
func (c control) seconds(name string) (time.Duration, bool) {
	arg, ok := c[name]
	if !ok {
		return 0, false
	}
	return deltaSeconds(arg), true
}

func deltaSeconds(s string) time.Duration {
	s = strings.TrimSpace(s)
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > math.MaxInt32 {
		n = math.MaxInt32
	}
	return time.Duration(n) * time.Second
}

// header gives the first value of a field.
func header(fields []crawl.Header, name string) (string, bool) {
	for i := range fields {
		if strings.EqualFold(fields[i].Name, name) {
			return fields[i].Value, true
		}
	}
	return "", false
}

// date reads a field that is a date (RFC 9110 §5.6.7).
func date(fields []crawl.Header, name string) (time.Time, bool) {
	value, ok := header(fields, name)
	if !ok {
		return time.Time{}, false
	}
	for _, layout := range [...]string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC1123, time.RFC850, time.ANSIC} {
		if t, err := time.ParseInLocation(layout, strings.TrimSpace(value), time.UTC); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
