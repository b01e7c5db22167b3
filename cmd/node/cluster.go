package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"orbweaver/cluster"
	"orbweaver/cluster/certs"
	"orbweaver/cluster/peer"
	"orbweaver/config"
	"orbweaver/core/placement"
	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

// protocol is the version of the language between nodes.
const protocol = 1

// wokenBatch is how many hosts of one crawl a message names at most.
const wokenBatch = 500

// places knows which slots are this node's, and tells the other nodes of theirs.
// Before the node has joined nothing is its own.
type places struct {
	self     string
	single   bool
	peer     *peer.Peer // nil: nobody is told
	provider atomic.Pointer[cluster.Provider]
	left     atomic.Bool // the node leaves: everything is the others'
	view     atomic.Pointer[view]
}

// view is the placement of a moment: for all crawls that every member serves, and for each
// other one among those that serve it.
type view struct {
	base    *placement.Map
	members *cluster.Topology
	without string          // a member that does not count; "": all do
	only    map[string]bool // crawls that some member works for alone; empty: none
	all     *placement.Map  // of members that serve every crawl
	byCrawl sync.Map        // crawl of only -> *placement.Map
}

// now gives the view, made anew when the placement or the members changed.
func (p *places) now() *view {
	provider := p.provider.Load()
	if provider == nil {
		return &view{}
	}
	base, members := (*provider).Placement(), (*provider).Topology()
	without := ""
	if p.left.Load() {
		without = p.self
	}
	if v := p.view.Load(); v != nil && v.base == base && v.members == members && v.without == without {
		return v
	}
	v := &view{base: base, members: members, without: without, only: map[string]bool{}}
	for i := range members.Members {
		if crawl := members.Members[i].Crawl; crawl != "" {
			v.only[crawl] = true
		}
	}
	v.all = v.among("")
	p.view.Store(v)
	return v
}

// among is the placement among the members that serve a crawl.
func (v *view) among(crawl string) *placement.Map {
	if len(v.only) == 0 && v.without == "" {
		return v.base
	}
	serves := make(map[string]bool, len(v.members.Members))
	for i := range v.members.Members {
		m := &v.members.Members[i]
		serves[m.ID] = m.ID != v.without && (m.Crawl == "" || m.Crawl == crawl)
	}
	return placement.New(slices.DeleteFunc(v.base.Members(), func(m placement.Member) bool { return !serves[m.ID] }))
}

// of is the placement for a crawl.
func (v *view) of(crawl string) *placement.Map {
	if !v.only[crawl] {
		return v.all
	}
	if m, ok := v.byCrawl.Load(crawl); ok {
		return m.(*placement.Map) //nolint:forcetypeassert // only maps are stored
	}
	m := v.among(crawl)
	v.byCrawl.Store(crawl, m)
	return m
}

// Mine implements domain.Places.
func (p *places) Mine(slot, crawl string) bool {
	return p.single || p.now().of(crawl).Owner(slot) == p.self
}

// Owner is the member that should own a slot for a crawl; false when there is none.
func (p *places) Owner(slot, crawl string) (cluster.Member, bool) {
	v := p.now()
	id := v.of(crawl).Owner(slot)
	if id == "" {
		return cluster.Member{}, false
	}
	for _, m := range v.members.Members {
		if m.ID == id {
			return m, true
		}
	}
	return cluster.Member{}, false
}

// Fence implements domain.Places.
func (p *places) Fence() time.Time {
	if provider := p.provider.Load(); provider != nil {
		return (*provider).Fence()
	}
	return time.Time{}
}

// Forward implements domain.Places.
func (p *places) Forward(refs []rqueue.HostRef, released bool) {
	if p.peer == nil {
		return
	}
	v := p.now()
	type to struct {
		owner string
		crawl *rqueue.Crawl
	}
	hosts := map[to][]string{}
	for _, ref := range refs {
		if owner := v.of(ref.Crawl.Name()).Owner(ref.Host); owner != "" && owner != p.self {
			k := to{owner, ref.Crawl}
			hosts[k] = append(hosts[k], ref.Host)
		}
	}
	if len(hosts) == 0 {
		return
	}
	addresses := make(map[string]string, len(v.members.Members))
	for i := range v.members.Members {
		addresses[v.members.Members[i].ID] = v.members.Members[i].Address
	}
	for k, all := range hosts {
		for chunk := range slices.Chunk(all, wokenBatch) {
			p.peer.Send(addresses[k.owner], messages.DomainsName, &messages.Woken{
				Version: 1, From: p.self, Released: released,
				Crawls: []*messages.CrawlHosts{{Crawl: k.crawl.Name(), Run: k.crawl.Run(), Hosts: chunk}},
			})
		}
	}
}

