package rqueue

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// ms is a duration in whole milliseconds, rounded up so that nothing is early.
func ms(d time.Duration) int64 {
	if d <= 0 {
		return int64(d / time.Millisecond)
	}
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// maxGap bounds what a corrupt delay could make of a slot.
const maxGap = 24 * time.Hour

// gap is the time between starts that the state asks for, whatever of it is in
// force: the wait of a successor that does not know when the slot last sent.
func (s *SlotState) gap(delay time.Duration) time.Duration {
	seconds := max(s.Delay, 0) + max(s.Backoff, 0)
	seconds = max(seconds, s.CrawlDelay)
	if !(seconds < maxGap.Seconds()) { // NaN as well
		return maxGap
	}
	return max(delay, time.Duration(math.Ceil(seconds*float64(time.Second))))
}

// append writes what the slot's key keeps of the throttle: delay, back-off,
// failures, Crawl-delay, latency, reason. Floats are exact.
func (s *SlotState) append(b []byte) []byte {
	b = strconv.AppendFloat(b, s.Delay, 'g', -1, 64)
	b = strconv.AppendFloat(append(b, ' '), s.Backoff, 'g', -1, 64)
	b = strconv.AppendInt(append(b, ' '), int64(s.Failures), 10)
	b = strconv.AppendFloat(append(b, ' '), s.CrawlDelay, 'g', -1, 64)
	b = strconv.AppendFloat(append(b, ' '), s.Latency, 'g', -1, 64)
	return append(append(b, ' '), s.Reason...)
}

// parse reads what append wrote; anything else leaves the zero state with no
// delay set, as for a slot never used.
func (s *SlotState) parse(text string) {
	*s = SlotState{Delay: -1}
	f := strings.SplitN(text, " ", 6)
	if len(f) != 6 {
		return
	}
	var n [4]float64
	for i, at := range []int{0, 1, 3, 4} {
		v, err := strconv.ParseFloat(f[at], 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		n[i] = v
	}
	failures, err := strconv.Atoi(f[2])
	if err != nil {
		return
	}
	s.Delay, s.Backoff, s.CrawlDelay, s.Latency = n[0], n[1], n[2], n[3]
	s.Failures, s.Reason = failures, f[5]
}

// throttle adds the three arguments that store a state: text, gap and hold.
func (a *args) throttle(s *SlotState, delay time.Duration) {
	from := len(a.buf)
	a.buf = s.append(a.buf)
	a.since(from)
	a.int(ms(s.gap(delay)))
	a.int(max(ms(s.HoldIn), 0))
}
