// Package domain holds `domains`, the supervisor of every slot that this node
// owns, and the domain actor, one per live slot.
//
// `domains` spawns a domain when a host has work due, up to a cap, and keeps the
// node's table of requests in flight. A domain holds its slot's lease, leases
// requests, keeps the politeness of the slot (package throttle), asks robots.txt
// and hands requests to its fetcher children.
//
//	in   Wake, Settled, Parked, Drain, Moved, Inspect    from the scheduler, the pipeline, the node
//	in   Woken                                   from `domains` of other nodes
//	out  Do -> scheduler, Fetch -> fetchers, Page -> pipeline, Woken -> other nodes
//	     errand, errandDone                      between domains, by way of `domains`
//
// Placement says which node should own a slot. When a slot moves, its domain gives
// back what it has not sent, releases the slot when its last fetch is over, and tells
// the new owner, who goes on at the stored next start.
//
// A domain that panics is restarted: it acquires its slot anew and recovers all
// leases but those in the table. All that a slot has learned is in Redis.
package domain

import (
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"orbweaver/actors/supervise"
	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

// Supervisor is the `domains` actor.
type Supervisor struct {
	cfg  Config
	deps Deps
	log  logrus.FieldLogger

	children map[string]*child
	bySlotID map[string]string // child PID id -> slot
	capped   int64
	drainTo  *actor.PID // who asked for Drain; nil: not draining
	drainNow bool
}

// child is what the supervisor knows of one domain.
type child struct {
	pid      *actor.PID
	mailbox  actor.Mailbox
	restarts atomic.Int64
	leaving  bool
	moving   bool            // another node should own its slot
	pending  []*rqueue.Crawl // woken while leaving
	late     []*errand       // came while leaving

	kept // confined to the domain; the supervisor's once that has stopped

	// crawls that were woken: what a restarted domain starts with. Each slice is
	// never changed once it is stored.
	crawls atomic.Pointer[[]*rqueue.Crawl]
}

// knows adds a crawl to those that a restart starts with.
func (c *child) knows(woken *rqueue.Crawl) {
	old := c.known()
	if slices.Contains(old, woken) {
		return
	}
	all := append(slices.Clone(old), woken)
	c.crawls.Store(&all)
}

// known are the crawls that a restart starts with; none while the domain only does
// errands.
func (c *child) known() []*rqueue.Crawl {
	if p := c.crawls.Load(); p != nil {
		return *p
	}
	return nil
}

// NewSupervisor makes the `domains` actor. It panics when deps are missing.
func NewSupervisor(cfg Config, deps Deps) *Supervisor {
	deps.check()
	return &Supervisor{
		cfg: cfg, deps: deps, log: deps.Log.WithField("actor", messages.DomainsName),
		children: map[string]*child{}, bySlotID: map[string]string{},
	}
}

// Receive implements actor.Actor.
func (s *Supervisor) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *messages.Wake:
		s.onWake(ctx, msg)
	case *messages.Woken:
		s.onWoken(ctx, msg)
	case *messages.Moved:
		s.onMoved(ctx)
	case *messages.Settled:
		s.onSettled(ctx, msg)
	case *messages.Parked:
		s.onParked(ctx, msg)
	case *errand:
		s.onErrand(ctx, msg)
	case *errandDone:
		if c := s.children[msg.errand.asker]; c != nil {
			ctx.Send(c.pid, msg)
		}
	case *stay:
		s.onStay(ctx, msg)
	case *passivate:
		s.onPassivate(msg)
	case *actor.Terminated:
		s.onTerminated(ctx, msg)
	case *messages.Drain:
		s.onDrain(ctx, msg)
	case *messages.Inspect:
		ctx.Respond(s.snapshot())
	case *actor.Started:
		s.deps.Table.reset() // whatever an earlier incarnation's domains had is nobody's now
	case *actor.Stopping, *actor.Stopped, *actor.Restarting:
	default:
		s.log.WithField("type", typeName(msg)).Warn("unexpected message")
	}
}

