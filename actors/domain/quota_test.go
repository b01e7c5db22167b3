package domain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/throttle"
)

// What a slot learned from 429 answers is stored with it: its next domain does not
// run into the same wall.
func TestQuotaOutlivesADomain(t *testing.T) {
	cfg := exact(0, 4)
	inBubble(t, cfg, func(w *world) {
		var last time.Time
		w.site.behave = func(string, int) answer {
			if now := time.Now(); now.Sub(last) >= 500*time.Millisecond {
				last = now
				return answer{latency: 10 * time.Millisecond, status: 200}
			}
			return answer{latency: 10 * time.Millisecond, status: 429}
		}
		c := newCrawl()
		w.seed(c, "a.test", 60)
		w.allDoneWithPoll()
		w.until("it leaves", func() bool { return len(w.live()) == 0 })
		q := w.store.peek("a.test").state.Quota
		require.InDelta(t, 0.55, q.Interval, 0.1)
		require.InDelta(t, (6 * time.Hour).Seconds(), float64(q.Until-time.Now().Unix()), 60)

		before := len(w.site.seenSince(w.start))
		w.store.enqueue(c, "a.test", "http://a.test/x1", "http://a.test/x2", "http://a.test/x3")
		w.wake(c, "a.test")
		w.allDoneWithPoll()
		seen := w.site.seenSince(w.start)[before:]
		require.Len(t, seen, 3)
		for i := 1; i < len(seen); i++ {
			require.GreaterOrEqual(t, seen[i]-seen[i-1], 450*time.Millisecond)
		}
	})
}

// A site that says that nothing is left is left alone before it has to refuse.
func TestRateLimitHolds(t *testing.T) {
	inBubble(t, exact(0, 1), func(w *world) {
		w.site.behave = func(_ string, n int) answer {
			a := answer{latency: 10 * time.Millisecond, status: 200}
			if n == 1 {
				a.limits = &throttle.RateLimitFields{RateLimit: `"a";r=0;t=5`}
			}
			return a
		}
		w.seed(newCrawl(), "a.test", 3)
		w.allDoneWithPoll()
		seen := w.site.seenSince(w.start)
		require.GreaterOrEqual(t, seen[2]-seen[1], 5*time.Second)
		require.Less(t, seen[2]-seen[1], 6*time.Second)
	})
}
