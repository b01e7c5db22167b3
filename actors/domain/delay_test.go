package domain

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/core/throttle"
	"orbweaver/messages"
)

func TestDelayIsExact(t *testing.T) {
	inBubble(t, exact(time.Second, 8), func(w *world) {
		w.seed(newCrawl(), "a.test", 6)
		w.allDone()
		require.Equal(t, secs(0, 1, 2, 3, 4, 5), w.site.seenSince(w.start), "the first at once, then the delay")
		require.Equal(t, []string{"0", "1", "2", "3", "4", "5"}, w.site.paths())
	})
}

func TestDelayCountsFromTheWrite(t *testing.T) {
	inBubble(t, exact(time.Second, 8), func(w *world) {
		w.site.behave = func(_ string, n int) answer {
			return answer{dial: time.Duration(n*10) * time.Millisecond, latency: 3 * time.Second, status: 200}
		}
		w.seed(newCrawl(), "a.test", 4)
		w.allDone()
		require.Equal(t, secs(0, 1.01, 2.03, 3.06), w.site.seenSince(w.start))
	})
}

// Each latency moves the delay as core/throttle says, and each start is the delay
// after the one before.
func TestAutoThrottle(t *testing.T) {
	cfg := exact(0, 1)
	cfg.Throttle.AutoThrottleEnabled = true
	cfg.Throttle.AutoThrottleStartDelay, cfg.Throttle.AutoThrottleMaxDelay = time.Second, 3*time.Second
	latencies := secs(0.2, 1.7, 0.05, 9, 0.4, 0.4, 0.4)
	inBubble(t, cfg, func(w *world) {
		w.site.behave = func(_ string, n int) answer { return answer{latency: latencies[n%len(latencies)], status: 200} }
		w.seed(newCrawl(), "a.test", len(latencies))
		w.allDone()
		model := throttle.New(cfg.Throttle, nil)
		now, want := w.start, []time.Duration{}
		for _, l := range latencies {
			for {
				d := model.Next(now)
				if d.OK {
					break
				}
				require.False(t, d.At.IsZero(), d.Reason)
				now = d.At
			}
			want = append(want, now.Sub(w.start))
			model.Started(now)
			now = now.Add(l)
			model.Done(now, throttle.Result{Status: 200, Latency: l, HasLatency: true})
		}
		require.Equal(t, want, w.site.seenSince(w.start))
	})
}

func TestConcurrencyIsTheLimit(t *testing.T) {
	for _, limit := range []int{1, 3, 8} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			inBubble(t, exact(0, limit), func(w *world) {
				w.site.behave = func(_ string, n int) answer {
					return answer{dial: time.Duration(n%3) * time.Millisecond, latency: time.Duration(50+n*7%30) * time.Millisecond, status: 200}
				}
				w.seed(newCrawl(), "a.test", 100)
				w.allDone()
				most := 0
				for _, a := range w.site.seen() {
					most = max(most, a.inFlight)
				}
				require.Equal(t, limit, most)
			})
		})
	}
}

// A permit that runs out before the request is written costs nothing but time.
func TestTooLateIsSentLater(t *testing.T) {
	inBubble(t, exact(time.Second, 1), func(w *world) {
		w.site.behave = func(_ string, n int) answer {
			if n == 1 {
				return answer{dial: 10 * time.Second, status: 200}
			}
			return answer{latency: time.Millisecond, status: 200}
		}
		w.seed(newCrawl(), "a.test", 3)
		w.allDone()
		require.Equal(t, []string{"0", "1", "2"}, w.site.paths(), "in the old order")
		require.Equal(t, 1, w.site.late+cancelled(w), "too late, or the slot was lost meanwhile")
		for _, r := range w.store.all {
			require.Zero(t, r.tries)
		}
	})
}

// cancelled counts the tries that were neither too late nor arrived.
func cancelled(w *world) int {
	n := 0
	for _, tries := range w.site.tries {
		n += tries
	}
	return n - w.site.late - len(w.site.arrivals)
}

// A kept connection that the site had closed says nothing about the request: it is
// sent again, after the delay, and counted nowhere.
func TestStaleIsSentAgain(t *testing.T) {
	inBubble(t, exact(time.Second, 1), func(w *world) {
		w.site.behave = func(_ string, n int) answer {
			return answer{latency: time.Millisecond, status: 200, stale: n == 1}
		}
		w.seed(newCrawl(), "a.test", 3)
		w.allDone()
		require.Equal(t, []string{"0", "1", "1", "2"}, w.site.paths())
		require.Equal(t, secs(0, 1, 2, 3), w.site.seenSince(w.start))
		require.Len(t, w.pages(), 3)
		require.Zero(t, w.table.InFlight())
	})
}

