// Package peer carries hints between the nodes of a cluster, from anywhere on one
// node to a well-known actor on another. A hint may be lost, late or doubled; nothing
// may depend on it.
//
// It speaks the wire protocol of protoactor's remote (service remote.Remoting) with
// that library's generated code, but with endpoints of its own: the library's crash
// on foreign input, let a peer stop, watch or spawn any actor, queue without bound
// for a node that is away, and never dial a node again whose stream ended without
// an error. Here a peer can do one thing, send the messages of Config.Accept to the
// actors of Config.Targets; whatever else it sends resets its own stream and
// nothing more.
//
// Peer is the main type. Actors that address a remote PID reach it too; stopping or
// watching a remote actor is not supported. Membership is not known here: a node is
// dialled when something is sent to it.
package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

const (
	maxEndpoints = 1024                    // nodes that are sent to at once
	flushTime    = time.Second             // that Close spends on what is queued
	stopTime     = 1500 * time.Millisecond // that Close spends on streams of peers
)

// unnamed is the address of an actor system without network.
const unnamed = "nonhost"

// Peer is a node's side of the exchange. Safe for concurrent use.
type Peer struct {
	system  *actor.ActorSystem
	address string // advertised
	quiet   *quiet
	rules   rules
	dial    dialer
	gate    *gate
	server  *grpc.Server

	ctx     context.Context //nolint:containedctx // ends all outgoing connections
	cancel  context.CancelFunc
	closing chan struct{} // closed: send what is queued and end
	once    sync.Once
	wg      sync.WaitGroup // endpoints
	served  chan struct{}  // closed when server no longer accepts

	mu        sync.RWMutex
	endpoints map[string]*endpoint // guarded by mu; by address; nil: closed

	conns, streams, versions, panics, received, sent, dropped atomic.Uint64
}

// Stats counts since the start.
type Stats struct {
	ConnectionsRefused uint64 // no valid certificate, garbage, silence
	StreamsRefused     uint64 // reset over a message or call that no peer may send
	VersionsRefused    uint64 // streams of another version
	PanicsRecovered    uint64
	Received           uint64 // messages handed to an actor here
	Sent               uint64 // messages handed to the network or to an actor here
	Dropped            uint64 // messages that will reach nobody, in or out, as far as is known
}

