package fetcher

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"orbweaver/core/crawl"
)

// route gives the proxy that a request goes through, nil for the direct way. A
// request that asks for a proxy never goes another way.
func (c *Client) route(t *target, o *options) (*proxy, error) {
	switch o.way {
	case wayDirect:
		return nil, nil //nolint:nilnil // nil is the direct way
	case wayProxy:
		return c.proxies.own(o.proxy)
	case wayUnknown:
		return nil, errProxyURL
	case wayDefault:
	}
	if c.proxies.none() {
		return nil, nil //nolint:nilnil // nil is the direct way
	}
	return c.proxies.forTarget(t)
}

// admit judges the site of a request that goes through a proxy: what its host says
// and, unless the proxy is to do that alone, what it resolves to. It gives the
// addresses that may be connected to; none when they were not looked up.
//
// Only socks5 is told an address. The others look the name up themselves, so it is
// refused when any address of it is.
func (c *Client) admit(ctx context.Context, t *target, via *proxy) ([]netip.AddrPort, error) {
	guard := &c.cfg.Guard
	if err := guard.CheckHost(t.host); err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(t.host); err != nil && c.cfg.Proxy.Resolves && via.scheme != "socks5" {
		port, err := strconv.ParseUint(t.port, 10, 16)
		if err != nil {
			return nil, errURLPort
		}
		return nil, guard.CheckPort(uint16(port))
	}
	allowed, refusal, err := c.resolve(ctx, guard, t.host, t.port)
	switch {
	case err != nil:
		return nil, err
	case refusal != nil && via.scheme != "socks5":
		return nil, refusal
	default:
		return allowed, nil
	}
}

// connectVia reaches the target through a proxy: guard, TCP, the proxy's own TLS,
// then what makes a connection to the site of it, where one is needed.
func (c *Client) connectVia(ctx context.Context, cn *conn, t *target, via *proxy) error {
	site, err := c.admit(ctx, t, via)
	if err != nil {
		return err
	}
	guard := &c.cfg.Guard
	if via.trusted {
		guard = &c.trusted
	}
	addrs, _, err := c.resolve(ctx, guard, via.host, via.port)
	if err == nil {
		err = c.dial(ctx, cn, guard, addrs)
	}
	if err != nil {
		return &proxyError{via, err, true}
	}
	deadline, _ := ctx.Deadline()
	if err := cn.stream.SetDeadline(deadline); err != nil {
		return &proxyError{via, err, false}
	}
	if via.scheme == "https" {
		if err := c.secure(ctx, cn, via.host); err != nil {
			return &proxyError{via, err, true}
		}
	}
	switch {
	case !via.isHTTP():
		return c.socks(cn.stream, t, via, site)
	case t.tls:
		return c.tunnel(cn.stream, t, via)
	default:
		return nil
	}
}

// secure puts TLS over what the connection is so far.
func (c *Client) secure(ctx context.Context, cn *conn, host string) error {
	cfg := c.tls.Clone()
	cfg.ServerName = host
	if len(c.cfg.SkipVerifyFor) > 0 {
		name := strings.TrimSuffix(strings.ToLower(host), ".")
		cfg.InsecureSkipVerify = cfg.InsecureSkipVerify || //nolint:gosec // the operator's choice, off by default
			slices.ContainsFunc(c.cfg.SkipVerifyFor, func(domain string) bool { return under(name, strings.ToLower(domain)) })
	}
	stream := tls.Client(cn.stream, cfg)
	if err := stream.HandshakeContext(ctx); err != nil {
		return &handshakeError{err}
	}
	cn.stream, cn.secured = stream, true
	return nil
}

var (
	errEarly    = errors.New("sent more than its answer to CONNECT")
	errSocks    = errors.New("does not speak SOCKS5")
	errSocksWay = errors.New("accepts none of our ways to authenticate")
	errSocksWho = errors.New("refused the credentials")
)

// tunnel asks an HTTP proxy for a connection to the site (RFC 9110 section 9.3.6).
func (c *Client) tunnel(stream net.Conn, t *target, via *proxy) error {
	at := net.JoinHostPort(t.host, t.port)
	ask := "CONNECT " + at + " HTTP/1.1\r\nHost: " + at + "\r\n"
	if via.auth != "" {
		ask += "Proxy-Authorization: " + via.auth + "\r\n"
	}
	if _, err := io.WriteString(stream, ask+"\r\n"); err != nil {
		return &proxyError{via, err, false}
	}
	h, err := c.tunnelHead(stream)
	if err != nil {
		return &proxyError{via, err, false}
	}
	switch {
	case h.status >= 200 && h.status < 300:
		return nil
	case h.status == 407:
		return &proxyError{via, errCredentials, true}
	case h.status >= 502 && h.status <= 504:
		return &relayError{via, "status " + strconv.Itoa(h.status)}
	default:
		return &proxyError{via, fmt.Errorf("answered CONNECT with status %d", h.status), false}
	}
}

var errCredentials = errors.New("asks for other credentials (status 407)")

