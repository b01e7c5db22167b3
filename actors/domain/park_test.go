package domain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

// setParked puts a mark into the store, or takes it away.
func (w *world) setParked(c *rqueue.Crawl, host, reason string) {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	w.store.host(c, host).parked = reason
}

// parkedPages counts the requests that were handed on without a fetch.
func (w *world) parkedPages() (n int) {
	for _, p := range w.pages() {
		if p.Response.Cause == crawl.CauseParked {
			require.NotEmpty(w, p.Response.Err)
			n++
		}
	}
	return n
}

// A host that is parked already gets nothing, and no robots.txt is asked for.
func TestParkedHostGetsNothing(t *testing.T) {
	inBubble(t, obeying(time.Second), func(w *world) {
		c := newCrawl()
		w.setParked(c, "a.test", "challenge")
		w.seed(c, "a.test", 100)
		w.allDone()
		require.Empty(t, w.site.paths())
		require.Equal(t, 100, w.parkedPages())
		require.Less(t, time.Since(w.start), 5*time.Second, "the pace of the slot does not matter")
	})
}

// After the word of a parse worker nothing leaves but what is in flight, though the
// store does not know yet; a lease that comes back then does not undo it.
func TestWordOfAWorkerStopsTheHost(t *testing.T) {
	inBubble(t, exact(100*time.Millisecond, 4), func(w *world) {
		c := newCrawl()
		w.seed(c, "a.test", 200)
		w.until("twenty were sent", func() bool { return len(w.site.paths()) >= 20 })
		sent := len(w.site.paths())
		word := &messages.Parked{Crawl: c, Slot: "a.test", Reason: "challenge"}
		w.sys.Root.Send(w.domains, word)
		w.pass(time.Second) // leases say nothing of it
		require.Len(t, w.site.paths(), sent)
		require.Positive(t, w.parkedPages())
		w.setParked(c, "a.test", "challenge")
		w.sys.Root.Send(w.domains, &messages.Settled{Pages: []messages.SettledPage{{Crawl: c, Slot: "a.test", ID: crawl.NewID("x"), Parked: true}}})
		w.allDone()
		require.Len(t, w.site.paths(), sent)
	})
}

// Retries that are far off end at once, and so do requests of a site that asked to
// wait: whoever acquires its slot looks whether it is parked.
func TestParkedHostDoesNotWait(t *testing.T) {
	inBubble(t, exact(100*time.Millisecond, 1), func(w *world) {
		c := newCrawl()
		w.pipe.settle = func(p *messages.Page) (time.Duration, time.Duration) {
			if p.Response.Status == 503 {
				return time.Millisecond, 50 * time.Minute
			}
			return time.Millisecond, 0
		}
		w.site.behave = func(string, int) answer {
			return answer{latency: 10 * time.Millisecond, status: 503, retryAfter: "1800"}
		}
		w.seed(c, "a.test", 10)
		w.until("one was sent", func() bool { return len(w.pages()) == 1 })
		w.until("its domain gives the slot up", func() bool { return len(w.live()) == 0 })
		w.setParked(c, "a.test", "challenge")
		w.wake(c, "a.test")
		w.pass(2 * time.Second)
		require.Equal(t, 10, w.parkedPages())
		w.allDone()
		require.Len(t, w.site.paths(), 1)
	})
}

// A release is learned with the next lease.
func TestReleasedHostGoesOn(t *testing.T) {
	inBubble(t, exact(100*time.Millisecond, 1), func(w *world) {
		c := newCrawl()
		w.setParked(c, "a.test", "by hand")
		w.seed(c, "a.test", 3)
		w.allDone()
		require.Empty(t, w.site.paths())
		w.setParked(c, "a.test", "")
		w.store.enqueue(c, "a.test", "http://a.test/more")
		w.wake(c, "a.test")
		w.allDone()
		require.Equal(t, []string{"more"}, w.site.paths())
	})
}

// Another crawl of the same site is not parked with it.
func TestParkingIsOfOneCrawl(t *testing.T) {
	inBubble(t, exact(50*time.Millisecond, 1), func(w *world) {
		a, b := newCrawl(), newCrawl()
		w.setParked(a, "a.test", "by hand")
		w.store.enqueue(a, "a.test", "http://a.test/a1", "http://a.test/a2")
		w.store.enqueue(b, "a.test", "http://a.test/b1", "http://a.test/b2")
		w.wake(a, "a.test")
		w.wake(b, "a.test")
		w.allDone()
		require.Equal(t, []string{"b1", "b2"}, w.site.paths())
		require.Equal(t, 2, w.parkedPages())
		require.Zero(t, w.table.InFlight())
	})
}

// With few credits the requests of a parked host wait for them like any.
func TestParkedHostAndCredits(t *testing.T) {
	inBubble(t, exact(50*time.Millisecond, 1), func(w *world) {
		c := newCrawl()
		w.pipe.settle = func(*messages.Page) (time.Duration, time.Duration) { return 100 * time.Millisecond, 0 }
		w.setParked(c, "a.test", "by hand")
		w.seed(c, "a.test", 3000)
		w.allDone()
		require.Equal(t, 3000, w.parkedPages())
		require.Zero(t, w.table.InFlight())
	})
}