func TestRetryAfterHoldsTheSlot(t *testing.T) {
	inBubble(t, exact(time.Second, 2), func(w *world) {
		w.site.behave = func(_ string, n int) answer {
			if n == 1 {
				return answer{latency: 100 * time.Millisecond, status: 503, retryAfter: "4"}
			}
			return answer{latency: 100 * time.Millisecond, status: 200}
		}
		w.pipe.settle = func(p *messages.Page) (time.Duration, time.Duration) {
			if p.Response.Status == 503 {
				return time.Millisecond, 10 * time.Second
			}
			return time.Millisecond, 0
		}
		w.sys.Root.Send(w.scheduler, startPoll{100 * time.Millisecond})
		w.seed(newCrawl(), "a.test", 4)
		w.until("it is held", func() bool { return len(w.pages()) == 2 })
		s := w.snapshot("a.test")
		require.Equal(t, throttle.ReasonRetryAfter, s.Reason)
		require.InDelta(t, 4, s.NextIn.Seconds(), 0.1)
		require.Zero(t, w.store.count((*rqueue.Renew)(nil)), "nobody can have the slot before the hold is over")
		w.allDone()
		require.Equal(t, []string{"0", "1", "2", "3", "1"}, w.site.paths())
		require.Equal(t, 5100*time.Millisecond, w.site.seenSince(w.start)[2])
	})
}

// A hold that a successor could come into is stored at once: one that outlasts the
// lease, and any where the next process does not wait for the lease's end.
func TestHoldIsStoredForASuccessor(t *testing.T) {
	for _, c := range []struct {
		name      string
		exclusive bool
		seconds   int
	}{{"outlasts the lease", false, 12}, {"taken over at once", true, 4}} {
		t.Run(c.name, func(t *testing.T) {
			cfg := exact(time.Second, 2)
			cfg.Exclusive = c.exclusive
			inBubble(t, cfg, func(w *world) {
				w.site.behave = func(_ string, n int) answer {
					if n == 0 {
						return answer{latency: 100 * time.Millisecond, status: 503, retryAfter: strconv.Itoa(c.seconds)}
					}
					return answer{latency: 100 * time.Millisecond, status: 200}
				}
				w.seed(newCrawl(), "a.test", 2)
				w.until("it is held", func() bool { return len(w.pages()) == 1 })
				require.InDelta(t, c.seconds, w.store.peek("a.test").state.HoldIn.Seconds(), 0.1)
			})
		})
	}
}

// A hold that is not stored outlives a panic of its domain, and of `domains`.
func TestHoldOutlivesAPanic(t *testing.T) {
	for name, panics := range map[string]func(w *world){
		"domain":  func(w *world) { w.panics("a.test") },
		"domains": func(w *world) { w.sys.Root.Send(w.domains, (*messages.Settled)(nil)) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, exact(0, 1), func(w *world) {
				w.site.behave = func(_ string, n int) answer {
					if n == 0 {
						return answer{latency: 100 * time.Millisecond, status: 503, retryAfter: "4"}
					}
					return answer{latency: 100 * time.Millisecond, status: 200}
				}
				w.sys.Root.Send(w.scheduler, startPoll{100 * time.Millisecond})
				c := newCrawl()
				w.seed(c, "a.test", 2)
				w.until("it is held", func() bool { return len(w.pages()) == 1 })
				panics(w)
				w.pass(time.Second)
				w.wake(c, "a.test") // a link to it was found: nothing waits for the index
				w.until("both are fetched", func() bool { return len(w.pages()) == 2 })
				require.GreaterOrEqual(t, w.site.seenSince(w.start)[1], 4100*time.Millisecond)
			})
		})
	}
}

func TestRefusedConnectionsBackOff(t *testing.T) {
	inBubble(t, exact(0, 1), func(w *world) {
		w.site.behave = func(_ string, n int) answer {
			if n < 3 {
				return answer{dial: time.Millisecond, cause: crawl.CauseRefused, unsent: true}
			}
			return answer{latency: time.Millisecond, status: 200}
		}
		w.seed(newCrawl(), "a.test", 4)
		w.allDone()
		require.GreaterOrEqual(t, w.site.seenSince(w.start)[0], 7*time.Second, "1 s, 2 s and 4 s of back-off")
	})
}
