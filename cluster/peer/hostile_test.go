package peer

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/remote"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"orbweaver/cluster/certs"
)

const refusedLine = "refused a connection"

// dialRaw connects to a node and ends with the test.
func dialRaw(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(2*soon)))
	return c
}

// refusedByTLS connects with conf and expects the node to end it.
func refusedByTLS(t *testing.T, address string, conf *tls.Config) {
	t.Helper()
	conf.InsecureSkipVerify = true //nolint:gosec // the attacker does not care
	c := tls.Client(dialRaw(t, address), conf)
	_, err := io.WriteString(c, preface)
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	require.Error(t, err)
}

// Item by item what somebody without a place in the cluster may try.
func TestStrangers(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	good, conf := identity(t, ca, "good"), Config{TLS: identity(t, ca, "node")}
	for _, tt := range []struct {
		name   string
		attack func(t *testing.T, address string)
	}{
		{"no certificate", func(t *testing.T, address string) {
			refusedByTLS(t, address, &tls.Config{NextProtos: []string{"h2"}})
		}},
		{"wrong CA", func(t *testing.T, address string) {
			refusedByTLS(t, address, identity(t, authority(t), "stranger").Client("127.0.0.1"))
		}},
		{"expired", func(t *testing.T, address string) {
			refusedByTLS(t, address, &tls.Config{Certificates: []tls.Certificate{expired(t, ca)}, NextProtos: []string{"h2"}})
		}},
		{"TLS 1.2", func(t *testing.T, address string) {
			old := good.Client("127.0.0.1")
			old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
			refusedByTLS(t, address, old)
		}},
		{"plaintext gRPC", func(t *testing.T, address string) {
			stranger := startNode(t, Config{})
			stranger.say(address, "x")
			require.Eventually(t, func() bool { return stranger.Stats().Dropped > 0 }, soon, 5*time.Millisecond)
		}},
		{"garbage", func(t *testing.T, address string) {
			c := dialRaw(t, address)
			_, _ = c.Write(bytes.Repeat([]byte{0xde, 0xad}, 4096))
			_, _ = io.Copy(io.Discard, c)
		}},
		{"HTTP", func(t *testing.T, address string) {
			c := dialRaw(t, address)
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			_, _ = io.Copy(io.Discard, c)
		}},
		{"hang up", func(t *testing.T, address string) { _ = dialRaw(t, address).Close() }},
		{"certified, no HTTP/2", func(t *testing.T, address string) {
			c := tls.Client(dialRaw(t, address), good.Client("127.0.0.1"))
			_, err := io.WriteString(c, strings.Repeat("GET / HTTP/1.1\r\n", 10))
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, c)
		}},
		{"replay", func(t *testing.T, address string) { replay(t, address, identity(t, ca, "victim")) }},
		{"silence, 200 times", func(t *testing.T, address string) {
			for range 200 {
				dialRaw(t, address)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			node := startNode(t, conf)
			friend, late := startNode(t, Config{TLS: good}), startNode(t, Config{TLS: good})
			friend.say(node.Address(), "before")
			node.hears(t, "before")
			for range 3 {
				tt.attack(t, node.Address())
			}
			late.say(node.Address(), "a new peer")
			node.hears(t, "a new peer")
			friend.say(node.Address(), "after")
			node.hears(t, "after")
			require.Eventually(t, func() bool { return node.Stats().ConnectionsRefused >= 3 }, soon, 10*time.Millisecond)
			require.LessOrEqual(t, node.lines(refusedLine), 2, "one line in ten seconds")
			require.NotZero(t, node.lines(refusedLine))
			require.Zero(t, friend.Stats().Dropped)
			require.Zero(t, late.Stats().Dropped)
		})
	}
}

// replay captures what a good peer sends to the node and sends it again.
func replay(t *testing.T, address string, victimID *certs.Source) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	var captured bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() {
		in, err := ln.Accept()
		if err != nil {
			return
		}
		defer in.Close()
		out, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		defer out.Close()
		wg.Go(func() { _, _ = io.Copy(in, out) })
		_, _ = io.Copy(io.MultiWriter(out, &captured), in)
	})
	victim := startNode(t, Config{TLS: victimID})
	victim.say(ln.Addr().String(), "captured")
	require.Eventually(t, func() bool { return victim.Stats().Sent == 1 }, soon, 5*time.Millisecond)
	victim.Close()
	wg.Wait()
	require.NotZero(t, captured.Len())
	c := dialRaw(t, address)
	_, _ = c.Write(captured.Bytes())
	_, err = io.Copy(io.Discard, c)
	_ = err // reset or closed, never answered as a peer
}

// expired is a certificate of the authority that ended an hour ago.
func expired(t *testing.T, dir string) tls.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "ca.pem"), filepath.Join(dir, "ca-key.pem"))
	require.NoError(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(7),
		Subject:      pkix.Name{CommonName: "expired"},
		NotBefore:    time.Now().Add(-2 * time.Hour),
		NotAfter:     time.Now().Add(-time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}, pair.Leaf, &key.PublicKey, pair.PrivateKey)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// rawCodec lets an attacker send any bytes as a message.
type rawCodec struct{ encoding.CodecV2 }

