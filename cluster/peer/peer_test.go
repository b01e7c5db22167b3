package peer

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func TestSend(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	for _, tt := range []struct {
		name string
		conf func(name string) Config
	}{
		{"plaintext", func(string) Config { return Config{} }},
		{"TLS", func(name string) Config { return Config{TLS: identity(t, ca, name)} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, b := startNode(t, tt.conf("a")), startNode(t, tt.conf("b"))
			require.Equal(t, a.Address(), a.system.Address())
			for i := range 500 {
				a.say(b.Address(), fmt.Sprint("a ", i))
				b.say(a.Address(), fmt.Sprint("b ", i))
			}
			for i := range 500 { // in order
				require.Equal(t, fmt.Sprint("a ", i), <-b.got)
				require.Equal(t, fmt.Sprint("b ", i), <-a.got)
			}
			a.say(a.Address(), "myself")
			a.hears(t, "myself")
			require.Equal(t, Stats{Received: 501, Sent: 501}, a.Stats())
		})
	}
}

func TestSendDropsWhatPeersRefuse(t *testing.T) {
	t.Parallel()
	a, b := startNode(t, Config{}), startNode(t, Config{Targets: []string{"nobody"}})
	a.Send(b.Address(), probe, durationpb.New(0))
	a.Send(b.Address(), "other", wrapperspb.String("x"))
	a.Send(b.Address(), probe, nil)
	a.Send(b.Address(), probe, &actor.PoisonPill{})
	a.Send("no address", probe, wrapperspb.String("x"))
	a.Send(b.Address(), probe, wrapperspb.String(string(make([]byte, batchBytes+1))))
	a.say(b.Address(), "good")
	b.hears(t, "good")
	require.Eventually(t, func() bool { return a.Stats().Dropped == 6 }, soon, 10*time.Millisecond)
	require.Zero(t, b.Stats().StreamsRefused)

	c := startNode(t, Config{Targets: []string{"nobody"}})
	c.Send(b.Address(), "nobody", wrapperspb.String("x"))
	require.Eventually(t, func() bool { return b.Stats().Dropped == 1 }, soon, 10*time.Millisecond, "no such actor, no dead letter")
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	log, _ := logtest.NewNullLogger()
	a := startNode(t, Config{})
	_, err := Start(newSystem(), Config{Bind: a.Address()}, log)
	require.ErrorContains(t, err, "CLUSTER_BIND")
	require.ErrorContains(t, err, "address already in use")
	_, err = Start(a.system, Config{}, log)
	require.ErrorContains(t, err, "has the address")
	_, err = Start(newSystem(), Config{Bind: "10.0.0.1:1"}, log)
	require.ErrorContains(t, err, "CLUSTER_INSECURE")
}

func TestAdvertiseAndOwnLoopbackAddress(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	a := startNode(t, Config{Bind: "127.0.7.9:0", Advertise: "127.0.0.1:9"})
	require.Equal(t, "127.0.0.1:9", a.Address())
	a.say(ln.Addr().String(), "x")
	c, err := ln.Accept()
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, "127.0.7.9", c.RemoteAddr().(*net.TCPAddr).IP.String())
}

func TestRemotePID(t *testing.T) {
	t.Parallel()
	a, b := startNode(t, Config{}), startNode(t, Config{})
	there := actor.NewPID(b.Address(), probe)
	a.system.Root.Send(there, wrapperspb.String("by PID"))
	b.hears(t, "by PID")

	a.system.Root.Stop(there)
	a.system.Root.Poison(there)
	a.system.Root.Send(there, struct{}{})
	terminated := make(chan *actor.Terminated, 1)
	watcher := a.system.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
		switch m := ctx.Message().(type) {
		case *actor.Started:
			ctx.Watch(there)
			ctx.Unwatch(there)
		case *actor.Terminated:
			terminated <- m
		}
	}))
	select {
	case m := <-terminated:
		require.Equal(t, actor.TerminatedReason_AddressTerminated, m.Why)
	case <-time.After(soon):
		require.FailNow(t, "the watcher waits for ever")
	}
	require.NoError(t, a.system.Root.StopFuture(watcher).Wait())
	a.say(b.Address(), "still there")
	b.hears(t, "still there")
	require.Zero(t, b.Stats().StreamsRefused)
}

