package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

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
	c.polite(nil)
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
	c.polite(nil)
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
	c.polite(nil)
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