// HandleFailure implements actor.SupervisorStrategy for the domains: a domain
// that fails too often is stopped; its lease lapses and the due index brings
// its host back.
func (s *Supervisor) HandleFailure(sys *actor.ActorSystem, sup actor.Supervisor, pid *actor.PID, rs *actor.RestartStatistics, reason, message any) {
	strategy := supervise.Strategy{Base: 50 * time.Millisecond, Max: 10 * time.Second, Window: time.Minute, Limit: 10, Log: s.log}
	c := s.children[s.bySlotID[pid.Id]]
	if c != nil {
		c.restarts.Add(1)
	}
	if s.drainTo != nil || c != nil && c.moving { // its next incarnation does not know yet
		sys.Root.Send(pid, &drain{now: s.drainNow})
	}
	strategy.HandleFailure(sys, sup, pid, rs, reason, message)
}

func (s *Supervisor) onWake(ctx actor.Context, msg *messages.Wake) {
	var away []rqueue.HostRef
	for _, ref := range msg.Refs {
		if !s.wake(ctx, ref, msg.Here, msg.Released) {
			away = append(away, ref)
		}
	}
	s.forward(away, msg.Released)
}

// wake wakes a host's domain, or starts it. False: it is another node's.
func (s *Supervisor) wake(ctx actor.Context, ref rqueue.HostRef, here, released bool) bool {
	c := s.children[ref.Host]
	switch {
	case c != nil && c.leaving:
		c.pending = append(c.pending, ref.Crawl)
	case c != nil:
		c.knows(ref.Crawl)
		ctx.Send(c.pid, &wake{ref.Crawl, released})
	case !here && !s.deps.Places.Mine(ref.Host, ref.Crawl.Name()):
		return false
	case s.drainTo != nil: // the due index still has it
	case s.deps.Table.Room(s.cfg.MaxDomains) == 0:
		s.capped++ // here too
	default:
		s.spawn(ctx, ref.Host, []*rqueue.Crawl{ref.Crawl}, nil)
	}
	return true
}

// onErrand passes an errand on to its host's domain. The slot may be another node's
// by placement: who finds it free may use it.
func (s *Supervisor) onErrand(ctx actor.Context, msg *errand) {
	c := s.children[msg.host]
	switch {
	case c != nil && c.leaving:
		c.late = append(c.late, msg)
	case c != nil:
		ctx.Send(c.pid, msg)
	case s.drainTo != nil:
		ctx.Send(ctx.Self(), &errandDone{errand: msg, refused: "this node ends"})
	case s.deps.Table.Room(s.cfg.MaxDomains) == 0:
		ctx.Send(ctx.Self(), &errandDone{errand: msg, refused: "too many sites at once"})
	default:
		s.spawn(ctx, msg.host, nil, []*errand{msg})
	}
}

func (s *Supervisor) forward(away []rqueue.HostRef, released bool) {
	if len(away) > 0 {
		s.deps.Places.Forward(away, released)
	}
}

// wokenVersion is the version of messages.Woken that this node understands. What it
// does not, the due index has as well.
const wokenVersion = 1

// onWoken takes what another node says. It may know of a newer placement than this
// one does, so its hosts are started here.
func (s *Supervisor) onWoken(ctx actor.Context, msg *messages.Woken) {
	if msg.GetVersion() != wokenVersion {
		s.log.WithFields(logrus.Fields{"version": msg.GetVersion(), "from": msg.GetFrom()}).Debug("hint of another version left alone")
		return
	}
	for _, ch := range msg.GetCrawls() {
		c := s.deps.Crawl(ch.GetCrawl(), ch.GetRun())
		if c == nil {
			continue
		}
		for _, host := range ch.GetHosts() {
			if host != "" {
				s.wake(ctx, rqueue.HostRef{Crawl: c, Host: host}, true, msg.GetReleased())
			}
		}
	}
}

// onMoved lets the slots go that another node should own now.
func (s *Supervisor) onMoved(ctx actor.Context) {
	for slot, c := range s.children {
		known := c.known()
		if c.moving || len(known) == 0 || slices.ContainsFunc(known, func(woken *rqueue.Crawl) bool { return s.deps.Places.Mine(slot, woken.Name()) }) {
			continue
		}
		c.moving = true
		ctx.Send(c.pid, &drain{})
	}
}

