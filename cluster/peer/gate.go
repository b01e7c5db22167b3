package peer

import (
	"bytes"
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	maxPending       = 128 // connections whose caller is not known yet
	maxOpen          = 512 // connections of known callers
	handshakeTimeout = 5 * time.Second
	acceptPause      = 50 * time.Millisecond // after a failed accept, such as too many open files
)

// preface is how a gRPC caller begins (RFC 9113 §3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// gate is a listener that hands on only connections whose caller has shown its
// certificate (where TLS is set) and begun to speak HTTP/2, within handshakeTimeout.
// When maxPending callers have done neither, the oldest is closed for the newest,
// so that silent strangers never keep a peer out.
type gate struct {
	net.Listener
	tls      *tls.Config // nil: plaintext
	quiet    *quiet
	refused  *atomic.Uint64
	admitted chan net.Conn
	done     chan struct{}
	once     sync.Once
	closeErr error
	wg       sync.WaitGroup
	open     atomic.Int64 // admitted and not closed

	mu      sync.Mutex
	pending *list.List // guarded by mu; of net.Conn, oldest first; nil: closed
}

// newGate takes over the listener.
func newGate(ln net.Listener, conf *tls.Config, q *quiet, refused *atomic.Uint64) *gate {
	g := &gate{
		Listener: ln,
		tls:      conf,
		quiet:    q,
		refused:  refused,
		admitted: make(chan net.Conn),
		done:     make(chan struct{}),
		pending:  list.New(),
	}
	g.wg.Add(1)
	go g.run()
	return g
}

// Accept returns the next connection of a known caller.
func (g *gate) Accept() (net.Conn, error) {
	select {
	case c := <-g.admitted:
		return c, nil
	case <-g.done:
		return nil, net.ErrClosed
	}
}

// Close stops listening, closes the connections that were not handed on and waits
// for their goroutines. Safe to call twice.
func (g *gate) Close() error {
	g.once.Do(func() {
		close(g.done)
		g.closeErr = g.Listener.Close()
		g.mu.Lock()
		pending := g.pending
		g.pending = nil
		g.mu.Unlock()
		for e := pending.Front(); e != nil; e = e.Next() {
			_ = e.Value.(net.Conn).Close()
		}
		g.wg.Wait()
	})
	return g.closeErr
}

func (g *gate) run() {
	defer g.wg.Done()
	for {
		c, err := g.Listener.Accept()
		switch {
		case err == nil:
			g.take(c)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			g.quiet.warn("accepting a connection failed", logrus.Fields{"err": err})
			select {
			case <-time.After(acceptPause):
			case <-g.done:
				return
			}
		}
	}
}

// take starts the handshake of a new connection.
func (g *gate) take(c net.Conn) {
	g.mu.Lock()
	if g.pending == nil {
		g.mu.Unlock()
		_ = c.Close()
		return
	}
	if g.pending.Len() >= maxPending {
		oldest := g.pending.Front()
		_ = oldest.Value.(net.Conn).Close() // its handshake fails and counts it
		g.pending.Remove(oldest)
	}
	e := g.pending.PushBack(c)
	g.wg.Add(1)
	g.mu.Unlock()
	go g.admit(c, e)
}

// admit makes the handshake and hands the connection on, or closes it.
func (g *gate) admit(raw net.Conn, e *list.Element) {
	defer g.wg.Done()
	c, err := g.handshake(raw)
	g.mu.Lock()
	if g.pending != nil {
		g.pending.Remove(e) // no effect when it was pushed out
	}
	g.mu.Unlock()
	if err == nil && g.open.Add(1) > maxOpen {
		g.open.Add(-1)
		err = fmt.Errorf("more than %d open connections", maxOpen)
	}
	if err != nil {
		_ = raw.Close()
		g.refused.Add(1)
		g.quiet.warn("refused a connection", logrus.Fields{"remote": raw.RemoteAddr().String(), "err": err})
		return
	}
	known := &knownConn{Conn: c, ahead: []byte(preface), open: &g.open}
	select {
	case g.admitted <- known:
	case <-g.done:
		_ = known.Close()
	}
}

func (g *gate) handshake(raw net.Conn) (net.Conn, error) {
	if err := raw.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return nil, err
	}
	c := raw
	if g.tls != nil {
		ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
		defer cancel()
		secure := tls.Server(raw, g.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		c = secure
	}
	got := make([]byte, len(preface))
	if _, err := io.ReadFull(c, got); err != nil {
		return nil, fmt.Errorf("read HTTP/2 preface: %w", err)
	}
	if !bytes.Equal(got, []byte(preface)) {
		return nil, errors.New("no HTTP/2 preface")
	}
	return c, raw.SetDeadline(time.Time{})
}

// knownConn is an admitted connection that gives back what the gate read of it.
type knownConn struct {
	net.Conn
	ahead  []byte // confined to the one reader
	open   *atomic.Int64
	closed atomic.Bool
}

func (c *knownConn) Read(p []byte) (int, error) {
	if len(c.ahead) > 0 {
		n := copy(p, c.ahead)
		c.ahead = c.ahead[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

func (c *knownConn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}
