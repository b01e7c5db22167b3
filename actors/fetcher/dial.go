package fetcher

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"
)

// fallbackDelay is the head start of the first address family over the other
// (RFC 8305 section 5 recommends 250 ms).
const fallbackDelay = 250 * time.Millisecond

// exhaustedPause is how long a fetch lasts that this machine had no descriptor or
// port for: its caller counts neither a failure nor a delay.
const exhaustedPause = time.Second

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// connect dials the target for cn: look-up, guard, TCP, TLS. The address that is
// connected to is the one that the guard saw, and the guard sees it again when the
// socket is made.
func (c *Client) connect(ctx context.Context, cn *conn, t *target, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	cn.mu.Lock()
	if cn.aborted.Load() {
		cancel()
	}
	cn.dialing = cancel
	cn.mu.Unlock()

	addrs, err := c.resolve(ctx, t)
	if err != nil {
		return err
	}
	tcp, err := c.dialAny(ctx, addrs)
	if err != nil {
		if exhausted(err) {
			pause(ctx, exhaustedPause) // the caller will be back at once
		}
		return err
	}
	if !cn.adopt(tcp) {
		return context.Canceled
	}
	if sc, ok := tcp.(syscall.Conn); ok {
		cn.raw, _ = sc.SyscallConn() // without it a closed connection is found later
	}
	if !t.tls {
		return nil
	}
	cfg := c.tls.Clone()
	cfg.ServerName = t.host
	stream := tls.Client(tcp, cfg)
	if err := stream.HandshakeContext(ctx); err != nil {
		return &handshakeError{err}
	}
	cn.stream = stream
	return nil
}

// handshakeError is a failed TLS handshake.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// resolve gives the target's addresses that may be connected to, or the guard's
// refusal of the first when there is none.
func (c *Client) resolve(ctx context.Context, t *target) ([]netip.AddrPort, error) {
	port, err := strconv.ParseUint(t.port, 10, 16)
	if err != nil {
		return nil, errURLPort
	}
	guard := &c.cfg.Guard
	if err := guard.CheckPort(uint16(port)); err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	if addr, err := netip.ParseAddr(t.host); err == nil {
		addrs = []netip.Addr{addr}
	} else if addrs, err = c.cfg.Resolver.LookupNetIP(ctx, "ip", t.host); err != nil {
		return nil, &lookupError{err}
	}
	var refusal error
	allowed := make([]netip.AddrPort, 0, len(addrs))
	for _, addr := range addrs {
		addr = addr.Unmap()
		if err := guard.Check(addr); err == nil {
			allowed = append(allowed, netip.AddrPortFrom(addr, uint16(port)))
		} else if refusal == nil {
			refusal = err
		}
	}
	switch {
	case len(allowed) > 0:
		return allowed, nil
	case refusal != nil:
		return nil, refusal
	default:
		return nil, &lookupError{errors.New("no addresses")}
	}
}

// lookupError is a name that did not resolve.
type lookupError struct{ err error }

func (e *lookupError) Error() string {
	if dns, ok := errors.AsType[*net.DNSError](e.err); ok {
		return dns.Err // without the name server's address
	}
	return e.err.Error()
}
func (e *lookupError) Unwrap() error { return e.err }

// dialAny connects to the first address that answers. Addresses of one family
// are tried one after another; the other family joins after fallbackDelay or
// when the first has failed.
func (c *Client) dialAny(ctx context.Context, addrs []netip.AddrPort) (net.Conn, error) {
	first, second := addrs, []netip.AddrPort(nil)
	for i := range addrs {
		if addrs[i].Addr().Is4() != addrs[0].Addr().Is4() {
			first, second = splitFamilies(addrs)
			break
		}
	}
	if len(second) == 0 {
		return c.dialSerial(ctx, first)
	}
	return c.dialRace(ctx, first, second)
}

func splitFamilies(addrs []netip.AddrPort) (first, second []netip.AddrPort) {
	for _, a := range addrs {
		if a.Addr().Is4() == addrs[0].Addr().Is4() {
			first = append(first, a)
		} else {
			second = append(second, a)
		}
	}
	return first, second
}

// dialRace gives the first connection of two lists and the first list's error
// when both fail. No attempt outlives the call by more than its cancellation.
func (c *Client) dialRace(ctx context.Context, first, second []netip.AddrPort) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		conn    net.Conn
		err     error
		primary bool
	}
	results := make(chan result)
	done := make(chan struct{})
	defer close(done)
	start := func(addrs []netip.AddrPort, primary bool) {
		conn, err := c.dialSerial(ctx, addrs)
		select {
		case results <- result{conn, err, primary}:
		case <-done:
			if conn != nil {
				_ = conn.Close()
			}
		}
	}
	go start(first, true)
	timer := time.NewTimer(fallbackDelay)
	defer timer.Stop()
	running, started := 1, false
	var failure error
	for {
		select {
		case <-timer.C:
			if !started {
				started = true
				running++
				go start(second, false)
			}
		case r := <-results:
			if r.err == nil {
				return r.conn, nil
			}
			if r.primary || failure == nil {
				failure = r.err
			}
			running--
			if !started {
				started = true
				running++
				go start(second, false)
			}
			if running == 0 {
				return nil, failure
			}
		}
	}
}

// dialSerial tries one address after another, each with its share of the time
// that is left.
func (c *Client) dialSerial(ctx context.Context, addrs []netip.AddrPort) (net.Conn, error) {
	var failure error
	for i, addr := range addrs {
		if ctx.Err() != nil && failure != nil {
			break
		}
		conn, err := c.dialOne(ctx, addr, len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		if failure == nil {
			failure = err
		}
	}
	return nil, failure
}

func (c *Client) dialOne(ctx context.Context, addr netip.AddrPort, share int) (net.Conn, error) {
	// Every exchange has a deadline and idle connections are closed, so TCP
	// keep-alive would only cost system calls.
	d := net.Dialer{KeepAlive: -1, Control: c.cfg.Guard.Control}
	if deadline, ok := ctx.Deadline(); ok && share > 1 {
		d.Timeout = max(time.Until(deadline)/time.Duration(share), time.Millisecond)
	}
	return d.DialContext(ctx, "tcp", addr.String())
}
