package domain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/rqueue"
	"orbweaver/core/throttle"
)

func TestSlotIsRenewed(t *testing.T) {
	cfg := exact(20*time.Millisecond, 1)
	inBubble(t, cfg, func(w *world) {
		w.site.behave = func(string, int) answer { return answer{latency: 30 * time.Second, status: 200} }
		w.seed(newCrawl(), "a.test", 1)
		for range 14 {
			w.pass(2 * time.Second)
			require.Greater(t, time.Until(w.store.peek("a.test").exp), cfg.TTL-cfg.Renew-time.Millisecond)
		}
		w.allDone()
		require.InDelta(t, 15, w.store.count((*rqueue.Renew)(nil)), 2)
		require.Equal(t, 1, w.store.count((*rqueue.Acquire)(nil)))
	})
}

// While the store is silent a domain works until its local deadline; then its
// connections are closed and it waits, with the reason. When the store is back it
// takes its slot again and nothing is lost or sent twice.
func TestDeadlineClosesConnections(t *testing.T) {
	for name, f := range map[string]fault{"silent": silent, "refuses": refuses} {
		t.Run(name, func(t *testing.T) {
			cfg := exact(time.Second, 8)
			inBubble(t, cfg, func(w *world) {
				slow := true
				w.site.behave = func(_ string, n int) answer {
					if slow && n == 3 {
						return answer{latency: time.Hour, status: 200}
					}
					return answer{latency: 100 * time.Millisecond, status: 200}
				}
				w.seed(newCrawl(), "a.test", 30)
				w.pass(3500 * time.Millisecond)
				slow = false
				cut := time.Now()
				w.setFault(f)
				deadline := w.store.peek("a.test").exp.Add(-w.store.margin)
				w.pass(30 * time.Second)
				last := w.site.seen()[len(w.site.seen())-1]
				require.False(t, last.at.After(deadline), "nothing is sent after the deadline")
				require.True(t, last.at.After(cut), "but until then what was leased is")
				stuck := w.site.seen()[3]
				require.True(t, stuck.cancel)
				require.Equal(t, deadline, stuck.ended, "closed at the deadline")
				s := w.snapshot("a.test")
				require.Equal(t, throttle.ReasonRedis, s.Reason)
				require.Equal(t, "acquiring", s.Phase)
				require.Zero(t, s.LeaseExpires)
				require.Zero(t, w.table.InFlight())
				w.setFault(works)
				w.allDone()
				times := map[string]int{}
				for _, p := range w.site.paths() {
					times[p]++
				}
				require.Equal(t, 2, times["3"], "only what was cut off is fetched again")
				require.Len(t, times, 30)
				require.Len(t, w.site.paths(), 31)
			})
		})
	}
}

// A page that was received before the slot was lost is committed, not fetched again.
func TestLostSlotKeepsPagesAtThePipeline(t *testing.T) {
	inBubble(t, exact(100*time.Millisecond, 2), func(w *world) {
		c := newCrawl()
		w.pipe.held.Store(true)
		w.seed(c, "a.test", 3)
		w.pass(time.Second)
		require.Len(t, w.pages(), 3)
		w.store.change(func() {
			w.store.slot("a.test").token = "n2.1"
			w.store.slot("a.test").exp = time.Now().Add(time.Second)
		})
		w.store.enqueue(c, "a.test", "http://a.test/more")
		w.wake(c, "a.test")
		w.pass(5 * time.Second)
		require.Equal(t, []string{"0", "1", "2", "more"}, w.site.paths())
		w.pipe.held.Store(false)
		for _, p := range w.pages() {
			w.sys.Root.Send(w.pipeline, &settled{p, 0})
		}
		w.allDone()
		require.Zero(t, w.pipe.gone)
		require.Zero(t, w.table.InFlight())
	})
}

// A slot that another node took is given up at once, and waited for.
func TestLeaseLost(t *testing.T) {
	inBubble(t, exact(time.Second, 8), func(w *world) {
		w.site.behave = func(_ string, n int) answer {
			if n == 2 {
				return answer{latency: time.Hour, status: 200}
			}
			return answer{latency: 10 * time.Millisecond, status: 200}
		}
		w.seed(newCrawl(), "a.test", 12)
		w.pass(2500 * time.Millisecond)
		w.store.change(func() { // taken over: our lease had run out by the store's clock
			k := w.store.slot("a.test")
			k.token, k.exp = "n2.7", time.Now().Add(10*time.Second)
			k.next = time.Now().Add(60 * time.Second)
		})
		w.site.foreign.Store(true) // the others' slot is written to until the loss is known: the residue of rule 5
		w.pass(2 * time.Second)
		w.site.foreign.Store(false)
		n := len(w.site.seen())
		require.LessOrEqual(t, n, 5, "it is known within one renewal")
		require.True(t, w.site.seen()[2].cancel)
		w.pass(7 * time.Second)
		require.Len(t, w.site.seen(), n, "nothing is sent by who does not hold the slot")
		w.pass(20 * time.Second)
		require.Len(t, w.site.seen(), n, "and not before the next start that the other stored")
		cut := 0 // one that left in the moment of the loss may be cut with the slow one
		for _, v := range w.site.seen() {
			if v.cancel {
				cut++
			}
		}
		require.LessOrEqual(t, cut, 2)
		w.allDoneWithPoll()
		require.Len(t, w.site.seen(), 12+cut)
	})
}

// allDoneWithPoll is allDone with somebody reading the due index.
func (w *world) allDoneWithPoll() {
	w.Helper()
	w.sys.Root.Send(w.scheduler, startPoll{100 * time.Millisecond})
	w.allDone()
}