func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if raw, ok := v.([]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(raw)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// attacker is a certified peer with a connection of its own.
func attacker(t *testing.T, id *certs.Source, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := dialer{tls: id}.client(address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// stream opens a stream and introduces itself as the peers do.
func stream(t *testing.T, conn *grpc.ClientConn) remote.Remoting_ReceiveClient {
	t.Helper()
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(context.Background(), versionKey, Version), 2*soon)
	t.Cleanup(cancel)
	s, err := remote.NewRemotingClient(conn).Receive(ctx,
		grpc.ForceCodecV2(rawCodec{encoding.GetCodecV2("proto")}), grpc.MaxCallSendMsgSize(64<<20))
	require.NoError(t, err)
	require.NoError(t, s.Send(hello()))
	_, err = s.Recv()
	require.NoError(t, err)
	return s
}

// What a peer with a good certificate may try resets that stream, and neither the
// other streams of its connection nor those of others.
func TestCertifiedPeer(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	node := startNode(t, Config{TLS: identity(t, ca, "node")})
	friend := startNode(t, Config{TLS: identity(t, ca, "friend")})
	friend.say(node.Address(), "before")
	node.hears(t, "before")
	conn := attacker(t, identity(t, ca, "attacker"), node.Address())
	second := stream(t, conn)
	for _, tt := range crashes() {
		t.Run(tt.name, func(t *testing.T) { // one after the other: they share the node
			refused := node.Stats().StreamsRefused
			s := stream(t, conn)
			var send any = tt.raw
			if tt.raw == nil {
				send = tt.msg
			}
			_ = s.SendMsg(send)
			_, err := s.Recv()
			require.Contains(t, []codes.Code{codes.InvalidArgument, codes.Internal, codes.ResourceExhausted}, status.Code(err), "%v", err)
			require.ErrorContains(t, err, tt.want)
			require.Eventually(t, func() bool { return node.Stats().StreamsRefused == refused+1 }, soon, time.Millisecond)

			require.NoError(t, second.Send(inBatch(goodBatch("second stream"))))
			node.hears(t, "second stream")
			friend.say(node.Address(), tt.name)
			node.hears(t, tt.name)
		})
	}
	t.Run("unary calls", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		defer cancel()
		c := remote.NewRemotingClient(conn)
		_, err := c.ListProcesses(ctx, &remote.ListProcessesRequest{Pattern: "."})
		require.Equal(t, codes.PermissionDenied, status.Code(err))
		_, err = c.GetProcessDiagnostics(ctx, &remote.GetProcessDiagnosticsRequest{})
		require.Equal(t, codes.PermissionDenied, status.Code(err))
	})
	t.Run("first message", func(t *testing.T) {
		for _, first := range []*remote.RemoteMessage{
			inBatch(goodBatch("uninvited")),
			{},
			{MessageType: &remote.RemoteMessage_ConnectRequest{ConnectRequest: &remote.ConnectRequest{}}},
			{MessageType: &remote.RemoteMessage_ConnectRequest{ConnectRequest: &remote.ConnectRequest{
				ConnectionType: &remote.ConnectRequest_ClientConnection{ClientConnection: &remote.ClientConnection{}},
			}}},
		} {
			ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(context.Background(), versionKey, Version), soon)
			defer cancel()
			s, err := remote.NewRemotingClient(conn).Receive(ctx)
			require.NoError(t, err)
			require.NoError(t, s.Send(first))
			_, err = s.Recv()
			require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
		}
	})
	require.NoError(t, second.Send(inBatch(goodBatch("at the end"))))
	node.hears(t, "at the end")
	stats := node.Stats()
	require.EqualValues(t, len(crashes())+2+4, stats.StreamsRefused)
	require.Zero(t, stats.PanicsRecovered)
	require.Zero(t, stats.ConnectionsRefused)
	require.Zero(t, stats.Dropped)
	require.Zero(t, friend.Stats().Dropped)
	require.LessOrEqual(t, node.lines("refused a peer's message and reset its stream"), 3, "bounded")
}

// More streams than a connection may have wait for one another and hurt nobody.
func TestManyStreamsAndConnections(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	node := startNode(t, Config{TLS: identity(t, ca, "node")})
	id := identity(t, ca, "attacker")
	conn := attacker(t, id, node.Address())
	for range maxStreams {
		stream(t, conn)
	}
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(context.Background(), versionKey, Version), 200*time.Millisecond)
	defer cancel()
	_, err := remote.NewRemotingClient(conn).Receive(ctx)
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	friend := startNode(t, Config{TLS: id})
	friend.say(node.Address(), "good")
	node.hears(t, "good")
}

// Who says nothing is let go, with and without a certificate.
func TestSilenceEnds(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	node := startNode(t, Config{TLS: identity(t, ca, "node")})
	certified := tls.Client(dialRaw(t, node.Address()), identity(t, ca, "peer").Client("127.0.0.1"))
	require.NoError(t, certified.Handshake())
	start := time.Now()
	for _, c := range []net.Conn{dialRaw(t, node.Address()), certified} {
		_, err := c.Read(make([]byte, 1))
		require.Error(t, err)
		require.Less(t, time.Since(start), 2*handshakeTimeout+10*time.Second)
	}
	require.Eventually(t, func() bool { return node.Stats().ConnectionsRefused == 2 }, soon, 10*time.Millisecond)
}