// Start listens for peers and makes actors of system reachable under the advertised
// address. It must come before the first actor is spawned, since PIDs carry the
// address, and once per system.
func Start(system *actor.ActorSystem, cfg Config, log logrus.FieldLogger) (*Peer, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	types, err := cfg.messageTypes()
	if err != nil {
		return nil, err
	}
	if system.ProcessRegistry.Address != unnamed {
		return nil, fmt.Errorf("peer: start: the actor system has the address %s already", system.ProcessRegistry.Address)
	}
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", cfg.Bind)
	if err != nil {
		return nil, fmt.Errorf("peer: listen at CLUSTER_BIND %s: %w", cfg.Bind, err)
	}
	p := &Peer{
		system:    system,
		address:   cfg.Advertise,
		quiet:     newQuiet(log),
		rules:     rules{types: types, targets: make(map[string]struct{}, len(cfg.Targets))},
		dial:      newDialer(cfg),
		closing:   make(chan struct{}),
		served:    make(chan struct{}),
		endpoints: make(map[string]*endpoint),
	}
	if p.address == "" {
		p.address = ln.Addr().String()
	}
	for _, id := range cfg.Targets {
		p.rules.targets[id] = struct{}{}
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	var conf *tls.Config
	if cfg.TLS != nil {
		conf = cfg.TLS.Server()
	}
	system.ProcessRegistry.Address = p.address
	system.ProcessRegistry.RegisterAddressResolver(p.resolve)
	p.gate = newGate(ln, conf, p.quiet, &p.conns)
	p.server = p.newServer()
	go func() {
		defer close(p.served)
		if err := p.server.Serve(p.gate); err != nil && !errors.Is(err, grpc.ErrServerStopped) && !errors.Is(err, net.ErrClosed) {
			log.WithError(err).Error("peers are no longer served")
		}
	}()
	log.WithFields(logrus.Fields{"bind": ln.Addr().String(), "address": p.address, "tls": cfg.TLS != nil}).Info("listening for peers")
	return p, nil
}

// Address is the host:port under which other nodes reach this one.
func (p *Peer) Address() string { return p.address }

// Send hands msg to the actor of that id on the node at address, which may be this
// one. It never blocks and promises nothing: for each node a bounded number of
// messages waits, and they are dropped when the node is not to be reached. msg must
// not change afterwards.
func (p *Peer) Send(address, actorID string, msg proto.Message) {
	if !p.sendable(actorID, msg) {
		p.dropped.Add(1)
		return
	}
	if address == p.address {
		p.sent.Add(1)
		p.deliver(actorID, msg)
		return
	}
	if !p.queue(address, outgoing{target: actorID, msg: msg}) {
		p.dropped.Add(1)
	}
}

// sendable says whether peers take such a message. They have the same rules, and
// would reset the stream.
func (p *Peer) sendable(actorID string, msg proto.Message) bool {
	if msg == nil {
		return false
	}
	name := msg.ProtoReflect().Descriptor().FullName()
	if _, ok := p.rules.types[name]; !ok {
		p.quiet.warn("dropped a message of a type that peers do not take", logrus.Fields{"type": string(name)})
		return false
	}
	if _, ok := p.rules.targets[actorID]; !ok {
		p.quiet.warn("dropped a message to an actor that peers may not address", logrus.Fields{"actor": actorID})
		return false
	}
	return true
}

// queue puts a message into the node's queue, made when missing.
func (p *Peer) queue(address string, m outgoing) bool {
	p.mu.RLock()
	if e := p.endpoints[address]; e != nil {
		defer p.mu.RUnlock()
		return e.offer(m)
	}
	p.mu.RUnlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.endpoints == nil {
		return false
	}
	e := p.endpoints[address]
	if e == nil {
		if len(p.endpoints) >= maxEndpoints {
			return false
		}
		e = newEndpoint(p, address)
		p.endpoints[address] = e
		p.wg.Add(1)
		go e.run()
	}
	return e.offer(m)
}

// retire forgets an endpoint unless something was queued for it meanwhile.
func (p *Peer) retire(e *endpoint) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(e.queue) > 0 {
		return false
	}
	if p.endpoints[e.address] == e {
		delete(p.endpoints, e.address)
	}
	return true
}

// deliver hands a message to a local actor, and drops it when there is none.
func (p *Peer) deliver(actorID string, msg proto.Message) {
	if _, ok := p.system.ProcessRegistry.GetLocal(actorID); !ok {
		p.dropped.Add(1)
		return
	}
	p.received.Add(1)
	p.system.Root.Send(p.system.NewLocalPID(actorID), msg)
}

// Stats reports the counters.
func (p *Peer) Stats() Stats {
	return Stats{
		ConnectionsRefused: p.conns.Load(),
		StreamsRefused:     p.streams.Load(),
		VersionsRefused:    p.versions.Load(),
		PanicsRecovered:    p.panics.Load(),
		Received:           p.received.Load(),
		Sent:               p.sent.Load(),
		Dropped:            p.dropped.Load(),
	}
}

// Close sends what is queued to nodes that can be reached, ends all connections and
// returns within 3 s. Later messages are dropped. Safe to call more than once; each
// call returns when the first is done.
func (p *Peer) Close() {
	p.once.Do(func() {
		p.mu.Lock()
		p.endpoints = nil
		close(p.closing)
		p.mu.Unlock()
		flush := time.AfterFunc(flushTime, p.cancel)
		// A frozen node can hold up the closing of a connection for seconds.
		within(flushTime+flushTime/4, p.wg.Wait)
		flush.Stop()
		p.cancel()
		stopped := within(stopTime, func() {
			p.server.Stop()
			<-p.served
		})
		if !stopped {
			p.quiet.warn("a peer or an actor's full mailbox holds up the closing of streams, leaving them", logrus.Fields{})
		}
	})
}

// within runs f and waits for its end, but no longer than d.
func within(d time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}
