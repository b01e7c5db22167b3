package throttle

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// RateLimit is what a response says of the site's limit on requests: Left may be
// sent within Reset. The zero value says nothing.
type RateLimit struct {
	Known bool
	Left  int64
	Reset time.Duration // from the response on; over zero
}

// RateLimitFields are the values of the header fields that speak of a limit, each ""
// when the response has none; several lines of one field are joined by commas.
type RateLimitFields struct {
	RateLimit, Policy       string // RateLimit, RateLimit-Policy
	Limit, Remaining, Reset string // RateLimit-Limit, -Remaining, -Reset, or with X- before
}

const (
	rateLimitItems = 16   // items of a list that are looked at
	rateLimitBytes = 1024 // longest value that is looked at
	unixTime       = 1e9  // a reset from which it is a time in seconds since 1970
	unixTimeMS     = 1e12 // in milliseconds
)

// Read gives the tightest limit that the fields speak of. RateLimit goes before
// the older fields, and a policy without a statement of what is left is a limit that is
// all left (draft-ietf-httpapi-ratelimit-headers). Of malformed fields, of units other
// than requests and of limits without a time nothing is known.
func (f *RateLimitFields) Read(now time.Time) RateLimit {
	var tightest RateLimit
	windows := f.policies(&tightest)
	said := false
	for item := range items(f.RateLimit) {
		name, r, t, ok := statement(item, 'r', 't')
		if !ok {
			// Earlier drafts: limit=100, remaining=50, reset=5, each an item.
			continue
		}
		if t < 0 {
			t = windows[name]
		}
		if !said {
			said, tightest = true, RateLimit{}
		}
		tightest.tighten(r, t)
	}
	if !said {
		if r, t, ok := threeItems(f.RateLimit); ok {
			tightest = RateLimit{}
			tightest.tighten(r, t)
			return tightest
		}
		if r, ok := number(first(f.Remaining)); ok {
			older := RateLimit{}
			older.tighten(r, resetIn(f.Reset, now))
			if older.Known {
				return older
			}
		}
	}
	return tightest
}

// policies takes the policies into l, each as if all of it were left, and gives
// their windows by name, s.
func (f *RateLimitFields) policies(l *RateLimit) map[string]float64 {
	var windows map[string]float64
	for item := range items(f.Policy) {
		name, q, w, ok := statement(item, 'q', 'w')
		if !ok || w <= 0 {
			continue
		}
		if windows == nil {
			windows = map[string]float64{}
		}
		windows[name] = w
		if q > 0 {
			l.tighten(q, w)
		}
	}
	return windows
}

// tighten takes a limit of so many requests in so many seconds, if it is tighter.
// Nothing left is tighter than anything, for the longer time.
func (l *RateLimit) tighten(left, reset float64) {
	d := duration(reset)
	if d <= 0 {
		return
	}
	n := int64(min(left, math.MaxInt32))
	switch {
	case !l.Known:
	case n == 0 && l.Left == 0 && d > l.Reset:
	case n == 0 && l.Left > 0:
	case n > 0 && l.Left > 0 && d/time.Duration(n) > l.Reset/time.Duration(l.Left):
	default:
		return
	}
	*l = RateLimit{Known: true, Left: n, Reset: d}
}

// items goes through a list of structured fields (RFC 9651 §3.1), split at commas
// outside of strings.
func items(list string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if len(list) > rateLimitBytes {
			return
		}
		for range rateLimitItems {
			var item string
			item, list = cut(list, ',')
			if item = strings.Trim(item, " \t"); item != "" && !yield(item) {
				return
			}
			if list == "" {
				return
			}
		}
	}
}

// cut is what comes before and after the first sep that is not in a string.
func cut(s string, sep byte) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == sep && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// statement reads an item: a name, and of its parameters an amount and a time in
// seconds, -1 when there is none. Not ok: no amount, or one of something else than
// requests.
func statement(item string, amountKey, timeKey byte) (name string, amount, seconds float64, ok bool) {
	name, rest := cut(item, ';')
	amount, seconds = -1, -1
	for range rateLimitItems {
		if rest == "" {
			break
		}
		var parameter string
		parameter, rest = cut(rest, ';')
		key, value, _ := strings.Cut(strings.Trim(parameter, " \t"), "=")
		switch {
		case key == "qu" && strings.Trim(value, `"`) != "requests" && strings.Trim(value, `"`) != "request":
			return "", 0, 0, false
		case len(key) != 1:
		case key[0] == amountKey:
			if amount, ok = number(value); !ok {
				return "", 0, 0, false
			}
		case key[0] == timeKey:
			if v, fine := number(value); fine {
				seconds = v
			}
		}
	}
	return strings.Trim(name, " \t\""), amount, seconds, ok
}

// threeItems reads the RateLimit field of the drafts before the eighth.
func threeItems(field string) (remaining, reset float64, ok bool) {
	remaining, reset = -1, -1
	for item := range items(field) {
		key, value, _ := strings.Cut(item, "=")
		v, fine := number(value)
		if !fine {
			continue
		}
		switch strings.Trim(key, " \t") {
		case "remaining":
			remaining = v
		case "reset":
			reset = v
		}
	}
	return remaining, reset, remaining >= 0 && reset >= 0
}

// resetIn reads a reset: seconds from now, or a unix time. -1: not readable, or past.
func resetIn(value string, now time.Time) float64 {
	v, ok := number(first(value))
	if !ok {
		return -1
	}
	if v >= unixTimeMS {
		v /= 1000
	}
	if v >= unixTime {
		v -= float64(now.UnixMilli()) / 1000
	}
	return v
}

// first is the first item of a list, without its parameters.
func first(list string) string {
	item, _ := cut(list, ',')
	item, _ = cut(item, ';')
	return item
}

// number reads a number that is not negative: digits, and perhaps a fraction.
func number(s string) (float64, bool) {
	s = strings.Trim(s, " \t")
	if s == "" || len(s) > 32 {
		return 0, false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && c != '.' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// obey makes the requests that are left last until the reset. Those in flight may
// not be counted yet.
func (s *Slot) obey(now time.Time, l RateLimit) {
	reset := min(l.Reset, s.cfg.RetryAfterMax)
	s.spread = 0
	if reset <= 0 {
		return
	}
	if l.Left <= 0 {
		if until := now.Add(reset); until.After(s.hold) {
			s.holdUntil(until, ReasonRateLimit)
			s.slowStart(false)
		}
		return
	}
	left := max(1, l.Left-int64(s.InFlight()))
	s.spread, s.reset = min(l.Reset/time.Duration(left), reset), now.Add(reset)
}
