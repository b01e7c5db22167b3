package throttle

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// limiter is a site's hidden quota.
type limiter interface{ allow(at time.Time) bool }

// fixedWindow lets so many through in each span of the clock.
type fixedWindow struct {
	n    int
	span time.Duration
	from time.Time
	had  int
}

func (l *fixedWindow) allow(at time.Time) bool {
	if w := at.Truncate(l.span); !w.Equal(l.from) {
		l.from, l.had = w, 0
	}
	if l.had >= l.n {
		return false
	}
	l.had++
	return true
}

// slidingWindow lets so many through in any span.
type slidingWindow struct {
	n    int
	span time.Duration
	had  []time.Time
}

func (l *slidingWindow) allow(at time.Time) bool {
	for len(l.had) > 0 && at.Sub(l.had[0]) >= l.span {
		l.had = l.had[1:]
	}
	if len(l.had) >= l.n {
		return false
	}
	l.had = append(l.had, at)
	return true
}

// tokenBucket grants rate tokens a second and keeps burst of them.
type tokenBucket struct {
	rate, burst, tokens float64
	last                time.Time
}

func (l *tokenBucket) allow(at time.Time) bool {
	if l.last.IsZero() {
		l.tokens = l.burst
	} else {
		l.tokens = min(l.burst, l.tokens+l.rate*at.Sub(l.last).Seconds())
	}
	l.last = at
	if l.tokens < 1 {
		return false
	}
	l.tokens--
	return true
}

// simulation is a slot with endless work before a site with a hidden quota.
type simulation struct {
	slot       *Slot
	site       limiter
	latency    time.Duration
	jitter     time.Duration // of the way to the site
	retryAfter time.Duration // with each 429
	random     *rand.Rand
	now        time.Time

	passed, refused []time.Time
	events          schedule
	timer           time.Time
	answers         map[int]Result
	sent            int
}

func (s *simulation) run(until time.Time) {
	if s.answers == nil {
		s.answers = map[int]Result{}
	}
	for range 1_000_000 {
		d := s.slot.Next(s.now)
		if d.OK {
			s.slot.Started(s.now)
			arrives := s.now.Add(time.Duration(s.random.Int64N(int64(s.jitter) + 1)))
			s.events.add(arrives, event{arrives: true, request: s.sent})
			s.sent++
			continue
		}
		if !d.At.IsZero() && !d.At.Equal(s.timer) {
			s.timer = d.At
			s.events.add(d.At, event{request: -1})
		}
		if s.events.Len() == 0 || s.events.events[0].at.After(until) {
			return
		}
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		switch {
		case e.arrives:
			r := Result{Status: 200, Latency: s.latency, HasLatency: true}
			if s.site.allow(e.at) {
				s.passed = append(s.passed, e.at)
			} else {
				r.Status, r.RetryAfter = 429, s.retryAfter
				s.refused = append(s.refused, e.at)
			}
			s.answers[e.request] = r
			s.events.add(e.at.Add(s.latency), event{ends: true, request: e.request})
		case e.ends:
			s.slot.Done(s.now, s.answers[e.request])
			delete(s.answers, e.request)
		}
	}
}

func within(times []time.Time, from, to time.Time) (n int) {
	for _, t := range times {
		if !t.Before(from) && t.Before(to) {
			n++
		}
	}
	return n
}

func TestHiddenQuotas(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{0.5, 1, 2, 5, 10, 50} {
		interval := sec(1 / rate)
		sites := map[string]func() limiter{
			"fixed 10 s":   func() limiter { return &fixedWindow{n: int(10 * rate), span: sec(10)} },
			"sliding 10 s": func() limiter { return &slidingWindow{n: int(10 * rate), span: sec(10)} },
			"fixed 1":      func() limiter { return &fixedWindow{n: int(max(1, rate)), span: max(interval, sec(1))} },
			"sliding 1":    func() limiter { return &slidingWindow{n: int(max(1, rate)), span: max(interval, sec(1))} },
			"fixed minute": func() limiter { return &fixedWindow{n: int(60 * rate), span: time.Minute} },
		}
		for _, burst := range []float64{1, 2, 5, 20} {
			sites[fmt.Sprint("bucket ", burst)] = func() limiter { return &tokenBucket{rate: rate, burst: burst} }
		}
		for name, site := range sites {
			for _, concurrency := range []int{1, 8, 16} {
				for _, seed := range []uint64{1} {
					t.Run(fmt.Sprintf("%v a second/%s/%d at once/%d", rate, name, concurrency, seed), func(t *testing.T) {
						t.Parallel()
						cfg := Default()
						cfg.AutoThrottleStartDelay = sec(0.05)
						cfg.ConcurrentRequestsPerDomain = concurrency
						random := rand.New(rand.NewPCG(seed, 7))
						s := &simulation{
							slot: New(cfg, random.Float64), site: site(), latency: sec(0.008), jitter: interval / 50,
							random: random, now: at(float64(seed)*3.3 + 0.1),
						}
						from := s.now.Add(time.Minute)
						if name == "fixed minute" { // one window after another is the measure
							from = s.now.Add(5 * time.Minute)
						}
						to := from.Add(5 * time.Minute)
						s.run(to)
						passed, refused := within(s.passed, from, to), within(s.refused, from, to)
						share := float64(refused) / float64(passed+refused)
						got := float64(passed) / to.Sub(from).Seconds() / rate
						if name == "fixed minute" { // few windows, and a slot that is early waits for the next
							require.Less(t, share, 0.2)
							require.InDelta(t, 0.95, got, 0.2)
							return
						}
						require.Less(t, share, 0.05, "share of 429; rate %.2f of the quota", got)
						require.GreaterOrEqual(t, got, 0.8, "rate; share of 429 %.3f", share)
						require.LessOrEqual(t, got, 1.02, "rate")
					})
				}
			}
		}
	}
}
