package peer

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"orbweaver/cluster/certs"
)

const (
	dialTimeout = 3 * time.Second // for connecting and for TLS together
	maxAnswer   = 64 << 10        // bytes of what a node may answer to a sender
)

// dialer makes the connections on which this node sends.
type dialer struct {
	tls  *certs.Source // nil: plaintext
	from netip.Addr    // loopback address to dial other loopback addresses from; invalid: any
}

func newDialer(cfg Config) dialer {
	d := dialer{tls: cfg.TLS}
	if host, _, err := net.SplitHostPort(cfg.Bind); err == nil {
		if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
			d.from = ip
		}
	}
	return d
}

// client prepares a gRPC connection to one node; it is made by the first call on it.
func (d dialer) client(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+address,
		grpc.WithContextDialer(d.connect),
		grpc.WithTransportCredentials(insecure.NewCredentials()), // connect makes TLS
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: keepaliveTime, Timeout: keepaliveTimeout, PermitWithoutStream: true,
		}),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: dialTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(maxMessage), grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithMaxHeaderListSize(maxHeaders),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithNoProxy(),
		grpc.WithIdleTimeout(0),
	)
}

// connect dials a node and, with TLS, checks that it is the one that address names.
func (d dialer) connect(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	raw, err := d.forHost(host).DialContext(ctx, "tcp", address)
	if err != nil || d.tls == nil {
		return raw, err
	}
	c := tls.Client(raw, d.tls.Client(host))
	if err := c.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return c, nil
}

// forHost dials from the node's own loopback address where the host is one of the
// same family: on one machine that address tells nodes apart.
func (d dialer) forHost(host string) *net.Dialer {
	out := &net.Dialer{}
	if to, err := netip.ParseAddr(host); err == nil && d.from.IsValid() && to.IsLoopback() && to.Is4() == d.from.Is4() {
		out.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(d.from, 0))
	}
	return out
}
