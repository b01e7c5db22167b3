package store

import (
	"context"
	"crypto/tls"
	"net"
	"syscall"

	"github.com/redis/go-redis/v9"

	"orbweaver/core/sockio"
)

// dialer connects as the client's own dialer does, by the timeout and the TLS settings
// of o, and gives connections of sockio.
func dialer(o *redis.Options) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		nd := net.Dialer{Timeout: o.DialTimeout}
		conn, err := nd.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		sock := sockio.Wrap(conn)
		if o.TLSConfig == nil {
			return pooled{sock}, nil
		}
		secured := tls.Client(sock, serverNamed(o.TLSConfig, addr))
		if o.DialTimeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, o.DialTimeout)
			defer cancel()
		}
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = sock.Close()
			return nil, err
		}
		return secured, nil
	}
}

// serverNamed is the config with a name to check the server's certificate by: that of
// the address when it says none.
func serverNamed(c *tls.Config, addr string) *tls.Config {
	if c.ServerName != "" {
		return c
	}
	c = c.Clone()
	c.ServerName = addr
	if host, _, err := net.SplitHostPort(addr); err == nil {
		c.ServerName = host
	}
	return c
}

// pooled is a connection that the client's pool can look at before it is used again.
type pooled struct{ *sockio.Conn }

// SyscallConn implements syscall.Conn for that look alone.
func (c pooled) SyscallConn() (syscall.RawConn, error) {
	sc, ok := c.Conn.Conn.(syscall.Conn)
	if !ok {
		return nil, syscall.EINVAL
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	return looked{raw, c.Conn}, nil
}

// looked is a raw connection whose Read calls nothing when nothing is wrong: the pool's
// own look is an ordinary system call for every batch.
type looked struct {
	syscall.RawConn

	sock *sockio.Conn
}

func (l looked) Read(f func(fd uintptr) bool) error {
	if l.sock.Quiet() {
		return nil
	}
	return l.RawConn.Read(f)
}
