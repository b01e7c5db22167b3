package e2e

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

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
// Forgiven are starts right after one of a node that was stopped when it had written.
func (c *cluster) polite(forgiven string) {
	c.t.Helper()
	for h := range c.site.Hosts() {
		all := c.site.Arrivals(h)
		for i := 1; i < len(all); i++ {
			if forgiven != "" && (all[i].Agent == forgiven || all[i-1].Agent == forgiven) {
				continue
			}
			require.GreaterOrEqual(c.t, all[i].Start.Sub(all[i-1].Start), clusterDelay-onTime,
				"host %d, request %d by %s after %s", h, i, all[i].Agent, all[i-1].Agent)
		}
		if forgiven == "" {
			require.LessOrEqual(c.t, c.site.MaxInFlight(h), 1, "host %d", h)
		}
	}
}

// wasteless requires that hardly a page was fetched again: a machine that stands still for
// seconds may cost a lease.
func (c *cluster) wasteless() {
	c.t.Helper()
	require.LessOrEqual(c.t, c.site.Refetched(), 2)
}

// gaps are the times that hosts waited, from their last request before an event, for
// the first by another node than the one that had them.
func (c *cluster) gaps(hosts []int, was string, since time.Time) map[int]time.Duration {
	out := map[int]time.Duration{}
	for _, h := range hosts {
		var last time.Time
		for _, a := range c.site.Arrivals(h) {
			if a.Agent == was {
				last = a.Start
			} else if a.Start.After(since) {
				out[h] = a.Start.Sub(last)
				break
			}
		}
	}
	return out
}

func longest(gaps map[int]time.Duration) (most time.Duration) {
	for _, g := range gaps {
		most = max(most, g)
	}
	return most
}

// Killed with -9, a node's sites go on elsewhere as soon as its leases are over, and
// no sooner than their delay.
func TestClusterFailover(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 40, 3000)
	for _, name := range []string{"n1", "n2", "n3"} {
		c.join(name)
	}
	c.form(3)
	c.seed()
	hosts := c.owners()["n2"]
	require.NotEmpty(t, hosts)
	c.nodes["n2"].kill()
	killed := time.Now()
	eventually(t, func() bool { return len(c.gaps(hosts, "n2", killed)) == len(hosts) }, "all its hosts visited by others")
	gaps := c.gaps(hosts, "n2", killed)
	t.Logf("%d hosts, longest gap %s", len(hosts), longest(gaps))
	require.LessOrEqual(t, longest(gaps), clusterTTL+2*time.Second)
	c.polite("")
}

// A node that is told to stop leaves without a gap: its sites go on at their delay.
func TestClusterLeave(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 40, 3000)
	for _, name := range []string{"n1", "n2", "n3"} {
		c.join(name)
	}
	c.form(3)
	c.seed()
	hosts := c.owners()["n2"]
	left := time.Now()
	c.nodes["n2"].signal(syscall.SIGTERM)
	require.Equal(t, 130, c.nodes["n2"].wait())
	eventually(t, func() bool { return len(c.gaps(hosts, "n2", left)) == len(hosts) }, "all its hosts visited by others")
	gaps := c.gaps(hosts, "n2", left)
	t.Logf("%d hosts, longest gap %s", len(hosts), longest(gaps))
	require.LessOrEqual(t, longest(gaps), time.Second+clusterDelay)
	for _, id := range c.rdb.ZRange(within(t), "orbweaver:{nodes}", 0, -1).Val() {
		require.NotRegexp(t, "^n2-", id)
	}
	c.polite("")
	c.wasteless()
}

// A node that joins takes over its share step by step, and no site notices.
func TestClusterJoin(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 60, 3000, "-s", "CLUSTER_RAMP=4")
	for _, name := range []string{"n1", "n2", "n3"} {
		c.join(name)
	}
	c.form(3)
	c.seed()
	c.owners()
	// From now on the first three have their whole weight.
	require.NoError(t, c.site.WaitCount(within(t), c.site.Count()+60*5*5))
	joined := time.Now()
	c.join("n4")
	shares := []int{}
	for range 9 {
		require.NoError(t, c.site.WaitCount(within(t), c.site.Count()+60*5*3/4)) // some 0.75 s
		last := map[int]string{}
		for _, a := range c.site.Arrivals(-1) {
			last[a.Host] = a.Agent
		}
		n := 0
		for _, agent := range last {
			if agent == "n4" {
				n++
			}
		}
		shares = append(shares, n)
	}
	t.Log("hosts of the newcomer, as it grows:", shares)
	require.InDelta(t, 15, shares[len(shares)-1], 11)
	require.LessOrEqual(t, shares[0], shares[len(shares)-1])
	c.polite("")
	c.wasteless()
	for h := range c.site.Hosts() { // nobody stood still
		all := c.site.Arrivals(h)
		for i := 1; i < len(all); i++ {
			if all[i].Start.After(joined) {
				require.Less(t, all[i].Start.Sub(all[i-1].Start), clusterDelay+2*time.Second, "host %d", h)
			}
		}
	}
}

