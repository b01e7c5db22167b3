package domain

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/core/weburl"
	"orbweaver/internal/actortest"
	"orbweaver/messages"
)

// answers makes the sites answer these URLs so, and any other with 200.
func (w *world) answers(by map[string]answer) {
	w.site.behave = func(url string, _ int) answer {
		a, ok := by[strings.TrimPrefix(url, "http://")]
		if !ok {
			a = answer{status: 200}
		}
		a.latency = max(a.latency, 100*time.Millisecond)
		return a
	}
	w.pipe.settle = func(p *messages.Page) (time.Duration, time.Duration) { return time.Millisecond, p.RetryIn }
	w.sys.Root.Send(w.scheduler, startPoll{50 * time.Millisecond})
}

// at gives the paths that a host was asked for, in order, and checks the delay
// between them.
func (w *world) at(host string, delay time.Duration) (paths []string) {
	w.Helper()
	var last time.Time
	for _, a := range w.site.seen() {
		if weburl.Host(a.url) != host {
			continue
		}
		if !last.IsZero() {
			require.GreaterOrEqual(w, a.at.Sub(last), delay, "politeness at %s", host)
		}
		last = a.at
		paths = append(paths, strings.TrimPrefix(a.url, "http://"+host+"/"))
	}
	return paths
}

const noOne = "User-agent: *\nDisallow: /1\n"

func moved(to string) answer { return answer{status: 301, location: to} }

func TestRobotsRedirectToAnotherHost(t *testing.T) {
	long := func(n int) map[string]answer {
		by := map[string]answer{"a.test/robots.txt": moved("http://h1.test/r")}
		for i := 1; i < n; i++ {
			by[fmt.Sprintf("h%d.test/r", i)] = moved(fmt.Sprintf("http://h%d.test/r", i+1))
		}
		by[fmt.Sprintf("h%d.test/r", n)] = answer{status: 200, body: noOne}
		return by
	}
	tests := []struct {
		name    string
		answers map[string]answer
		refuses bool // /1
		others  int  // requests at other hosts
		puts    int  // into the store
	}{
		{"rules", map[string]answer{"a.test/robots.txt": moved("http://b.test/r"), "b.test/r": {status: 200, body: noOne}}, true, 1, 1},
		{"by a relative location", map[string]answer{"a.test/robots.txt": moved("//b.test/r#x"), "b.test/r": {status: 200, body: noOne}}, true, 1, 1},
		{"another host's own", map[string]answer{"a.test/robots.txt": moved("http://b.test/robots.txt"), "b.test/robots.txt": {status: 200, body: noOne}}, true, 1, 2},
		{"not found there", map[string]answer{"a.test/robots.txt": moved("http://b.test/r"), "b.test/r": {status: 404, body: noOne}}, false, 1, 1},
		{"and back to another path", map[string]answer{
			"a.test/robots.txt": moved("http://b.test/r"), "b.test/r": moved("http://a.test/rules"), "a.test/rules": {status: 200, body: noOne},
		}, true, 1, 1},
		{"in a circle", map[string]answer{"a.test/robots.txt": moved("http://b.test/r"), "b.test/r": moved("http://a.test/robots.txt")}, false, 1, 1},
		{"to itself", map[string]answer{"a.test/robots.txt": moved("http://b.test/r"), "b.test/r": moved("/r")}, false, 1, 1},
		{"nowhere", map[string]answer{"a.test/robots.txt": moved("http://b.test/r"), "b.test/r": {status: 302}}, false, 1, 1},
		{"to a file", map[string]answer{"a.test/robots.txt": moved("file:///etc/passwd")}, false, 0, 1},
		{"where no crawl may go", map[string]answer{
			"a.test/robots.txt": moved("http://b.test/r"), "b.test/r": {cause: crawl.CauseForbidden, unsent: true},
		}, false, 0, 1},
		{"five times", long(5), true, 5, 1},
		{"six times", long(6), false, 5, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, obeying(time.Second), func(w *world) {
				w.answers(tt.answers)
				w.seed(newCrawl(), "a.test", 3)
				w.allDone()
				pages := slices.DeleteFunc(w.at("a.test", time.Second), func(p string) bool { return strings.HasPrefix(p, "r") })
				if tt.refuses {
					require.Equal(t, []string{"0", "2"}, pages)
				} else {
					require.Equal(t, []string{"0", "1", "2"}, pages)
				}
				others := 0
				for _, a := range w.site.seen() {
					if weburl.Host(a.url) != "a.test" {
						others++
					}
				}
				require.Equal(t, tt.others, others)
				require.Equal(t, tt.puts, w.store.count((*rqueue.RobotsPut)(nil)))
				w.pass(5 * time.Second)
				require.Empty(t, w.live(), "all slots are given back")
			})
		})
	}
}

