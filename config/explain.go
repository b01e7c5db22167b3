package config

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
)

// mask stands for a secret.
const mask = "***"

// Explain prints every setting with where its value came from and the value, which
// may be long, one a line, secrets masked.
func Explain(w io.Writer, c *Config) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "NAME\tSOURCE\tVALUE") //nolint:errcheck // Flush tells
	for _, s := range registry(c) {
		fmt.Fprintf(tab, "%s\t%s\t%s\n", s.Name, c.Source(s.Name), s.shown()) //nolint:errcheck // Flush tells
	}
	if err := tab.Flush(); err != nil {
		return fmt.Errorf("config: print settings: %w", err)
	}
	return nil
}

// explained is one setting in the machine form.
type explained struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Value   any    `json:"value"` // durations in seconds, sizes in bytes
	Source  string `json:"source"`
	Default string `json:"default"`
}

// ExplainJSON prints what Explain does as a JSON array.
func ExplainJSON(w io.Writer, c *Config) error {
	rows := registry(c)
	out := make([]explained, len(rows))
	for i, s := range rows {
		out[i] = explained{s.Name, s.Path, s.plainShown(), c.Source(s.Name), s.Default}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("config: print settings: %w", err)
	}
	return nil
}

// shown is the value as text without secrets.
func (s *Setting) shown() string {
	if h, ok := s.value.(headersValue); ok {
		return headersJSON(h.masked())
	}
	if s.sealed && s.value.text() != "" {
		return mask
	}
	if list, ok := s.value.(listValue); ok && s.secret {
		masked := make([]string, len(*list.p))
		for i, url := range *list.p {
			masked[i] = MaskURL(url)
		}
		return strings.Join(masked, ",")
	}
	if s.secret {
		return MaskURL(s.value.text())
	}
	return s.value.text()
}

func (s *Setting) plainShown() any {
	_, isHeaders := s.value.(headersValue)
	switch {
	case isHeaders:
		return json.RawMessage(s.shown())
	case s.secret, s.sealed:
		return s.shown()
	default:
		return s.value.plain()
	}
}

var passwordParam = regexp.MustCompile(`(?i)([?&][^=&#]*(?:password|secret|token)[^=&#]*=)[^&#]*`)

// MaskURL is a Redis URL with its passwords replaced, also when it is not valid:
// all from the first colon after the scheme to the last @ counts as one, and so
// does a user without a colon, which may be a password in the wrong place.
func MaskURL(s string) string {
	s = passwordParam.ReplaceAllString(s, "${1}"+mask)
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		scheme, rest = "", s
	} else {
		scheme += "://"
	}
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return s
	}
	user, _, hasPassword := strings.Cut(rest[:at], ":")
	if !hasPassword {
		return scheme + mask + rest[at:]
	}
	return scheme + user + ":" + mask + rest[at:]
}
