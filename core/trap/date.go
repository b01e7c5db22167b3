package trap

import "strings"

// Years that a number of four digits may mean.
const (
	firstYear = 1500
	lastYear  = 2999
)

// month finds the month that a URL is about, counted from year 0. It takes what is
// written as a date only: /2031/05, /2031-05-12, 2031-05 or 2031/05/12 in a parameter,
// year= with month=, and digits alone (20310512, 203105) only next to a word such
// as calendar or date. The last date of the path or, without one, of the query counts.
func (s *shape) month() (int, bool) {
	found, ok := 0, false
	before := -1
	for rest := s.path; rest != ""; {
		seen := s.path[:len(s.path)-len(rest)]
		var segment string
		segment, rest = nextSegment(rest)
		if before >= 0 {
			if m, n := number(segment); (n == 1 || n == 2) && n == len(segment) && m >= 1 && m <= 12 {
				found, ok = before*12+m-1, true
			}
		}
		before = -1
		if year, n := number(segment); n == 4 && n == len(segment) && year >= firstYear && year <= lastYear {
			before = year
		}
		if m, isDate := dateIn(segment, seen); isDate {
			found, ok = m, true
		}
	}
	if ok || s.query == "" {
		return found, ok
	}
	return s.queryMonth()
}

// queryMonth is month for the parameters.
func (s *shape) queryMonth() (int, bool) {
	year, mon := -1, -1
	for rest := s.query; rest != ""; {
		name, value := "", ""
		name, value, rest = nextParam(rest)
		if value == "" || len(value) > 32 {
			continue
		}
		n, digits := number(value)
		whole := digits == len(value)
		switch {
		case whole && digits == 4 && n >= firstYear && n <= lastYear && isYearName(name):
			year = n
		case whole && digits <= 2 && n >= 1 && n <= 12 && isMonthName(name):
			mon = n
		default:
			m, ok := dateIn(value, name)
			if !ok {
				m, ok = dateIn(value, s.path)
			}
			if ok {
				return m, true
			}
		}
	}
	if year < 0 {
		return 0, false
	}
	return year*12 + max(mon, 1) - 1, true
}

// dateIn reads 2031-05, 2031-05-12 (also with "/", "_", "." or %2F between) at the
// start of s, and 203105 and 20310512 when what stands before it has a date word.
func dateIn(s, before string) (int, bool) {
	year, n := number(s)
	switch {
	case n == 4 && len(s) > 5:
		rest := s[4:]
		switch {
		case len(rest) > 3 && rest[0] == '%':
			rest = rest[3:]
		case strings.IndexByte("-/_.", rest[0]) >= 0:
			rest = rest[1:]
		default:
			return 0, false
		}
		m, k := number(rest)
		if (k == 1 || k == 2) && m >= 1 && m <= 12 && year >= firstYear && year <= lastYear && !startsWord(rest[k:]) {
			return year*12 + m - 1, true
		}
	case n == len(s) && (n == 6 || n == 8) && hasDateWord(before):
		day := 1
		if n == 8 {
			year, day = year/100, year%100
		}
		y, m := year/100, year%100
		if y >= firstYear && y <= lastYear && m >= 1 && m <= 12 && day >= 1 && day <= 31 {
			return y*12 + m - 1, true
		}
	}
	return 0, false
}

// startsWord reports whether letters follow: 1984-11a is no date.
func startsWord(s string) bool {
	return s != "" && s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z' && s[0]|0x20 != 't'
}

// number reads up to nine digits at the start of s.
func number(s string) (n, digits int) {
	for digits < len(s) && digits < 9 && isDigit(s[digits]) {
		n = n*10 + int(s[digits]-'0')
		digits++
	}
	return n, digits
}

// hasDateWord reports whether a path or parameter name says that dates follow.
func hasDateWord(s string) bool {
	for _, word := range [...]string{"cal", "date", "day", "week", "month", "event", "agenda", "schedule", "archive", "termin"} {
		if containsFold(s, word) {
			return true
		}
	}
	return false
}

func isYearName(s string) bool {
	return s == "y" || s == "yr" || s == "Y" || containsFold(s, "year") || containsFold(s, "jahr")
}

func isMonthName(s string) bool {
	return s == "m" || s == "mo" || s == "M" || containsFold(s, "month") || containsFold(s, "monat") || containsFold(s, "mon")
}

// containsFold reports whether s holds word, of lower-case letters, in any case.
func containsFold(s, word string) bool {
	for i := 0; i+len(word) <= len(s); i++ {
		k := 0
		for k < len(word) && s[i+k]|0x20 == word[k] {
			k++
		}
		if k == len(word) {
			return true
		}
	}
	return false
}
