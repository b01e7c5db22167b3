package peer

import (
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that codec wraps
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	maxMessage = 16 << 20 // bytes of one message on the wire
	maxEntries = 4096     // type names, targets, senders and envelopes of one message
	maxDepth   = 64       // nesting of an enclosed message
)

// rules say what a peer may send.
type rules struct {
	types   map[protoreflect.FullName]protoreflect.MessageType
	targets map[string]struct{}
}

// delivery is one checked message for a local actor.
type delivery struct {
	target string
	msg    proto.Message
}

// codec is gRPC's protobuf codec which looks at the shape of a message before it is
// decoded: sixteen megabytes of two-byte envelopes would decode to a gigabyte.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	msg, ok := v.(*remote.RemoteMessage)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	return decode(buf.ReadOnlyData(), msg)
}

// decode reads a message of the wire within the bounds above. It keeps nothing of
// data.
func decode(data []byte, msg *remote.RemoteMessage) error {
	if err := checkShape(data); err != nil {
		return err
	}
	return proto.Unmarshal(data, msg)
}

// Fields of remote.proto that checkShape walks.
const (
	fieldBatch     protowire.Number = 1 // RemoteMessage
	fieldTypeNames protowire.Number = 1 // MessageBatch
	fieldSenders   protowire.Number = 4 // MessageBatch, the last
	fieldEnvelopes protowire.Number = 3 // MessageBatch
	fieldHeader    protowire.Number = 6 // MessageEnvelope
)

// checkShape refuses a message that would decode to far more than its size.
func checkShape(data []byte) error {
	entries := 0
	return eachField(data, func(num protowire.Number, batch []byte) error {
		if num != fieldBatch {
			return nil
		}
		return eachField(batch, func(num protowire.Number, value []byte) error {
			if num < fieldTypeNames || num > fieldSenders {
				return nil
			}
			if entries++; entries > maxEntries {
				return fmt.Errorf("more than %d entries in a batch", maxEntries)
			}
			if num != fieldEnvelopes {
				return nil
			}
			return eachField(value, func(num protowire.Number, _ []byte) error {
				if num == fieldHeader {
					return errors.New("envelope with a header")
				}
				return nil
			})
		})
	})
}

// eachField calls f with every length-delimited field of an encoded message.
func eachField(data []byte, f func(protowire.Number, []byte) error) error {
	for len(data) > 0 {
		num, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		if typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, data); n < 0 {
				return protowire.ParseError(n)
			}
			data = data[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := f(num, value); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// deliveries checks a whole batch and returns what it holds; a batch with one bad
// envelope holds nothing. The senders' addresses are checked and left out: an actor
// must not answer to where a peer points it.
func (r *rules) deliveries(b *remote.MessageBatch) ([]delivery, error) {
	if b == nil {
		return nil, errors.New("no batch")
	}
	out := make([]delivery, 0, len(b.Envelopes))
	for _, e := range b.Envelopes {
		d, err := r.delivery(b, e)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

func (r *rules) delivery(b *remote.MessageBatch, e *remote.MessageEnvelope) (delivery, error) {
	if e == nil {
		return delivery{}, errors.New("no envelope")
	}
	if e.SerializerId != 0 {
		return delivery{}, fmt.Errorf("serializer %d, only protobuf (0) is spoken", e.SerializerId)
	}
	if e.MessageHeader != nil {
		return delivery{}, errors.New("envelope with a header")
	}
	if e.Sender < 0 || int(e.Sender) > len(b.Senders) {
		return delivery{}, fmt.Errorf("sender index %d of %d", e.Sender, len(b.Senders))
	}
	if e.Target < 0 || int(e.Target) >= len(b.Targets) || b.Targets[e.Target] == nil {
		return delivery{}, fmt.Errorf("target index %d of %d", e.Target, len(b.Targets))
	}
	target := b.Targets[e.Target].Id
	if _, ok := r.targets[target]; !ok {
		return delivery{}, fmt.Errorf("target %.64q, not an actor for peers", target)
	}
	if e.TypeId < 0 || int(e.TypeId) >= len(b.TypeNames) {
		return delivery{}, fmt.Errorf("type index %d of %d", e.TypeId, len(b.TypeNames))
	}
	name := b.TypeNames[e.TypeId]
	mt, ok := r.types[protoreflect.FullName(name)]
	if !ok {
		return delivery{}, fmt.Errorf("message type %.128q, not one for peers", name)
	}
	msg := mt.New().Interface()
	if err := (proto.UnmarshalOptions{RecursionLimit: maxDepth}).Unmarshal(e.MessageData, msg); err != nil {
		return delivery{}, fmt.Errorf("message of type %s: %w", name, err)
	}
	return delivery{target: target, msg: msg}, nil
}
