package domain

import (
	"fmt"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"orbweaver/core/rqueue"
	"orbweaver/internal/actortest"
	"orbweaver/messages"
)

func TestIdleDomainLeaves(t *testing.T) {
	inBubble(t, exact(3*time.Second, 1), func(w *world) {
		c := newCrawl()
		w.seed(c, "a.test", 2)
		w.allDone()
		require.Len(t, w.live(), 1)
		w.until("it leaves", func() bool { return len(w.live()) == 0 })
		k := w.store.peek("a.test")
		require.Empty(t, k.token)
		require.Equal(t, w.start.Add(6*time.Second), k.next, "the last write and the delay, exactly")
		require.InDelta(t, 4.1, time.Since(w.start).Seconds(), 0.2, "after DOMAIN_IDLE")
		require.True(t, w.store.host(c, "a.test").index.IsZero())
		require.Zero(t, w.table.Live())
		w.seed(c, "a.test", 3) // three more paths, two of them known; the fake has no filter
		w.allDone()
		require.Equal(t, secs(0, 3, 6, 9, 12), w.site.seenSince(w.start), "the next life goes on where the first left off")
	})
}

// Retries come due while a domain is away: it leaves for long waits, and stays for
// short ones.
func TestDelayedRequestsWakeAtTheirTime(t *testing.T) {
	for _, in := range []time.Duration{400 * time.Millisecond, 10 * time.Second, 10 * time.Minute} {
		t.Run(fmt.Sprint(in), func(t *testing.T) {
			inBubble(t, exact(0, 1), func(w *world) {
				w.site.behave = func(_ string, n int) answer {
					return answer{latency: 10 * time.Millisecond, status: []int{500, 200}[min(n, 1)]}
				}
				w.pipe.settle = func(p *messages.Page) (time.Duration, time.Duration) {
					if p.Response.Status == 500 {
						return time.Millisecond, in
					}
					return time.Millisecond, 0
				}
				w.sys.Root.Send(w.scheduler, startPoll{50 * time.Millisecond})
				w.seed(newCrawl(), "a.test", 1)
				w.allDone()
				at := w.site.seenSince(w.start)[1]
				require.GreaterOrEqual(t, at, in+11*time.Millisecond)
				require.Less(t, at, in+200*time.Millisecond)
			})
		})
	}
}

// A site that asks to be left alone for a minute costs no memory and no lease.
func TestFarOffStartIsGivenBack(t *testing.T) {
	inBubble(t, exact(100*time.Millisecond, 2), func(w *world) {
		w.site.behave = func(_ string, n int) answer {
			switch n {
			case 0:
				return answer{latency: 500 * time.Millisecond, status: 200}
			case 1:
				return answer{latency: 100 * time.Millisecond, status: 429, retryAfter: "60"}
			}
			return answer{latency: 10 * time.Millisecond, status: 200}
		}
		c := newCrawl()
		w.seed(c, "a.test", 10)
		w.until("it leaves", func() bool { return len(w.live()) == 0 })
		require.InDelta(t, 0.5, time.Since(w.start).Seconds(), 0.1, "as soon as nothing is in flight")
		w.pass(5 * time.Millisecond)
		require.Empty(t, w.live(), "and it stays away")
		waiting, _, leased, done := w.store.left()
		require.Equal(t, []int{8, 0, 2}, []int{waiting, leased, done})
		for _, r := range w.store.all {
			require.Zero(t, r.lost)
		}
		require.Equal(t, w.start.Add(60200*time.Millisecond), w.store.host(c, "a.test").index, "when the site may be asked again")
		w.allDoneWithPoll()
		require.GreaterOrEqual(t, w.site.seenSince(w.start)[2], 60200*time.Millisecond)
		require.Less(t, w.site.seenSince(w.start)[2], 60400*time.Millisecond)
	})
}

