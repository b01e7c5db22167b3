package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"orbweaver/actors/domain"
	"orbweaver/admin"
	"orbweaver/cluster"
	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

// askTimeout bounds how long an actor may take to say how it is.
const askTimeout = 2 * time.Second

// inspector shows a node's actors: a message to each that is concerned.
type inspector struct{ n *Node }

// Actors implements admin.Inspector. A domain's fetchers are left out: they are its own.
func (i inspector) Actors(context.Context) ([]admin.Actor, error) {
	var out []admin.Actor
	for _, e := range i.n.registry.List(i.n.system) {
		state := "running"
		if e.Error != "" {
			state = "restarted: " + e.Error
		}
		out = append(out, admin.Actor{ID: e.ID, Kind: e.Kind, Parent: e.Parent, State: state, Mailbox: e.Mailbox, Restarts: e.Restarts})
	}
	snap, err := i.domains()
	if err != nil {
		return nil, err
	}
	for _, c := range snap.Domains {
		state := "running"
		if c.Leaving {
			state = "leaving"
		}
		out = append(out, admin.Actor{ID: c.PID.Id, Kind: "domain", Parent: i.n.domains.Id, State: state, Mailbox: c.Mailbox, Restarts: c.Restarts})
	}
	return out, nil
}

func (i inspector) domains() (*domain.SupervisorSnapshot, error) {
	snap, err := ask[*domain.SupervisorSnapshot](i.n, i.n.domains, &messages.Inspect{}, askTimeout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", admin.ErrUnavailable, err)
	}
	return snap, nil
}

// Domains implements admin.Inspector. In the order of slots only the page's domains
// are asked; any other order needs them all.
func (i inspector) Domains(_ context.Context, q admin.DomainQuery) (admin.DomainPage, error) {
	snap, err := i.domains()
	if err != nil {
		return admin.DomainPage{}, err
	}
	children := snap.Domains
	if q.Sort != "slot" || q.Down {
		return admin.Paginate(i.ask(children), q), nil
	}
	from := 0
	for from < len(children) && q.After != "" && children[from].Slot <= q.After {
		from++
	}
	page := children[from:min(len(children), from+q.Limit)]
	out := admin.DomainPage{Domains: i.ask(page), Total: len(children)}
	if from+len(page) < len(children) {
		out.Next = page[len(page)-1].Slot
	}
	return out, nil
}

// ask asks domains at once; one that has stopped meanwhile is left out.
func (i inspector) ask(children []domain.Child) []admin.Domain {
	futures := make([]*actor.Future, len(children))
	for k, c := range children {
		futures[k] = i.n.system.Root.RequestFuture(c.PID, &messages.Inspect{}, askTimeout)
	}
	out := make([]admin.Domain, 0, len(children))
	for _, f := range futures {
		if res, err := f.Result(); err == nil {
			if s, ok := res.(*domain.Snapshot); ok {
				out = append(out, domainOf(s))
			}
		}
	}
	return out
}

func domainOf(s *domain.Snapshot) admin.Domain {
	d := admin.Domain{
		Slot: s.Slot, Delay: admin.Seconds(s.Delay), Concurrency: s.Concurrency, SlotsInUse: s.InUse, Reason: string(s.Reason),
		Queue: int64(s.Waiting + s.Buffered), LastError: s.LastError, LastStatus: s.LastStatus, LastLatency: admin.Seconds(s.LastLatency), Crawls: s.Crawls,
	}
	if s.Buffered > 0 || s.NextIn > 0 {
		next := admin.Seconds(s.NextIn)
		d.NextFetchIn = &next
	}
	return d
}

// Domain implements admin.Inspector.
func (i inspector) Domain(_ context.Context, slot string) (admin.Domain, error) {
	snap, err := i.domains()
	if err != nil {
		return admin.Domain{}, err
	}
	for _, c := range snap.Domains {
		if c.Slot == slot {
			if got := i.ask([]domain.Child{c}); len(got) == 1 {
				return got[0], nil
			}
		}
	}
	if owner, ok := i.n.places.Owner(slot, ""); ok && owner.ID != i.n.id {
		return admin.Domain{}, &admin.ElsewhereError{Slot: slot, Owner: nodeOf(&owner)}
	}
	return admin.Domain{}, fmt.Errorf("%w: no live domain %q on this node (it has nothing due, or is not known)", admin.ErrNotFound, slot)
}

