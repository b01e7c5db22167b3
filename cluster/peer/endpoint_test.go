package peer

import (
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/remote"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const lostLine = "lost or cannot reach a peer, dropping hints for it"

func TestReachesARestartedPeer(t *testing.T) {
	t.Parallel()
	a := startNode(t, Config{})
	bind := "127.0.7.21:0" // an address whose ports no other test takes meanwhile
	for range 4 {
		b := startNode(t, Config{Bind: bind})
		bind = b.Address()
		start := time.Now()
		reaches(t, a, bind, b.startsWith)
		require.Less(t, time.Since(start), 15*time.Second)
		b.Close()
		for range 10 {
			a.say(bind, "into the void")
		}
	}
}

func TestReachesAKilledAndAFrozenPeer(t *testing.T) {
	t.Parallel()
	a := startNode(t, Config{})
	c := startChild(t, "ours", "127.0.7.22:0") // as above
	reaches(t, a, c.address, c.heard)

	require.NoError(t, c.cmd.Process.Signal(syscall.SIGSTOP))
	start := time.Now()
	for range 50_000 {
		a.say(c.address, "to a frozen process, more than its socket's buffers hold, which is some hundreds of kilobytes")
	}
	require.Less(t, time.Since(start), 15*time.Second, "never blocks")
	require.Eventually(t, func() bool { return a.Stats().Dropped > 0 }, soon, 10*time.Millisecond)
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGCONT))
	reaches(t, a, c.address, c.heard)

	c.kill()
	for range 100 {
		a.say(c.address, "to a dead process")
	}
	again := startChild(t, "ours", c.address)
	reaches(t, a, again.address, again.heard)
}

func TestDeadAddress(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	dead := ln.Addr().String()
	require.NoError(t, ln.Close())
	a := startNode(t, Config{})
	before := runtime.NumGoroutine()
	start := time.Now()
	for range 100_000 {
		a.say(dead, "x")
	}
	require.Less(t, time.Since(start), 15*time.Second)
	require.Eventually(t, func() bool { a.say(dead, "x"); return a.Stats().Dropped > 100_000-queueSize }, soon, 10*time.Millisecond)
	require.Less(t, runtime.NumGoroutine(), before+500, "other tests run beside this one")
	require.LessOrEqual(t, a.lines(lostLine), 1)
	require.Zero(t, a.Stats().Sent)
}

func TestEndpointsAreBounded(t *testing.T) {
	t.Parallel()
	a := startNode(t, Config{})
	a.mu.Lock()
	for i := range maxEndpoints {
		a.endpoints[string(rune(0x4e00+i))] = newEndpoint(a.Peer, "")
	}
	a.mu.Unlock()
	a.say("127.0.0.1:1", "x")
	require.EqualValues(t, 1, a.Stats().Dropped)
}

// stub is a node that ends streams in ways of its own.
type stub struct {
	remote.UnimplementedRemotingServer
	calls atomic.Int32
	end   func(call int32, stream remote.Remoting_ReceiveServer) error
}

func (s *stub) Receive(stream remote.Remoting_ReceiveServer) error {
	return s.end(s.calls.Add(1), stream)
}

func startStub(t *testing.T, end func(int32, remote.Remoting_ReceiveServer) error) (*stub, string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s, server := &stub{end: end}, grpc.NewServer()
	remote.RegisterRemotingServer(server, s)
	go func() { _ = server.Serve(ln) }()
	t.Cleanup(server.Stop)
	return s, ln.Addr().String()
}

// greetBack answers a connect request.
func greetBack(stream remote.Remoting_ReceiveServer) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	return stream.Send(&remote.RemoteMessage{MessageType: &remote.RemoteMessage_ConnectResponse{ConnectResponse: &remote.ConnectResponse{}}})
}

