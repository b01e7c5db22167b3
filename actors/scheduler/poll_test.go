package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/redis/go-redis/v9"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"orbweaver/actors/supervise"
	"orbweaver/core/rqueue"
	"orbweaver/core/weburl"
	"orbweaver/internal/actortest"
	"orbweaver/internal/redistest"
	"orbweaver/messages"
)

// node is a scheduler on a real redis-server.
type node struct {
	*testing.T
	server    *redistest.Server
	rdb       *redis.Client
	frontier  *rqueue.Frontier
	sys       *actor.ActorSystem
	scheduler *actor.PID
	domains   *actortest.Probe
	owner     *actortest.Probe
	logs      *logtest.Hook

	mu   sync.Mutex
	room int             // guarded by mu
	away map[string]bool // guarded by mu; hosts of another node
}

// all is a node that is alone.
func all(string, string) bool { return true }

func (n *node) mine(host, _ string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.away[host]
}

func newNode(t *testing.T) *node {
	t.Helper()
	log, hook := logtest.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	sys := actortest.NewSystem()
	n := &node{T: t, server: redistest.New(t), sys: sys, domains: actortest.NewProbe(t, sys), owner: actortest.NewProbe(t, sys), logs: hook, room: 1000}
	n.rdb = n.server.Client()
	var err error
	n.frontier, err = rqueue.Open(t.Context(), n.rdb, rqueue.Config{Node: "n1", Exclusive: true, Shards: 4})
	require.NoError(t, err)
	cfg := Config{Poll: 20 * time.Millisecond, SeedBatch: 8, Wakes: 100, Adopt: 300 * time.Millisecond}.WithDefaults()
	deps := Deps{Frontier: n.frontier, Domains: n.domains.PID, Room: n.hasRoom, Mine: n.mine, Log: log}
	started := make(chan *actor.PID, 1)
	parent := sys.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
		if _, ok := ctx.Message().(*actor.Started); ok {
			started <- ctx.Spawn(actor.PropsFromProducer(func() actor.Actor { return New(cfg, deps) }))
		}
	}, actor.WithSupervisor(supervise.NewStrategy(log, nil))))
	n.scheduler = <-started
	t.Cleanup(func() {
		if !t.Failed() { // what failed may hang
			actortest.Ask[*messages.Drained](t, sys, n.scheduler, &messages.Drain{})
		}
		actortest.Stop(t, sys, parent)
		n.domains.Stop(t)
		n.owner.Stop(t)
	})
	return n
}

func (n *node) hasRoom() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.room
}

func (n *node) setRoom(room int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.room = room
}

func (n *node) open(name string) *rqueue.Crawl {
	n.Helper()
	c, err := n.frontier.OpenCrawl(n.Context(), rqueue.Spec{Name: name}, false)
	require.NoError(n, err)
	return c
}

func (n *node) reader() *SeedReader {
	n.Helper()
	scope, err := weburl.NewScope("seeds", nil)
	require.NoError(n, err)
	return &SeedReader{Fingerprint: &weburl.Fingerprinter{}, Scope: scope, Check: func(url string) error {
		if weburl.Host(url) == "private.test" {
			return errors.New("it is private")
		}
		return nil
	}}
}

// attach serves a crawl and gives the reader of its seeds.
func (n *node) attach(c *rqueue.Crawl, finish bool) *SeedReader {
	n.Helper()
	r := n.reader()
	n.sys.Root.Send(n.scheduler, &Attach{Crawl: c, Seeds: r, FinishWhenIdle: finish, Report: n.owner.PID})
	return r
}

func (n *node) push(c *rqueue.Crawl, payloads ...any) {
	n.Helper()
	require.NoError(n, n.rdb.RPush(n.Context(), c.Name()+":start_urls", payloads...).Err())
	n.sys.Root.Send(n.scheduler, &messages.SeedsPushed{Crawl: c.Name()})
}