// clusterView shows the nodes.
type clusterView struct{ n *Node }

// Nodes implements admin.Cluster.
func (c clusterView) Nodes(context.Context) ([]admin.Node, error) {
	provider := c.n.places.provider.Load()
	if provider == nil {
		return nil, fmt.Errorf("%w: the node has not joined the cluster yet", admin.ErrUnavailable)
	}
	shares, sum := map[string]float64{}, 0.0
	for _, m := range (*provider).Placement().Members() {
		shares[m.ID] = m.Weight
		sum += m.Weight
	}
	topology := (*provider).Topology()
	out := make([]admin.Node, 0, len(topology.Members))
	for i := range topology.Members {
		m := &topology.Members[i]
		node := nodeOf(m)
		node.Self = m.ID == c.n.id
		node.Age = admin.Seconds(m.Age + time.Since(topology.At))
		if sum > 0 {
			node.Share = shares[m.ID] / sum
		}
		out = append(out, node)
	}
	return out, nil
}

func nodeOf(m *cluster.Member) admin.Node {
	return admin.Node{ID: m.ID, Address: m.Address, Admin: m.Admin, Version: m.Version, Weight: m.Weight, Crawl: m.Crawl}
}

// crawler shows the crawls and takes seeds.
type crawler struct{ n *Node }

// Crawls implements admin.Crawler.
func (c crawler) Crawls(ctx context.Context) ([]admin.Crawl, error) {
	infos, err := c.n.frontier.Crawls(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", admin.ErrUnavailable, err)
	}
	out := make([]admin.Crawl, 0, len(infos))
	for _, info := range infos {
		a := admin.Crawl{Name: info.Name, State: string(info.State)}
		if served := c.n.served(info.Name); served != nil {
			if err := fillCrawl(ctx, &a, served); err != nil {
				return nil, fmt.Errorf("%w: %w", admin.ErrUnavailable, err)
			}
		}
		out = append(out, a)
	}
	return out, nil
}

func fillCrawl(ctx context.Context, a *admin.Crawl, c *rqueue.Crawl) error {
	counts, err := c.Counts(ctx)
	if err != nil {
		return err
	}
	a.Waiting, a.Delayed, a.Leased, a.Done, a.Dead = counts.Waiting, counts.Delayed, counts.Leased, counts.Done, counts.Dead
	if a.Stats, err = c.Stats(ctx); err != nil {
		return err
	}
	a.Items = a.Stats["item_scraped_count"]
	return nil
}

// served is the crawl of that name that this node serves, or nil.
func (n *Node) served(name string) *rqueue.Crawl {
	var found *rqueue.Crawl
	n.jobs.Range(func(k, _ any) bool {
		if c, ok := k.(*rqueue.Crawl); ok && c.Name() == name {
			found = c
		}
		return true
	})
	return found
}

// Seed implements admin.Crawler: a Seed message to the scheduler actor.
func (c crawler) Seed(_ context.Context, name string, payloads [][]byte) ([]error, error) {
	if c.n.served(name) == nil {
		return nil, fmt.Errorf("%w: this node serves no crawl %q", admin.ErrNotFound, name)
	}
	res, err := ask[*messages.SeedResult](c.n, c.n.scheduler, &messages.Seed{Version: 1, Crawl: name, Payloads: payloads}, 10*time.Second)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", admin.ErrUnavailable, err)
	}
	if res.GetError() != "" {
		return nil, fmt.Errorf("%w: %s", admin.ErrUnavailable, res.GetError())
	}
	if len(res.GetRejected()) == 0 {
		return nil, nil
	}
	why := make(map[string]error, len(res.GetRejected()))
	for _, r := range res.GetRejected() {
		why[string(r.GetPayload())] = errors.New(r.GetReason())
	}
	refused := make([]error, len(payloads))
	for i, p := range payloads {
		refused[i] = why[string(p)]
	}
	return refused, nil
}