func TestCloseFlushes(t *testing.T) {
	t.Parallel()
	a, b := startNode(t, Config{}), startNode(t, Config{})
	for i := range 300 {
		a.say(b.Address(), fmt.Sprint(i))
	}
	a.Close() // never connected before
	for i := range 300 {
		require.Equal(t, fmt.Sprint(i), <-b.got)
	}
	a.say(b.Address(), "late")
	require.EqualValues(t, 1, a.Stats().Dropped)
}

func TestCloseIsBoundedAndIdempotent(t *testing.T) {
	t.Parallel()
	hole, err := net.Listen("tcp", "127.0.0.1:0") // accepts in the kernel, says nothing
	require.NoError(t, err)
	defer hole.Close()
	a, b := startNode(t, Config{}), startNode(t, Config{})
	b.say(a.Address(), "x")
	a.hears(t, "x")
	for range 2000 {
		a.say(hole.Addr().String(), "x")
		a.say(b.Address(), "y")
	}
	start := time.Now()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(a.Close)
	}
	wg.Wait()
	require.Less(t, time.Since(start), 15*time.Second)
}

func TestStartAndCloseManyTimes(t *testing.T) {
	t.Parallel()
	b := startNode(t, Config{})
	for i := range 20 {
		a := startNode(t, Config{})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { a.say(b.Address(), fmt.Sprint("n ", i)) })
		}
		wg.Go(a.Close)
		wg.Wait()
	}
}

// open starts a stream by hand.
func open(t *testing.T, address string, md ...string) remote.Remoting_ReceiveClient {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(context.Background(), md...), soon)
	t.Cleanup(cancel)
	stream, err := remote.NewRemotingClient(conn).Receive(ctx)
	require.NoError(t, err)
	return stream
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		md   []string
		ok   bool
	}{
		{"same", []string{versionKey, "1"}, true},
		{"same major", []string{versionKey, "1.7"}, true},
		{"next", []string{versionKey, "2"}, false},
		{"longer", []string{versionKey, "10"}, false},
		{"none", nil, false},
		{"two", []string{versionKey, "1", versionKey, "2"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := startNode(t, Config{})
			for range 5 {
				stream := open(t, a.Address(), tt.md...)
				_ = stream.Send(hello())
				_, err := stream.Recv()
				if tt.ok {
					require.NoError(t, err)
					continue
				}
				require.Equal(t, codes.FailedPrecondition, status.Code(err), "%v", err)
			}
			if !tt.ok {
				require.Equal(t, Stats{VersionsRefused: 5}, a.Stats())
				require.Equal(t, 1, a.lines("refused a peer of another version, the cluster works without its hints"))
			}
		})
	}
}

func hello() *remote.RemoteMessage {
	return &remote.RemoteMessage{MessageType: &remote.RemoteMessage_ConnectRequest{ConnectRequest: &remote.ConnectRequest{
		ConnectionType: &remote.ConnectRequest_ServerConnection{ServerConnection: &remote.ServerConnection{SystemId: "x", Address: "x:1"}},
	}}}
}

func TestPanicEndsOneStream(t *testing.T) {
	t.Parallel()
	a := startNode(t, Config{})
	stream := fakeStream{ctx: metadata.NewIncomingContext(context.Background(), metadata.Pairs(versionKey, Version))}
	for range 3 {
		err := a.guardStream(nil, stream, nil, func(any, grpc.ServerStream) error { panic("x") })
		require.Equal(t, codes.Internal, status.Code(err))
	}
	require.EqualValues(t, 3, a.Stats().PanicsRecovered)
	require.Equal(t, 1, a.lines("recovered a panic over a peer's message"))
}

type fakeStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // what Context gives
}

func (s fakeStream) Context() context.Context { return s.ctx }
