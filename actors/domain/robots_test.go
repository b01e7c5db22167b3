package domain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/core/throttle"
	"orbweaver/messages"
)

// obeying is a config that asks robots.txt first.
func obeying(delay time.Duration) Config {
	c := exact(delay, 8)
	c.RobotsObey, c.RobotsAgent = true, "orbweaver"
	return c
}

// robotsSite answers robots.txt by a function of the try, and pages with 200.
func (w *world) robotsSite(robots func(n int) answer) {
	asked := 0
	w.site.behave = func(url string, _ int) answer {
		if strings.Contains(url, "robots") {
			a := robots(asked)
			asked++
			a.latency = max(a.latency, 100*time.Millisecond)
			return a
		}
		return answer{latency: 100 * time.Millisecond, status: 200}
	}
	w.pipe.settle = func(p *messages.Page) (time.Duration, time.Duration) {
		return time.Millisecond, p.RetryIn
	}
}

func TestRobotsFirst(t *testing.T) {
	const rules = "User-agent: *\nDisallow: /1\n"
	tests := []struct {
		name    string
		answer  answer
		want    []string // paths in order
		refused int      // requests that robots.txt forbids
	}{
		{"allow", answer{status: 200, body: "User-agent: *\nAllow: /\n"}, []string{"robots.txt", "0", "1", "2"}, 0},
		{"disallow", answer{status: 200, body: rules}, []string{"robots.txt", "0", "2"}, 1},
		{"empty", answer{status: 200}, []string{"robots.txt", "0", "1", "2"}, 0},
		{"not found", answer{status: 404, body: rules}, []string{"robots.txt", "0", "1", "2"}, 0},
		{"forbidden", answer{status: 403}, []string{"robots.txt", "0", "1", "2"}, 0},
		{"leads to itself", answer{status: 302, location: "/robots.txt"}, []string{"robots.txt", "0", "1", "2"}, 0},
		{"leads nowhere", answer{status: 302}, []string{"robots.txt", "0", "1", "2"}, 0},
		{"leads to another scheme", answer{status: 301, location: "ftp://b.test/robots.txt"}, []string{"robots.txt", "0", "1", "2"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, obeying(time.Second), func(w *world) {
				w.robotsSite(func(int) answer { return tt.answer })
				w.seed(newCrawl(), "a.test", 3)
				w.allDone()
				require.Equal(t, tt.want, w.site.paths())
				refused := 0
				for _, p := range w.pages() {
					if p.Disallowed {
						refused++
						require.Zero(t, p.Response.Cause)
						require.Equal(t, "http://a.test/1", p.Response.URL)
					}
				}
				require.Equal(t, tt.refused, refused)
				for i, at := range w.site.seenSince(w.start) {
					require.Equal(t, time.Duration(i)*time.Second, at, "robots.txt takes the slot like any request")
				}
				require.Equal(t, 1, w.store.count((*rqueue.RobotsPut)(nil)))
			})
		})
	}
}

func TestRobotsRedirectOnTheSlot(t *testing.T) {
	inBubble(t, obeying(time.Second), func(w *world) {
		w.robotsSite(func(n int) answer {
			if n == 0 {
				return answer{status: 301, location: "/robots2"}
			}
			return answer{status: 200, body: "User-agent: orbweaver\nDisallow: /1\n"}
		})
		w.seed(newCrawl(), "a.test", 3)
		w.allDone()
		require.Equal(t, []string{"robots.txt", "robots2", "0", "2"}, w.site.paths())
	})
}

func TestRobotsRedirectsEnd(t *testing.T) {
	inBubble(t, obeying(0), func(w *world) {
		w.robotsSite(func(n int) answer { return answer{status: 301, location: fmt.Sprintf("/robots%d", n)} })
		w.seed(newCrawl(), "a.test", 1)
		w.allDone()
		require.Len(t, w.site.paths(), maxRobotsHops+1+1)
	})
}

// While robots.txt cannot be had nothing is fetched: requests go back with the
// cause robots and the time at which it is asked for again, which doubles.
func TestRobotsUnreachable(t *testing.T) {
	for name, bad := range map[string]answer{
		"503": {status: 503}, "500": {status: 500}, "429": {status: 429}, "timeout": {cause: crawl.CauseTimeout},
		"refused": {cause: crawl.CauseRefused, unsent: true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := obeying(0)
			cfg.Throttle.BackoffBase = 0
			inBubble(t, cfg, func(w *world) {
				w.robotsSite(func(n int) answer {
					if n < 3 {
						return bad
					}
					return answer{status: 200}
				})
				w.sys.Root.Send(w.scheduler, startPoll{50 * time.Millisecond})
				w.seed(newCrawl(), "a.test", 5)
				w.allDone()
				require.Equal(t, 5, len(w.site.paths())-countRobots(w), "each page once, after robots.txt was had")
				fetched := false
				for _, p := range w.site.paths() {
					fetched = fetched || !strings.HasPrefix(p, "robots")
					require.False(t, fetched && strings.HasPrefix(p, "robots"), "robots.txt comes before all pages")
				}
				n := 0
				for _, p := range w.pages() {
					if p.Response.Cause == crawl.CauseRobots {
						n++
						require.False(t, p.Disallowed)
						require.NotEmpty(t, p.Response.Err)
						require.Positive(t, p.RetryIn)
					}
				}
				require.GreaterOrEqual(t, n, 5)
				last := w.store.puts[len(w.store.puts)-1]
				require.Zero(t, last.Robots.UnreachableSince)
				require.Equal(t, 200, last.Robots.Status)
			})
		})
	}
}