// woken waits until each of the hosts was woken for the crawl.
func (n *node) woken(c *rqueue.Crawl, hosts ...string) {
	n.Helper()
	want := map[string]bool{}
	for _, h := range hosts {
		want[h] = true
	}
	for len(want) > 0 {
		for _, ref := range actortest.Expect[*messages.Wake](n, n.domains).Refs {
			if ref.Crawl == c {
				delete(want, ref.Host)
			}
		}
	}
}

// work takes all requests of a host and ends them, as its domain would.
func (n *node) work(c *rqueue.Crawl, host string) (urls []string) {
	n.Helper()
	ctx := n.Context()
	s := n.frontier.NewSession()
	defer func() { require.NoError(n, s.Close()) }()
	a := &rqueue.Acquire{Slot: host, Crawls: []*rqueue.Crawl{c}}
	require.NoError(n, errors.Join(n.frontier.Do(ctx, a), a.Err))
	l := &rqueue.Lease{Slot: host, Token: a.Token, Crawl: c, Max: 100}
	require.NoError(n, errors.Join(n.frontier.Do(ctx, l), l.Err))
	var pages []*rqueue.Page
	for _, r := range l.Requests {
		urls = append(urls, r.Request.URL)
		require.True(n, r.Request.Seed)
		pages = append(pages, &rqueue.Page{Crawl: c, Host: host, ID: r.Request.ID, Token: r.Token})
	}
	_, err := s.Commit(ctx, pages, nil)
	require.NoError(n, err)
	r := &rqueue.Release{Slot: host, Token: a.Token, Crawls: []*rqueue.Crawl{c}}
	require.NoError(n, errors.Join(n.frontier.Do(ctx, r), r.Err))
	return urls
}

func TestSeedsStartACrawl(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	c := n.open("shop")
	n.push(c, "http://a.test/1", `{"url": "http://b.test/2", "meta": {"k": 1}}`, "http://a.test/3")
	reader := n.attach(c, true)
	n.woken(c, "a.test", "b.test")
	require.True(t, reader.Scope.Allows("b.test"))
	hosts, err := c.SeedHosts(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"a.test", "b.test"}, hosts)
	require.Equal(t, []string{"http://a.test/1", "http://a.test/3"}, n.work(c, "a.test"))
	n.owner.Empty(t)
	require.Equal(t, []string{"http://b.test/2"}, n.work(c, "b.test"))
	require.Same(t, c, actortest.Expect[*Finished](t, n.owner).Crawl)
	n.sys.Root.Send(n.scheduler, &messages.SeedsPushed{})
	actortest.Flush(t, n.sys, n.scheduler)
	n.owner.Empty(t)
	require.Zero(t, n.rdb.HLen(t.Context(), "{shop:start_urls}:taken").Val(), "every claim is acknowledged")
}

// More seeds than one batch are all taken, in one go.
func TestManySeeds(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	c := n.open("c")
	n.attach(c, false)
	var all []any
	for i := range 100 {
		all = append(all, fmt.Sprintf("http://h%d.test/", i))
	}
	n.push(c, all...)
	var hosts []string
	for i := range 100 {
		hosts = append(hosts, fmt.Sprintf("h%d.test", i))
	}
	n.woken(c, hosts...)
}

// What cannot be read is put aside with the reason; the others go on.
func TestSeedsAreRejected(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	c := n.open("c")
	n.attach(c, false)
	n.push(c, "not a url", "http://a.test/", "\xff\xfe", `{"no": "url"}`, "http://private.test/", "ftp://b.test/")
	n.woken(c, "a.test")
	ctx := t.Context()
	require.Eventually(t, func() bool { return n.rdb.LLen(ctx, "c:start_urls:rejected").Val() == 5 }, 10*time.Second, 5*time.Millisecond)
	reasons := map[string]string{}
	for _, text := range n.rdb.LRange(ctx, "c:start_urls:rejected", 0, -1).Val() {
		var r struct{ Payload, Reason string }
		require.NoError(t, json.Unmarshal([]byte(text), &r))
		reasons[r.Payload] = r.Reason
	}
	require.Equal(t, "it is private", reasons["http://private.test/"])
	require.NotEmpty(t, reasons["not a url"])
	require.Zero(t, n.rdb.HLen(ctx, "{c:start_urls}:taken").Val())
}

