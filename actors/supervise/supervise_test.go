package supervise_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"orbweaver/actors/supervise"
	"orbweaver/internal/actortest"
	"orbweaver/messages"
)

func TestMain(m *testing.M) { actortest.Main(m) }

// fails is a message that makes the child panic.
type fails struct{ reason any }

// family is a parent with one child under a strategy.
type family struct {
	sys      *actor.ActorSystem
	parent   *actor.PID
	child    *actor.PID
	starts   chan time.Time
	stopped  chan time.Time
	registry *supervise.Registry
	logs     *logtest.Hook
}

func inFamily(t *testing.T, change func(s *supervise.Strategy), test func(t *testing.T, f *family)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log, hook := logtest.NewNullLogger()
		f := &family{
			sys: actortest.NewSystem(), starts: make(chan time.Time, 1000), stopped: make(chan time.Time, 10),
			registry: supervise.NewRegistry(), logs: hook,
		}
		strategy := supervise.NewStrategy(log, f.registry.Failed)
		if change != nil {
			change(strategy)
		}
		child := f.registry.Props("child", func() actor.Actor {
			return actor.ReceiveFunc(func(ctx actor.Context) {
				switch msg := ctx.Message().(type) {
				case *actor.Started:
					f.starts <- time.Now()
				case *actor.Stopped:
					f.stopped <- time.Now()
				case fails:
					panic(msg.reason)
				case *messages.Inspect:
					ctx.Respond("alive")
				}
			})
		})
		f.parent = f.sys.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
			if _, ok := ctx.Message().(*actor.Started); ok {
				f.child = ctx.Spawn(child)
			}
		}, actor.WithSupervisor(strategy)))
		<-f.starts
		synctest.Wait()
		test(t, f)
		actortest.Stop(t, f.sys, f.parent)
		<-time.After(time.Minute)
	})
}

// fail makes the child panic and gives the time until it is back.
func (f *family) fail() time.Duration {
	begun := time.Now()
	f.sys.Root.Send(f.child, fails{"oh no"})
	return (<-f.starts).Sub(begun)
}

func TestBackoffDoublesToItsCap(t *testing.T) {
	inFamily(t, nil, func(t *testing.T, f *family) {
		want := 20 * time.Millisecond
		for range 40 {
			d := f.fail()
			require.GreaterOrEqual(t, d, want/2)
			require.LessOrEqual(t, d, want)
			want = min(2*want, 5*time.Second)
		}
		<-time.After(time.Minute + time.Second)
		require.LessOrEqual(t, f.fail(), 20*time.Millisecond, "old failures are forgotten")
		require.Equal(t, "alive", actortest.Ask[string](t, f.sys, f.child, &messages.Inspect{}))
	})
}

func TestLimitStopsTheChild(t *testing.T) {
	inFamily(t, func(s *supervise.Strategy) { s.Limit = 3 }, func(t *testing.T, f *family) {
		for range 3 {
			f.fail()
		}
		require.Empty(t, f.stopped)
		f.sys.Root.Send(f.child, fails{"once more"})
		<-f.stopped
		require.Equal(t, "actor failed too often, stopped", f.logs.LastEntry().Message)
		synctest.Wait()
		require.Empty(t, f.registry.List(f.sys), "who has stopped is not listed")
	})
}

func TestOldFailuresDoNotCount(t *testing.T) {
	inFamily(t, func(s *supervise.Strategy) { s.Limit = 3 }, func(t *testing.T, f *family) {
		for range 20 {
			require.LessOrEqual(t, f.fail(), 40*time.Millisecond, "at most two in a minute")
			<-time.After(50 * time.Second)
		}
		require.Empty(t, f.stopped)
	})
}

func TestRegistry(t *testing.T) {
	inFamily(t, nil, func(t *testing.T, f *family) {
		want := supervise.Entry{ID: f.child.Id, Kind: "child", Parent: f.parent.Id, Started: time.Now()}
		require.Equal(t, []supervise.Entry{want}, f.registry.List(f.sys))
		for reason, text := range map[any]string{"text": "text", errors.New("an error"): "an error", 7: "panic"} {
			f.sys.Root.Send(f.child, fails{reason})
			<-f.starts
			synctest.Wait()
			want.Restarts++
			want.Error = text
			require.Equal(t, []supervise.Entry{want}, f.registry.List(f.sys))
		}
		f.registry.Failed(f.parent, "not listed")
	})
}
