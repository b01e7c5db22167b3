package cluster

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
)

func TestJoinAndLeave(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rdb := redistest.New(t).Client()
	a := newNode(t, rdb, quick("a"))
	require.Empty(t, a.Topology().Members)
	require.Empty(t, a.Placement().Owner("x"))
	require.False(t, a.Fence().After(time.Now()), "nothing may be sent before the node is a member")
	require.NoError(t, a.Leave(ctx), "nothing to leave")

	before := time.Now()
	require.NoError(t, a.Start(ctx))
	require.Equal(t, []string{"a"}, ids(a), "Start returns with the members known")
	require.Equal(t, "a", a.Placement().Owner("x"))
	require.False(t, a.Fence().Before(before.Add(250*time.Millisecond)))
	require.ErrorContains(t, a.Start(ctx), "started before")

	b := start(t, rdb, quick("b"))
	require.Equal(t, []string{"a", "b"}, ids(b))
	sees(t, a, "a", "b")
	require.ElementsMatch(t, []string{"orbweaver:{nodes}", "orbweaver:{nodes}:a", "orbweaver:{nodes}:b"}, rdb.Keys(ctx, "*").Val())

	epoch := a.Topology().Epoch
	require.NoError(t, b.Leave(ctx))
	require.NoError(t, b.Leave(ctx))
	require.False(t, b.Fence().After(time.Now()))
	sees(t, a, "a")
	require.Greater(t, a.Topology().Epoch, epoch)
	open(t, a, b)
	b.Close()
	b.Close()
	require.ErrorContains(t, b.Start(ctx), "started before")
}

func TestLeaveWaitsNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	srv := redistest.New(t)
	a := start(t, srv.Client(), quick("a"))
	srv.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, a.Leave(ctx))
	require.False(t, a.Fence().After(time.Now().Add(300*time.Millisecond)))
	srv.Resume()
	require.NoError(t, a.Leave(t.Context()))
	require.Equal(t, []string{"/born"}, srv.Client().ZRange(t.Context(), "orbweaver:{nodes}", 0, -1).Val())
}

func TestAnIDIsOneStart(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rdb := redistest.New(t).Client()
	a := joined(t, rdb, quick("a"))
	require.NoError(t, a.join(ctx), "the reply to the first call may have been lost")

	twin := newNode(t, rdb, quick("a"))
	require.ErrorIs(t, twin.Start(ctx), ErrTaken)
	require.NoError(t, rdb.Del(ctx, a.own).Err())
	require.ErrorIs(t, twin.Start(ctx), ErrTaken, "lapsed, not evicted yet")
	require.NoError(t, rdb.ZRem(ctx, a.nodes, "a").Err())
	require.NoError(t, twin.Start(ctx))
	require.ErrorIs(t, a.join(ctx), ErrTaken)
}

func TestACrashedNodeIsDropped(t *testing.T) {
	t.Parallel()
	rdb := redistest.New(t).Client()
	a, b, c := start(t, rdb, quick("a")), start(t, rdb, quick("b")), start(t, rdb, quick("c"))
	sees(t, a, "a", "b", "c")
	c.Close() // no word to anybody
	sees(t, a, "a", "b")
	sees(t, b, "a", "b")
	require.True(t, c.Fence().Before(time.Now()))
	require.Equal(t, []string{"/born", "a", "b"}, sorted(rdb.ZRange(t.Context(), a.nodes, 0, -1).Val()))

	require.ErrorIs(t, c.beat(t.Context()), errEvicted)
	closed(t, c.Evicted())
	require.Zero(t, rdb.Exists(t.Context(), c.own).Val(), "an evicted node writes nothing")
	open(t, a, b)
}

func TestAnEvictedNodeStops(t *testing.T) {
	t.Parallel()
	rdb := redistest.New(t).Client()
	a, b := start(t, rdb, quick("a")), start(t, rdb, quick("b"))
	sees(t, a, "a", "b")
	require.NoError(t, rdb.ZRem(t.Context(), b.nodes, "b").Err())
	closed(t, b.Evicted())
	require.False(t, b.Fence().After(time.Now()))
	select {
	case <-b.done:
	case <-time.After(patience):
		require.Fail(t, "heartbeats go on")
	}
	sees(t, a, "a")
	require.NoError(t, b.Leave(t.Context()))
}

// TestTheStoreWasAway stops the store until every key has expired: all come back, none
// is evicted, and meanwhile nobody may send.
func TestTheStoreWasAway(t *testing.T) {
	t.Parallel()
	srv := redistest.New(t)
	var nodes []*Redis
	for _, id := range []string{"a", "b", "c"} {
		nodes = append(nodes, start(t, srv.NewClient(), quick(id)))
	}
	for _, n := range nodes {
		sees(t, n, "a", "b", "c")
	}
	srv.Pause()
	for _, n := range nodes {
		// A heartbeat that is being written may live a whole TTL from now.
		lapsed := time.NewTimer(n.cfg.TTL + n.cfg.Margin)
		select {
		case <-lapsed.C:
		case <-n.Evicted():
			require.Fail(t, "evicted")
		}
		require.False(t, n.Fence().After(time.Now()))
	}
	srv.Resume()
	for _, n := range nodes {
		require.Eventually(t, func() bool { return n.Fence().After(time.Now()) }, patience, 5*time.Millisecond)
		require.Equal(t, []string{"a", "b", "c"}, ids(n))
	}
	open(t, nodes...)
}

