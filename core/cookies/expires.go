package cookies

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// looseDate is the dates that servers write: day, month and year with spaces, dashes
// or slashes between, a time of day or none, a zone or none.
var looseDate = regexp.MustCompile(
	`^(\d\d?)(?:\s+|[-/])(\w+)(?:\s+|[-/])(\d+)(?:(?:\s+|:)(\d\d?):(\d\d)(?::(\d\d))?)?\s*(?:([-+]?\d{2,4}|[A-Za-z]+)\s*)?(?:\(\w+\)\s*)?$`)

var (
	weekday = regexp.MustCompile(`(?i)^(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat)[a-z]*,?\s*`)
	zone    = regexp.MustCompile(`^([-+])?(\d\d?):?(\d\d)?$`)
)

// maxDateBytes is past any date.
const maxDateBytes = 80

// parseExpires reads the date of an Expires attribute. A year of two digits is the
// nearest to now.
func parseExpires(s string, now time.Time) (time.Time, bool) {
	if len(s) > maxDateBytes {
		return time.Time{}, false
	}
	if at, err := time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", s); err == nil {
		return at, true
	}
	m := looseDate.FindStringSubmatch(weekday.ReplaceAllString(strings.TrimLeft(s, " \t"), ""))
	if m == nil {
		return time.Time{}, false
	}
	month, ok := monthNamed(m[2])
	year, err := strconv.Atoi(m[3])
	if !ok || err != nil || year > 9999 {
		return time.Time{}, false
	}
	day, hour, minute, second := number(m[1]), number(m[4]), number(m[5]), number(m[6])
	if day < 1 || day > 31 || hour > 24 || minute > 59 || second > 61 {
		return time.Time{}, false
	}
	offset, ok := zoneOffset(m[7])
	if !ok {
		return time.Time{}, false
	}
	return time.Date(fullYear(year, now.UTC().Year()), month, day, hour, minute, second, 0, time.UTC).Add(-offset), true
}

// number reads at most two digits; "" is 0.
func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func monthNamed(s string) (time.Month, bool) {
	for m := time.January; m <= time.December; m++ {
		if strings.EqualFold(s, m.String()[:3]) {
			return m, true
		}
	}
	n, err := strconv.Atoi(s)
	return time.Month(n), err == nil && n >= 1 && n <= 12
}

// fullYear puts a short year into the century that brings it nearest to this one.
func fullYear(year, this int) int {
	if year >= 1000 {
		return year
	}
	short := this % 100
	full := year + this - short
	switch ahead := short - year; {
	case ahead > 50:
		return full + 100
	case ahead < -50:
		return full - 100
	}
	return full
}

// zoneOffset is how far a zone is ahead of UTC. Of the names only those of UTC are known.
func zoneOffset(s string) (time.Duration, bool) {
	switch strings.ToUpper(s) {
	case "", "UTC", "GMT", "UT", "Z":
		return 0, true
	}
	m := zone.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	d := time.Duration(number(m[2]))*time.Hour + time.Duration(number(m[3]))*time.Minute
	if m[1] == "-" {
		d = -d
	}
	return d, true
}