// What is stored of a host is not fetched again for another one.
func TestRobotsRedirectToWhatIsKnown(t *testing.T) {
	inBubble(t, obeying(time.Second), func(w *world) {
		w.answers(map[string]answer{"a.test/robots.txt": moved("http://b.test/robots.txt"), "c.test/robots.txt": moved("http://d.test/robots.txt")})
		w.store.robots["http://b.test"] = storedRobots{robots: rqueue.Robots{Good: true, Status: 200, Body: []byte(noOne), Life: 2 * time.Hour}, at: w.start.Add(-time.Hour)}
		w.store.robots["http://d.test"] = storedRobots{robots: rqueue.Robots{Good: true, Status: 200, Body: []byte(noOne), Life: time.Minute}, at: w.start.Add(-time.Hour)}
		c := newCrawl()
		w.seed(c, "a.test", 3)
		w.seed(c, "c.test", 3)
		w.allDone()
		require.Equal(t, []string{"robots.txt", "0", "2"}, w.at("a.test", time.Second))
		require.Empty(t, w.at("b.test", time.Second))
		require.InDelta(t, time.Hour, w.store.robots["http://a.test"].robots.Life, float64(time.Second), "it does not live longer by being copied")
		require.Equal(t, []string{"robots.txt", "0", "1", "2"}, w.at("c.test", time.Second))
		require.Equal(t, []string{"robots.txt"}, w.at("d.test", time.Second), "what is too old is")
	})
}

// The target's politeness holds, whoever asks, and its own work goes on.
func TestErrandsKeepTheDelay(t *testing.T) {
	inBubble(t, obeying(time.Second), func(w *world) {
		by := map[string]answer{"b.test/r": {status: 200, body: noOne, latency: 3 * time.Second}}
		for i := range 5 {
			by[fmt.Sprintf("a%d.test/robots.txt", i)] = moved("http://b.test/r")
			by[fmt.Sprintf("c%d.test/robots.txt", i)] = moved(fmt.Sprintf("http://b.test/r%d", i))
		}
		w.answers(by)
		c := newCrawl()
		w.seed(c, "b.test", 5)
		for i := range 5 {
			w.seed(c, fmt.Sprintf("a%d.test", i), 2)
			w.seed(c, fmt.Sprintf("c%d.test", i), 2)
		}
		w.allDone()
		paths := w.at("b.test", time.Second)
		slices.Sort(paths)
		require.Equal(t, []string{"0", "1", "2", "3", "4", "r", "r0", "r1", "r2", "r3", "r4", "robots.txt"}, paths, "who asks for the same at once shares the answer")
		for i := range 5 {
			require.Equal(t, []string{"robots.txt", "0"}, w.at(fmt.Sprintf("a%d.test", i), time.Second))
			require.Equal(t, []string{"robots.txt", "0", "1"}, w.at(fmt.Sprintf("c%d.test", i), time.Second))
		}
	})
}

// Two hosts whose files lead to each other do not wait for each other.
func TestErrandsBothWays(t *testing.T) {
	inBubble(t, obeying(time.Second), func(w *world) {
		w.answers(map[string]answer{
			"a.test/robots.txt": moved("http://b.test/r"), "b.test/robots.txt": moved("http://a.test/r"),
			"a.test/r": {status: 200, body: noOne}, "b.test/r": {status: 200, body: noOne},
		})
		c := newCrawl()
		w.seed(c, "a.test", 3)
		w.seed(c, "b.test", 3)
		w.allDone()
		require.Equal(t, []string{"robots.txt", "r", "0", "2"}, w.at("a.test", time.Second))
		require.Equal(t, []string{"robots.txt", "r", "0", "2"}, w.at("b.test", time.Second))
	})
}

