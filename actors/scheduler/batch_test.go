package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"orbweaver/actors/supervise"
	"orbweaver/core/rqueue"
	"orbweaver/internal/actortest"
	"orbweaver/messages"
)

// pipe is a frontier that notes the pipelines it is given.
type pipe struct {
	mu    sync.Mutex
	calls [][]string    // guarded by mu; the slots of each pipeline's steps, in order
	took  time.Duration // guarded by mu
	err   error         // guarded by mu
	now   int           // guarded by mu; pipelines under way
	most  int           // guarded by mu
	looks atomic.Int64  // at the store
}

func (p *pipe) NewSession() *rqueue.Session { return nil }

func (p *pipe) Ping(context.Context) error {
	p.looks.Add(1)
	return nil
}

func (p *pipe) Do(ctx context.Context, ops ...rqueue.Op) error {
	p.mu.Lock()
	p.now++
	p.most = max(p.most, p.now)
	took := p.took
	p.mu.Unlock()
	if took > 0 {
		select {
		case <-time.After(took):
		case <-ctx.Done():
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now--
	var call []string
	for _, op := range ops {
		r := op.(*rqueue.RobotsGet) //nolint:forcetypeassert // the test's
		call = append(call, r.Origin)
		r.Found, r.Err = p.err == nil, p.err
	}
	p.calls = append(p.calls, call)
	if p.err == nil {
		return ctx.Err()
	}
	return p.err
}

// office is a scheduler in virtual time.
type office struct {
	*testing.T
	sys       *actor.ActorSystem
	pipe      *pipe
	scheduler *actor.PID
	logs      *logtest.Hook
}

func gathering(t *testing.T, cfg Config, test func(o *office)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log, hook := logtest.NewNullLogger()
		sys := actortest.NewSystem()
		o := &office{T: t, sys: sys, pipe: &pipe{}, logs: hook}
		domains := actortest.NewProbe(t, sys)
		deps := Deps{Frontier: o.pipe, Domains: domains.PID, Room: func() int { return 10 }, Mine: all, Log: log}
		parent := sys.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
			if _, ok := ctx.Message().(*actor.Started); ok {
				o.scheduler = ctx.Spawn(actor.PropsFromProducer(func() actor.Actor { return New(cfg.WithDefaults(), deps) }))
			}
		}, actor.WithSupervisor(supervise.NewStrategy(log, nil))))
		synctest.Wait()
		test(o)
		actortest.Stop(t, sys, parent)
		domains.Stop(t)
		<-time.After(time.Minute)
	})
}

func (o *office) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// asker is a probe that asks for steps.
func (o *office) asker() *actortest.Probe { return actortest.NewProbe(o.T, o.sys) }

func (o *office) ask(p *actortest.Probe, names ...string) {
	msg := &messages.Do{}
	for _, n := range names {
		msg.Ops = append(msg.Ops, &rqueue.RobotsGet{Origin: n})
	}
	o.sys.Root.RequestWithCustomSender(o.scheduler, msg, p.PID)
}

// answer is the next Done of an asker, as the names of its steps.
func (o *office) answer(p *actortest.Probe) (names []string) {
	o.Helper()
	for _, op := range actortest.Expect[*messages.Done](o.T, p).Ops {
		r := op.(*rqueue.RobotsGet) //nolint:forcetypeassert // the test's
		names = append(names, r.Origin)
	}
	return names
}

func TestStepsAreGathered(t *testing.T) {
	gathering(t, Config{Linger: time.Millisecond, Pipelines: 1}, func(o *office) {
		a, b := o.asker(), o.asker()
		start := time.Now()
		o.ask(a, "a1", "a2")
		o.ask(b, "b1")
		o.ask(a, "a3")
		require.Equal(t, []string{"a1", "a2"}, o.answer(a))
		require.Equal(t, []string{"a3"}, o.answer(a))
		require.Equal(t, []string{"b1"}, o.answer(b))
		require.Equal(t, time.Millisecond, time.Since(start))
		require.Equal(t, [][]string{{"a1", "a2", "b1", "a3"}}, o.pipe.calls, "one pipeline, in the order of the asks")
		a.Stop(t)
		b.Stop(t)
	})
}

func TestPipelinesAreBounded(t *testing.T) {
	for _, pipelines := range []int{1, 2} {
		t.Run(strconv.Itoa(pipelines), func(t *testing.T) {
			gathering(t, Config{Linger: time.Millisecond, Pipelines: pipelines, BatchMax: 10}, func(o *office) {
				o.pipe.took = 50 * time.Millisecond
				a := o.asker()
				for n := range 100 {
					o.ask(a, strconv.Itoa(n))
					if n%7 == 0 {
						o.pass(time.Millisecond)
					}
				}
				seen := map[string]int{}
				for range 100 {
					seen[o.answer(a)[0]]++
				}
				require.Len(t, seen, 100)
				require.Equal(t, pipelines, o.pipe.most)
				for _, c := range o.pipe.calls {
					require.LessOrEqual(t, len(c), 10)
				}
				if pipelines == 1 {
					var all []string
					for _, c := range o.pipe.calls {
						all = append(all, c...)
					}
					for n, name := range all {
						require.Equal(t, strconv.Itoa(n), name)
					}
				}
				a.Stop(t)
			})
		})
	}
}