// A node that was frozen while the others took over ends with a code of its own when
// it wakes, and sends nothing more.
func TestClusterEviction(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 30, 3000)
	for _, name := range []string{"n1", "n2", "n3"} {
		c.join(name)
	}
	c.form(3)
	c.seed()
	hosts := c.owners()["n2"]
	frozen := time.Now()
	c.nodes["n2"].signal(syscall.SIGSTOP)
	eventually(t, func() bool { return len(c.gaps(hosts, "n2", frozen)) == len(hosts) }, "all its hosts visited by others")
	c.nodes["n2"].signal(syscall.SIGCONT)
	require.Equal(t, 5, c.nodes["n2"].wait())
	require.Contains(t, c.nodes["n2"].err.String(), "given this one up")
	c.polite("n2")
	after := 0
	for _, a := range c.site.Arrivals(-1) {
		if a.Agent == "n2" && a.Start.After(frozen.Add(100*time.Millisecond)) {
			after++
		}
	}
	require.LessOrEqual(t, after, len(hosts), "at most what was on its way at each site")
}

// While Redis is away for everybody nobody is evicted, and everything goes on after.
func TestClusterStoreAway(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 20, 40)
	for _, name := range []string{"n1", "n2", "n3"} {
		c.join(name)
	}
	c.form(3)
	c.seed()
	require.NoError(t, c.site.WaitCount(within(t), 200))
	c.redis.Pause()
	time.AfterFunc(6*time.Second, c.redis.Resume)
	items := stored(t, c.rdb, "shop", 20*40)
	requireExact(t, c.site, items)
	for name, n := range c.nodes {
		require.False(t, n.ended(), "%s has ended", name)
	}
	c.polite("")
}

// Nodes that cannot reach each other crawl as well: messages between them are hints.
func TestClusterWithoutPeers(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a port that nobody answers at
	require.NoError(t, err)
	nobody := l.Addr().String()
	require.NoError(t, l.Close())
	c := newCluster(t, 20, 25, "-s", "CLUSTER_ADVERTISE="+nobody)
	c.join("n1")
	c.join("n2")
	c.form(2)
	c.seed()
	requireExact(t, c.site, stored(t, c.rdb, "shop", 20*25))
	c.polite("")
}

// The weight of a node is its share.
func TestClusterWeights(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 80, 4)
	c.join("light", "-s", "CLUSTER_WEIGHT=1")
	c.join("heavy", "-s", "CLUSTER_WEIGHT=3")
	c.form(2)
	c.seed()
	requireExact(t, c.site, stored(t, c.rdb, "shop", 80*4))
	pages := map[string]int{}
	for _, a := range c.site.Arrivals(-1) {
		pages[a.Agent]++
	}
	share := float64(pages["heavy"]) / float64(pages["heavy"]+pages["light"])
	require.InDelta(t, 0.75, share, 0.15)
}

// Peers with certificates of one authority talk to each other; one of another is
// refused and harms nobody.
func TestClusterTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ours, theirs := filepath.Join(dir, "ours"), filepath.Join(dir, "theirs")
	run(t, "certs", ours, "--node", "n1", "--node", "n2", "--host", "127.0.0.1").finish()
	run(t, "certs", theirs, "--node", "n3", "--host", "127.0.0.1").finish()
	tls := func(dir, name string) []string {
		return []string{
			"-s", "CLUSTER_TLS_CA=" + filepath.Join(dir, "ca.pem"), "-s", "CLUSTER_TLS_CERT=" + filepath.Join(dir, name+".pem"),
			"-s", "CLUSTER_TLS_KEY=" + filepath.Join(dir, name+"-key.pem"),
		}
	}
	c := newCluster(t, 30, 25)
	c.join("n1", tls(ours, "n1")...)
	c.join("n2", tls(ours, "n2")...)
	c.join("n3", tls(theirs, "n3")...)
	c.form(3)
	for _, root := range c.site.Roots(0, 30) { // one by one: now this node takes it, now that
		require.NoError(t, c.rdb.RPush(within(t), "shop:start_urls", root).Err())
		eventually(t, func() bool { return c.rdb.Exists(within(t), "shop:start_urls").Val() == 0 }, "seed taken")
	}
	requireExact(t, c.site, stored(t, c.rdb, "shop", 30*25))
	c.polite("")
	of := func(name, what string) float64 { return metric(t, adminOf(t, c.nodes[name]), "orbweaver_"+what) }
	require.Positive(t, of("n1", "peer_messages_received_total")+of("n2", "peer_messages_received_total"))
	require.Zero(t, of("n3", "peer_messages_received_total"))
	for name, n := range c.nodes {
		said := strings.Count(n.err.String(), "certificate")
		require.Less(t, said, 20, "%s repeats itself", name)
	}
	require.Contains(t, c.nodes["n3"].err.String()+c.nodes["n1"].err.String()+c.nodes["n2"].err.String(), "unknown authority")
	for name := range c.nodes {
		require.Zero(t, of(name, `invariant_violations_total{invariant="start_not_stored"}`))
	}

	open := run(t, append([]string{"start", "-s", "CLUSTER_BIND=0.0.0.0:0", "-s", "CLUSTER_ADVERTISE=10.0.0.1:7080"}, c.settings()...)...)
	require.Equal(t, 2, open.code)
	require.Contains(t, open.err.String(), "CLUSTER_TLS_CERT")
	require.Contains(t, open.err.String(), "CLUSTER_INSECURE")
}

