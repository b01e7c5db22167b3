package rqueue

import (
	"errors"
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
	seconds = max(seconds, s.CrawlDelay, s.Quota.Interval)
	if !(seconds < maxGap.Seconds()) { // NaN as well
		return maxGap
	}
	return max(delay, time.Duration(math.Ceil(seconds*float64(time.Second))))
}

// append writes what the slot's key keeps of the throttle: delay, back-off,
// failures, Crawl-delay, latency, reason and, after a tab, the quota. Floats are exact.
// A node that knows no quota takes it for a part of the reason, and holds as long.
func (s *SlotState) append(b []byte) []byte {
	b = strconv.AppendFloat(b, s.Delay, 'g', -1, 64)
	b = strconv.AppendFloat(append(b, ' '), s.Backoff, 'g', -1, 64)
	b = strconv.AppendInt(append(b, ' '), int64(s.Failures), 10)
	b = strconv.AppendFloat(append(b, ' '), s.CrawlDelay, 'g', -1, 64)
	b = strconv.AppendFloat(append(b, ' '), s.Latency, 'g', -1, 64)
	b = append(append(b, ' '), s.Reason...)
	if s.Quota == (Quota{}) {
		return b
	}
	return s.Quota.append(append(b, '\t'))
}

func (q *Quota) append(b []byte) []byte {
	for _, f := range []float64{q.Interval, q.Failed, q.Borne, q.Age} {
		b = append(strconv.AppendFloat(b, f, 'g', -1, 64), ' ')
	}
	b = append(strconv.AppendBool(b, q.Settled), ' ')
	b = append(strconv.AppendInt(b, int64(q.Passed), 10), ' ')
	b = append(strconv.AppendInt(b, int64(q.Refused), 10), ' ')
	return strconv.AppendInt(b, q.Until, 10)
}

// parse reads what append wrote, and leaves the zero value for anything else. What a
// later version adds behind it is not looked at.
func (q *Quota) parse(text string) {
	f := strings.SplitN(text, " ", 9)
	if len(f) < 8 {
		return
	}
	var n [4]float64
	for i := range n {
		v, err := strconv.ParseFloat(f[i], 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		n[i] = v
	}
	settled, err1 := strconv.ParseBool(f[4])
	passed, err2 := strconv.Atoi(f[5])
	refused, err3 := strconv.Atoi(f[6])
	until, err4 := strconv.ParseInt(f[7], 10, 64)
	if errors.Join(err1, err2, err3, err4) != nil {
		return
	}
	*q = Quota{n[0], n[1], n[2], settled, n[3], passed, refused, until}
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
	reason, quota, _ := strings.Cut(f[5], "\t")
	s.Failures, s.Reason = failures, reason
	s.Quota.parse(quota)
}

// throttle adds the three arguments that store a state: text, gap and hold.
func (a *args) throttle(s *SlotState, delay time.Duration) {
	from := len(a.buf)
	a.buf = s.append(a.buf)
	a.since(from)
	a.int(ms(s.gap(delay)))
	a.int(max(ms(s.HoldIn), 0))
}