func TestHeldAndQuarantinedSlotsAreAskedForAgain(t *testing.T) {
	inBubble(t, exact(time.Second, 1), func(w *world) {
		w.store.slot("a.test").token = "n2.1"
		w.store.slot("a.test").exp = time.Now().Add(3 * time.Second)
		asked := 0
		w.store.before = func(op rqueue.Op) error {
			if a, ok := op.(*rqueue.Acquire); ok {
				if asked++; asked == 2 {
					a.HeldFor = 2 * time.Second
					return rqueue.ErrQuarantine
				}
			}
			return nil
		}
		w.seed(newCrawl(), "a.test", 2)
		w.pass(time.Second)
		require.Equal(t, throttle.ReasonRedis, w.snapshot("a.test").Reason)
		w.allDone()
		require.Equal(t, secs(5, 6), w.site.seenSince(w.start))
		require.Equal(t, 3, asked)
	})
}

// A delay that rises is stored before the next start. The site checks each write
// against the store; here it is also seen that few reserves do.
func TestReserveWhenTheDelayRises(t *testing.T) {
	cfg := exact(0, 4)
	cfg.Throttle.AutoThrottleEnabled, cfg.Throttle.AutoThrottleStartDelay = true, 100*time.Millisecond
	inBubble(t, cfg, func(w *world) {
		w.site.behave = func(_ string, n int) answer {
			return answer{latency: time.Duration(100+n*100) * time.Millisecond, status: 200}
		}
		w.seed(newCrawl(), "a.test", 20)
		w.allDone()
		require.Positive(t, w.store.count((*rqueue.Reserve)(nil)))
		require.Less(t, w.store.count((*rqueue.Reserve)(nil)), 21)
	})
}

// With a fixed delay the lease itself stores far enough ahead.
func TestNoReserveForASteadyDelay(t *testing.T) {
	inBubble(t, exact(200*time.Millisecond, 4), func(w *world) {
		w.seed(newCrawl(), "a.test", 100)
		w.allDone()
		require.Zero(t, w.store.count((*rqueue.Reserve)(nil)))
	})
}

// A store that is slow in answering makes a crawl slow, and does not stop it.
func TestSlowStore(t *testing.T) {
	inBubble(t, exact(4*time.Second, 1), func(w *world) {
		w.door.took = func() time.Duration { return 1500 * time.Millisecond }
		w.seed(newCrawl(), "a.test", 10)
		w.allDone()
		require.Less(t, time.Since(w.start), 2*time.Minute)
	})
}

// After the store may have forgotten its last second nothing is sent on the word
// of what it said before.
func TestStoreThatForgotIsToldAgain(t *testing.T) {
	inBubble(t, exact(time.Second, 1), func(w *world) {
		w.seed(newCrawl(), "a.test", 8)
		w.pass(2500 * time.Millisecond)
		before := w.store.count((*rqueue.Reserve)(nil))
		w.store.change(func() {
			w.store.changes++
			w.store.slot("a.test").next = time.Now() // forgotten
		})
		w.allDone()
		require.Equal(t, secs(0, 1, 2, 3, 4, 5, 6, 7), w.site.seenSince(w.start))
		require.Greater(t, w.store.count((*rqueue.Reserve)(nil)), before)
	})
}

// What is known to be stored is what was asked for before the store changed.
func TestStoreChangesWhileAcquiring(t *testing.T) {
	inBubble(t, exact(time.Second, 1), func(w *world) {
		w.door.took = func() time.Duration { return 100 * time.Millisecond }
		w.store.before = func(op rqueue.Op) error {
			switch op.(type) {
			case *rqueue.Acquire:
				w.store.changes++ // after it was carried out, before it is answered
			case *rqueue.Lease:
				w.store.slot("a.test").next = time.Time{}
			}
			return nil
		}
		w.seed(newCrawl(), "a.test", 3)
		w.allDone()
		require.Positive(t, w.store.count((*rqueue.Reserve)(nil)))
	})
}

func TestStoreErrors(t *testing.T) {
	for name, f := range map[string]fault{"refuses": refuses, "loses": loses} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, exact(100*time.Millisecond, 2), func(w *world) {
				w.setFault(f)
				w.seed(newCrawl(), "a.test", 150)
				w.pass(20 * time.Second)
				require.Empty(t, w.site.seen())
				require.Equal(t, throttle.ReasonRedis, w.snapshot("a.test").Reason)
				require.Equal(t, map[throttle.Reason]int64{throttle.ReasonRedis: 1}, w.table.Waits())
				n := w.store.count((*rqueue.Acquire)(nil))
				require.Less(t, n, 40, "with back-off")
				w.setFault(works)
				w.pass(3 * time.Second)
				require.NotEmpty(t, w.site.seen())
				// In the middle: answers are lost, what was leased is found again.
				w.setFault(f)
				w.pass(4 * time.Second)
				require.Equal(t, throttle.ReasonRedis, w.snapshot("a.test").Reason, "what was leased is used up")
				w.setFault(works)
				w.allDone()
				require.Len(t, w.site.seen(), 150)
			})
		})
	}
}

func TestLeaseOfUnknownOutcomeIsRecovered(t *testing.T) {
	inBubble(t, exact(100*time.Millisecond, 2), func(w *world) {
		c := newCrawl()
		w.seed(c, "a.test", 40)
		w.pass(500 * time.Millisecond)
		w.setFault(loses)
		w.until("a lease is lost", func() bool { return w.store.count((*rqueue.Lease)(nil)) > 2 })
		w.setFault(works)
		w.allDone()
		require.Len(t, w.site.seen(), 40)
		lost := 0
		for _, r := range w.store.all {
			lost += r.lost
			require.LessOrEqual(t, r.lost, 2)
		}
		require.Positive(t, lost)
	})
}