// Crawls of several names at the same sites: each is complete and ends once, the
// sites see one visitor.
func TestClusterSeveralCrawls(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 10, 20)
	c.join("n1")
	var crawls []*node
	for i := range 2 {
		args := append([]string{"crawl", "--name", fmt.Sprint("crawl", i), "--admin", "off"}, c.site.Roots(0, 10)...)
		crawls = append(crawls, start(t, append(args, c.settings()...)...))
	}
	for i, n := range crawls {
		n.finish()
		requireExact(t, c.site, stored(t, c.rdb, fmt.Sprint("crawl", i), 10*20))
		require.Contains(t, n.err.String(), "finished")
	}
	c.polite("")
}

// The same crawl by two commands at once, as workers of scrapy-redis are run: together
// they fetch each page once, and both say that it is finished.
func TestClusterOneCrawlTwice(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 12, 20)
	var crawls []*node
	for range 2 {
		args := append([]string{"crawl", "--name", "shop", "--admin", "off"}, c.site.Roots(0, 12)...)
		crawls = append(crawls, start(t, append(args, c.settings()...)...))
	}
	for _, n := range crawls {
		n.finish()
		require.Contains(t, n.err.String(), "finished")
	}
	requireExact(t, c.site, stored(t, c.rdb, "shop", 12*20))
	require.Zero(t, c.site.Refetched())
	c.polite("")
}

// Flushed and deleted while nodes crawl it, a crawl leaves no key behind, and the nodes
// go on with others.
func TestClusterDelete(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 30, 3000, "-s", "DOWNLOAD_DELAY=0")
	c.join("n1")
	c.join("n2")
	c.form(2)
	c.seed()
	require.NoError(t, c.site.WaitCount(within(t), 500))
	run(t, "crawls", "flush", "shop", "--redis", c.redis.URL()).finish()
	c.seed()
	require.NoError(t, c.site.WaitCount(within(t), c.site.Count()+500))
	run(t, "crawls", "delete", "shop", "--items", "--redis", c.redis.URL()).finish()
	for name, n := range c.nodes {
		n.say("crawl is no longer served")
		require.False(t, n.ended(), "%s has ended", name)
	}
	eventually(t, func() bool { return metric(t, adminOf(t, c.nodes["n1"]), "orbweaver_in_flight") == 0 }, "nothing in flight")
	require.Empty(t, c.rdb.Keys(within(t), "shop:*").Val())
	require.Empty(t, c.rdb.Keys(within(t), "{shop:*").Val())
	require.NotContains(t, run(t, "crawls", "list", "--redis", c.redis.URL()).finish().out.String(), "shop")

	run(t, "seed", "other", c.site.PageURL(0, 1), "--redis", c.redis.URL(), "--allow-private").finish()
	stored(t, c.rdb, "other", 1)
}

// Two commands of different crawls on one Redis do not wait for each other.
func TestClusterCrawlsOfTheirOwn(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 16, 15)
	var crawls []*node
	for i := range 2 {
		name := fmt.Sprint("crawl", i)
		args := append([]string{"crawl", "--name", name, "--admin", "off", "-s", "USER_AGENT=" + name, "-s", "ROBOTSTXT_USER_AGENT=orbweaver"},
			c.site.Roots(8*i, 8*i+8)...)
		crawls = append(crawls, start(t, append(args, c.settings()...)...))
	}
	for _, n := range crawls {
		n.finish()
	}
	require.Empty(t, c.site.Missing())
	c.polite("")
	for h := range c.site.Hosts() {
		all := c.site.Arrivals(h)
		for i, a := range all {
			require.Equal(t, fmt.Sprint("crawl", h/8), a.Agent)
			if i > 0 {
				require.Less(t, a.Start.Sub(all[i-1].Start), clusterTTL, "host %d stood still", h)
			}
		}
	}
}