// A rejected list that cannot be written keeps no good seed waiting, and a start
// key that cannot be read no host.
func TestBrokenSeedKeysHinderNobody(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	ctx := t.Context()
	c, d := n.open("c"), n.open("d")
	require.NoError(t, n.rdb.Set(ctx, "c:start_urls:rejected", "a string", 0).Err())
	require.NoError(t, n.rdb.Set(ctx, "d:start_urls", "a string", 0).Err())
	s := n.frontier.NewSession()
	req, host, err := n.reader().Read([]byte("http://due.test/"), [16]byte{1})
	require.NoError(t, err)
	_, _, err = s.Enqueue(ctx, []rqueue.Link{{Crawl: d, Host: host, Request: req}})
	require.NoError(t, errors.Join(err, s.Close()))
	n.attach(c, false)
	n.attach(d, true)
	n.push(c, "not a url", "http://a.test/")
	n.woken(c, "a.test")
	n.woken(d, "due.test")
	snap := actortest.Ask[*Snapshot](t, n.sys, n.scheduler, &messages.Inspect{})
	require.NotEmpty(t, snap.LastError)
	n.owner.Empty(t)
	require.NoError(t, n.rdb.Del(ctx, "d:start_urls", "c:start_urls:rejected").Err())
}

// Claims of a process that died are taken again.
func TestSeedsOfTheDeadAreTaken(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	c := n.open("c")
	ctx := t.Context()
	require.NoError(t, n.rdb.RPush(ctx, "c:start_urls", "http://a.test/").Err())
	other, err := rqueue.Open(ctx, n.rdb, rqueue.Config{Node: "n0", Shards: 4})
	require.NoError(t, err)
	oc, err := other.OpenCrawl(ctx, rqueue.Spec{Name: "c"}, false)
	require.NoError(t, err)
	claimed, err := oc.ClaimSeeds(ctx, 1)
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	n.attach(c, true)
	n.woken(c, "a.test")
	n.work(c, "a.test")
	actortest.Expect[*Finished](t, n.owner)
}

func (n *node) seed(msg *messages.Seed) *messages.SeedResult {
	n.Helper()
	return actortest.Ask[*messages.SeedResult](n, n.sys, n.scheduler, msg)
}

func TestSeedMessage(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	c := n.open("c")
	n.attach(c, false)
	res := n.seed(&messages.Seed{Version: 1, Crawl: "c", Payloads: [][]byte{[]byte("http://a.test/"), []byte("nothing"), []byte(`{"url":"http://b.test/"}`)}})
	require.Empty(t, res.GetError())
	require.EqualValues(t, 2, res.GetAccepted())
	require.Len(t, res.GetRejected(), 1)
	require.Equal(t, "nothing", string(res.GetRejected()[0].GetPayload()))
	require.NotEmpty(t, res.GetRejected()[0].GetReason())
	n.woken(c, "a.test", "b.test")
	require.Contains(t, n.seed(&messages.Seed{Crawl: "other"}).GetError(), `"other"`)
	require.Zero(t, n.seed(&messages.Seed{Crawl: "c"}).GetAccepted())
	n.sys.Root.Send(n.scheduler, &messages.Seed{Crawl: "c", Payloads: [][]byte{[]byte("http://c.test/")}}) // nobody to answer
	n.woken(c, "c.test")
}

