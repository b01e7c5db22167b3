package domain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/actortest"
	"orbweaver/messages"
)

// A domain that panics comes back: what was at its fetchers is cut off and
// recovered, what was in its buffer too, what is at the pipeline stays there.
func TestPanic(t *testing.T) {
	inBubble(t, exact(time.Second, 8), func(w *world) {
		w.site.behave = func(_ string, n int) answer {
			if n == 2 {
				return answer{latency: time.Hour, status: 200}
			}
			return answer{latency: 100 * time.Millisecond, status: 200}
		}
		w.pipe.settle = func(*messages.Page) (time.Duration, time.Duration) { return 5 * time.Second, 0 }
		w.seed(newCrawl(), "a.test", 10)
		w.pass(2500 * time.Millisecond)
		w.panics("a.test")
		w.pass(0)
		require.True(t, w.site.seen()[2].cancel, "connections are closed at once, not when it is restarted")
		require.Equal(t, 2500*time.Millisecond, w.site.seen()[2].ended.Sub(w.start))
		w.pass(100 * time.Millisecond)
		require.Equal(t, 1, w.live()[0].Restarts)
		w.allDone()
		times := map[string]int{}
		for _, p := range w.site.paths() {
			times[p]++
		}
		require.Equal(t, 2, times["2"])
		require.Len(t, w.site.paths(), 11)
		require.Zero(t, w.pipe.gone)
		require.Zero(t, w.table.InFlight())
		gaps(t, w, time.Second)
		require.Equal(t, "domain panicked", w.logs.AllEntries()[indexOf(w, "domain panicked")].Message)
	})
}

func indexOf(w *world, text string) int {
	for i, e := range w.logs.AllEntries() {
		if e.Message == text {
			return i
		}
	}
	w.Fatalf("no log entry %q", text)
	return -1
}

// gaps checks that no two writes are closer than the delay.
func gaps(t *testing.T, w *world, delay time.Duration) {
	t.Helper()
	at := w.site.seenSince(w.start)
	for i := 1; i < len(at); i++ {
		require.GreaterOrEqual(t, at[i]-at[i-1], delay, "%v", at)
	}
}

// Requests that a fetcher had not taken up when its domain panicked are not held
// for ever.
func TestPanicRightAfterTheHandOver(t *testing.T) {
	inBubble(t, exact(0, 4), func(w *world) {
		w.seed(newCrawl(), "a.test", 12)
		for range 2 {
			for range 4 {
				w.panics("a.test")
			}
			w.pass(50 * time.Millisecond)
		}
		w.allDone()
		require.Zero(t, w.table.InFlight())
	})
}

// A domain whose fetcher never answers, because it stopped before it took the
// request up.
func TestOrphans(t *testing.T) {
	inBubble(t, exact(0, 1), func(w *world) {
		w.site.behave = func(_ string, n int) answer {
			return answer{latency: time.Millisecond, status: 200, ignored: n == 1}
		}
		w.seed(newCrawl(), "a.test", 3)
		w.pass(time.Second)
		require.Equal(t, 1, w.snapshot("a.test").InUse)
		w.panics("a.test")
		w.allDone()
		require.Equal(t, []string{"0", "1", "2"}, w.site.paths())
		require.Zero(t, w.table.InFlight())
	})
}

// A domain that panics again and again is stopped; its slot lapses, its requests
// are recovered by the next one, and its credits are free.
func TestPanicsTooOften(t *testing.T) {
	inBubble(t, exact(0, 2), func(w *world) {
		slow := true
		w.site.behave = func(_ string, n int) answer {
			if slow {
				return answer{latency: time.Hour, status: 200, ignored: n%2 == 1}
			}
			return answer{latency: time.Millisecond, status: 200}
		}
		c := newCrawl()
		w.seed(c, "a.test", 5)
		w.until("it is stopped", func() bool {
			if len(w.live()) == 0 {
				return true
			}
			w.panics("a.test")
			return false
		})
		require.Zero(t, w.table.InFlight(), "credits are free")
		require.Zero(t, w.table.Live())
		slow = false
		w.allDoneWithPoll()
		require.Zero(t, w.table.InFlight())
	})
}

func TestPanicWhileDraining(t *testing.T) {
	inBubble(t, exact(0, 2), func(w *world) {
		w.site.behave = func(string, int) answer { return answer{latency: 10 * time.Second, status: 200} }
		w.seed(newCrawl(), "a.test", 5)
		w.pass(time.Second)
		w.sys.Root.Send(w.domains, &messages.Drain{}) // no sender: nobody is answered
		w.pass(0)
		future := w.sys.Root.RequestFuture(w.domains, &messages.Drain{}, time.Minute)
		w.panics("a.test")
		w.pass(time.Second)
		require.NoError(t, future.Wait())
		require.Empty(t, w.live())
		waiting, _, leased, _ := w.store.left()
		require.Equal(t, 5, waiting+leased)
	})
}

// `domains` itself comes back with an empty hand.
func TestSupervisorPanics(t *testing.T) {
	inBubble(t, exact(100*time.Millisecond, 2), func(w *world) {
		w.site.behave = func(_ string, n int) answer {
			if n == 2 {
				return answer{latency: time.Hour, status: 200}
			}
			return answer{latency: 100 * time.Millisecond, status: 200}
		}
		w.sys.Root.Send(w.scheduler, startPoll{100 * time.Millisecond})
		w.seed(newCrawl(), "a.test", 10)
		w.pass(time.Second)
		w.sys.Root.Send(w.domains, &messages.Wake{Refs: nil})
		w.sys.Root.Send(w.domains, (*messages.Settled)(nil))
		w.pass(time.Second)
		w.allDone()
		actortest.Flush(t, w.sys, w.domains)
		require.Zero(t, w.table.InFlight())
		gaps(t, w, 100*time.Millisecond)
	})
}