// Delays longer than a lease lives do not make a domain forget where redirects led.
func TestErrandsOfSlowHosts(t *testing.T) {
	inBubble(t, obeying(25*time.Second), func(w *world) {
		w.answers(map[string]answer{
			"a.test/robots.txt": moved("/r"), "a.test/r": moved("http://b.test/r"), "b.test/r": {status: 200, body: noOne},
		})
		c := newCrawl()
		w.seed(c, "b.test", 1)
		w.pass(200 * time.Millisecond)
		w.seed(c, "a.test", 2)
		w.allDone()
		require.Equal(t, []string{"robots.txt", "r", "0"}, w.at("a.test", 25*time.Second))
		require.Equal(t, []string{"robots.txt", "0", "r"}, w.at("b.test", 25*time.Second))
	})
}

// A slot that cannot be had in time leaves the file unreachable, to be asked for
// again; what the target answers counts like an answer of the origin.
func TestErrandsThatFail(t *testing.T) {
	by := func(b answer) map[string]answer {
		return map[string]answer{"a.test/robots.txt": moved("http://b.test/r"), "b.test/r": b}
	}
	tests := []struct {
		name   string
		answer answer
		prior  func(w *world)
		status int
		err    string
		retry  time.Duration // of the first page
	}{
		{"busy with Retry-After", answer{status: 429, retryAfter: "30"}, nil, 429, "robots.txt: status 429", 30 * time.Second},
		{"busy", answer{status: 503}, nil, 503, "robots.txt: status 503", time.Second},
		{"refused", answer{cause: crawl.CauseRefused, unsent: true}, nil, 0, "robots.txt: refused: test", time.Second},
		{"too slow", answer{status: 200, latency: 3 * time.Minute}, nil, 302, "robots.txt: redirect to b.test: no answer in time", time.Second},
		{"held by another node", answer{status: 200}, func(w *world) {
			k := w.store.slot("b.test")
			k.token, k.exp = "n2.1", w.start.Add(500*time.Millisecond)
		}, 302, "robots.txt: redirect to b.test: another node has its slot", time.Second},
		{"far from its next start", answer{status: 200}, func(w *world) {
			w.store.slot("b.test").next = w.start.Add(time.Hour)
		}, 302, "robots.txt: redirect to b.test: no turn in time", time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := obeying(0)
			cfg.Throttle.BackoffBase = 0
			inBubble(t, cfg, func(w *world) {
				w.answers(by(tt.answer))
				if tt.prior != nil {
					tt.prior(w)
				}
				w.seed(newCrawl(), "a.test", 1)
				w.until("a page is refused", func() bool { return len(w.pages()) > 0 })
				p := w.pages()[0]
				require.Equal(t, crawl.CauseRobots, p.Response.Cause)
				require.Equal(t, tt.status, p.Response.Status)
				require.Equal(t, tt.err, p.Response.Err)
				require.Equal(t, tt.retry, p.RetryIn)
				require.Equal(t, []string{"robots.txt"}, w.at("a.test", 0))

				w.answers(by(answer{status: 200}))
				w.store.change(func() { w.store.slot("b.test").next = time.Now() })
				w.allDone()
				require.Equal(t, "0", w.site.paths()[len(w.site.paths())-1])
			})
		})
	}
}

func TestErrandsWithoutRoom(t *testing.T) {
	cfg := obeying(0)
	cfg.MaxDomains = 1
	inBubble(t, cfg, func(w *world) {
		w.answers(map[string]answer{"a.test/robots.txt": moved("http://b.test/robots.txt")})
		w.seed(newCrawl(), "a.test", 1)
		w.until("a page is refused", func() bool { return len(w.pages()) > 0 })
		require.Equal(t, "robots.txt: redirect to b.test: too many sites at once", w.pages()[0].Response.Err)
		w.store.change(func() {
			w.store.robots["http://b.test"] = storedRobots{robots: rqueue.Robots{Good: true, Status: 404}, at: time.Now()}
		})
		w.allDone()
	})
}

// An errand outlives a panic of the domain that does it, and ends without one when
// the asker's does.
func TestErrandsSurvivePanics(t *testing.T) {
	for _, host := range []string{"a.test", "b.test"} {
		t.Run(host, func(t *testing.T) {
			inBubble(t, obeying(time.Second), func(w *world) {
				w.answers(map[string]answer{
					"a.test/robots.txt": moved("http://b.test/r"), "b.test/r": {status: 200, body: noOne, latency: 2 * time.Second},
				})
				w.seed(newCrawl(), "a.test", 3)
				w.pass(time.Second)
				w.panics(host)
				w.allDone()
				pages := slices.DeleteFunc(w.at("a.test", time.Second), func(p string) bool { return p == "robots.txt" })
				require.Equal(t, []string{"0", "2"}, pages)
				w.at("b.test", time.Second)
				require.Less(t, time.Since(w.start), time.Minute)
			})
		})
	}
}

