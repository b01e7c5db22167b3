package peer

import (
	"context"
	"net"
	"strconv"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// startLibrary starts protoactor's own remote, which only lacks the version.
func startLibrary(system *actor.ActorSystem, bind string) string {
	host, port, err := net.SplitHostPort(bind)
	if err != nil {
		panic(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		panic(err)
	}
	remote.NewRemote(system, remote.Configure(host, n, remote.WithDialOptions(
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return next(metadata.AppendToOutgoingContext(ctx, versionKey, Version), desc, cc, method, opts...)
		}),
	))).Start()
	return system.Address()
}

// The wire protocol is the library's: its remote understands us, and we it.
func TestSpeaksWithTheLibrary(t *testing.T) {
	t.Parallel()
	c := startChild(t, "library", "127.0.0.1:0")
	a := startNode(t, Config{})
	reaches(t, a, c.address, c.heard)
	a.say(c.address, "answer "+a.Address())
	a.hears(t, "answer of the library")
	require.Zero(t, a.Stats().StreamsRefused)
}
