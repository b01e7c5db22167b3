package peer

import (
	"bytes"
	"strings"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func testRules(t testing.TB) *rules {
	t.Helper()
	types, err := Config{Accept: []string{"google.protobuf.StringValue", "google.protobuf.Struct"}}.messageTypes()
	require.NoError(t, err)
	return &rules{types: types, targets: map[string]struct{}{probe: {}}}
}

// goodBatch says text to probe.
func goodBatch(text string) *remote.MessageBatch {
	data, err := proto.Marshal(wrapperspb.String(text))
	if err != nil {
		panic(err)
	}
	return &remote.MessageBatch{
		TypeNames: []string{"google.protobuf.StringValue"},
		Targets:   []*actor.PID{actor.NewPID("127.0.0.1:1", probe)},
		Envelopes: []*remote.MessageEnvelope{{MessageData: data}},
	}
}

// spoilt is a good batch changed by f.
func spoilt(f func(*remote.MessageBatch)) *remote.RemoteMessage {
	b := goodBatch("spoilt")
	f(b)
	return inBatch(b)
}

func inBatch(b *remote.MessageBatch) *remote.RemoteMessage {
	return &remote.RemoteMessage{MessageType: &remote.RemoteMessage_MessageBatch{MessageBatch: b}}
}

// ofType puts a message of any type into a batch.
func ofType(msg proto.Message) *remote.RemoteMessage {
	return spoilt(func(b *remote.MessageBatch) {
		data, err := proto.Marshal(msg)
		if err != nil {
			panic(err)
		}
		b.TypeNames[0], b.Envelopes[0].MessageData = string(proto.MessageName(msg)), data
	})
}

func deep(levels int) *structpb.Struct {
	v := structpb.NewNullValue()
	for range levels {
		v = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{v}})
	}
	return &structpb.Struct{Fields: map[string]*structpb.Value{"x": v}}
}

// crash is what a certified peer may try.
type crash struct {
	name string
	msg  *remote.RemoteMessage
	raw  []byte // instead of msg
	want string // part of the refusal
}

// crashes are the inputs that crash or steer the library's own endpoints, and some
// more.
func crashes() []crash {
	none := &remote.RemoteMessage{}
	pid := actor.NewPID("127.0.0.1:1", probe)
	many := func(field byte, n int) []byte {
		batch := bytes.Repeat([]byte{field, 0}, n)
		out := []byte{0x0a}
		for size := len(batch); ; size >>= 7 {
			if size < 0x80 {
				return append(append(out, byte(size)), batch...)
			}
			out = append(out, byte(size)|0x80)
		}
	}
	return []crash{
		{name: "unknown message type", msg: spoilt(func(b *remote.MessageBatch) { b.TypeNames[0] = "no.Such" }), want: `"no.Such"`},
		{name: "type that is none", msg: spoilt(func(b *remote.MessageBatch) { b.TypeNames[0] = "\n.." }), want: "not one for peers"},
		{name: "known type that is not for peers", msg: ofType(&remote.ActorPidRequest{Kind: "x"}), want: "not one for peers"},
		{name: "target index out of range", msg: spoilt(func(b *remote.MessageBatch) { b.Envelopes[0].Target = 1 }), want: "target index 1 of 1"},
		{name: "target index negative", msg: spoilt(func(b *remote.MessageBatch) { b.Envelopes[0].Target = -1 }), want: "target index -1 of 1"},
		{name: "no targets", msg: spoilt(func(b *remote.MessageBatch) { b.Targets = nil }), want: "target index 0 of 0"},
		{name: "sender index out of range", msg: spoilt(func(b *remote.MessageBatch) { b.Envelopes[0].Sender = 1 }), want: "sender index 1 of 0"},
		{name: "sender index negative", msg: spoilt(func(b *remote.MessageBatch) { b.Envelopes[0].Sender = -5 }), want: "sender index -5 of 0"},
		{name: "type index out of range", msg: spoilt(func(b *remote.MessageBatch) { b.Envelopes[0].TypeId = 7 }), want: "type index 7 of 1"},
		{name: "type index negative", msg: spoilt(func(b *remote.MessageBatch) { b.Envelopes[0].TypeId = -7 }), want: "type index -7 of 1"},
		{name: "empty target", msg: spoilt(func(b *remote.MessageBatch) { b.Targets[0] = &actor.PID{} }), want: `target ""`},
		{name: "unknown target", msg: spoilt(func(b *remote.MessageBatch) { b.Targets[0].Id = "activator" }), want: `target "activator"`},
		{name: "empty envelope", msg: spoilt(func(b *remote.MessageBatch) { b.Envelopes[0], b.Targets = &remote.MessageEnvelope{}, nil }), want: "target index 0 of 0"},
		{name: "header", msg: spoilt(func(b *remote.MessageBatch) {
			b.Envelopes[0].MessageHeader = &remote.MessageHeader{HeaderData: map[string]string{"a": "b"}}
		}), want: "header"},
		{name: "unknown serializer", msg: spoilt(func(b *remote.MessageBatch) { b.Envelopes[0].SerializerId = 9 }), want: "serializer 9"},
		{name: "negative serializer", msg: spoilt(func(b *remote.MessageBatch) { b.Envelopes[0].SerializerId = -1 }), want: "serializer -1"},
		{name: "bad JSON", msg: spoilt(func(b *remote.MessageBatch) { b.Envelopes[0].SerializerId, b.Envelopes[0].MessageData = 1, []byte("{") }), want: "serializer 1"},
		{name: "bad protobuf", msg: spoilt(func(b *remote.MessageBatch) { b.Envelopes[0].MessageData = []byte{0xff} }), want: "message of type"},
		{name: "deep message", msg: ofType(deep(500)), want: "recursion"},
		{name: "last envelope bad", msg: spoilt(func(b *remote.MessageBatch) { b.Envelopes = append(b.Envelopes, &remote.MessageEnvelope{Target: 3}) }), want: "target index 3"},
		{name: "stop", msg: ofType(&actor.Stop{}), want: "not one for peers"},
		{name: "poison pill", msg: ofType(&actor.PoisonPill{}), want: "not one for peers"},
		{name: "watch", msg: ofType(&actor.Watch{Watcher: pid}), want: "not one for peers"},
		{name: "unwatch", msg: ofType(&actor.Unwatch{Watcher: pid}), want: "not one for peers"},
		{name: "terminated", msg: ofType(&actor.Terminated{Who: pid}), want: "not one for peers"},
		{name: "terminated of nobody", msg: ofType(&actor.Terminated{}), want: "not one for peers"},
		{name: "nothing", msg: none, want: "where a batch belongs"},
		{name: "second connect request", msg: hello(), want: "where a batch belongs"},
		{name: "disconnect request", msg: &remote.RemoteMessage{MessageType: &remote.RemoteMessage_DisconnectRequest{}}, want: "where a batch belongs"},
		{name: "half a message", raw: []byte{0x0a, 0x7f, 1}, want: "unmarshal"},
		{name: "bad text", raw: []byte{0x0a, 3, 0x0a, 1, 0xff}, want: "unmarshal"},
		{name: "a million envelopes", raw: many(0x1a, 1_000_000), want: "entries"},
		{name: "a million targets", raw: many(0x12, 1_000_000), want: "entries"},
		{name: "17 MiB", raw: append([]byte{0xfa, 0x3f, 0x80, 0x80, 0xc0, 0x08}, make([]byte, 17<<20)...), want: "larger than max"},
	}
}

