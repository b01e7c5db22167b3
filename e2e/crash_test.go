package e2e

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/core/rqueue"
	"orbweaver/internal/redistest"
	"orbweaver/internal/webtest"
)

// How an ordinary crawl reaches the points around the frontier's calls.
var (
	// crashNever are the calls that only an operator, a check or a drain makes.
	crashNever = []string{"audit", "delete_end", "forget", "giveback", "park", "replay", "steer", "state", "unpark"}
	// crashPerhaps are the calls that a crawl as short as this may do without.
	crashPerhaps = []string{"renew", "reserve", "export_forget"}
	// crashShared are the calls that are tried at a Redis that other nodes could
	// use too, with its leases and claims to wait for, and with items in a list.
	crashShared = []string{"acquire", "commit", "enqueue", "finish", "lease", "recover", "release", "seed_ack", "seed_claim", "seed_hosts", "seed_retake"}
)

// Killed with -9 just before and just after any call to the store, a crawl that is
// started again by the same command ends with every page stored exactly once.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	random := seed(t)
	jobs := map[bool]chan string{true: make(chan string, 100), false: make(chan string, 100)} // shared or not
	for _, point := range rqueue.FaultPoints() {
		call, _, _ := strings.Cut(point, ".")
		if slices.Contains(crashNever, call) {
			continue
		}
		if slices.Contains(crashShared, call) {
			jobs[true] <- point
		}
		if call != "seed_ack" {
			jobs[false] <- point
		}
	}
	var wg sync.WaitGroup
	for shared, points := range jobs {
		close(points)
		workers := 3
		if shared { // they wait for leases more than they work
			workers = 8
		}
		for range workers {
			wg.Go(func() {
				for point := range points {
					t.Run(fmt.Sprintf("%s/shared=%t", point, shared), func(t *testing.T) { crashAt(t, point, shared, random) })
				}
			})
		}
	}
	wg.Wait()
}

// crashAt kills a crawl at the first time that a point is reached, and another at a
// later; where leases are waited for, one of both.
func crashAt(t *testing.T, point string, shared bool, random uint64) {
	t.Helper()
	call, _, _ := strings.Cut(point, ".")
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, point, shared)
	rng := rand.New(rand.NewPCG(random, h.Sum64())) //nolint:gosec // the same moments each time
	times := []int{1, 2 + rng.IntN(4)}
	if shared {
		times = times[rng.IntN(2):][:1]
	}
	for _, n := range times {
		killed := newCrashing(t, shared).run(fmt.Sprint(point, ":", n))
		if n == 1 && !slices.Contains(crashPerhaps, call) {
			require.True(t, killed, "no ordinary crawl reaches this point")
		}
	}
}

// crashing is a small crawl with everything that may happen to a page.
type crashing struct {
	t      *testing.T
	site   *webtest.Site
	args   []string
	file   string        // of the items; "": they are in the store's list
	rdb    *redis.Client // when it is shared
	landed string        // where the redirect leads: one item that is no page of the site
}

const crashName = "crash"

func newCrashing(t *testing.T, shared bool) *crashing {
	t.Helper()
	const hosts = 4
	c := &crashing{t: t}
	c.site = webtest.New(t, webtest.Config{
		Hosts: hosts, Pages: 12,
		Links: func(host, page int) []string {
			if host == 1 && page == 2 {
				return []string{"/moved", "/missing"}
			}
			return nil
		},
		Script: func(v webtest.Visit) *webtest.Answer {
			switch {
			case v.Page == 5 && v.Attempt == 1:
				return &webtest.Answer{Status: 500, Body: "error"}
			case v.Path == "/robots.txt" && v.Host == 0: // by an errand
				return webtest.Redirect(v.Site.URL(1, "/rules"))
			case v.Path == "/rules":
				return &webtest.Answer{Header: http.Header{"Content-Type": {"text/plain"}}, Body: "User-agent: *\nDisallow: " + webtest.RobotsDisallow}
			case v.Path == "/moved":
				return webtest.Redirect("/landed")
			case v.Path == "/landed":
				return &webtest.Answer{Body: "<html><title>Landed</title></html>"}
			case v.Page >= 0:
				return &webtest.Answer{Page: true, Header: http.Header{"Set-Cookie": {fmt.Sprint("page=", v.Page)}}}
			}
			return nil
		},
	})
	c.landed = c.site.URL(1, "/landed")
	dir := t.TempDir()
	seeds, where := c.site.Roots(0, hosts), embedded(dir)
	if shared {
		server := redistest.New(t)
		c.rdb = server.Client()
		seeds, where = seeds[:hosts-1], append(shortLeases(), "--redis", server.URL())
		require.NoError(t, c.rdb.RPush(t.Context(), crashName+":start_urls", c.site.Roots(hosts-1, hosts)[0]).Err())
	} else {
		c.file = filepath.Join(dir, "items.jsonl")
		where = append(where, "-o", c.file)
	}
	c.args = crawl(seeds, unthrottled(), where, []string{"--name", crashName, "-s", "COOKIES_PERSIST=true", "-s", "RETRY_BACKOFF_BASE=0.05", "-s", "CONCURRENT_REQUESTS=8"})
	return c
}

// run crawls with a fault, and again without unless the crawl has said that it is
// over. It reports whether the fault came.
func (c *crashing) run(fault string) bool {
	c.t.Helper()
	first := startWith(c.t, []string{"ORBWEAVER_TEST_FAULT=" + fault}, c.args...)
	killed := first.wait() != 0
	if killed {
		require.Equal(c.t, -1, first.code, "%s: neither killed nor well", fault)
		if !strings.Contains(first.err.String(), "Crawl statistics") { // else it was over: the same command begins anew
			run(c.t, c.args...).finish()
		}
	}
	c.requireExact(fault)
	return killed
}

func (c *crashing) requireExact(what string) {
	c.t.Helper()
	var text string
	if c.file != "" {
		text = readFile(c.t, c.file)
	} else {
		all, err := c.rdb.LRange(within(c.t), crashName+":items", 0, -1).Result()
		require.NoError(c.t, err)
		text = strings.Join(append(all, ""), "\n")
		require.Zero(c.t, c.rdb.Exists(within(c.t), crashName+":start_urls", "{"+crashName+":start_urls}:taken").Val())
	}
	items := lines(c.t, text)
	at := slices.IndexFunc(items, func(it item) bool { return it.URL == c.landed })
	require.GreaterOrEqual(c.t, at, 0, "%s: the redirect led nowhere", what)
	requireExact(c.t, c.site, slices.Delete(items, at, at+1))
	require.LessOrEqual(c.t, c.site.Refetched(), 8, "%s: more than was in flight", what)
	require.Empty(c.t, c.site.Under(webtest.RobotsDisallow))
}
