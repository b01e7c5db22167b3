package peer

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"github.com/sirupsen/logrus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	queueSize    = 1024                   // messages that wait for one node
	batchSize    = 128                    // messages of one batch
	batchBytes   = 1 << 20                // after which a batch is full; also the largest message
	greetTimeout = 5 * time.Second        // from dialling to the peer's answer
	idleTime     = 2 * time.Minute        // without a message, then the connection is closed
	minBackoff   = 100 * time.Millisecond // after a first failure
	maxBackoff   = 2 * time.Second
	skewBackoff  = 10 * time.Second // after a refusal for the version
	goodSession  = 5 * time.Second  // a connection that lasted so long was no failure
	endTime      = time.Second      // for a peer to confirm that it has read everything
)

var errClosed = errors.New("peer: closed")

// outgoing is one message that waits for its node.
type outgoing struct {
	target string
	msg    proto.Message
}

// endpoint sends to one node: it dials when there is something to send, keeps the
// stream while it is used, and dials again, with backoff, when it ends. What waits
// when the node cannot be reached is dropped: hints age.
type endpoint struct {
	peer    *Peer
	address string
	queue   chan outgoing
}

func newEndpoint(p *Peer, address string) *endpoint {
	return &endpoint{peer: p, address: address, queue: make(chan outgoing, queueSize)}
}

// offer queues a message; false when the queue is full.
func (e *endpoint) offer(m outgoing) bool {
	select {
	case e.queue <- m:
		return true
	default:
		return false
	}
}

// run is the endpoint's goroutine. It ends when the endpoint is idle or the peer
// closes.
func (e *endpoint) run() {
	defer e.peer.wg.Done()
	failures := 0
	for {
		first, ok := e.next()
		if !ok {
			e.discard()
			return
		}
		start := time.Now()
		greeted, err := e.session(first)
		switch {
		case err == nil, errors.Is(err, errClosed):
			failures = 0
			continue
		case greeted && time.Since(start) >= goodSession:
			failures = 0
		}
		if !greeted {
			e.discard()
		}
		e.peer.quiet.warn("lost or cannot reach a peer, dropping hints for it", logrus.Fields{"peer": e.address, "err": err})
		if !e.pause(backoff(failures, err)) {
			continue
		}
		failures++
	}
}

// next waits for a message; false when the endpoint is to end.
func (e *endpoint) next() (outgoing, bool) {
	idle := time.NewTimer(idleTime)
	defer idle.Stop()
	for {
		select {
		case m := <-e.queue:
			return m, true
		case <-e.peer.closing:
			if e.peer.ctx.Err() != nil {
				return outgoing{}, false
			}
			select {
			case m := <-e.queue:
				return m, true
			default:
				return outgoing{}, false
			}
		case <-idle.C:
			if e.peer.retire(e) {
				return outgoing{}, false
			}
			idle.Reset(idleTime)
		}
	}
}

// discard drops what waits.
func (e *endpoint) discard() {
	for {
		select {
		case <-e.queue:
			e.peer.dropped.Add(1)
		default:
			return
		}
	}
}

// pause waits before the next attempt; false when the peer closes meanwhile.
func (e *endpoint) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-e.peer.closing:
		return false
	}
}

// backoff doubles from minBackoff to maxBackoff, less up to a quarter.
func backoff(failures int, err error) time.Duration {
	d := maxBackoff
	if failures < 5 {
		d = min(minBackoff<<failures, maxBackoff)
	}
	if status.Code(err) == codes.FailedPrecondition {
		d = skewBackoff
	}
	return d - rand.N(d/4)
}

// session dials and sends first and all that follows, until the node ends the
// stream (an error), nothing was sent for long, or the peer closes. greeted says
// that the node answered.
func (e *endpoint) session(first outgoing) (greeted bool, err error) {
	ctx, cancel := context.WithCancel(e.peer.ctx)
	defer cancel()
	conn, err := e.peer.dial.client(e.address)
	if err != nil {
		e.peer.dropped.Add(1)
		return false, err
	}
	defer conn.Close() //nolint:errcheck // the stream's error says it all
	patience := time.AfterFunc(greetTimeout, cancel)
	defer patience.Stop()
	stream, err := e.greet(ctx, remote.NewRemotingClient(conn))
	if err != nil {
		e.peer.dropped.Add(1)
		return false, err
	}
	patience.Stop()
	gone := make(chan error, 1)
	go func() {
		_, err := stream.Recv() // a node says nothing but that it leaves
		gone <- err
	}()
	return true, e.write(stream, first, gone)
}

