package throttle

import (
	"math"
	"strings"
	"time"
)

// RetryAfter reads a Retry-After header (RFC 9110 §10.2.3): seconds, or a date in
// any of the three forms of §5.6.7. Negative seconds and past dates are zero,
// numbers too large for a Duration are the largest; the caller caps. Fractions of a
// second, which the grammar lacks but servers send, round up. False: not readable.
func RetryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.Trim(value, " \t")
	if value == "" || len(value) > 64 {
		return 0, false
	}
	if c := value[0]; c == '-' || (c >= '0' && c <= '9') {
		return delaySeconds(value)
	}
	at, ok := httpDate(value, now)
	if !ok {
		return 0, false
	}
	return max(0, at.Sub(now)), true
}

func delaySeconds(value string) (time.Duration, bool) {
	value, negative := strings.CutPrefix(value, "-")
	whole, fraction, hasFraction := strings.Cut(value, ".")
	if whole == "" || (hasFraction && fraction == "") {
		return 0, false
	}
	const most = int64(math.MaxInt64 / time.Second)
	var n int64
	for i := range len(whole) {
		c := whole[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(n*10+int64(c-'0'), most)
	}
	var up int64
	for i := range len(fraction) {
		c := fraction[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		if c != '0' {
			up = 1
		}
	}
	if negative {
		return 0, true
	}
	return time.Duration(min(n+up, most)) * time.Second, true
}

func httpDate(value string, now time.Time) (time.Time, bool) {
	for _, layout := range [...]string{"Mon, 02 Jan 2006 15:04:05 MST", time.ANSIC} {
		if at, err := time.ParseInLocation(layout, value, time.UTC); err == nil {
			return at, true
		}
	}
	at, err := time.ParseInLocation(time.RFC850, value, time.UTC)
	if err != nil {
		return time.Time{}, false
	}
	// RFC 9110 §5.6.7: the year with these two digits that is not more than 50 years
	// ahead; of a century that is, the one before.
	year := now.Year() - now.Year()%100 + at.Year()%100
	at = at.AddDate(year-at.Year(), 0, 0)
	switch {
	case at.After(now.AddDate(50, 0, 0)):
		at = at.AddDate(-100, 0, 0)
	case !at.After(now.AddDate(-50, 0, 0)):
		at = at.AddDate(100, 0, 0)
	}
	return at, true
}