// A node that ends does not wait for errands.
func TestErrandsAtTheEnd(t *testing.T) {
	inBubble(t, obeying(time.Second), func(w *world) {
		w.answers(map[string]answer{
			"a.test/robots.txt": moved("http://b.test/r"), "b.test/r": {status: 200, latency: time.Second},
		})
		w.seed(newCrawl(), "a.test", 3)
		w.pass(500 * time.Millisecond)
		actortest.Ask[*messages.Drained](w, w.sys, w.domains, &messages.Drain{})
		require.Less(t, time.Since(w.start), 2*time.Second)
		require.Empty(t, w.live())
		waiting, delayed, leased, _ := w.store.left()
		require.Equal(t, []int{3, 0, 0}, []int{waiting, delayed, leased})
	})
}

// A host that is parked in the crawl that asks gets no errand; in another crawl it does.
func TestErrandsSpareParkedHosts(t *testing.T) {
	inBubble(t, obeying(time.Second), func(w *world) {
		w.answers(map[string]answer{
			"a.test/robots.txt": moved("http://b.test/r"), "b.test/r": {status: 200, body: noOne},
			"c.test/robots.txt": moved("http://d.test/robots.txt"), "d.test/robots.txt": {status: 200, body: noOne}, "e.test/robots.txt": moved("http://d.test/robots.txt"),
		})
		parked, open := newCrawl(), newCrawl()
		w.setParked(parked, "b.test", "challenge: captcha")
		w.setParked(parked, "d.test", "by hand")
		w.seed(parked, "a.test", 3)
		w.seed(parked, "c.test", 3)
		w.pass(10 * time.Minute)
		require.Empty(t, w.at("b.test", 0))
		require.Empty(t, w.at("d.test", 0))
		require.Equal(t, []string{"robots.txt"}, slices.Compact(w.at("a.test", 0)), "nothing is fetched of who cannot be asked")
		last := w.pages()[len(w.pages())-1].Response
		require.Equal(t, crawl.CauseRobots, last.Cause)
		require.Contains(t, last.Err, "it is parked: ")

		w.seed(open, "e.test", 1)
		w.until("another crawl has it fetched", func() bool { return len(w.at("d.test", 0)) == 1 })
		w.setParked(parked, "b.test", "")
		w.allDone()
		require.Equal(t, []string{"r"}, w.at("b.test", 0), "released")
	})
}

// A host that is parked while an errand waits for its turn is not sent it.
func TestParkedDomainRefusesErrands(t *testing.T) {
	inBubble(t, obeying(10*time.Second), func(w *world) {
		w.answers(map[string]answer{"a.test/robots.txt": moved("http://b.test/r")})
		c := newCrawl()
		w.seed(c, "b.test", 5)
		w.until("b.test is crawled", func() bool { return len(w.at("b.test", 0)) == 2 })
		w.seed(c, "a.test", 1)
		w.pass(time.Second) // the errand waits for its turn
		require.Len(t, w.at("b.test", 0), 2)
		w.setParked(c, "b.test", "challenge")
		w.sys.Root.Send(w.domains, &messages.Parked{Crawl: c, Slot: "b.test", Reason: "challenge", Stored: true})
		w.pass(5 * time.Minute)
		require.Len(t, w.at("b.test", 0), 2)
	})
}

// An errand goes by the proxy of the request that waits for it.
func TestErrandsTakeTheProxy(t *testing.T) {
	inBubble(t, obeying(time.Second), func(w *world) {
		w.answers(map[string]answer{"a.test/robots.txt": moved("http://b.test/r"), "b.test/r": {status: 200, body: noOne}})
		c := newCrawl()
		w.store.enqueue(c, "a.test", "http://a.test/0")
		for _, r := range w.store.all {
			r.req.Meta = []byte(`{"depth": 1, "proxy": "http://p.test"}`)
		}
		w.wake(c, "a.test")
		w.allDone()
		for _, a := range w.site.seen() {
			require.Contains(t, a.meta, "http://p.test", a.url)
		}
		require.Equal(t, []string{"r"}, w.at("b.test", 0))
	})
}
