package config

import (
	"fmt"
	"io"
	"strings"
)

//go:generate go test -run TestSettingsDoc -update

// WriteDoc writes docs/settings.md.
func WriteDoc(w io.Writer) error {
	var b strings.Builder
	b.WriteString(`# Settings

<!-- Written by "go generate ./config" from the registry in config/settings_*.go. Do not edit. -->

A setting can be given, each way beating the ones before it, by

1. its default,
2. a file (` + "`--config cluster.yaml`" + `): its key, in its section,
3. the environment: ` + "`ORBWEAVER_`" + ` and its name, as in ` + "`ORBWEAVER_DOWNLOAD_DELAY=0.25`" + `,
4. the command line: ` + "`-s NAME=VALUE`" + `, or a flag of its own where it has one.

Names are those of Scrapy and scrapy-redis where they have the setting. An unknown name, a wrong type or a value out of
range is an error that says where it is and what to write; all of them are reported at once. ` + "`node config`" + ` prints the
values in force and where each came from.

Types: *seconds* are a number as Scrapy writes it (` + "`0.25`" + `) or a duration with its unit (` + "`250ms`, `2m`" + `); *bytes* a whole
number, also with ` + "`KiB`, `MiB`, `GiB`" + `; *bool* ` + "`true`, `false`, `1`, `0`" + `; a *list* has commas between, or is a YAML list; a
*mapping* is a YAML mapping, or a JSON object on the command line and in the environment.
`)
	rows := Settings()
	for _, sec := range sections() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", sec.name, sec.doc)
		for i := range rows {
			if strings.HasPrefix(rows[i].Path, sec.name+".") {
				rows[i].document(&b)
			}
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("config: write settings document: %w", err)
	}
	return nil
}

func (s *Setting) document(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n", s.Name, s.Doc)
	fmt.Fprintf(b, "- key: `%s`", s.Path)
	if s.Flag != "" {
		fmt.Fprintf(b, ", flag: `%s`", s.Flag)
	}
	fmt.Fprintf(b, "\n- type: %s\n- default: %s", s.Type(), codeOr(s.Default, "empty"))
	switch {
	case s.Scrapy == "":
	case s.Why != "":
		fmt.Fprintf(b, "; Scrapy: %s. %s", codeOr(s.Scrapy, "empty"), s.Why)
	default:
		b.WriteString(", as Scrapy's")
	}
	b.WriteString("\n")
}

func codeOr(s, empty string) string {
	if s == "" {
		return empty
	}
	return "`" + s + "`"
}

// WriteExample writes cluster.yaml: every setting with its default.
func WriteExample(w io.Writer) error {
	var b strings.Builder
	b.WriteString(`# Settings of an Orbweaver node, every one with its default. Keep what you change;
# an empty file will do. docs/settings.md says more about each.
#
# Beaten by the environment (ORBWEAVER_DOWNLOAD_DELAY=0.25) and by the command line
# (-s DOWNLOAD_DELAY=0.25). Times are in seconds, or with a unit: 250ms, 2m.
# "node config --config cluster.yaml" prints what is in force, and why.
`)
	c := Default()
	rows := registry(c)
	for _, sec := range sections() {
		fmt.Fprintf(&b, "\n# %s\n%s:\n", sec.doc, sec.name)
		for i := range rows {
			if strings.HasPrefix(rows[i].Path, sec.name+".") {
				rows[i].example(&b)
			}
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("config: write example: %w", err)
	}
	return nil
}

func (s *Setting) example(b *strings.Builder) {
	for _, line := range wrap(s.Name+": "+strings.ReplaceAll(s.Doc, "`", ""), 96) {
		fmt.Fprintf(b, "  # %s\n", line)
	}
	key := s.Path[strings.IndexByte(s.Path, '.')+1:]
	switch v := s.value.(type) {
	case headersValue:
		fmt.Fprintf(b, "  %s:\n", key)
		for _, h := range *v.p {
			fmt.Fprintf(b, "    %s: %s\n", h.Name, jsonString(h.Value))
		}
	case listValue, codesValue:
		fmt.Fprintf(b, "  %s: [%s]\n", key, strings.ReplaceAll(v.text(), ",", ", "))
	case boolValue, intValue, floatValue, bytesValue:
		fmt.Fprintf(b, "  %s: %s\n", key, v.text())
	case durationValue:
		fmt.Fprintf(b, "  %s: %s\n", key, strings.TrimSuffix(v.text(), "s"))
	default:
		fmt.Fprintf(b, "  %s: %s\n", key, plainOrQuoted(v.text()))
	}
}

// plainOrQuoted writes text as YAML; quotes only where a reader or YAML needs them.
func plainOrQuoted(s string) string {
	if s == "" || s == "off" || strings.ContainsAny(s[:1], "0123456789.-%@*&!|>'\"`{[?:,# ") || strings.Contains(s, " ") {
		return jsonString(s)
	}
	return s
}

// wrap breaks text at blanks so that no line is longer than width, if it can be.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