// However a node ends a stream, it is dialled again: well, badly, by leaving, or
// before it agreed.
func TestDialsAgainHoweverAStreamEnds(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 64)
	s, address := startStub(t, func(call int32, stream remote.Remoting_ReceiveServer) error {
		if call == 1 {
			return nil // says nothing
		}
		if call == 2 {
			return errors.New("no")
		}
		if err := greetBack(stream); err != nil {
			return err
		}
		switch call {
		case 3:
			return nil
		case 4:
			return status.Error(codes.InvalidArgument, "no")
		case 5:
			return stream.Send(&remote.RemoteMessage{MessageType: &remote.RemoteMessage_DisconnectRequest{}})
		}
		for {
			if _, err := stream.Recv(); err != nil {
				return err
			}
			select {
			case arrived <- struct{}{}:
			default:
			}
		}
	})
	a := startNode(t, Config{})
	reaches(t, a, address, func(string) bool { return len(arrived) > 0 })
	require.GreaterOrEqual(t, s.calls.Load(), int32(6))
	require.LessOrEqual(t, a.lines(lostLine), 2)
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	skew := status.Error(codes.FailedPrecondition, "version")
	for _, tt := range []struct {
		failures int
		err      error
		most     time.Duration
	}{
		{0, nil, minBackoff},
		{1, nil, 2 * minBackoff},
		{4, nil, 16 * minBackoff},
		{5, nil, maxBackoff},
		{1 << 40, nil, maxBackoff},
		{0, skew, skewBackoff},
	} {
		for range 50 {
			got := backoff(tt.failures, tt.err)
			require.LessOrEqual(t, got, tt.most)
			require.GreaterOrEqual(t, got, tt.most*3/4)
		}
	}
}

func TestQuiet(t *testing.T) {
	t.Parallel()
	a := startNode(t, Config{})
	q, at := a.quiet, time.Now()
	q.now = func() time.Time { return at }
	for range 100 {
		q.warn("one", nil)
		q.warn("two", map[string]any{"x": 1})
	}
	require.Equal(t, 1, a.lines("one"))
	require.Equal(t, 1, a.lines("two"))
	at = at.Add(quietFor)
	q.warn("one", nil)
	require.Equal(t, 2, a.lines("one"))
	require.EqualValues(t, 99, a.log.LastEntry().Data["suppressed"])
}

// tunnel forwards connections to a node. Those made before a cut never carry
// another byte, and are not closed either; later ones work.
type tunnel struct {
	address string

	mu    sync.Mutex
	cut   chan struct{} // guarded by mu; closed and replaced at a cut
	conns []net.Conn    // guarded by mu
}

func startTunnel(t *testing.T, to string) *tunnel {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	out := &tunnel{address: ln.Addr().String(), cut: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			out.mu.Lock()
			cut := out.cut
			out.conns = append(out.conns, in, there)
			out.mu.Unlock()
			wg.Go(func() { forward(there, in, cut) })
			wg.Go(func() { forward(in, there, cut) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		out.mu.Lock()
		for _, c := range out.conns {
			_ = c.Close()
		}
		out.mu.Unlock()
		wg.Wait()
	})
	return out
}

// forward copies until an end; after the cut it swallows.
func forward(dst, src net.Conn, cut <-chan struct{}) {
	buf := make([]byte, 4096)
	for {
		n, err := src.Read(buf)
		if err != nil {
			return
		}
		select {
		case <-cut:
			continue
		default:
		}
		if _, err := dst.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (tu *tunnel) sever() {
	tu.mu.Lock()
	defer tu.mu.Unlock()
	close(tu.cut)
	tu.cut = make(chan struct{})
}

// A peer that was cut off without a word is noticed by keepalive, and dialled anew.
func TestNoticesACutOffPeer(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	a, b := startNode(t, Config{TLS: identity(t, ca, "a")}), startNode(t, Config{TLS: identity(t, ca, "b")})
	way := startTunnel(t, b.Address())
	reaches(t, a, way.address, b.startsWith)
	way.sever()
	start := time.Now()
	require.Eventually(t, func() bool {
		a.say(way.address, "again")
		return b.startsWith("again")
	}, keepaliveTime+keepaliveTimeout+2*soon, 100*time.Millisecond)
	require.Less(t, time.Since(start), 2*(keepaliveTime+keepaliveTimeout)+soon)
}