func (s *Supervisor) spawn(ctx actor.Context, host string, crawls []*rqueue.Crawl, errands []*errand) {
	c := &child{kept: kept{flights: map[crawl.ID]*flight{}, errands: errands}}
	c.crawls.Store(&crawls)
	props := actor.PropsFromProducer(func() actor.Actor { return newDomain(host, c.known(), &c.kept, s.cfg, s.deps) },
		actor.WithMailbox(func() actor.Mailbox {
			c.mailbox = actor.UnboundedLockfree()()
			return c.mailbox
		}))
	pid, err := ctx.SpawnNamed(props, host)
	if err != nil {
		s.log.WithFields(logrus.Fields{"domain": host, "err": err}).Error("domain not started")
		return
	}
	c.pid = pid
	s.children[host] = c
	s.bySlotID[pid.Id] = host
	s.deps.Table.live.Add(1)
}

func (s *Supervisor) onSettled(ctx actor.Context, msg *messages.Settled) {
	for _, p := range msg.Pages {
		s.put(ctx, p.Slot, p.ID, p.Page)
		if p.Parked {
			s.onParked(ctx, &messages.Parked{Crawl: p.Crawl, Slot: p.Slot, Stored: true})
		}
	}
}

// onParked passes the word on; a domain that is not live learns it with its first lease.
func (s *Supervisor) onParked(ctx actor.Context, msg *messages.Parked) {
	if c := s.children[msg.Slot]; c != nil && !c.leaving {
		ctx.Send(c.pid, msg)
	}
}

func (s *Supervisor) put(ctx actor.Context, slot string, id crawl.ID, page bool) {
	pid := s.deps.Table.Put(slot, id, page)
	for pid != nil && s.bySlotID[pid.Id] == "" { // it has stopped meanwhile
		pid = s.deps.Table.NextWaiting()
	}
	if pid != nil {
		ctx.Send(pid, &messages.CreditFree{})
	}
}

func (s *Supervisor) onPassivate(msg *passivate) {
	if c := s.children[msg.slot]; c != nil {
		c.leaving = true
	}
}

func (s *Supervisor) onStay(ctx actor.Context, msg *stay) {
	c := s.children[msg.slot]
	if c == nil {
		return
	}
	pending, late := c.pending, c.late
	c.leaving, c.pending, c.late = false, nil, nil
	for _, e := range late {
		s.onErrand(ctx, e)
	}
	for _, woken := range pending {
		s.wake(ctx, rqueue.HostRef{Crawl: woken, Host: msg.slot}, false, false)
	}
}

func (s *Supervisor) onTerminated(ctx actor.Context, msg *actor.Terminated) {
	slot, ok := s.bySlotID[msg.Who.Id]
	if !ok {
		return
	}
	c := s.children[slot]
	delete(s.children, slot)
	delete(s.bySlotID, msg.Who.Id)
	s.deps.Table.live.Add(-1)
	for id := range c.flights { // it was stopped in the middle: the next owner recovers them
		s.put(ctx, slot, id, false)
	}
	var away []rqueue.HostRef
	for _, woken := range c.pending {
		if ref := (rqueue.HostRef{Crawl: woken, Host: slot}); !s.wake(ctx, ref, false, false) {
			away = append(away, ref)
		}
	}
	s.forward(away, true)
	for _, e := range append(c.late, c.errands...) {
		s.onErrand(ctx, e)
	}
	s.checkDrained(ctx)
}

func (s *Supervisor) onDrain(ctx actor.Context, msg *messages.Drain) {
	s.drainTo = ctx.Sender()
	s.drainNow = msg.Now
	for _, c := range s.children {
		ctx.Send(c.pid, &drain{now: msg.Now})
	}
	s.checkDrained(ctx)
}

func (s *Supervisor) checkDrained(ctx actor.Context) {
	if s.drainTo != nil && len(s.children) == 0 {
		ctx.Send(s.drainTo, &messages.Drained{})
	}
}

func (s *Supervisor) snapshot() *SupervisorSnapshot {
	out := &SupervisorSnapshot{Domains: make([]Child, 0, len(s.children)), Cap: s.cfg.MaxDomains, Capped: s.capped}
	for slot, c := range s.children {
		out.Domains = append(out.Domains, Child{
			Slot: slot, PID: c.pid, Mailbox: c.mailbox.UserMessageCount(),
			Restarts: int(c.restarts.Load()), Leaving: c.leaving,
		})
	}
	sort.Slice(out.Domains, func(i, j int) bool { return out.Domains[i].Slot < out.Domains[j].Slot })
	return out
}
