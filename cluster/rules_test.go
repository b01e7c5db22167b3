package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
)

// settled is how long after a join absences count at the latest.
const settled = 5 * time.Second

func TestAbsenceIsWatchedBeforeEviction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b, c := w.join("a"), w.join("b"), w.join("c")
	w.run(settled, a, b, c)
	w.run(4*time.Second, a, b) // c is dead
	require.Equal(t, []string{"a", "b", "c"}, ids(a))
	w.run(2*time.Second, a, b)
	require.Equal(t, []string{"a", "b", "c"}, ids(a), "absent, for less than the grace")
	w.run(2*time.Second, a, b)
	require.Equal(t, []string{"a", "b"}, ids(a))
	require.Equal(t, []string{"a", "b"}, ids(b), "one of them evicted, the other sees it")
	require.True(t, c.Fence().Before(w.now))
	require.ErrorIs(t, c.beat(t.Context()), errEvicted)
}

func TestAMemberThatLapsedComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.join("a"), w.join("b")
	w.run(settled, a, b)
	epoch := a.Topology().Epoch
	w.run(6*time.Second, a) // b's key is gone for a second
	require.False(t, w.mini.Exists(b.own))
	require.False(t, b.Fence().After(w.now))
	beat(t, b, a)
	require.True(t, b.Fence().After(w.now))
	w.run(5*time.Second, a, b)
	require.Equal(t, epoch, a.Topology().Epoch)
	require.Equal(t, []string{"a", "b"}, ids(b))
	require.Equal(t, 11*time.Second+settled, w.now.Sub(a.roster.seats["b"].since), "as old as before")
}

func TestWhatWasSeenBeforeASilenceDoesNotCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.join("a"), w.join("b")
	w.run(settled, a, b)
	w.run(5*time.Second, a)
	require.Equal(t, 1, a.roster.seats["b"].absences)
	w.pass(10 * time.Second) // the store is away for both
	w.run(4*time.Second, a)
	require.Equal(t, []string{"a", "b"}, ids(a), "b may still be waiting for a call that hangs")
	beat(t, b)
	w.run(5*time.Second, a, b)
	require.Equal(t, []string{"a", "b"}, ids(a))
}

func TestTwoNodesEvictAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b, c := w.join("a"), w.join("b"), w.join("c")
	w.run(settled, a, b, c)
	w.run(6*time.Second, a, b)
	last := reply{now: w.now.UnixMilli(), born: a.roster.born}
	require.NoError(t, a.evict(t.Context(), last, []string{"c"}))
	require.NoError(t, b.evict(t.Context(), last, []string{"c"}))
	require.Equal(t, []string{"a", "b"}, ids(a))
	require.Equal(t, []string{"a", "b"}, ids(b))
	w.run(2*time.Second, a, b)
	require.Equal(t, []string{"a", "b"}, ids(a))
}

func TestEvictionThatMustNotHappen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(w *world, b *Redis, last *reply)
	}{
		{"the member is just back", func(w *world, b *Redis, _ *reply) { beat(w.t, b) }},
		{"the call is late", func(w *world, _ *Redis, _ *reply) { w.pass(3 * time.Second) }},
		{"the list is another", func(_ *world, _ *Redis, last *reply) { last.born = "17" }},
		{"the store forgot", func(w *world, _ *Redis, _ *reply) { w.mini.FlushAll() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a, b := w.join("a"), w.join("b")
			w.run(settled, a, b)
			w.run(6*time.Second, a)
			last := reply{now: w.now.UnixMilli(), born: a.roster.born}
			tt.do(w, b, &last)
			require.NoError(t, a.evict(t.Context(), last, []string{"b"}))
			require.Equal(t, []string{"a", "b"}, ids(a))
			beat(t, b)
			beat(t, a)
			require.Equal(t, []string{"a", "b"}, ids(a))
		})
	}
}

// TestALeaverStaysAway: its last heartbeat is executed late, when nobody is in the list
// any more.
func TestALeaverStaysAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.join("a")
	_, err := run(t.Context(), a.rdb, a.scripts.leave, []string{a.nodes, a.own}, []any{"", "a"})
	require.NoError(t, err)
	require.ErrorIs(t, a.beat(t.Context()), errEvicted)
	require.Equal(t, []string{"orbweaver:{nodes}"}, w.mini.Keys())
	b := w.join("b")
	require.Equal(t, []string{"b"}, ids(b))
}

func TestAListThatIsForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b, c := w.join("a"), w.join("b"), w.join("c")
	w.run(settled, a, b, c)
	epoch := a.Topology().Epoch
	w.mini.FlushAll()
	w.run(time.Second, a) // alone in the new list
	require.Equal(t, []string{"a", "b", "c"}, ids(a), "the others have not had the time to come back")
	w.run(time.Second, a, b)
	require.Equal(t, epoch, a.Topology().Epoch)
	w.run(4*time.Second, a, b) // c died
	require.Equal(t, []string{"a", "b"}, ids(a))
	require.Equal(t, []string{"a", "b"}, ids(b))
	require.Greater(t, w.now.Sub(b.roster.seats["a"].since), settled, "as old as before")
	require.NoError(t, c.beat(t.Context()))
	w.run(time.Second, a)
	require.Equal(t, []string{"a", "b", "c"}, ids(a), "nobody evicted it: it may come late")
}