// greet opens the stream and introduces this node.
func (e *endpoint) greet(ctx context.Context, c remote.RemotingClient) (remote.Remoting_ReceiveClient, error) {
	stream, err := c.Receive(metadata.AppendToOutgoingContext(ctx, versionKey, Version))
	if err != nil {
		return nil, err
	}
	err = stream.Send(&remote.RemoteMessage{MessageType: &remote.RemoteMessage_ConnectRequest{
		ConnectRequest: &remote.ConnectRequest{ConnectionType: &remote.ConnectRequest_ServerConnection{
			ServerConnection: &remote.ServerConnection{SystemId: e.peer.system.ID, Address: e.peer.address},
		}},
	}})
	answer, recvErr := stream.Recv() // holds the reason when Send failed
	switch {
	case recvErr != nil:
		return nil, recvErr
	case err != nil:
		return nil, err
	}
	response, ok := answer.MessageType.(*remote.RemoteMessage_ConnectResponse)
	if !ok || response.ConnectResponse.GetBlocked() {
		return nil, errors.New("peer: connect: the node did not agree")
	}
	return stream, nil
}

// write sends batches until the session ends.
func (e *endpoint) write(stream remote.Remoting_ReceiveClient, m outgoing, gone <-chan error) error {
	idle := time.NewTimer(idleTime)
	defer idle.Stop()
	for {
		batch, size := e.batch(m)
		if size > 0 {
			err := stream.Send(&remote.RemoteMessage{MessageType: &remote.RemoteMessage_MessageBatch{MessageBatch: batch}})
			if err != nil {
				e.peer.dropped.Add(uint64(size))
				return e.ending(<-gone, err) // the stream is over, so Recv returns
			}
			e.peer.sent.Add(uint64(size))
		}
		idle.Reset(idleTime)
		select {
		case m = <-e.queue:
			continue
		default:
		}
		select {
		case m = <-e.queue:
		case err := <-gone:
			return e.ending(err, errors.New("peer: send: the node leaves"))
		case <-idle.C:
			return finish(stream, gone)
		case <-e.peer.closing:
			select {
			case m = <-e.queue:
				continue
			default:
			}
			return errors.Join(errClosed, finish(stream, gone))
		}
	}
}

// ending picks the error that says more.
func (e *endpoint) ending(recv, otherwise error) error {
	if recv != nil {
		return recv
	}
	return otherwise
}

// finish ends the stream and waits, bounded, until the node has read all of it.
func finish(stream remote.Remoting_ReceiveClient, gone <-chan error) error {
	if err := stream.CloseSend(); err != nil {
		return err
	}
	t := time.NewTimer(endTime)
	defer t.Stop()
	select {
	case <-gone: //nolint:errcheck // over is over
	case <-t.C:
	}
	return nil
}

// batch builds a batch of m and what else waits. size is the number of messages in
// it; those that are too large are dropped.
func (e *endpoint) batch(m outgoing) (batch *remote.MessageBatch, size int) {
	b := batcher{address: e.address}
	for {
		if err := b.add(m); err != nil {
			e.peer.dropped.Add(1)
			e.peer.quiet.warn("dropped a message that cannot be sent", logrus.Fields{"err": err})
		}
		if len(b.out.Envelopes) >= batchSize || b.bytes >= batchBytes {
			return &b.out, len(b.out.Envelopes)
		}
		select {
		case m = <-e.queue:
		default:
			return &b.out, len(b.out.Envelopes)
		}
	}
}

// batcher puts messages into the wire's form, in which names stand once.
type batcher struct {
	address string
	out     remote.MessageBatch
	bytes   int
}

func (b *batcher) add(m outgoing) error {
	data, err := proto.Marshal(m.msg)
	if err != nil {
		return err
	}
	if len(data) > batchBytes {
		return errors.New("peer: send message: larger than 1 MiB")
	}
	b.bytes += len(data)
	b.out.Envelopes = append(b.out.Envelopes, &remote.MessageEnvelope{
		TypeId:      b.typeIndex(string(proto.MessageName(m.msg))),
		Target:      b.targetIndex(m.target),
		MessageData: data,
	})
	return nil
}

// typeIndex searches: there are a handful.
func (b *batcher) typeIndex(name string) int32 {
	for i, have := range b.out.TypeNames {
		if have == name {
			return int32(i)
		}
	}
	b.out.TypeNames = append(b.out.TypeNames, name)
	return int32(len(b.out.TypeNames) - 1)
}

func (b *batcher) targetIndex(id string) int32 {
	for i, have := range b.out.Targets {
		if have.Id == id {
			return int32(i)
		}
	}
	b.out.Targets = append(b.out.Targets, actor.NewPID(b.address, id))
	return int32(len(b.out.Targets) - 1)
}
