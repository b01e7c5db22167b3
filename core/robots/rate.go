package robots

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Rate is a Request-rate line: so many requests in so long a time. The zero Rate
// asks for nothing.
type Rate struct {
	Requests int
	Per      time.Duration
}

// Gap is the time between requests that keeps to the rate evenly, up to a year.
func (r Rate) Gap() time.Duration {
	if r.Requests <= 0 {
		return 0
	}
	return min(r.Per/time.Duration(r.Requests), maxCrawlDelay)
}

// parseRate reads "1/10", "1/10s", "30/1m" or "100/2h", in seconds without a
// unit. A time of day after it is read over, so the rate holds all day: Protego
// gives that time to its caller, and none of its callers looks at it. A rate of no
// requests or no time is none.
func parseRate(s string) (Rate, bool) {
	s, _, _ = strings.Cut(strings.ReplaceAll(s, "\t", " "), " ")
	requests, per, ok := strings.Cut(s, "/")
	if !ok || per == "" {
		return Rate{}, false
	}
	unit := time.Second
	switch per[len(per)-1] | 0x20 {
	case 's':
		per = per[:len(per)-1]
	case 'm':
		unit, per = time.Minute, per[:len(per)-1]
	case 'h':
		unit, per = time.Hour, per[:len(per)-1]
	}
	n, ok1 := parseCount(requests)
	t, ok2 := parseCount(per)
	if !ok1 || !ok2 {
		return Rate{}, false
	}
	r := Rate{Requests: n, Per: maxCrawlDelay * time.Duration(min(n, 100))}
	if t <= int(r.Per/unit) {
		r.Per = time.Duration(t) * unit
	}
	return r, true
}

// parseCount reads a positive number of decimal digits. One too large for its type
// is the largest.
func parseCount(s string) (int, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		n = math.MaxInt32
	}
	return int(n), n > 0
}
