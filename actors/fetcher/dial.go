package fetcher

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"time"

	"orbweaver/core/netguard"
	"orbweaver/core/sockio"
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

// connect dials the target for cn, directly or through a proxy: look-up, guard,
// TCP, TLS. The address that is
// connected to is the one that the guard saw, and the guard sees it again when the
// socket is made.
func (c *Client) connect(ctx context.Context, cn *conn, t *target, via *proxy, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	cn.mu.Lock()
	if cn.aborted.Load() {
		cancel()
	}
	cn.dialing = cancel
	cn.mu.Unlock()

	var err error
	if via != nil {
		err = c.connectVia(ctx, cn, t, via)
	} else {
		err = c.connectDirect(ctx, cn, t)
	}
	if err != nil {
		if exhausted(err) {
			pause(ctx, exhaustedPause) // the caller will be back at once
		}
		return err
	}
	if !t.tls {
		return nil
	}
	return c.secure(ctx, cn, t.host)
}

func (c *Client) connectDirect(ctx context.Context, cn *conn, t *target) error {
	addrs, _, err := c.resolve(ctx, &c.cfg.Guard, t.host, t.port)
	if err != nil {
		return err
	}
	return c.dial(ctx, cn, &c.cfg.Guard, addrs)
}

// dial makes a TCP connection to the first of addrs that answers and gives it to cn.
func (c *Client) dial(ctx context.Context, cn *conn, guard *netguard.Policy, addrs []netip.AddrPort) error {
	tcp, err := dialer{guard}.any(ctx, addrs)
	if err != nil {
		return err
	}
	if !cn.adopt(tcp) {
		return context.Canceled
	}
	cn.sock, _ = tcp.(*sockio.Conn)
	return nil
}

// handshakeError is a failed TLS handshake.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// resolve gives the addresses of a host that may be connected to, and the guard's
// refusal of the first that may not. When there is none that may, that refusal is
// the error.
func (c *Client) resolve(ctx context.Context, guard *netguard.Policy, host, port string) (allowed []netip.AddrPort, refusal, err error) {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, nil, errURLPort
	}
	if err := guard.CheckPort(uint16(number)); err != nil {
		return nil, nil, err
	}
	var addrs []netip.Addr
	if addr, err := netip.ParseAddr(host); err == nil {
		addrs = []netip.Addr{addr}
	} else if addrs, err = c.cfg.Resolver.LookupNetIP(ctx, "ip", host); err != nil {
		return nil, nil, &lookupError{err}
	}
	allowed = make([]netip.AddrPort, 0, len(addrs))
	for _, addr := range addrs {
		addr = addr.Unmap()
		if err := guard.Check(addr); err == nil {
			allowed = append(allowed, netip.AddrPortFrom(addr, uint16(number)))
		} else if refusal == nil {
			refusal = err
		}
	}
	switch {
	case len(allowed) > 0:
		return allowed, refusal, nil
	case refusal != nil:
		return nil, nil, refusal
	default:
		return nil, nil, &lookupError{errors.New("no addresses")}
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

// dialer connects to addresses that a guard has seen; the guard sees each again when
// its socket is made.
type dialer struct{ guard *netguard.Policy }

// any connects to the first address that answers. Addresses of one family
// are tried one after another; the other family joins after fallbackDelay or
// when the first has failed.
func (d dialer) any(ctx context.Context, addrs []netip.AddrPort) (net.Conn, error) {
	first, second := addrs, []netip.AddrPort(nil)
	for i := range addrs {
		if addrs[i].Addr().Is4() != addrs[0].Addr().Is4() {
			first, second = splitFamilies(addrs)
			break
		}
	}
	if len(second) == 0 {
		return d.serial(ctx, first)
	}
	return d.race(ctx, first, second)
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

// race gives the first connection of two lists and the first list's error
// when both fail. No attempt outlives the call by more than its cancellation.
func (d dialer) race(ctx context.Context, first, second []netip.AddrPort) (net.Conn, error) {
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
		conn, err := d.serial(ctx, addrs)
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

// serial tries one address after another, each with its share of the time
// that is left.
func (d dialer) serial(ctx context.Context, addrs []netip.AddrPort) (net.Conn, error) {
	var failure error
	for i, addr := range addrs {
		if ctx.Err() != nil && failure != nil {
			break
		}
		conn, err := d.one(ctx, addr, len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		if failure == nil {
			failure = err
		}
	}
	return nil, failure
}

func (d dialer) one(ctx context.Context, addr netip.AddrPort, share int) (net.Conn, error) {
	// Every exchange has a deadline and idle connections are closed, so TCP
	// keep-alive would only cost system calls.
	nd := net.Dialer{KeepAlive: -1, Control: d.guard.Control}
	if deadline, ok := ctx.Deadline(); ok && share > 1 {
		nd.Timeout = max(time.Until(deadline)/time.Duration(share), time.Millisecond)
	}
	conn, err := nd.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return nil, err
	}
	return sockio.Wrap(conn), nil
}
