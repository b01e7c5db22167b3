package actortest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"orbweaver/internal/actortest"
	"orbweaver/messages"
)

func TestMain(m *testing.M) { actortest.Main(m) }

func TestProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := actortest.NewSystem()
		p := actortest.NewProbe(t, sys)
		start := time.Now()
		time.AfterFunc(3*time.Second, func() { sys.Root.Send(p.PID, "late") })
		sys.Root.Send(p.PID, 1)
		sys.Root.RequestWithCustomSender(p.PID, 2.5, p.PID)
		require.Equal(t, 1, actortest.Expect[int](t, p))
		l := <-p.C
		require.Equal(t, actortest.Letter{Message: 2.5, Sender: p.PID}, l)
		require.Equal(t, "late", actortest.Await[string](t, p))
		require.Equal(t, 3*time.Second, time.Since(start), "virtual time")
		p.Empty(t)
		p.Stop(t)
	})
}

func TestFlush(t *testing.T) {
	sys := actortest.NewSystem()
	handled := 0
	pid := sys.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
		switch ctx.Message().(type) {
		case int:
			handled++
		case *messages.Inspect:
			ctx.Respond(handled)
		}
	}))
	for i := range 1000 {
		sys.Root.Send(pid, i)
	}
	actortest.Flush(t, sys, pid)
	require.Equal(t, 1000, actortest.Ask[int](t, sys, pid, &messages.Inspect{}))
	actortest.Stop(t, sys, pid)
}
