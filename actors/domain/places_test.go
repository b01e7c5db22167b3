package domain

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

// places is a placement that a test moves.
type places struct {
	mu        sync.Mutex
	away      map[string]bool  // guarded by mu; slots of another node
	fence     time.Time        // guarded by mu
	forwarded []rqueue.HostRef // guarded by mu
	released  int              // guarded by mu; of those, forwarded as released
}

func newPlaces() *places {
	return &places{away: map[string]bool{}, fence: time.Now().Add(1000 * time.Hour)}
}

func (p *places) Mine(slot, _ string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.away[slot]
}

func (p *places) Forward(refs []rqueue.HostRef, released bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forwarded = append(p.forwarded, refs...)
	if released {
		p.released += len(refs)
	}
}

func (p *places) Fence() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fence
}

func (p *places) move(slot string, away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away[slot] = away
}

func (p *places) fenceAt(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fence = at
}

func (p *places) told() (forwarded []rqueue.HostRef, released int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]rqueue.HostRef(nil), p.forwarded...), p.released
}

// TestForeignWakeIsForwarded: a host of another node is not started here.
func TestForeignWakeIsForwarded(t *testing.T) {
	t.Parallel()
	inBubble(t, exact(time.Second, 1), func(w *world) {
		c := new(rqueue.Crawl)
		w.places.move("b.test", true)
		w.store.enqueue(c, "b.test", "http://b.test/1")
		w.wake(c, "b.test")
		w.pass(time.Minute)
		require.Zero(t, w.table.Live())
		refs, released := w.places.told()
		require.Equal(t, []rqueue.HostRef{{Crawl: c, Host: "b.test"}}, refs)
		require.Zero(t, released)
		// Taken over all the same: its owner does not look at it.
		w.sys.Root.Send(w.domains, &messages.Wake{Refs: refs, Here: true})
		w.until("fetched", func() bool { return w.store.finished() == 1 })
	})
}

// TestSlotMoves: the old owner finishes what is in flight, gives the rest back,
// releases the slot and tells the new one.
func TestSlotMoves(t *testing.T) {
	t.Parallel()
	inBubble(t, exact(time.Second, 1), func(w *world) {
		c := new(rqueue.Crawl)
		w.site.behave = func(string, int) answer { return answer{latency: 3 * time.Second, status: 200} }
		w.store.enqueue(c, "a.test", "http://a.test/1", "http://a.test/2", "http://a.test/3", "http://a.test/4")
		w.wake(c, "a.test")
		w.pass(1500 * time.Millisecond) // the first is on its way
		require.Equal(t, 1, w.table.InFlight())
		w.places.move("a.test", true)
		w.sys.Root.Send(w.domains, &messages.Moved{})
		w.pass(time.Second)
		refs, _ := w.places.told()
		require.Empty(t, refs, "the fetch is still on its way")
		require.Equal(t, 1, w.table.Live())
		w.pass(2 * time.Second)
		require.Zero(t, w.table.Live())
		refs, released := w.places.told()
		require.Equal(t, []rqueue.HostRef{{Crawl: c, Host: "a.test"}}, refs)
		require.Equal(t, 1, released)
		require.Equal(t, 1, w.store.finished())
		w.pass(time.Minute)
		require.Equal(t, 1, w.store.finished(), "nothing more from here")
		w.places.move("a.test", false)
		w.sys.Root.Send(w.domains, &messages.Wake{Refs: refs, Released: true})
		w.until("all fetched", func() bool { return w.store.finished() == 4 })
	})
}

// TestStrangerGoesBack: a slot that was taken when its owner did not look is let go
// after some time, so that the owner may have it.
func TestStrangerGoesBack(t *testing.T) {
	t.Parallel()
	cfg := exact(time.Second, 1)
	inBubble(t, cfg, func(w *world) {
		c := new(rqueue.Crawl)
		var urls []string
		for i := range 100 {
			urls = append(urls, "http://a.test/"+string(rune('a'+i%26))+string(rune('a'+i/26)))
		}
		w.places.move("a.test", true)
		w.store.enqueue(c, "a.test", urls...)
		w.sys.Root.Send(w.domains, &messages.Wake{Refs: []rqueue.HostRef{{Crawl: c, Host: "a.test"}}, Here: true})
		w.until("let go", func() bool { return w.table.Live() == 0 && w.store.finished() > 0 })
		done := w.store.finished()
		require.InDelta(t, strangerFor*cfg.TTL.Seconds(), done, 5)
		refs, released := w.places.told()
		require.NotEmpty(t, refs)
		require.Equal(t, len(refs), released)
	})
}

