package e2e

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/webtest"
)

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
	back := time.Now().Add(10 * time.Second) // five times CLUSTER_TTL
	time.AfterFunc(time.Until(back), c.redis.Resume)
	items := stored(t, c.rdb, "shop", 20*40)
	requireExact(t, c.site, items)
	for name, n := range c.nodes {
		require.False(t, n.ended(), "%s has ended", name)
		require.True(t, slices.ContainsFunc(c.site.Arrivals(-1), func(a webtest.Arrival) bool {
			return a.Agent == name && a.Start.After(back)
		}), "%s does not go on", name)
	}
	names, _ := c.members()
	require.Equal(t, []string{"n1", "n2", "n3"}, names)
	c.polite(nil)
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
	c.polite(nil)
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
	c.polite(nil)
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