func TestTheStoresClockSteps(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		step time.Duration
	}{
		{"an hour forward", time.Hour},
		{"ten seconds forward", 10 * time.Second},
		{"ten seconds back", -10 * time.Second},
		{"an hour back", -time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a, b, c := w.join("a"), w.join("b"), w.join("c")
			w.run(settled, a, b, c)
			before := *a.Topology()
			w.step(tt.step) // c is cut off at the same moment
			for end := c.Fence(); w.now.Before(end); {
				w.run(time.Second/2, a, b)
				require.Equal(t, before, *a.Topology(), "c may still send")
			}
			w.run(8*time.Second, a, b)
			require.Equal(t, []string{"a", "b"}, ids(a))

			young := w.join("young")
			w.run(settled, a, b, young)
			for _, n := range []*Redis{a, b, young} {
				require.Equal(t, []string{"a", "b", "young"}, ids(n))
				for _, m := range n.Topology().Members {
					require.GreaterOrEqual(t, m.Age, time.Duration(0))
				}
			}
			require.InDelta(t, settled, w.now.Sub(a.roster.seats["young"].since), float64(2*time.Second))
			open(t, a, b, young)
		})
	}
}

// TestServerTime moves the scripts' clock of a real Redis.
func TestServerTime(t *testing.T) {
	t.Parallel()
	rdb := redistest.New(t).Client()
	now := time.Now().UnixMilli()
	config := func(id string) Config {
		return Config{Self: self(id), ServerTime: func() int64 { return now }}
	}
	a := joined(t, rdb, config("a"))
	now += 60_000
	b := joined(t, rdb, config("b"))
	require.Equal(t, time.Minute, b.Topology().Members[0].Age)
	require.Zero(t, b.Topology().Members[1].Age)
	beat(t, a)
	now -= 3_600_000
	c := joined(t, rdb, config("c"))
	epoch := a.Topology().Epoch
	beat(t, a, b)
	require.Zero(t, c.Topology().Members[0].Age, "never negative")
	require.Equal(t, epoch+1, a.Topology().Epoch)
	require.Equal(t, []string{"a", "b", "c"}, ids(a))
	now += 1 << 50
	beat(t, a, b, c)
	require.Equal(t, epoch+1, a.Topology().Epoch)
	require.Equal(t, []string{"a", "b", "c"}, ids(c))
}

func TestRampMovesThePlacement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.join("a")
	w.run(20*time.Second, a)
	b := w.join("b")
	beat(t, a)
	share := func(r *Redis) (n int) {
		for i := range 1000 {
			if r.Placement().Owns("b", string(rune('a'+i%26))+time.Duration(i).String()) {
				n++
			}
		}
		return n
	}
	require.Less(t, share(a), 150)
	require.Equal(t, share(a), share(b))
	w.run(5*time.Second, a, b)
	require.InDelta(t, 350, share(a), 80)
	require.Equal(t, share(a), share(b))
	w.run(6*time.Second, a, b)
	require.InDelta(t, 500, share(b), 80)
	require.False(t, a.ramping)
}

// TestRampBetweenHeartbeats: the steps are followed without one.
func TestRampBetweenHeartbeats(t *testing.T) {
	t.Parallel()
	rdb := redistest.New(t).Client()
	slow := func(id string) Config {
		return Config{Self: self(id), TTL: time.Hour, Heartbeat: 10 * time.Minute, Grace: time.Hour, Ramp: 300 * time.Millisecond}
	}
	start(t, rdb, slow("a"))
	b := start(t, rdb, slow("b"))
	until(t, b, func() bool {
		for _, m := range b.Placement().Members() {
			if m.Weight != 1 {
				return false
			}
		}
		return true
	}, "want the whole weight")
}

func FuzzReadMember(f *testing.F) {
	f.Add("a", `{"id":"a","address":"h:1","admin":"http://h","version":"1","weight":2.5,"protocol":1,"run":"x"}`)
	f.Add("a", `{"id":"a","weight":1e400}`)
	f.Add("", `null`)
	f.Fuzz(func(t *testing.T, id, text string) {
		var s seat
		if err := s.read(row{id: id, record: text}); err != nil {
			require.False(t, s.usable)
			return
		}
		require.NoError(t, s.member.validate())
		require.Equal(t, id, s.member.ID)
		require.Zero(t, s.member.Age)
	})
}

func TestParseReply(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		values []any
		want   []row // nil: makes no sense
	}{
		{"none", []any{"ok", int64(1), "2"}, []row{}},
		{"one", []any{"ok", int64(1), "2", "a", "17", int64(1), "{}"}, []row{{id: "a", joined: 17, alive: true, record: "{}"}}},
		{"odd score", []any{"ok", int64(1), "2", "a", "nan", int64(0), ""}, []row{{id: "a"}}},
		{"huge score", []any{"ok", int64(1), "2", "a", "-inf", int64(0), ""}, []row{{id: "a"}}},
		{"short", []any{"ok", int64(1)}, nil},
		{"empty", nil, nil},
		{"other types", []any{int64(1), "ok", nil}, nil},
		{"part of a member", []any{"ok", int64(1), "2", "a", "17"}, nil},
		{"member of other types", []any{"ok", int64(1), "2", "a", int64(17), "1", nil}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := parseReply(tt.values)
			var rows []row
			if err == nil {
				rows, err = r.rows()
			}
			if tt.want == nil {
				require.ErrorIs(t, err, errReply)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, rows)
		})
	}
	_, err := reply{rest: []any{int64(1)}}.ids()
	require.ErrorIs(t, err, errReply)
}