// TestReleasedIsTakenAtOnce: whoever waits for a slot that another node holds need
// not wait for the end of its lease when told that it was given up.
func TestReleasedIsTakenAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, exact(time.Second, 1), func(w *world) {
		c := new(rqueue.Crawl)
		w.store.enqueue(c, "a.test", "http://a.test/1")
		w.store.holdBy("a.test", "other", 8*time.Second)
		w.wake(c, "a.test")
		w.pass(time.Second)
		require.Zero(t, w.store.finished())
		w.store.holdBy("a.test", "", 0)
		w.sys.Root.Send(w.domains, &messages.Wake{Refs: []rqueue.HostRef{{Crawl: c, Host: "a.test"}}, Here: true, Released: true})
		w.pass(time.Second)
		require.Equal(t, 1, w.store.finished())
	})
}

// TestHeldByItsOwner: a node that should not own a slot does not wait for it.
func TestHeldByItsOwner(t *testing.T) {
	t.Parallel()
	inBubble(t, exact(time.Second, 1), func(w *world) {
		c := new(rqueue.Crawl)
		w.places.move("a.test", true)
		w.store.enqueue(c, "a.test", "http://a.test/1")
		w.store.holdBy("a.test", "other", 8*time.Second)
		w.sys.Root.Send(w.domains, &messages.Wake{Refs: []rqueue.HostRef{{Crawl: c, Host: "a.test"}}, Here: true})
		w.pass(time.Second)
		require.Zero(t, w.table.Live())
	})
}

// TestFence: a node that the others may have given up sends nothing until it is
// heard again.
func TestFence(t *testing.T) {
	t.Parallel()
	inBubble(t, exact(100*time.Millisecond, 1), func(w *world) {
		c := new(rqueue.Crawl)
		w.places.fenceAt(time.Now().Add(-time.Millisecond))
		w.store.enqueue(c, "a.test", "http://a.test/1", "http://a.test/2")
		w.wake(c, "a.test")
		w.pass(5 * time.Second)
		require.Zero(t, w.store.finished())
		w.places.fenceAt(time.Now().Add(time.Hour))
		w.pass(2 * time.Second)
		require.Equal(t, 2, w.store.finished())
	})
}

// finished is how many requests were committed.
func (s *store) finished() int {
	_, _, _, done := s.left()
	return done
}

// holdBy lets another node hold a slot, or nobody.
func (s *store) holdBy(slot, node string, life time.Duration) {
	s.change(func() {
		k := s.slot(slot)
		k.token, k.exp = "", time.Now().Add(life)
		if node != "" {
			k.token = node + ".1"
		}
	})
}

// known is the crawl that the tests' nodes know as shop, in its first run.
var known = new(rqueue.Crawl) //nolint:gochecknoglobals // an identity, never changed

func (s *store) crawlOf(name string, run int64) *rqueue.Crawl {
	if name == "shop" && run == 1 {
		return known
	}
	return nil
}

// TestWoken: what another node says of a crawl that is served here is done, even if
// this node thinks that the host is another's; what it does not understand is left.
func TestWoken(t *testing.T) {
	t.Parallel()
	inBubble(t, exact(time.Second, 1), func(w *world) {
		for _, host := range []string{"a.test", "b.test", "c.test", "d.test"} {
			w.store.enqueue(known, host, "http://"+host+"/1")
		}
		w.places.move("a.test", true)
		woken := func(version uint32, run int64, hosts ...string) {
			w.sys.Root.Send(w.domains, &messages.Woken{Version: version, From: "n2", Crawls: []*messages.CrawlHosts{{Crawl: "shop", Run: run, Hosts: hosts}}})
		}
		woken(2, 1, "b.test")
		woken(0, 1, "b.test")
		woken(1, 2, "c.test")
		woken(1, 1, "", "a.test")
		w.sys.Root.Send(w.domains, &messages.Woken{Version: 1, Crawls: []*messages.CrawlHosts{nil, {Crawl: "other", Run: 1, Hosts: []string{"d.test"}}}})
		w.pass(30 * time.Second)
		require.Equal(t, 1, w.store.finished())
		w.until("a.test left", func() bool { return w.table.Live() == 0 })
	})
}

// TestSlotMovesAfterItsPagesAreCommitted: the next owner would fetch them again.
func TestSlotMovesAfterItsPagesAreCommitted(t *testing.T) {
	t.Parallel()
	inBubble(t, exact(time.Second, 1), func(w *world) {
		c := new(rqueue.Crawl)
		w.pipe.settle = func(*messages.Page) (time.Duration, time.Duration) { return 3 * time.Second, 0 }
		w.store.enqueue(c, "a.test", "http://a.test/1", "http://a.test/2")
		w.wake(c, "a.test")
		w.pass(500 * time.Millisecond) // the first is fetched and waits to be committed
		require.Equal(t, 1, w.table.InFlight())
		w.places.move("a.test", true)
		w.sys.Root.Send(w.domains, &messages.Moved{})
		w.pass(2 * time.Second)
		refs, _ := w.places.told()
		require.Empty(t, refs)
		require.Equal(t, 1, w.table.Live())
		w.pass(time.Second)
		require.Equal(t, 1, w.store.finished())
		refs, released := w.places.told()
		require.Len(t, refs, 1)
		require.Equal(t, 1, released)
		require.Zero(t, w.table.Live())
	})
}