// A domain whose release cannot be stored stays, with what the site told it.
func TestReleaseFails(t *testing.T) {
	for name, f := range map[string]fault{"refuses": refuses, "loses": loses, "silent": silent} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, exact(100*time.Millisecond, 1), func(w *world) {
				w.site.behave = func(_ string, n int) answer {
					if n == 0 {
						w.setFault(f)
						return answer{latency: time.Millisecond, status: 503, retryAfter: "30"}
					}
					return answer{latency: time.Millisecond, status: 200}
				}
				c := newCrawl()
				w.seed(c, "a.test", 3)
				w.pass(15 * time.Second)
				require.Len(t, w.live(), 1)
				w.store.enqueue(c, "a.test", "http://a.test/late")
				w.wake(c, "a.test")
				w.pass(5 * time.Second)
				w.setFault(works)
				w.allDoneWithPoll()
				at := w.site.seenSince(w.start)
				require.GreaterOrEqual(t, at[1], 30*time.Second, "%v", at)
				require.Less(t, at[1], 31*time.Second)
				require.Len(t, at, 4)
			})
		})
	}
}

// A wake at any moment of a domain's leaving is not lost.
func TestWakeWhileLeaving(t *testing.T) {
	for _, at := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond, 60 * time.Millisecond, 100 * time.Millisecond} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			inBubble(t, exact(0, 1), func(w *world) {
				w.door.took = func() time.Duration { return 50 * time.Millisecond }
				c := newCrawl()
				w.seed(c, "a.test", 1)
				w.until("it is leaving", func() bool {
					l := w.live()
					return len(l) == 1 && l[0].Leaving
				})
				w.pass(at)
				w.store.enqueue(c, "a.test", "http://a.test/late")
				w.wake(c, "a.test")
				w.pass(time.Second)
				require.Equal(t, []string{"0", "late"}, w.site.paths())
			})
		})
	}
}

// The domain itself is woken after it asked for its release.
func TestWakeAfterRelease(t *testing.T) {
	inBubble(t, exact(0, 1), func(w *world) {
		w.door.took = func() time.Duration { return 50 * time.Millisecond }
		c := newCrawl()
		w.seed(c, "a.test", 1)
		w.until("it is leaving", func() bool {
			l := w.live()
			return len(l) == 1 && l[0].Leaving
		})
		w.store.enqueue(c, "a.test", "http://a.test/late")
		w.send("a.test", &wake{crawl: c})
		w.pass(time.Second)
		require.Equal(t, []string{"0", "late"}, w.site.paths())
	})
}

func (w *world) drain(now bool) {
	w.Helper()
	actortest.Ask[*messages.Drained](w, w.sys, w.domains, &messages.Drain{Now: now})
}

func TestDrain(t *testing.T) {
	tests := []struct {
		name    string
		now     bool
		before  time.Duration // from the start to the drain
		latency time.Duration
		took    time.Duration // what draining takes at least
		seen    int           // pages fetched
	}{
		{"waits for what is in flight", false, 2500 * time.Millisecond, 3 * time.Second, 2500 * time.Millisecond, 3},
		{"cuts off what is in flight", true, 2500 * time.Millisecond, time.Hour, 0, 0},
		{"at the very start", false, 0, 100 * time.Millisecond, 0, 1},
		{"between two starts", false, 2500 * time.Millisecond, 100 * time.Millisecond, 0, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, exact(time.Second, 8), func(w *world) {
				w.site.behave = func(string, int) answer { return answer{latency: tt.latency, status: 200} }
				c := newCrawl()
				w.seed(c, "a.test", 20)
				w.seed(c, "b.test", 20)
				w.pass(tt.before)
				begun := time.Now()
				w.drain(tt.now)
				require.GreaterOrEqual(t, time.Since(begun), tt.took)
				require.Less(t, time.Since(begun), tt.took+200*time.Millisecond)
				require.Empty(t, w.live())
				w.pass(time.Second)
				waiting, _, leased, done := w.store.left()
				require.Equal(t, []int{40 - 2*tt.seen, 0, 2 * tt.seen}, []int{waiting, leased, done})
				for _, r := range w.store.all {
					require.Zero(t, r.lost, "given back, not lost")
				}
				require.Empty(t, w.store.peek("a.test").token)
				require.Zero(t, w.table.InFlight())
				n := len(w.site.seen())
				w.wake(c, "a.test")
				w.pass(10 * time.Second)
				require.Len(t, w.site.seen(), n, "a node that drains takes no work")
			})
		})
	}
}