// An error of the store goes to every asker, and is logged once until it is over.
func TestStoreErrorsAreAnswered(t *testing.T) {
	gathering(t, Config{}, func(o *office) {
		o.pipe.err = errors.New("connection refused")
		a := o.asker()
		for n := range 5 {
			o.ask(a, fmt.Sprint(n))
			done := actortest.Expect[*messages.Done](t, a)
			require.ErrorIs(t, done.Ops[0].(*rqueue.RobotsGet).Err, o.pipe.err)
		}
		require.Equal(t, "connection refused", actortest.Ask[*Snapshot](t, o.sys, o.scheduler, &messages.Inspect{}).LastError)
		o.pass(time.Second) // polls without crawls go well, and say nothing of steps
		require.Len(t, o.logs.AllEntries(), 1)
		o.pipe.err = nil
		o.ask(a, "good")
		o.answer(a)
		o.pass(0)
		require.Len(t, o.logs.AllEntries(), 2)
		require.Equal(t, "store answers again", o.logs.LastEntry().Message)
		a.Stop(t)
	})
}

// A store that hangs is given up after the timeout.
func TestStoreHangs(t *testing.T) {
	gathering(t, Config{Timeout: 3 * time.Second, Linger: time.Millisecond}, func(o *office) {
		o.pipe.took = time.Hour
		a := o.asker()
		start := time.Now()
		o.ask(a, "x")
		o.answer(a)
		require.Equal(t, 3*time.Second+time.Millisecond, time.Since(start))
		a.Stop(t)
	})
}

func TestDrainWaitsForSteps(t *testing.T) {
	gathering(t, Config{Pipelines: 1}, func(o *office) {
		o.pipe.took = time.Second
		a, node := o.asker(), o.asker()
		o.ask(a, "1")
		o.pass(100 * time.Millisecond)
		o.ask(a, "2")
		o.sys.Root.RequestWithCustomSender(o.scheduler, &messages.Drain{}, node.PID)
		start := time.Now()
		actortest.Expect[*messages.Drained](t, node)
		require.InDelta(t, 1.9, time.Since(start).Seconds(), 0.01)
		require.Equal(t, []string{"1"}, o.answer(a))
		require.Equal(t, []string{"2"}, o.answer(a))
		o.ask(a, "late") // somebody may still have something to give back
		require.Equal(t, []string{"late"}, o.answer(a))
		a.Stop(t)
		node.Stop(t)
	})
}

// A scheduler that panics answers what it was asked before, and keeps its bounds.
func TestSchedulerPanics(t *testing.T) {
	gathering(t, Config{Pipelines: 1}, func(o *office) {
		o.pipe.took = time.Second
		a, node := o.asker(), o.asker()
		o.ask(a, "1")
		o.pass(100 * time.Millisecond)
		o.ask(a, "2")
		o.sys.Root.RequestWithCustomSender(o.scheduler, &messages.Drain{}, node.PID)
		o.sys.Root.Send(o.scheduler, (*messages.Do)(nil))
		actortest.Expect[*messages.Drained](t, node)
		seen := []string{o.answer(a)[0], o.answer(a)[0]}
		require.ElementsMatch(t, []string{"1", "2"}, seen)
		a.Stop(t)
		node.Stop(t)
	})
}

func TestUnexpectedMessage(t *testing.T) {
	gathering(t, Config{}, func(o *office) {
		o.sys.Root.Send(o.scheduler, "what?")
		o.pass(0)
		require.Equal(t, "unexpected message", o.logs.LastEntry().Message)
		require.Panics(t, func() { New(Config{}, Deps{}) })
	})
}

// The store is looked at about once a second, however often it is polled.
func TestStoreIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipe{}
		log, _ := logtest.NewNullLogger()
		sys := actor.NewActorSystem()
		pid := sys.Root.Spawn(actor.PropsFromProducer(func() actor.Actor {
			return New(Config{}.WithDefaults(), Deps{Frontier: p, Domains: sys.NewLocalPID("none"), Room: func() int { return 1 }, Mine: all, Log: log})
		}))
		time.Sleep(5*time.Second - time.Millisecond) //nolint:forbidigo // virtual time
		synctest.Wait()
		require.EqualValues(t, 5, p.looks.Load())
		require.NoError(t, sys.Root.StopFuture(pid).Wait())
	})
}