func (p *places) close() {
	if p.peer != nil {
		p.peer.Close()
	}
}

// startPeer listens for the other nodes; nil when there are none to listen for.
func (n *Node) startPeer() error {
	c := n.cfg.Cluster
	n.places = &places{self: n.id, single: c.Provider == "single" || c.Provider == "auto" && n.store.Embedded()}
	if n.places.single {
		return nil
	}
	cfg := peer.Config{
		Bind: c.Bind, Advertise: c.Advertise, Insecure: c.Insecure,
		Accept:  []string{string((&messages.Woken{}).ProtoReflect().Descriptor().FullName())},
		Targets: []string{messages.DomainsName},
	}
	if c.TLSCert != "" {
		source, err := certs.Load(certs.Files{CA: c.TLSCA, Cert: c.TLSCert, Key: c.TLSKey}, n.log)
		if err != nil {
			return usage(err)
		}
		cfg.TLS = source
	}
	p, err := peer.Start(n.system, cfg, n.log.WithField("part", "peer"))
	if err != nil {
		return usage(err)
	}
	n.places.peer = p
	return nil
}

// join makes the node a member and follows the placement of slots.
func (n *Node) join(ctx context.Context, only string) error {
	self := cluster.Member{ID: n.id, Version: version, Protocol: protocol, Weight: n.cfg.Cluster.Weight, Crawl: only}
	var provider cluster.Provider
	if n.places.single {
		provider = cluster.NewSingle(self)
	} else {
		self.Address = n.places.peer.Address()
		if a := n.admin.address(); a != "off" {
			self.Admin = "http://" + a
		}
		redis, err := cluster.NewRedis(n.store.Client(), clusterConfig(n.cfg, self), n.log.WithField("part", "cluster"))
		if err != nil {
			return usage(err)
		}
		provider = redis
	}
	if err := provider.Start(ctx); err != nil {
		return &exitError{exitStore, err}
	}
	n.places.provider.Store(&provider)
	n.provider = provider
	n.following.Go(func() { n.follow(provider) })
	return nil
}

func clusterConfig(cfg *config.Config, self cluster.Member) cluster.Config {
	c := cfg.Cluster
	ramp := c.Ramp
	if ramp == 0 {
		ramp = -1
	}
	return cluster.Config{
		Self: self, TTL: c.TTL, Heartbeat: c.Heartbeat, Margin: c.TTL / 5, Grace: 3 * c.Heartbeat / 2, Ramp: ramp,
	}.WithDefaults()
}

// follow tells the actors when slots move.
func (n *Node) follow(provider cluster.Provider) {
	for {
		select {
		case <-provider.Watch():
			n.system.Root.Send(n.domains, &messages.Moved{})
			n.system.Root.Send(n.scheduler, &messages.Moved{})
		case <-n.left:
			return
		}
	}
}

// leave gives the node's slots to the others, who are told of each as it gets free.
func (n *Node) leave() {
	if n.provider == nil {
		return
	}
	n.places.left.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := n.provider.Leave(ctx); err != nil {
		n.log.WithField("err", err).Warn("cluster not left, the others will notice")
	}
}

// evicted is closed when the other nodes have given this one up.
func (n *Node) evicted() <-chan struct{} { return n.provider.Evicted() }

// errEvicted ends a process that is no member any more.
var errEvicted = errors.New("the other nodes have given this one up (it was cut off from Redis, or stopped, for longer than CLUSTER_TTL): " +
	"start it again; what it had under way is fetched by others")

// abandon cuts off everything that is in flight: the slots are others' already.
func (n *Node) abandon() error {
	n.log.WithFields(logrus.Fields{"node": n.id}).Error("evicted from the cluster: every fetch is cut off")
	if _, err := ask[*messages.Drained](n, n.domains, &messages.Drain{Now: true}, time.Second); err != nil {
		n.log.WithField("err", err).Debug("domains did not end in time")
	}
	return &exitError{exitEvicted, errEvicted}
}

// crawlOf is the crawl of that name in that incarnation, if this node serves it. One
// that it does not know yet is looked for.
func (n *Node) crawlOf(name string, run int64) *rqueue.Crawl {
	var found *rqueue.Crawl
	n.jobs.Range(func(k, _ any) bool {
		if c, ok := k.(*rqueue.Crawl); ok && c.Name() == name && c.Run() == run {
			found = c
		}
		return found == nil
	})
	if found == nil {
		n.lookForCrawls()
	}
	return found
}

func (n *Node) lookForCrawls() {
	select {
	case n.crawlsChanged <- struct{}{}:
	default:
	}
}
