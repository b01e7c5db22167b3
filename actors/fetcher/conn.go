package fetcher

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"orbweaver/core/sockio"
)

var (
	errTooLate = errors.New("permit ran out before the request was written")
	errStalled = &stalledError{}
)

// stalledError is a body that came too slowly. It is a timeout.
type stalledError struct{}

func (*stalledError) Error() string   { return "body stalled" }
func (*stalledError) Timeout() bool   { return true }
func (*stalledError) Temporary() bool { return false }

// Permit is the right to send one request. The zero value never ends.
type Permit struct {
	// NotAfter is when the right ends, by this process's monotonic clock. It is
	// checked when the request's bytes are written, after connecting and TLS.
	NotAfter time.Time
	// Head ends the body after so many decoded bytes: more are not read, are no
	// fault, and no size limit counts. Zero: the whole body is wanted.
	Head int64
}

// over reports whether the right has ended.
func (p Permit) over(now time.Time) bool {
	return !p.NotAfter.IsZero() && !now.Before(p.NotAfter)
}

// conn is one connection of a slot and the budgets of the exchange that it
// serves. All fields but those that abort needs are confined to that exchange,
// or guarded by Slot.mu while the connection is idle.
type conn struct {
	tls       bool
	authority string
	via       string // the proxy's key; "" for none

	stream  net.Conn     // TCP, or TLS over it, to the site or to a proxy
	secured bool         // there is TLS in stream
	sock    *sockio.Conn // the TCP connection; nil when it is none

	permit  Permit
	read    int64  // bytes of this exchange read so far
	readErr error  // the first error of this exchange's reads
	pending []byte // read before, to be read again: see exchange.grow
	pace    pace
	body    wire // here, and not in exchange, so that reading it allocates nothing
	served  bool // an exchange ended well on it
	idleAt  time.Time

	mu      sync.Mutex
	aborted atomic.Bool        // the caller gave up; written under mu
	dialing context.CancelFunc // guarded by mu
	tcp     net.Conn           // guarded by mu
}

// adopt makes tcp the connection's, unless it was aborted meanwhile.
func (c *conn) adopt(tcp net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.aborted.Load() {
		_ = tcp.Close()
		return false
	}
	c.tcp, c.stream = tcp, tcp
	return true
}

// begin readies the connection for an exchange.
func (c *conn) begin(permit Permit, deadline time.Time) error {
	c.permit = permit
	c.read, c.readErr, c.pending, c.pace = 0, nil, nil, pace{}
	return c.stream.SetDeadline(deadline)
}

// Write sends the request's bytes, or none of them with errTooLate.
func (c *conn) Write(p []byte) (int, error) {
	if c.permit.over(time.Now()) {
		return 0, errTooLate
	}
	return c.stream.Write(p)
}

// Read reads within the budget and remembers why reading ended, for the parsers
// between here and the caller do not always say.
func (c *conn) Read(p []byte) (int, error) {
	if len(c.pending) > 0 {
		n := copy(p, c.pending)
		c.pending = c.pending[n:]
		return n, nil
	}
	for {
		if c.pace.due() {
			if err := c.nextPeriod(); err != nil {
				return 0, err
			}
		}
		n, err := c.stream.Read(p)
		c.read += int64(n)
		switch {
		case err == nil:
			return n, nil
		case n == 0 && c.pace.renewable(err):
			continue // the period is over, not the fetch
		case c.secured && errors.Is(err, io.ErrUnexpectedEOF):
			// TLS ended without its closing alert. Servers do that; a body whose
			// length is known is still found to be cut.
			err = io.EOF
		}
		c.fail(err)
		return n, err
	}
}

// quiet reports whether a kept connection is as it was left: open, with nothing
// to read. A server that closed it, or sent what nobody asked for, is found
// before a request is wasted on it.
func (c *conn) quiet() bool { return c.sock == nil || c.sock.Quiet() }

// awaitReadable waits, holding no buffer, until a read will not block.
func (c *conn) awaitReadable() {
	if c.sock != nil && !c.secured { // TLS may have the bytes already
		c.sock.AwaitReadable()
	}
}

// nextPeriod judges the period of a body's pace that has ended, if one has, and
// begins the next.
func (c *conn) nextPeriod() error {
	err := c.pace.judge(c.read)
	if err == nil {
		err = c.stream.SetReadDeadline(c.pace.begin(c.read))
	}
	if err != nil {
		c.fail(err)
	}
	return err
}

func (c *conn) fail(err error) {
	if c.readErr == nil {
		c.readErr = err
	}
}

// abort ends whatever the connection is doing, at once. Safe for concurrent use.
func (c *conn) abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.aborted.Store(true)
	if c.dialing != nil {
		c.dialing()
	}
	if c.tcp != nil {
		_ = c.tcp.Close() // below TLS: its closing alert could block
	}
}

// close gives the connection up.
func (c *conn) close() {
	if c.tcp != nil {
		_ = c.tcp.Close()
	}
}