// TestTheStoreForgot restarts an empty store, and flushes one.
func TestTheStoreForgot(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"flush", "restart"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			srv := redistest.New(t)
			var nodes []*Redis
			for _, id := range []string{"a", "b", "c"} {
				nodes = append(nodes, start(t, srv.NewClient(), quick(id)))
			}
			for _, n := range nodes {
				sees(t, n, "a", "b", "c")
			}
			epochs := nodes[0].Topology().Epoch
			if how == "flush" {
				require.NoError(t, srv.Client().FlushAll(t.Context()).Err())
			} else {
				srv.Kill()
				srv.Restart()
			}
			require.Eventually(t, func() bool {
				return srv.NewClient().ZCard(t.Context(), "orbweaver:{nodes}").Val() == 4
			}, patience, 5*time.Millisecond)
			for _, n := range nodes {
				require.Equal(t, []string{"a", "b", "c"}, ids(n))
			}
			require.Equal(t, epochs, nodes[0].Topology().Epoch, "nobody is dropped meanwhile")
			open(t, nodes...)
		})
	}
}

func TestManyNodesAtOnce(t *testing.T) {
	t.Parallel()
	rdb := redistest.New(t).Client()
	const n = 60
	nodes := make([]*Redis, n)
	var want []string
	var wg sync.WaitGroup
	for i := range nodes {
		cfg := quick(fmt.Sprintf("n%02d", i))
		cfg.TTL, cfg.Heartbeat, cfg.Grace, cfg.Margin = 5*time.Second, 200*time.Millisecond, time.Second, time.Second
		nodes[i] = newNode(t, rdb, cfg)
		want = append(want, cfg.Self.ID)
		wg.Go(func() {
			if err := nodes[i].Start(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, r := range nodes {
		sees(t, r, want...)
	}
	for _, slot := range []string{"example.com", "example.org", "example.net"} {
		for _, r := range nodes {
			require.Equal(t, nodes[0].Placement().Owner(slot), r.Placement().Owner(slot))
		}
	}
	for _, r := range nodes {
		wg.Go(func() {
			if err := r.Leave(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	open(t, nodes...)
	require.Equal(t, []string{"orbweaver:{nodes}"}, rdb.Keys(t.Context(), "*").Val())
}

func TestALostScriptIsLoadedAgain(t *testing.T) {
	t.Parallel()
	rdb := redistest.New(t).Client()
	a := joined(t, rdb, quick("a"))
	require.NoError(t, rdb.ScriptFlush(t.Context()).Err())
	beat(t, a)
	require.NoError(t, rdb.ScriptFlush(t.Context()).Err())
	beat(t, a)
}

// TestHeartbeatsThatFail: the store refuses, in the words of a broken one.
func TestHeartbeatsThatFail(t *testing.T) {
	t.Parallel()
	srv := redistest.New(t)
	rdb := srv.Client()
	a := joined(t, rdb, quick("a"))
	log, hook := logtest.NewNullLogger()
	a.log = log
	fence := a.Fence()
	require.NoError(t, rdb.Rename(t.Context(), a.nodes, "aside").Err())
	require.NoError(t, rdb.Set(t.Context(), a.nodes, "not a list", 0).Err())
	require.ErrorContains(t, a.beat(t.Context()), "cluster: heartbeat: WRONGTYPE")
	require.ErrorContains(t, a.beat(t.Context()), "cluster: heartbeat: ")
	require.Len(t, hook.AllEntries(), 1, "logged once")
	require.Equal(t, fence, a.Fence(), "only a good heartbeat moves it")
	require.NoError(t, rdb.Rename(t.Context(), "aside", a.nodes).Err())
	beat(t, a)
	require.Len(t, hook.AllEntries(), 2)
	require.Equal(t, "heartbeats work again", hook.LastEntry().Message)
	require.True(t, a.Fence().After(fence))

	require.NoError(t, rdb.ConfigSet(t.Context(), "min-replicas-to-write", "3").Err())
	require.ErrorContains(t, a.beat(t.Context()), "NOREPLICAS")
}

func TestStartStop(t *testing.T) {
	t.Parallel()
	rdb := redistest.New(t).Client()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			r, err := NewRedis(rdb, quick(fmt.Sprintf("n%d", i)), quiet())
			if err != nil || r.Start(t.Context()) != nil {
				t.Error("no start")
				return
			}
			wg.Go(func() { _ = r.Leave(t.Context()) })
			wg.Go(r.Close)
			_, _, _ = r.Topology(), r.Placement().Owner("x"), r.Fence()
		})
	}
	wg.Wait()
}

func TestMembersThatMakeNoSense(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rdb := redistest.New(t).Client()
	a := joined(t, rdb, quick("a"))
	for id, record := range map[string]string{
		"broken": "{", "empty": "", "other": `{"id":"x","address":"h:1","weight":1}`,
		"heavy": `{"id":"heavy","address":"h:1","weight":1e999}`, "idle": `{"id":"idle","address":"h:1","weight":0}`,
		"script": `{"id":"script","address":"h:1","weight":1,"admin":"javascript:alert(1)"}`,
		"good":   `{"id":"good","address":"h:1","weight":2,"protocol":9,"new":true}`,
	} {
		require.NoError(t, rdb.Set(ctx, a.nodes+":"+id, record, 0).Err())
		require.NoError(t, rdb.ZAdd(ctx, a.nodes, redis.Z{Score: 1, Member: id}).Err())
	}
	require.NoError(t, rdb.ZAdd(ctx, a.nodes, redis.Z{Score: -1e300, Member: "good"}).Err())
	beat(t, a)
	require.Equal(t, []string{"a", "good"}, ids(a))
	require.Equal(t, 9, a.Topology().Members[1].Protocol)
	require.Positive(t, a.Topology().Members[1].Age)
	beat(t, a)
	require.Equal(t, []string{"a", "good"}, ids(a))
}
