package sitemap

import (
	"strings"
	"unicode"

	"orbweaver/core/weburl"
)

// RobotsSitemaps gives the values of the Sitemap lines of a robots.txt, in order,
// by Scrapy's rule: any case, no comments cut, no byte order mark skipped. A
// value that is not absolute is joined to base unless that is empty; what cannot
// be joined stays as it is. They may be repeated or no URLs at all.
func RobotsSitemaps(text, base string) []string {
	const prefix = "sitemap:"
	var out []string
	for line := range strings.FieldsFuncSeq(text, endsLine) {
		line = strings.TrimLeftFunc(line, unicode.IsSpace)
		if len(line) < len(prefix) || !strings.EqualFold(line[:len(prefix)], prefix) {
			continue
		}
		value := strings.TrimSpace(line[len(prefix):])
		if base != "" && !isAbsolute(value) {
			if u, err := weburl.Resolve(base, value); err == nil {
				value = u
			}
		}
		out = append(out, value)
	}
	return out
}

func isAbsolute(url string) bool {
	return len(url) > 7 && strings.EqualFold(url[:7], "http://") || len(url) > 8 && strings.EqualFold(url[:8], "https://")
}

// endsLine reports whether r is where Python's splitlines splits.
func endsLine(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return true
	default:
		return false
	}
}