// Hosts that are due are woken as far as there is room, and all in the end.
func TestWakesAreBoundedByRoom(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.setRoom(3)
	c := n.open("c")
	n.attach(c, false)
	var hosts []string
	s := n.frontier.NewSession()
	for i := range 10 {
		host := fmt.Sprintf("h%d.test", i)
		req, _, err := n.reader().Read([]byte("http://"+host+"/"), [16]byte{byte(i + 1)})
		require.NoError(t, err)
		_, _, err = s.Enqueue(t.Context(), []rqueue.Link{{Crawl: c, Host: host, Request: req}})
		require.NoError(t, err)
		hosts = append(hosts, host)
	}
	require.NoError(t, s.Close())
	for range 20 {
		require.LessOrEqual(t, len(actortest.Expect[*messages.Wake](t, n.domains).Refs), 3)
	}
	n.woken(c, hosts...)
}

// A crawl is left alone once it is detached, also while it is polled.
func TestDetach(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for range 20 {
		c := n.open("c")
		n.attach(c, true)
		n.sys.Root.Send(n.scheduler, &Detach{Crawl: c})
		n.sys.Root.Send(n.scheduler, &Detach{Crawl: c})
	}
	require.Empty(t, actortest.Ask[*Snapshot](t, n.sys, n.scheduler, &messages.Inspect{}).Crawls)
}

// The store dies and comes back: said once, and the crawl goes on.
func TestStoreComesBack(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	c := n.open("c")
	n.push(c, "http://b.test/")
	n.attach(c, true)
	n.woken(c, "b.test")
	n.server.Pause()
	n.push1(c)
	n.server.Resume()
	n.push(c, "http://a.test/")
	n.woken(c, "a.test")
	n.work(c, "a.test")
	n.work(c, "b.test")
	actortest.Expect[*Finished](t, n.owner)
}

// push1 asks for a poll of a store that does not answer.
func (n *node) push1(c *rqueue.Crawl) {
	n.Helper()
	ctx, cancel := context.WithTimeout(n.Context(), 50*time.Millisecond)
	defer cancel()
	require.Error(n, n.rdb.Ping(ctx).Err())
	n.sys.Root.Send(n.scheduler, &messages.SeedsPushed{Crawl: c.Name()})
}

// A scheduler that panics goes on with the crawls that it was given.
func TestCrawlsOutliveAPanic(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	c := n.open("c")
	n.push(c, "http://a.test/")
	n.attach(c, true)
	n.woken(c, "a.test")
	n.sys.Root.Send(n.scheduler, (*messages.Do)(nil))
	n.sys.Root.Send(n.scheduler, &messages.SeedsPushed{Crawl: "c"})
	n.push(c, "http://b.test/")
	n.woken(c, "b.test")
	n.work(c, "a.test")
	n.work(c, "b.test")
	actortest.Expect[*Finished](t, n.owner)
}

// TestOthersHosts: hosts of another node are left to it, until it has not looked at
// them for longer than a lease lives.
func TestOthersHosts(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.mu.Lock()
	n.away = map[string]bool{"b.test": true, "c.test": true}
	n.mu.Unlock()
	c := n.open("shop")
	n.push(c, "http://a.test/", "http://b.test/", "http://c.test/")
	n.attach(c, false)
	require.GreaterOrEqual(t, len(actortest.Expect[*messages.Wake](t, n.domains).Refs), 3, "what is new is for `domains` to pass on")
	// Long due: nobody has looked.
	long := float64(time.Now().Add(-time.Minute).UnixMilli())
	for shard := range 4 {
		key := fmt.Sprintf("shop:{%d}:hosts", shard)
		for _, host := range n.rdb.ZRange(t.Context(), key, 0, -1).Val() {
			if host == "b.test" {
				require.NoError(t, n.rdb.ZAdd(t.Context(), key, redis.Z{Score: long, Member: host}).Err())
			}
		}
	}
	for range 1000 {
		w := actortest.Expect[*messages.Wake](t, n.domains)
		if w.Here {
			require.Equal(t, []rqueue.HostRef{{Crawl: c, Host: "b.test"}}, w.Refs)
			return
		}
		require.Equal(t, []rqueue.HostRef{{Crawl: c, Host: "a.test"}}, w.Refs, "c.test is its owner's, b.test for long")
	}
	t.Fatal("b.test is never taken")
}
