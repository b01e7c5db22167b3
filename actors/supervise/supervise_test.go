package supervise

import (
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func silent() *logrus.Logger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

func TestBackoffDoublesUpToItsCap(t *testing.T) {
	t.Parallel()
	s := &Strategy{Base: 100 * time.Millisecond, Max: time.Second}
	for n, most := range map[int]time.Duration{1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 4: 800 * time.Millisecond, 5: time.Second, 100: time.Second} {
		for range 50 {
			d := s.backoff(n)
			require.LessOrEqual(t, d, most, "failure %d", n)
			require.GreaterOrEqual(t, d, most/2, "failure %d", n)
		}
	}
}

// crasher panics at each "panic" and counts its lives.
type crasher struct{ lives *atomic.Int64 }

func (c crasher) Receive(ctx actor.Context) {
	switch ctx.Message().(type) {
	case *actor.Started:
		c.lives.Add(1)
	case string:
		panic("as told")
	}
}

// parent spawns one crasher under the strategy.
func parent(reg *Registry, strategy *Strategy, lives *atomic.Int64) *actor.Props {
	return actor.PropsFromFunc(func(ctx actor.Context) {
		switch msg := ctx.Message().(type) {
		case *actor.Started:
			ctx.Spawn(reg.Props("crasher", func() actor.Actor { return crasher{lives} }))
		case string:
			for _, c := range ctx.Children() {
				ctx.Send(c, msg)
			}
		}
	}, actor.WithSupervisor(strategy))
}

func TestFailedChildComesBackLaterEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := actor.NewActorSystem()
		reg := NewRegistry()
		var lives atomic.Int64
		strategy := &Strategy{Base: time.Second, Max: 3 * time.Second, Window: time.Hour, Log: silent(), Failed: reg.Failed}
		pid := sys.Root.Spawn(parent(reg, strategy, &lives))
		synctest.Wait()
		require.EqualValues(t, 1, lives.Load())
		for n, most := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
			sys.Root.Send(pid, "panic")
			time.Sleep(most/2 - time.Millisecond) //nolint:forbidigo // virtual time
			synctest.Wait()
			require.EqualValues(t, n+1, lives.Load(), "not before half of the back-off")
			time.Sleep(most/2 + 2*time.Millisecond) //nolint:forbidigo // virtual time
			synctest.Wait()
			require.EqualValues(t, n+2, lives.Load(), "back after the back-off")
		}
		list := reg.List(sys)
		require.Len(t, list, 1)
		require.Equal(t, "crasher", list[0].Kind)
		require.Equal(t, pid.Id, list[0].Parent)
		require.Equal(t, 4, list[0].Restarts)
		require.Equal(t, "as told", list[0].Error)
		require.NoError(t, sys.Root.StopFuture(pid).Wait())
		require.Empty(t, reg.List(sys), "a stopped actor is not listed")
	})
}

func TestChildThatFailsTooOftenIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := actor.NewActorSystem()
		var lives atomic.Int64
		reg := NewRegistry()
		strategy := &Strategy{Base: time.Millisecond, Max: time.Millisecond, Window: time.Hour, Limit: 2, Log: silent()}
		pid := sys.Root.Spawn(parent(reg, strategy, &lives))
		for range 3 {
			sys.Root.Send(pid, "panic")
			time.Sleep(time.Second) //nolint:forbidigo // virtual time
			synctest.Wait()
		}
		require.EqualValues(t, 3, lives.Load())
		require.Empty(t, reg.List(sys))
		require.NoError(t, sys.Root.StopFuture(pid).Wait())
	})
}
