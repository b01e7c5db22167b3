package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/core/placement"
	"orbweaver/internal/redistest"
	"orbweaver/internal/webtest"
)

// The clusters of these tests: a delay of 200 ms, slots that live 4 s.
const (
	clusterDelay = 200 * time.Millisecond
	clusterTTL   = 4 * time.Second
	// onTime is by how much a start may seem early: the delay counts from a write, the
	// site from what it receives.
	onTime = 5 * time.Millisecond
)

// cluster is some nodes on one Redis that crawl one site.
type cluster struct {
	t     *testing.T
	site  *webtest.Site
	redis *redistest.Server
	rdb   *redis.Client
	nodes map[string]*node // by User-Agent
	extra []string
}

func newCluster(t *testing.T, hosts, pages int, extra ...string) *cluster {
	t.Helper()
	c := &cluster{
		t: t, redis: redistest.New(t), nodes: map[string]*node{}, extra: extra,
		site: webtest.New(t, webtest.Config{Hosts: hosts, Pages: pages, Latency: 20 * time.Millisecond}),
	}
	c.rdb = c.redis.Client()
	return c
}

// settings are those of all nodes.
func (c *cluster) settings() []string {
	return append([]string{
		"--allow-private", "--redis", c.redis.URL(), "--scope", "any", "-s", "AUTOTHROTTLE_ENABLED=false",
		"-s", "DOWNLOAD_DELAY=0.2", "-s", "RANDOMIZE_DOWNLOAD_DELAY=false", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=1",
		"-s", "SLOT_TTL=4", "-s", "SLOT_RENEW=1", "-s", "SLOT_MARGIN=1",
		"-s", "CLUSTER_TTL=2", "-s", "CLUSTER_HEARTBEAT=0.4", "-s", "CLUSTER_RAMP=0",
	}, c.extra...)
}

// join starts a node under a name that is its User-Agent too.
func (c *cluster) join(name string, more ...string) *node {
	c.t.Helper()
	args := append([]string{"start", "--name", "shop", "--admin", "127.0.0.1:0"}, c.settings()...)
	n := start(c.t, append(append(args, "-s", "NODE_NAME="+name, "-s", "USER_AGENT="+name, "-s", "ROBOTSTXT_USER_AGENT=orbweaver"), more...)...)
	n.say("node is up")
	c.nodes[name] = n
	return n
}

// form waits until a cluster of so many nodes agrees about itself.
func (c *cluster) form(members int) {
	c.t.Helper()
	for _, n := range c.nodes {
		n.say("members=" + strconv.Itoa(members) + " ")
	}
}

func (c *cluster) seed() {
	c.t.Helper()
	roots := c.site.Roots(0, c.site.Hosts())
	values := make([]any, len(roots))
	for i, r := range roots {
		values[i] = r
	}
	require.NoError(c.t, c.rdb.RPush(within(c.t), "shop:start_urls", values...).Err())
}

// owners waits until every host was visited lately, and gives each node's hosts.
func (c *cluster) owners() map[string][]int {
	c.t.Helper()
	last := make([]string, c.site.Hosts())
	eventually(c.t, func() bool {
		counts := make([]int, len(last))
		for _, a := range c.site.Arrivals(-1) {
			last[a.Host] = a.Agent
			counts[a.Host]++
		}
		for _, n := range counts {
			if n < 3 {
				return false
			}
		}
		return true
	}, "every host visited")
	out := map[string][]int{}
	for h, agent := range last {
		out[agent] = append(out[agent], h)
	}
	return out
}

// polite requires that no host saw two requests closer than the delay, or at once.
// Not counted is the residue of a node that was stopped between its last look at the
// clock and its write: what forgiven says.
func (c *cluster) polite(forgiven func(webtest.Arrival) bool) {
	c.t.Helper()
	for h := range c.site.Hosts() {
		all := c.site.Arrivals(h)
		if forgiven != nil {
			all = slices.DeleteFunc(all, forgiven)
		}
		for i := 1; i < len(all); i++ {
			was, is := all[i-1], all[i]
			require.GreaterOrEqual(c.t, is.Start.Sub(was.Start), clusterDelay-onTime,
				"host %d, request %d by %s after %s", h, i, is.Agent, was.Agent)
			require.False(c.t, was.End.IsZero() || was.End.After(is.Start), "host %d, request %d by %s and one by %s at once", h, i, is.Agent, was.Agent)
		}
	}
}

// wasteless requires that hardly a page was fetched again: a machine that stands still for
// seconds may cost a lease.
func (c *cluster) wasteless() {
	c.t.Helper()
	n := c.site.Refetched()
	c.t.Log("pages fetched again:", n)
	require.LessOrEqual(c.t, n, 2)
}

// handOver is a host's change from one node to another.
type handOver struct {
	last  webtest.Arrival // of the node that had it
	first webtest.Arrival // of another
}

// handOvers waits until each host of a node was visited by another since an event.
func (c *cluster) handOvers(hosts []int, was string, since time.Time) (out []handOver) {
	c.t.Helper()
	require.NotEmpty(c.t, hosts)
	eventually(c.t, func() bool {
		out = out[:0]
		for _, h := range hosts {
			var o handOver
			for _, a := range c.site.Arrivals(h) {
				if a.Agent == was {
					o.last = a
				} else if a.Start.After(since) {
					o.first = a
					out = append(out, o)
					break
				}
			}
		}
		return len(out) == len(hosts)
	}, "all hosts of "+was+" visited by others")
	return out
}

// longest logs and gives the longest of some gaps.
func (c *cluster) longest(all []handOver, gap func(handOver) time.Duration) time.Duration {
	c.t.Helper()
	gaps := make([]time.Duration, len(all))
	for i, o := range all {
		gaps[i] = gap(o)
	}
	slices.Sort(gaps)
	most := gaps[len(gaps)-1]
	c.t.Logf("gaps of %d hosts: median %s, longest %s", len(gaps), gaps[len(gaps)/2], most)
	return most
}

// members are the names of the nodes in the store's list, and the ids of all.
func (c *cluster) members() (names, ids []string) {
	c.t.Helper()
	ids, err := c.rdb.ZRange(within(c.t), "orbweaver:{nodes}", 0, -1).Result()
	require.NoError(c.t, err)
	ids = slices.DeleteFunc(ids, func(id string) bool { return id[0] == '/' }) // says since when there is a list
	for _, id := range ids {
		name, _, _ := strings.Cut(id, "-")
		names = append(names, name)
	}
	slices.Sort(names)
	return names, ids
}

// placed is which node each host belongs to by the rule, all having the same weight.
func (c *cluster) placed() []string {
	c.t.Helper()
	_, ids := c.members()
	all := make([]placement.Member, len(ids))
	for i, id := range ids {
		all[i] = placement.Member{ID: id, Weight: 1}
	}
	m := placement.New(all)
	out := make([]string, c.site.Hosts())
	for h := range out {
		out[h], _, _ = strings.Cut(m.Owner(c.site.Host(h)), "-")
	}
	return out
}

// visitors are who visited each host last.
func (c *cluster) visitors() []string {
	out := make([]string, c.site.Hosts())
	for _, a := range c.site.Arrivals(-1) {
		out[a.Host] = a.Agent
	}
	return out
}
