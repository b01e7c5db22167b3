// Package actortest watches actors from tests: a Probe is an actor that keeps
// what it is sent, Expect takes the next message, Ask and Flush wait until an
// actor has handled everything that was sent to it before. All of it works in
// and outside of testing/synctest bubbles; in a bubble the waits are virtual.
package actortest

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"orbweaver/messages"
)

// patience is how long a message is waited for before the test fails.
const patience = 20 * time.Second

// letters is how many messages a Probe holds; one more fails the test.
const letters = 1 << 14

// NewSystem makes an actor system that logs nothing.
func NewSystem() *actor.ActorSystem {
	return actor.NewActorSystemWithConfig(actor.Configure(actor.WithLoggerFactory(
		func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) })))
}

// Letter is one message that a Probe was sent.
type Letter struct {
	Message any
	Sender  *actor.PID // nil when it was sent without one
}

// Probe is an actor without behaviour: every message it is sent goes to C, in
// order. It stands for a neighbour of the actor under test.
type Probe struct {
	PID *actor.PID
	C   <-chan Letter

	sys *actor.ActorSystem
}

// NewProbe starts a probe. Stop it before the end of a bubble.
func NewProbe(t testing.TB, sys *actor.ActorSystem) *Probe {
	t.Helper()
	c := make(chan Letter, letters)
	props := actor.PropsFromFunc(func(ctx actor.Context) {
		switch ctx.Message().(type) {
		case *actor.Started, *actor.Stopping, *actor.Stopped, *actor.Restarting:
			return
		case *messages.Inspect:
			ctx.Respond(&messages.Drained{})
			return
		}
		select {
		case c <- Letter{ctx.Message(), ctx.Sender()}:
		default:
			t.Errorf("actortest: probe is full, %T dropped", ctx.Message())
		}
	})
	return &Probe{PID: sys.Root.Spawn(props), C: c, sys: sys}
}

// Stop ends the probe and waits until it has ended.
func (p *Probe) Stop(t testing.TB) {
	t.Helper()
	Stop(t, p.sys, p.PID)
}

// Empty fails the test when a message waits. Flush the sender first.
func (p *Probe) Empty(t testing.TB) {
	t.Helper()
	select {
	case l := <-p.C:
		t.Fatalf("actortest: unexpected %T: %+v", l.Message, l.Message)
	default:
	}
}

// Expect waits for the probe's next message, which must be a T.
func Expect[T any](t testing.TB, p *Probe) T {
	t.Helper()
	l := next(t, p)
	msg, ok := l.Message.(T)
	if !ok {
		t.Fatalf("actortest: got %T %+v, want %T", l.Message, l.Message, msg)
	}
	return msg
}

// Await waits for a T and drops what comes before it.
func Await[T any](t testing.TB, p *Probe) T {
	t.Helper()
	msg, ok := next(t, p).Message.(T)
	for n := 1; !ok; n++ {
		if n == letters {
			t.Fatalf("actortest: no %T among %d messages", msg, letters)
		}
		msg, ok = next(t, p).Message.(T)
	}
	return msg
}

func next(t testing.TB, p *Probe) Letter {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case l := <-p.C:
		return l
	case <-timer.C:
		t.Fatalf("actortest: no message within %s", patience)
		panic("unreachable")
	}
}

// Ask requests an answer, which must be a T.
func Ask[T any](t testing.TB, sys *actor.ActorSystem, pid *actor.PID, msg any) T {
	t.Helper()
	res, err := sys.Root.RequestFuture(pid, msg, patience).Result()
	if err != nil {
		t.Fatalf("actortest: ask %s: %v", pid.Id, err)
	}
	v, ok := res.(T)
	if !ok {
		t.Fatalf("actortest: %s answers %T %+v, want %T", pid.Id, res, res, v)
	}
	return v
}

// Flush waits until an actor has handled all that this goroutine sent to it: it
// asks for an inspection, and mailboxes are in order.
func Flush(t testing.TB, sys *actor.ActorSystem, pid *actor.PID) {
	t.Helper()
	Ask[any](t, sys, pid, &messages.Inspect{})
}

// Stop stops an actor with its children and waits until they have stopped.
func Stop(t testing.TB, sys *actor.ActorSystem, pid *actor.PID) {
	t.Helper()
	if err := sys.Root.StopFuture(pid).Wait(); err != nil {
		t.Fatalf("actortest: stop %s: %v", pid.Id, err)
	}
}
