package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// TestRandomSchedules plays heartbeats in virtual time while calls are lost on the
// way and back, answers are slow, nodes freeze, die, leave and join, and the store
// goes away, forgets and steps its clock. What must hold whatever happens:
//
//   - an eviction comes after the evicted node's fence;
//   - without a step of the clock, it comes TTL and Grace after the last heartbeat that
//     the store has had from the node, at least;
//   - once there are no more faults, all nodes that live know each other and no others
//     after TTL, Grace and the patience after a silence.
func TestRandomSchedules(t *testing.T) {
	t.Parallel()
	for seed := range uint64(24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := &schedule{world: newWorld(t), rand: rand.New(rand.NewPCG(seed, 3)), steps: seed%3 == 0}
			for range 3 {
				s.join()
			}
			for range 300 {
				s.fault()
				s.turn()
			}
			s.away, s.calm = time.Time{}, true
			for end := s.now.Add(20 * time.Second); s.now.Before(end); {
				s.turn()
			}
			var want []string
			for _, a := range s.actors {
				if a.lives() {
					want = append(want, a.node.cfg.Self.ID)
				}
			}
			slices.Sort(want)
			for _, a := range s.actors {
				if a.lives() {
					require.Equal(t, want, ids(a.node), a.node.cfg.Self.ID)
					require.True(t, a.node.Fence().After(s.now))
				}
			}
		})
	}
}

// schedule is one play.
type schedule struct {
	*world
	rand   *rand.Rand
	actors []*actor
	away   time.Time // the store answers nobody before
	steps  bool      // its clock steps
	calm   bool      // no more faults
}

// actor is one node in it. As a hook it is the network between node and store.
type actor struct {
	s         *schedule
	node      *Redis
	due       time.Time // its next heartbeat
	frozen    time.Time // it does nothing before
	cutOff    time.Time // the store is not reached before
	heard     time.Time // the store executed its last heartbeat
	dead      bool
	evictedAt time.Time
}

func (a *actor) lives() bool { return !a.dead && a.evictedAt.IsZero() }

func (s *schedule) chance(percent int) bool { return !s.calm && s.rand.IntN(100) < percent }

func (s *schedule) upTo(d time.Duration) time.Duration { return time.Duration(s.rand.Int64N(int64(d))) }

func (s *schedule) join() {
	a := &actor{s: s, heard: s.now}
	a.node = s.world.join(fmt.Sprintf("n%d", len(s.actors)))
	a.due = s.now.Add(a.node.interval())
	a.node.rdb.(*redis.Client).AddHook(a)
	s.actors = append(s.actors, a)
}

// fault draws what goes wrong.
func (s *schedule) fault() {
	a := s.actors[s.rand.IntN(len(s.actors))]
	switch {
	case s.chance(2):
		a.frozen = s.now.Add(s.upTo(10 * time.Second))
	case s.chance(3):
		a.cutOff = s.now.Add(s.upTo(10 * time.Second))
	case s.chance(1) && s.away.Before(s.now):
		s.away = s.now.Add(s.upTo(12 * time.Second))
	case s.chance(1) && a.lives():
		a.dead = true
	case s.chance(1) && a.lives() && s.reachable(a):
		a.dead = true
		_, err := run(s.t.Context(), a.node.rdb, a.node.scripts.leave, []string{a.node.nodes, a.node.own}, []any{"", a.node.cfg.Self.ID})
		if !errors.Is(err, errLost) {
			require.NoError(s.t, err)
		}
	case s.chance(2) && len(s.actors) < 8 && s.away.Before(s.now):
		s.join()
	case s.chance(1) && s.rand.IntN(3) == 0:
		s.mini.FlushAll()
	case s.steps && s.chance(1):
		s.step(s.upTo(40*time.Second) - 20*time.Second)
	}
}

func (s *schedule) reachable(a *actor) bool {
	return !s.now.Before(s.away) && (s.calm || !s.now.Before(a.cutOff))
}

// turn lets the time pass until the next heartbeat and plays it.
func (s *schedule) turn() {
	var next *actor
	when := s.now.Add(200 * time.Millisecond)
	for _, a := range s.actors {
		if s.calm {
			a.frozen = time.Time{}
		}
		at := later(a.due, a.frozen)
		if a.lives() && at.Before(when) {
			next, when = a, at
		}
	}
	if when.After(s.now) {
		s.pass(when.Sub(s.now))
	}
	if next == nil {
		return
	}
	began := s.now
	err := next.node.beat(s.t.Context())
	if errors.Is(err, errEvicted) {
		next.evictedAt = s.now
		select {
		case <-next.node.Evicted():
		default:
			require.Fail(s.t, "Evicted is not closed")
		}
		require.False(s.t, next.node.Fence().After(s.now))
	} else if s.calm {
		require.NoError(s.t, err)
	}
	next.due = later(began.Add(next.node.interval()), s.now.Add(next.node.cfg.Heartbeat/4))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (a *actor) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a *actor) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

var errLost = errors.New("lost on the way")

// ProcessHook carries a call to the store and its reply back.
func (a *actor) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s := a.s
		fail := func() error {
			s.pass(s.upTo(a.node.cfg.deadline())) // until it gives up
			cmd.SetErr(errLost)
			return errLost
		}
		if !s.reachable(a) || s.chance(2) {
			return fail()
		}
		if s.chance(10) {
			s.pass(s.upTo(a.node.cfg.deadline() / 2))
		}
		before, _ := s.mini.ZMembers(a.node.nodes)
		err := next(ctx, cmd)
		if len(cmd.Args()) > 1 && cmd.Err() == nil {
			switch cmd.Args()[1] {
			case a.node.scripts.heartbeat.Hash():
				a.heard = s.now
			case a.node.scripts.evict.Hash():
				after, _ := s.mini.ZMembers(a.node.nodes)
				s.evicted(before, after)
			}
		}
		if s.chance(10) {
			s.pass(s.upTo(a.node.cfg.deadline() / 2))
		}
		if !s.reachable(a) || s.chance(2) {
			return fail()
		}
		return err
	}
}

// evicted checks the promises to those who are just being taken from the list.
func (s *schedule) evicted(before, after []string) {
	for _, a := range s.actors {
		id := a.node.cfg.Self.ID
		if !slices.Contains(before, id) || slices.Contains(after, id) {
			continue
		}
		require.False(s.t, a.node.Fence().After(s.now), "%s may still send", id)
		if !s.steps {
			c := a.node.cfg
			require.GreaterOrEqual(s.t, s.now.Sub(a.heard), c.TTL+c.Grace-2*time.Millisecond, "%s was heard", id)
		}
	}
}
