package domain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/core/throttle"
)

// An answer is used as long as its Cache-Control says, within bounds, by whoever
// finds it in the store too.
func TestRobotsLifetime(t *testing.T) {
	tests := []struct {
		name   string
		answer answer
		want   time.Duration
		stored time.Duration // age of a copy of that life which is still used; a second later it is not
	}{
		{"nothing said", answer{status: 200}, 24 * time.Hour, 24*time.Hour - time.Second},
		{"an hour", answer{status: 200, control: "public, max-age=3600"}, time.Hour, time.Hour - time.Second},
		{"no-store", answer{status: 200, control: "no-store"}, 5 * time.Minute, 5*time.Minute - time.Second},
		{"a year", answer{status: 200, control: "max-age=31536000"}, 24 * time.Hour, 24*time.Hour - time.Second},
		{"of no file", answer{status: 404, control: "max-age=600"}, 10 * time.Minute, 10*time.Minute - time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, obeying(0), func(w *world) {
				w.robotsSite(func(int) answer { return tt.answer })
				w.seed(newCrawl(), "a.test", 1)
				w.allDone()
				require.Equal(t, tt.want, w.store.puts[0].Robots.Life)
				for age, fetches := range map[time.Duration]int{tt.stored: 1, tt.stored + time.Second: 2} {
					host := "b" + age.String() + ".test"
					w.store.change(func() {
						w.store.robots["http://"+host] = storedRobots{robots: rqueue.Robots{Good: true, Status: 200, Life: tt.want}, at: time.Now().Add(-age)}
					})
					w.seed(newCrawl(), host, 1)
					w.allDone()
					require.Len(t, w.at(host, 0), fetches)
				}
			})
		})
	}
}

// While it is unreachable the last good copy stays in the store and forbids all the
// same; after thirty days it holds again.
func TestRobotsLongUnreachable(t *testing.T) {
	const day = 24 * time.Hour
	good := rqueue.Robots{Good: true, Status: 200, Body: []byte("User-agent: *\nDisallow: /1\nRequest-rate: 1/3\n"), Life: time.Hour}
	tests := []struct {
		name   string
		stored rqueue.Robots
		since  time.Duration
		want   []string // of a.test; nil: all is refused
		times  []time.Duration
	}{
		{"29 days, with a last good copy", good, 29 * day, nil, nil},
		{"29 days, without", rqueue.Robots{Status: 500}, 29 * day, nil, nil},
		{"30 days, with a last good copy", good, 30 * day, []string{"robots.txt", "0", "2"}, secs(0, 3, 6)},
		{"30 days, without", rqueue.Robots{Status: 500}, 30 * day, []string{"robots.txt", "0", "1", "2"}, secs(0, 1, 2, 3)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := obeying(time.Second)
			cfg.Throttle.BackoffBase = 0
			inBubble(t, cfg, func(w *world) {
				w.robotsSite(func(int) answer { return answer{status: 500} })
				w.store.robots["http://a.test"] = storedRobots{robots: tt.stored, at: w.start.Add(-31 * day), since: w.start.Add(-tt.since)}
				w.seed(newCrawl(), "a.test", 3)
				w.pass(20 * time.Second)
				if tt.want == nil {
					require.Equal(t, []string{"robots.txt"}, w.site.paths())
					for _, p := range w.pages() {
						require.Equal(t, crawl.CauseRobots, p.Response.Cause)
					}
				} else {
					require.Equal(t, tt.want, w.site.paths())
					require.Equal(t, tt.times, w.site.seenSince(w.start))
				}
				now := w.store.robots["http://a.test"]
				require.Equal(t, tt.stored.Body, now.robots.Body)
				require.Equal(t, tt.stored.Good, now.robots.Good)
				require.WithinDuration(t, w.start.Add(-tt.since), now.since, time.Second)
			})
		})
	}
}

// The time to ask again is known to the next owner, also that of the thirty days.
func TestRobotsRetryFromTheStore(t *testing.T) {
	for _, since := range []time.Duration{time.Minute, unreachableFor} {
		t.Run(since.String(), func(t *testing.T) {
			inBubble(t, obeying(0), func(w *world) {
				w.robotsSite(func(int) answer { return answer{status: 200} })
				w.store.robots["http://a.test"] = storedRobots{
					robots: rqueue.Robots{Status: 503, Failures: 5}, since: w.start.Add(-since), retry: w.start.Add(40 * time.Second),
				}
				w.sys.Root.Send(w.scheduler, startPoll{50 * time.Millisecond})
				w.seed(newCrawl(), "a.test", 1)
				w.allDone()
				if since == unreachableFor {
					require.Equal(t, []string{"0"}, w.site.paths())
					return
				}
				require.Equal(t, []string{"robots.txt", "0"}, w.site.paths())
				require.GreaterOrEqual(t, w.site.seenSince(w.start)[0], 40*time.Second)
				require.Equal(t, "robots.txt: status 503", w.pages()[0].Response.Err)
				require.Equal(t, 503, w.pages()[0].Response.Status)
			})
		})
	}
}

// Request-rate is a floor beside Crawl-delay, under the same cap, and says so.
func TestRequestRateIsAFloor(t *testing.T) {
	tests := []struct {
		name, file string
		delay      time.Duration
	}{
		{"rate", "User-agent: *\nRequest-rate: 1/4s 0800-1200\n", 4 * time.Second},
		{"rate and a longer delay", "User-agent: *\nRequest-rate: 1/4\nCrawl-delay: 5\n", 5 * time.Second},
		{"over the cap", "User-agent: *\nRequest-rate: 1/1h\n", 6 * time.Second},
		{"faster than ours", "User-agent: *\nRequest-rate: 100/1s\n", time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := obeying(time.Second)
			cfg.Throttle.CrawlDelayMax = 6 * time.Second
			inBubble(t, cfg, func(w *world) {
				w.robotsSite(func(int) answer { return answer{status: 200, body: tt.file} })
				w.seed(newCrawl(), "a.test", 3)
				w.pass(tt.delay / 2)
				want := throttle.ReasonDelay
				if tt.delay > time.Second {
					want = throttle.ReasonCrawlDelay
				}
				require.Equal(t, want, w.snapshot("a.test").Reason)
				w.allDone()
				require.Len(t, w.at("a.test", tt.delay), 4)
				require.Equal(t, 3*tt.delay, w.site.seenSince(w.start)[3])
			})
		})
	}
}

// A page of HTML, and bytes of no kind, are no rules.
func TestRobotsOfAnotherKind(t *testing.T) {
	for name, body := range map[string]string{
		"html":   "<!DOCTYPE html>\n<html><head><title>404</title></head><body>\n<p>User-agent: * Disallow: /</p>\n</body></html>",
		"binary": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
		"bom":    "\xef\xbb\xbfUser-agent: *\rAllow: /\r",
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, obeying(0), func(w *world) {
				w.robotsSite(func(int) answer { return answer{status: 200, body: body} })
				w.seed(newCrawl(), "a.test", 3)
				w.allDone()
				require.Len(t, w.site.paths(), 4)
			})
		})
	}
}