func countRobots(w *world) (n int) {
	for _, p := range w.site.paths() {
		if strings.HasPrefix(p, "robots") {
			n++
		}
	}
	return n
}

// It is known since when robots.txt is unreachable, also to the next owner.
func TestRobotsUnreachableSince(t *testing.T) {
	cfg := obeying(0)
	cfg.Throttle.BackoffBase, cfg.Throttle.CircuitFailures = 0, 0
	inBubble(t, cfg, func(w *world) {
		w.robotsSite(func(int) answer { return answer{status: 500} })
		w.sys.Root.Send(w.scheduler, startPoll{50 * time.Millisecond})
		w.seed(newCrawl(), "a.test", 1)
		w.pass(2 * time.Minute)
		puts := w.store.puts
		require.Len(t, puts, 7, "after 0, 1, 3, 7, 15, 31 and 63 seconds, whoever asks")
		for i, put := range puts {
			require.Equal(t, 500, put.Robots.Status)
			require.Equal(t, i+1, put.Robots.Failures)
			require.Equal(t, min(time.Minute, time.Second<<i), put.Robots.RetryIn)
		}
		require.InDelta(t, 63, puts[len(puts)-1].Robots.UnreachableSince.Seconds(), 2)
	})
}

func TestRobotsFromTheStore(t *testing.T) {
	body := []byte("User-agent: *\nDisallow: /1\nCrawl-delay: 3\n")
	tests := []struct {
		name   string
		stored storedRobots
		fetch  bool
	}{
		{"fresh", storedRobots{robots: rqueue.Robots{Good: true, Status: 200, Body: body}}, false},
		{"stale", storedRobots{robots: rqueue.Robots{Good: true, Status: 200, Body: body}, at: time.Time{}.Add(1)}, true},
		{"unreachable by 500", storedRobots{robots: rqueue.Robots{Status: 500}, since: time.Time{}.Add(1)}, true},
		{"unreachable by 429", storedRobots{robots: rqueue.Robots{Status: 429}, since: time.Time{}.Add(1)}, true},
		{"unreachable without an answer", storedRobots{since: time.Time{}.Add(1)}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, obeying(time.Second), func(w *world) {
				w.robotsSite(func(int) answer { return answer{status: 200, body: string(body)} })
				if tt.stored.at.IsZero() {
					tt.stored.at = w.start.Add(-time.Hour)
				} else {
					tt.stored.at = w.start.Add(-25 * time.Hour)
				}
				if !tt.stored.since.IsZero() {
					tt.stored.since = w.start.Add(-time.Hour)
				}
				w.store.robots["http://a.test"] = tt.stored
				w.seed(newCrawl(), "a.test", 3)
				w.allDone()
				want := []string{"0", "2"}
				times := secs(0, 3)
				if tt.fetch {
					want, times = append([]string{"robots.txt"}, want...), secs(0, 3, 6)
				}
				require.Equal(t, want, w.site.paths())
				require.Equal(t, times, w.site.seenSince(w.start), "Crawl-delay counts from then on")
			})
		})
	}
}

// The rules are asked for anew when they are too old.
func TestRobotsAge(t *testing.T) {
	cfg := obeying(time.Second)
	cfg.RobotsMaxAge = 3500 * time.Millisecond
	inBubble(t, cfg, func(w *world) {
		w.robotsSite(func(n int) answer {
			if n == 0 {
				return answer{status: 200, body: "User-agent: *\nCrawl-delay: 2\n"}
			}
			return answer{status: 200, body: "User-agent: *\nDisallow: /3"}
		})
		w.seed(newCrawl(), "a.test", 4)
		w.allDone()
		require.Equal(t, []string{"robots.txt", "0", "robots.txt", "1", "2"}, w.site.paths())
		require.Equal(t, secs(0, 2, 4, 6, 7), w.site.seenSince(w.start), "the Crawl-delay is gone with the file that had it")
	})
}

// Every origin of a host has its own robots.txt; they share the slot.
func TestRobotsByOrigin(t *testing.T) {
	inBubble(t, obeying(time.Second), func(w *world) {
		w.robotsSite(func(n int) answer { return answer{status: 200} })
		c := newCrawl()
		w.store.enqueue(c, "a.test", "http://a.test/0", "https://a.test/1", "http://a.test:8080/2")
		w.wake(c, "a.test")
		w.allDone()
		require.Equal(t, []string{"robots.txt", "0", "robots.txt", "1", "robots.txt", "2"}, w.site.paths())
	})
}

func TestRobotsOnlyThroughTheStoreThatAnswers(t *testing.T) {
	inBubble(t, obeying(time.Second), func(w *world) {
		w.robotsSite(func(int) answer { return answer{status: 200} })
		failed := 0
		w.store.before = func(op rqueue.Op) error {
			if _, ok := op.(*rqueue.RobotsGet); ok && failed < 2 {
				failed++
				return errStore
			}
			return nil
		}
		w.seed(newCrawl(), "a.test", 2)
		w.pass(0)
		require.Equal(t, throttle.ReasonRobots, w.snapshot("a.test").Reason)
		w.allDone()
		require.Equal(t, []string{"robots.txt", "0", "1"}, w.site.paths())
		require.Equal(t, 2, failed)
	})
}
