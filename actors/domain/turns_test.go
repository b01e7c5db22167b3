package domain

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

// Two crawls of one site are one polite visitor, and take turns.
func TestTwoCrawlsTakeTurns(t *testing.T) {
	for _, delay := range []time.Duration{0, 100 * time.Millisecond, 3 * time.Second} {
		t.Run(fmt.Sprint(delay), func(t *testing.T) {
			inBubble(t, exact(delay, 2), func(w *world) {
				a, b := newCrawl(), newCrawl()
				w.store.enqueue(a, "a.test", urls("http://a.test/a", 60)...)
				w.store.enqueue(b, "a.test", urls("http://a.test/b", 60)...)
				w.sys.Root.Send(w.domains, &messages.Wake{Refs: []rqueue.HostRef{{Crawl: a, Host: "a.test"}, {Crawl: b, Host: "a.test"}}})
				w.allDone()
				seen := map[byte]int{}
				for i, p := range w.site.paths() {
					seen[p[0]]++
					if i%20 == 19 && i < 100 {
						require.InDelta(t, seen['a'], seen['b'], 10, "after %d requests", i+1)
					}
				}
				for i, at := range w.site.seenSince(w.start) {
					if delay > 0 {
						require.Equal(t, time.Duration(i)*delay, at)
					}
				}
			})
		})
	}
}

func urls(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(prefix, i)
	}
	return out
}

// A crawl that is paused, stopped or flushed does not hinder the others.
func TestOneOfTwoCrawlsIsNotToBeHad(t *testing.T) {
	for _, state := range []error{rqueue.ErrPaused, rqueue.ErrNotRunning, rqueue.ErrStaleRun} {
		t.Run(state.Error(), func(t *testing.T) {
			inBubble(t, exact(100*time.Millisecond, 1), func(w *world) {
				a, b := newCrawl(), newCrawl()
				w.store.enqueue(a, "a.test", urls("http://a.test/a", 30)...)
				w.store.enqueue(b, "a.test", urls("http://a.test/b", 30)...)
				w.store.host(a, "a.test").state = state
				w.sys.Root.Send(w.domains, &messages.Wake{Refs: []rqueue.HostRef{{Crawl: a, Host: "a.test"}, {Crawl: b, Host: "a.test"}}})
				w.pass(3 * time.Second)
				require.Len(t, w.site.paths(), 30)
				require.Equal(t, 2900*time.Millisecond, w.site.seenSince(w.start)[29], "without a pause")
				if state == rqueue.ErrPaused { //nolint:errorlint // the table's
					w.store.change(func() { w.store.host(a, "a.test").state = nil })
					w.allDone()
				}
			})
		})
	}
}

// What was leased of a crawl that is stopped waits again, uncounted.
func TestStoppedCrawlGivesBack(t *testing.T) {
	inBubble(t, exact(time.Second, 1), func(w *world) {
		c := newCrawl()
		w.seed(c, "a.test", 8)
		w.pass(1500 * time.Millisecond)
		w.store.change(func() { w.store.host(c, "a.test").state = rqueue.ErrNotRunning })
		w.until("it leaves", func() bool { return len(w.live()) == 0 })
		waiting, delayed, leased, done := w.store.left()
		require.Equal(t, []int{8 - done, 0, 0}, []int{waiting, delayed, leased})
		require.Less(t, done, 6)
		for _, r := range w.store.all {
			require.Zero(t, r.lost)
		}
		require.Zero(t, w.table.InFlight())
	})
}

// A crawl that comes to a slot which is held finds what a dead node left of it.
func TestNewcomerIsRecovered(t *testing.T) {
	inBubble(t, exact(100*time.Millisecond, 1), func(w *world) {
		a, b := newCrawl(), newCrawl()
		w.seed(a, "a.test", 100)
		w.pass(time.Second)
		w.store.enqueue(b, "a.test", "http://a.test/left")
		w.store.change(func() {
			h := w.store.host(b, "a.test")
			r := h.waiting[0]
			h.waiting, r.token = nil, "n0.1.1"
			h.leased[r.req.ID] = r
		})
		w.wake(b, "a.test")
		w.pass(2 * time.Second)
		require.Contains(t, w.site.paths(), "left")
	})
}

func TestPausedSlot(t *testing.T) {
	inBubble(t, exact(time.Second, 1), func(w *world) {
		w.seed(newCrawl(), "a.test", 20)
		w.pass(1500 * time.Millisecond)
		w.store.change(func() { w.store.slot("a.test").paused = true })
		w.pass(4 * time.Second)
		n := len(w.site.seen())
		require.LessOrEqual(t, n, 4, "known within one renewal")
		require.EqualValues(t, "paused", w.snapshot("a.test").Reason)
		w.pass(time.Minute)
		require.Len(t, w.site.seen(), n)
		w.store.change(func() { w.store.slot("a.test").paused = false })
		w.allDone()
	})
}
