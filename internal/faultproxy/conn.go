package faultproxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// What a direction of a connection holds at most: chunks of chunkBytes. A sender
// that is ahead of that is not read from, as with a full TCP window.
const (
	chunkBytes = 16 << 10
	mostChunks = 32
)

// dialTimeout bounds the connecting to a target.
const dialTimeout = 10 * time.Second

var errReset = errors.New("faultproxy: connection reset")

// conn is one connection through the proxy.
type conn struct {
	proxy  *Proxy
	source netip.Addr
	client *net.TCPConn
	ctx    context.Context //nolint:containedctx // the connection's life
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	target *net.TCPConn // guarded by mu; nil until dialed
	dead   bool         // guarded by mu; reset
}

func newConn(p *Proxy, client *net.TCPConn) *conn {
	c := &conn{proxy: p, client: client}
	if a, ok := client.RemoteAddr().(*net.TCPAddr); ok {
		c.source = a.AddrPort().Addr().Unmap()
	}
	c.ctx, c.cancel = context.WithCancelCause(p.ctx)
	return c
}

// reset closes both sides with an RST. It does not wait.
func (c *conn) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
	c.cancel(errReset)
	closeReset(c.client)
	if c.target != nil {
		closeReset(c.target)
	}
}

// close closes what is still open, in good order.
func (c *conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.client.Close()
	if c.target != nil {
		_ = c.target.Close()
	}
}

func closeReset(t *net.TCPConn) {
	_ = t.SetLinger(0)
	_ = t.Close()
}

// serve carries bytes until both sides have ended.
func (c *conn) serve() {
	defer c.cancel(nil)
	stop := context.AfterFunc(c.ctx, c.reset)
	defer stop()
	var wg sync.WaitGroup
	defer func() {
		wg.Wait()
		c.close()
	}()
	up := newPipe(c, true)
	wg.Go(func() { up.read(c.client) })
	if !up.open() || !c.dial() {
		c.reset()
		return
	}
	down := newPipe(c, false)
	wg.Go(func() { down.read(c.target) })
	wg.Go(func() { up.write(c.target) })
	down.write(c.client)
}

// dial connects to the target; a connection that was reset meanwhile is none.
func (c *conn) dial() bool {
	ctx, cancel := context.WithTimeout(c.ctx, dialTimeout)
	defer cancel()
	t, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.proxy.target)
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		_ = t.Close()
		return false
	}
	c.target = t.(*net.TCPConn)
	return true
}

// chunk is bytes under way; the last of a direction has none.
type chunk struct {
	bytes []byte
	due   time.Time
	err   error // why nothing comes after; io.EOF: the sender has closed
}

// pipe is one direction of a connection. read and write each run in one goroutine.
type pipe struct {
	conn   *conn
	up     bool
	chunks chan chunk
	last   time.Time // confined to read; when the chunk before is due
}

func newPipe(c *conn, up bool) *pipe {
	return &pipe{conn: c, up: up, chunks: make(chan chunk, mostChunks)}
}

// read takes what the sender sends, and says when it would arrive.
func (p *pipe) read(from *net.TCPConn) {
	for {
		buf := make([]byte, chunkBytes)
		n, err := from.Read(buf)
		f, _ := p.conn.proxy.fault(p.conn.source)
		due := time.Now().Add(f.delay(n))
		if due.Before(p.last) {
			due = p.last // what follows a late segment waits for it
		}
		due = due.Add(f.pace(n))
		p.last = due
		if n > 0 && !p.put(chunk{bytes: buf[:n], due: due}) {
			return
		}
		if err != nil {
			p.put(chunk{due: due, err: err})
			return
		}
	}
}

func (p *pipe) put(c chunk) bool {
	select {
	case p.chunks <- c:
		return true
	case <-p.conn.ctx.Done():
		return false
	}
}

// write delivers what read took, each chunk at its time and none while cut.
func (p *pipe) write(to *net.TCPConn) {
	for {
		var c chunk
		select {
		case c = <-p.chunks:
		case <-p.conn.ctx.Done():
			return
		}
		if !p.wait(c.due) {
			return
		}
		switch {
		case c.err == nil:
			if _, err := to.Write(c.bytes); err != nil {
				p.conn.reset()
				return
			}
		case errors.Is(c.err, io.EOF):
			_ = to.CloseWrite()
			return
		default:
			p.conn.reset()
			return
		}
	}
}

// wait waits until a time, and until the direction is open; false: the connection
// has ended.
func (p *pipe) wait(due time.Time) bool {
	if d := time.Until(due); d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-p.conn.ctx.Done():
			return false
		}
	}
	return p.until(func(f Fault) bool { return p.up && !f.CutUp || !p.up && !f.CutDown })
}

// open waits until a new connection can be made, which takes both directions.
func (p *pipe) open() bool {
	return p.until(func(f Fault) bool { return !f.CutUp && !f.CutDown })
}

func (p *pipe) until(ok func(Fault) bool) bool {
	for {
		f, changed := p.conn.proxy.fault(p.conn.source)
		if ok(f) {
			return p.conn.ctx.Err() == nil
		}
		select {
		case <-changed:
		case <-p.conn.ctx.Done():
			return false
		}
	}
}
