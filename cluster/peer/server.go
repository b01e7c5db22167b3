package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/remote"
	"github.com/sirupsen/logrus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Version is the version of the messages between nodes, as in the metadata
// orbweaver-version. Nodes of another major version exchange nothing.
const Version = "1"

const versionKey = "orbweaver-version"

const (
	keepaliveTime    = 10 * time.Second // silence after which a side asks the other
	keepaliveTimeout = 5 * time.Second  // and this much later takes it for gone
	streamlessIdle   = time.Minute      // a caller that wants nothing is let go
	maxStreams       = 16               // per connection; a peer needs one
	maxHeaders       = 16 << 10         // bytes of metadata
)

// newServer builds the gRPC server of the node's receiving side.
func (p *Peer) newServer() *grpc.Server {
	s := grpc.NewServer(
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxSendMsgSize(maxMessage),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.WaitForHandlers(true),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: streamlessIdle, Time: keepaliveTime, Timeout: keepaliveTimeout,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime: keepaliveTime / 2, PermitWithoutStream: true,
		}),
		grpc.StreamInterceptor(p.guardStream),
		grpc.UnaryInterceptor(p.refuseUnary),
	)
	remote.RegisterRemotingServer(s, receiver{peer: p})
	return s
}

// refuseUnary refuses the calls with which a peer would list and inspect actors.
func (p *Peer) refuseUnary(ctx context.Context, _ any, info *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
	err := status.Errorf(codes.PermissionDenied, "%s is not served", info.FullMethod)
	p.refuseStream(ctx, err)
	return nil, err
}

// guardStream lets in streams of this version only, ends a stream whose handling
// panics, and counts and logs what is refused. Nothing that one stream does reaches
// another.
func (p *Peer) guardStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	defer func() {
		if r := recover(); r != nil {
			p.panics.Add(1)
			p.quiet.warn("recovered a panic over a peer's message", logrus.Fields{
				"remote": remoteAddr(stream.Context()), "panic": fmt.Sprint(r), "stack": string(debug.Stack()),
			})
			err = status.Error(codes.Internal, "message could not be handled")
		}
	}()
	if err := checkVersion(stream.Context()); err != nil {
		p.versions.Add(1)
		p.quiet.warn("refused a peer of another version, the cluster works without its hints", logrus.Fields{
			"remote": remoteAddr(stream.Context()), "err": err,
		})
		return err
	}
	err = handle(srv, stream)
	switch status.Code(err) {
	case codes.OK, codes.Canceled, codes.Unavailable, codes.DeadlineExceeded:
		// Ended by the peer or with the connection.
	default:
		p.refuseStream(stream.Context(), err)
	}
	return err
}

func (p *Peer) refuseStream(ctx context.Context, err error) {
	p.streams.Add(1)
	p.quiet.warn("refused a peer's message and reset its stream", logrus.Fields{"remote": remoteAddr(ctx), "err": err})
}

// checkVersion compares the major version of the caller with this node's.
func checkVersion(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	got := md.Get(versionKey)
	if len(got) == 0 {
		return status.Errorf(codes.FailedPrecondition, "no %s in the metadata, this node speaks %s", versionKey, Version)
	}
	if major, _, _ := strings.Cut(got[0], "."); len(got) > 1 || major != Version {
		return status.Errorf(codes.FailedPrecondition, "%s is %.32q, this node speaks %s", versionKey, got[0], Version)
	}
	return nil
}

func remoteAddr(ctx context.Context) string {
	if from, ok := grpcpeer.FromContext(ctx); ok {
		return from.Addr.String()
	}
	return ""
}

// receiver serves the streams on which peers send.
type receiver struct {
	remote.UnimplementedRemotingServer
	peer *Peer
}

// Receive takes one peer's batches until it ends the stream. The first message
// introduces the peer; anything against the rules ends the stream with an error.
func (r receiver) Receive(stream remote.Remoting_ReceiveServer) error {
	if err := r.greet(stream); err != nil {
		return err
	}
	for {
		msg, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		batch, ok := msg.MessageType.(*remote.RemoteMessage_MessageBatch)
		if !ok {
			return status.Errorf(codes.InvalidArgument, "%T where a batch belongs", msg.MessageType)
		}
		deliveries, err := r.peer.rules.deliveries(batch.MessageBatch)
		if err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		for _, d := range deliveries {
			r.peer.deliver(d.target, d.msg)
		}
	}
}

func (r receiver) greet(stream remote.Remoting_ReceiveServer) error {
	msg, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	request, ok := msg.MessageType.(*remote.RemoteMessage_ConnectRequest)
	if !ok {
		return status.Errorf(codes.InvalidArgument, "%T where a connect request belongs", msg.MessageType)
	}
	if _, ok := request.ConnectRequest.GetConnectionType().(*remote.ConnectRequest_ServerConnection); !ok {
		return status.Errorf(codes.InvalidArgument, "connect request of %T, only nodes are served", request.ConnectRequest.GetConnectionType())
	}
	return stream.Send(&remote.RemoteMessage{MessageType: &remote.RemoteMessage_ConnectResponse{
		ConnectResponse: &remote.ConnectResponse{MemberId: r.peer.system.ID},
	}})
}
