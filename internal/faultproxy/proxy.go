// Package faultproxy is a TCP proxy for tests that does to connections what a bad
// network does: it cuts them off without closing them, in one direction or both,
// loses and delays segments, slows down, resets. A Proxy has one target; its faults
// change while it runs, for everybody or for one source address, so that the nodes
// behind it can be told apart by where they connect from.
//
// It does not look at what it carries, and it is no emulation of TCP: only delay,
// order and silence are as they would be.
package faultproxy

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
)

// mostConns bounds the connections of a proxy; one more is reset at once.
const mostConns = 4096

// Proxy forwards connections to a target. Its methods are safe for concurrent use.
type Proxy struct {
	target   string
	listener net.Listener
	ctx      context.Context //nolint:containedctx // the proxy's life, ended by Close
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	mu      sync.Mutex
	all     Fault                // guarded by mu
	from    map[netip.Addr]Fault // guarded by mu
	conns   map[*conn]struct{}   // guarded by mu
	changed chan struct{}        // guarded by mu; closed at the next change of a fault
	closed  bool                 // guarded by mu
}

// Listen starts a proxy at addr ("127.0.0.1:0" takes a free port) for the target
// host:port, which is dialed for each connection. It runs until Close, or ctx ends.
func Listen(ctx context.Context, addr, target string) (*Proxy, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("faultproxy: listen at %s: %w", addr, err)
	}
	p := &Proxy{
		target: target, listener: l,
		from: map[netip.Addr]Fault{}, conns: map[*conn]struct{}{}, changed: make(chan struct{}),
	}
	p.ctx, p.cancel = context.WithCancel(ctx)
	context.AfterFunc(p.ctx, func() { _ = l.Close() }) //nolint:contextcheck // p.ctx is made of ctx
	p.wg.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close resets every connection and returns when nothing of the proxy runs any more.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	_ = p.listener.Close()
	p.Reset()
	p.wg.Wait()
}

// Set makes f the fault of all connections, present and future.
func (p *Proxy) Set(f Fault) {
	p.change(func() { p.all = f })
}

// SetFrom makes f the fault of the connections from a source address, on top of the
// fault of all; an address that is none is of nobody.
func (p *Proxy) SetFrom(source string, f Fault) {
	a, err := netip.ParseAddr(source)
	if err != nil {
		return
	}
	p.change(func() {
		if f == (Fault{}) {
			delete(p.from, a)
			return
		}
		p.from[a] = f
	})
}

// Heal ends the faults of all and of every source. What was held is delivered then,
// as TCP sends again what nobody has acknowledged.
func (p *Proxy) Heal() {
	p.change(func() {
		p.all = Fault{}
		clear(p.from)
	})
}

// HealReset is Heal, but what was held is thrown away with its connections: as when
// the cut lasted longer than TCP's patience.
func (p *Proxy) HealReset() {
	p.Reset()
	p.Heal()
}

// Reset resets the present connections, on both sides (RST).
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.reset()
	}
}

// ResetFrom is Reset for the connections of one source address.
func (p *Proxy) ResetFrom(source string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if c.source.String() == source {
			c.reset()
		}
	}
}

// Conns is the number of connections that are open.
func (p *Proxy) Conns() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

func (p *Proxy) change(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
	close(p.changed)
	p.changed = make(chan struct{})
}

// fault is the present fault of a source, and a channel that closes when it changes.
func (p *Proxy) fault(source netip.Addr) (Fault, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all.with(p.from[source]), p.changed
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if p.ctx.Err() != nil {
			if err == nil {
				_ = c.Close()
			}
			return
		}
		if err != nil {
			continue // the connection had gone before it was accepted
		}
		p.take(c.(*net.TCPConn))
	}
}

// take starts to serve a connection.
func (p *Proxy) take(client *net.TCPConn) {
	c := newConn(p, client)
	p.mu.Lock()
	ok := !p.closed && len(p.conns) < mostConns
	if ok {
		p.conns[c] = struct{}{}
	}
	p.mu.Unlock()
	if !ok {
		c.reset()
		return
	}
	p.wg.Go(func() {
		c.serve()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, c)
	})
}
