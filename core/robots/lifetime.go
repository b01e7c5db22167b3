package robots

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Lifetime is how long an answer for robots.txt may be used: what its Cache-Control
// fields say (RFC 9309 §2.4, RFC 9111 §5.2.2), within least and most. max-age
// counts from the answer's Age; no-cache and no-store ask for least. Without any of
// them it is most. Both strings are field values, joined by commas where there are
// several; what is no directive of these, or no number, is read over.
func Lifetime(cacheControl, age string, least, most time.Duration) time.Duration {
	life := most
	for cacheControl != "" {
		var directive string
		directive, cacheControl = nextDirective(cacheControl)
		name, value, _ := strings.Cut(directive, "=")
		switch name = strings.Trim(name, " \t"); {
		case strings.EqualFold(name, "no-store"), strings.EqualFold(name, "no-cache") && value == "":
			return min(least, most)
		case strings.EqualFold(name, "max-age"):
			if seconds, ok := deltaSeconds(value); ok {
				spent, _ := deltaSeconds(age)
				life = min(life, max(0, seconds-spent))
			}
		}
	}
	return min(max(life, least), most)
}

// nextDirective cuts a list at its first comma outside of a quoted string.
func nextDirective(s string) (directive, rest string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case quoted && s[i] == '\\':
			i++
		case !quoted && s[i] == ',':
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// deltaSeconds reads RFC 9111 §1.2.2, quoted too, as some servers send it.
func deltaSeconds(s string) (time.Duration, bool) {
	s = strings.Trim(s, " \t\"")
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > int64(math.MaxInt32) {
		n = math.MaxInt32
	}
	return time.Duration(n) * time.Second, true
}