func TestDrainOfNothing(t *testing.T) {
	inBubble(t, exact(0, 1), func(w *world) { w.drain(false) })
}

// Draining ends though the store is away: the leases lapse.
func TestDrainWithoutStore(t *testing.T) {
	for name, f := range map[string]fault{"refuses": refuses, "silent": silent, "loses": loses} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, exact(time.Second, 2), func(w *world) {
				c := newCrawl()
				w.seed(c, "holds.test", 20)
				w.pass(1500 * time.Millisecond)
				w.setFault(f)
				w.seed(c, "asks.test", 2)
				w.pass(500 * time.Millisecond)
				begun := time.Now()
				w.drain(false)
				require.LessOrEqual(t, time.Since(begun), 12*time.Second)
			})
		})
	}
}

// Who waits for a slot that another node holds has nothing to drain.
func TestDrainOfHeldSlot(t *testing.T) {
	inBubble(t, exact(time.Second, 1), func(w *world) {
		w.store.slot("a.test").token = "n2.1"
		w.store.slot("a.test").exp = time.Now().Add(time.Hour)
		w.seed(newCrawl(), "a.test", 2)
		w.pass(time.Second)
		begun := time.Now()
		w.drain(false)
		require.Zero(t, time.Since(begun))
	})
}

// Drain, then drain at once, as two interrupts do.
func TestDrainTwice(t *testing.T) {
	inBubble(t, exact(0, 2), func(w *world) {
		w.site.behave = func(string, int) answer { return answer{latency: time.Hour, status: 200} }
		w.seed(newCrawl(), "a.test", 5)
		w.pass(time.Second)
		first := w.sys.Root.RequestFuture(w.domains, &messages.Drain{}, time.Second)
		require.ErrorIs(t, first.Wait(), actor.ErrTimeout)
		w.drain(true)
		waiting, _, leased, _ := w.store.left()
		require.Equal(t, []int{5, 0}, []int{waiting, leased})
	})
}

func TestUnexpectedMessagesAreLogged(t *testing.T) {
	inBubble(t, exact(0, 1), func(w *world) {
		w.seed(newCrawl(), "a.test", 1)
		w.pass(0)
		w.send("a.test", "what?")
		w.sys.Root.Send(w.domains, "what?")
		w.pass(0)
		n := 0
		for _, e := range w.logs.AllEntries() {
			if e.Message == "unexpected message" {
				n++
			}
		}
		require.Equal(t, 2, n)
	})
}

func TestStrayAnswersAreIgnored(t *testing.T) {
	inBubble(t, exact(time.Second, 1), func(w *world) {
		c := newCrawl()
		w.seed(c, "a.test", 3)
		w.pass(0)
		for _, err := range []error{nil, rqueue.ErrLeaseLost} {
			for _, op := range []rqueue.Op{
				&rqueue.Acquire{Token: "x"}, &rqueue.Lease{Crawl: c, Token: "x"}, &rqueue.Renew{}, &rqueue.Reserve{},
				&rqueue.Release{}, &rqueue.Recover{Crawl: newCrawl()}, &rqueue.GiveBack{}, &rqueue.RobotsGet{}, &rqueue.ParkedGet{}, &rqueue.RobotsPut{}, &rqueue.CookiesGet{}, &rqueue.CookiesPut{},
			} {
				setErr(op, err)
				w.send("a.test", &messages.Done{Ops: []rqueue.Op{op}})
			}
		}
		w.send("a.test", &messages.FetchDone{ID: id(1)})
		w.send("a.test", &messages.Sent{ID: id(1)})
		w.send("a.test", &tick{seq: 99})
		w.allDone()
		require.Equal(t, secs(0, 1, 2), w.site.seenSince(w.start))
	})
}