// tunnelHead reads the answer to CONNECT and not a byte more.
func (c *Client) tunnelHead(stream net.Conn) (h head, err error) {
	limit := c.cfg.MaxHeaderBytes
	buf, searched := make([]byte, 0, 1024), 0
	for {
		if end := blockEnd(buf, searched); end > 0 {
			if h, err = parseHead(buf[:end]); err != nil {
				return h, err
			}
			if h.status >= 200 {
				if len(buf) > end && h.status < 300 {
					return h, errEarly
				}
				return h, nil
			}
			limit -= end
			buf, searched = append(buf[:0], buf[end:]...), 0
			continue
		}
		searched = len(buf)
		if searched >= limit {
			return h, errHeaderSize
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := stream.Read(buf[len(buf):cap(buf)])
		if buf = buf[:len(buf)+n]; n == 0 && err != nil {
			return h, err
		}
		if !statusPrefix(buf) {
			return h, errNotHTTP
		}
	}
}

// socks asks a SOCKS5 proxy for a connection to the site (RFC 1928, RFC 1929).
// site is what the name resolved to; a socks5h proxy is told the name.
func (c *Client) socks(stream net.Conn, t *target, via *proxy, site []netip.AddrPort) error {
	const version, noAuth, byPassword = 5, 0, 2
	hello := []byte{version, 1, noAuth}
	if via.user != "" || via.password != "" {
		hello = []byte{version, 2, noAuth, byPassword}
	}
	var b [262]byte // the longest answer: header, length, a name of 255, port
	if err := converse(stream, hello, b[:2]); err != nil {
		return &proxyError{via, err, false}
	}
	switch {
	case b[0] != version:
		return &proxyError{via, errSocks, true}
	case b[1] == byPassword && len(hello) == 4:
		ask := append([]byte{1, byte(len(via.user))}, via.user...)          //nolint:gosec // parseProxy bounds it
		ask = append(append(ask, byte(len(via.password))), via.password...) //nolint:gosec // as above
		if err := converse(stream, ask, b[:2]); err != nil {
			return &proxyError{via, err, false}
		}
		if b[1] != 0 {
			return &proxyError{via, errSocksWho, true}
		}
	case b[1] != noAuth:
		return &proxyError{via, errSocksWay, true}
	}
	ask, err := socksRequest(t, via, site)
	if err != nil {
		return err
	}
	if err := converse(stream, ask, b[:5]); err != nil {
		return &proxyError{via, err, false}
	}
	if b[0] != version {
		return &proxyError{via, errSocks, true}
	}
	if err := socksReply(via, b[1]); err != nil {
		return err
	}
	rest := 0 // of the address that the proxy connected from, and its port
	switch b[3] {
	case 1:
		rest = 3 + 2
	case 3:
		rest = int(b[4]) + 2
	case 4:
		rest = 15 + 2
	default:
		return &proxyError{via, errSocks, true}
	}
	if _, err := io.ReadFull(stream, b[:rest]); err != nil {
		return &proxyError{via, err, false}
	}
	return nil
}

// converse writes ask and reads an answer of a known length.
func converse(stream net.Conn, ask, answer []byte) error {
	if _, err := stream.Write(ask); err != nil {
		return err
	}
	_, err := io.ReadFull(stream, answer)
	return err
}

func socksRequest(t *target, via *proxy, site []netip.AddrPort) ([]byte, error) {
	port, err := strconv.ParseUint(t.port, 10, 16)
	if err != nil {
		return nil, errURLPort
	}
	ask := []byte{5, 1, 0}
	addr, err := netip.ParseAddr(t.host)
	if err != nil && via.scheme == "socks5" {
		addr, err = site[0].Addr(), nil
	}
	switch {
	case err != nil:
		ask = append(append(ask, 3, byte(len(t.host))), t.host...) //nolint:gosec // validHost bounds it
	case addr.Unmap().Is4():
		ask = append(append(ask, 1), addr.Unmap().AsSlice()...)
	default:
		ask = append(append(ask, 4), addr.AsSlice()...)
	}
	return binary.BigEndian.AppendUint16(ask, uint16(port)), nil
}

// socksReply is what the proxy's answer means.
func socksReply(via *proxy, code byte) error {
	switch code {
	case 0:
		return nil
	case 3:
		return &relayError{via, "network unreachable"}
	case 4:
		return &relayError{via, "host unreachable"}
	case 5:
		return &relayError{via, "connection refused"}
	case 6:
		return &relayError{via, "time to live expired"}
	default:
		return &proxyError{via, fmt.Errorf("SOCKS5 answer %d", code), false}
	}
}

// judgeProxy tells the proxy's health how a fetch through it ended that needed a
// new connection, or was answered by the proxy itself.
func (x *exchange) judgeProxy() {
	switch x.resp.Cause {
	case crawl.CauseNone:
		x.via.succeeded()
	case crawl.CauseReset, crawl.CauseMalformed, crawl.CauseTimeout:
		if x.forwarded {
			x.via.failed(false)
		}
	default:
	}
}