func TestDeliveriesRefuses(t *testing.T) {
	t.Parallel()
	r := testRules(t)
	for _, tt := range crashes() {
		batch, ok := tt.msg.GetMessageType().(*remote.RemoteMessage_MessageBatch)
		if !ok {
			continue // TestCertifiedPeer has the rest
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := r.deliveries(batch.MessageBatch)
			require.ErrorContains(t, err, tt.want)
			require.Empty(t, got)
			require.Less(t, len(err.Error()), 400)
		})
	}
	long := spoilt(func(b *remote.MessageBatch) { b.TypeNames[0] = strings.Repeat("\xff", 1<<20) })
	_, err := r.deliveries(long.GetMessageBatch())
	require.Less(t, len(err.Error()), 1000, "bounded, whatever the peer sends")
	for _, nils := range []*remote.MessageBatch{nil, {Envelopes: []*remote.MessageEnvelope{nil}}, {Targets: []*actor.PID{nil}, Envelopes: []*remote.MessageEnvelope{{}}}} {
		_, err := r.deliveries(nils)
		require.Error(t, err)
	}
}

func TestDeliveries(t *testing.T) {
	t.Parallel()
	b := goodBatch("one")
	b.Senders = []*actor.PID{actor.NewPID("10.0.0.1:1", "elsewhere")}
	b.Envelopes[0].Sender, b.Envelopes[0].TargetRequestId = 1, 3
	b.Envelopes = append(b.Envelopes, goodBatch("two").Envelopes[0])
	got, err := testRules(t).deliveries(b)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, probe, got[0].target)
	require.Equal(t, "one", got[0].msg.(*wrapperspb.StringValue).Value)
	require.Equal(t, "two", got[1].msg.(*wrapperspb.StringValue).Value)
}

func FuzzRemoteMessage(f *testing.F) {
	good, err := proto.Marshal(inBatch(goodBatch("good")))
	require.NoError(f, err)
	f.Add(good)
	for _, c := range crashes() {
		if c.msg == nil && len(c.raw) < 4096 {
			f.Add(c.raw)
		}
		if data, err := proto.Marshal(c.msg); err == nil {
			f.Add(data)
		}
	}
	r := testRules(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		var msg remote.RemoteMessage
		err := decode(data, &msg)
		require.Equal(t, before, data)
		if err != nil {
			return
		}
		b := msg.GetMessageBatch()
		require.LessOrEqual(t, len(b.GetEnvelopes())+len(b.GetTargets())+len(b.GetSenders())+len(b.GetTypeNames()), maxEntries)
		got, err := r.deliveries(b)
		if err != nil {
			require.Empty(t, got)
			return
		}
		require.Len(t, got, len(b.GetEnvelopes()))
		for _, d := range got {
			require.Contains(t, r.targets, d.target)
			require.Contains(t, r.types, d.msg.ProtoReflect().Descriptor().FullName())
		}
	})
}
