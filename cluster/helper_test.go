package cluster

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// patience bounds every wait for something that should come soon.
const patience = 30 * time.Second

func quiet() logrus.FieldLogger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return l
}

func self(id string) Member {
	return Member{ID: id, Address: "127.0.0.1:7000", Version: "1", Protocol: 1, Weight: 1}
}

// quick is a member with short times.
func quick(id string) Config {
	return Config{
		Self: self(id), TTL: 300 * time.Millisecond, Heartbeat: 50 * time.Millisecond,
		Margin: 50 * time.Millisecond, Grace: 100 * time.Millisecond, Ramp: -1,
	}
}

func newNode(t *testing.T, rdb redis.UniversalClient, cfg Config) *Redis {
	t.Helper()
	r, err := NewRedis(rdb, cfg, quiet())
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

// start is a member with heartbeats of its own.
func start(t *testing.T, rdb redis.UniversalClient, cfg Config) *Redis {
	t.Helper()
	r := newNode(t, rdb, cfg)
	require.NoError(t, r.Start(t.Context()))
	return r
}

func ids(r *Redis) []string {
	var ids []string
	for _, m := range r.Topology().Members {
		ids = append(ids, m.ID)
	}
	return ids
}

// sees waits until a node knows exactly these members, and places slots on them.
func sees(t *testing.T, r *Redis, want ...string) {
	t.Helper()
	until(t, r, func() bool {
		var placed []string
		for _, m := range r.Placement().Members() {
			placed = append(placed, m.ID)
		}
		return slices.Equal(ids(r), want) && slices.Equal(placed, want)
	}, fmt.Sprint("want ", want))
}

// until waits for a condition that a change of the placement makes true.
func until(t *testing.T, r *Redis, cond func() bool, why string) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !cond() {
		select {
		case <-r.Watch():
		case <-limit.C:
			require.Fail(t, "waited too long", "%s, have %v", why, ids(r))
		}
	}
}

func closed(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		require.Fail(t, "waited too long")
	}
}

func open(t *testing.T, nodes ...*Redis) {
	t.Helper()
	for _, r := range nodes {
		select {
		case <-r.Evicted():
			require.Fail(t, "evicted", r.cfg.Self.ID)
		default:
		}
	}
}

// world is virtual time: of the nodes, and of a miniredis whose clock may be ahead.
type world struct {
	t     *testing.T
	mini  *miniredis.Miniredis
	now   time.Time
	ahead time.Duration
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, mini: miniredis.RunT(t), now: time.Now()}
	w.mini.SetTime(w.now)
	w.mini.ClockTTL(true)
	return w
}

func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.mini.SetTime(w.now.Add(w.ahead))
}

// step moves the store's clock only.
func (w *world) step(d time.Duration) {
	w.ahead += d
	w.pass(0)
}

// join is a member whose heartbeats are sent by hand.
func (w *world) join(id string, change ...func(*Config)) *Redis {
	w.t.Helper()
	rdb := redis.NewClient(&redis.Options{
		Addr: w.mini.Addr(), Protocol: 2, MaxRetries: -1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	w.t.Cleanup(func() { _ = rdb.Close() })
	cfg := Config{Self: self(id), Now: func() time.Time { return w.now }}
	for _, c := range change {
		c(&cfg)
	}
	return joined(w.t, rdb, cfg)
}

// run lets nodes beat once a second, for so long.
func (w *world) run(d time.Duration, nodes ...*Redis) {
	w.t.Helper()
	for end := w.now.Add(d); w.now.Before(end); {
		w.pass(time.Second)
		beat(w.t, nodes...)
	}
}

// joined is a member whose heartbeats are sent by hand.
func joined(t *testing.T, rdb redis.UniversalClient, cfg Config) *Redis {
	t.Helper()
	r := newNode(t, rdb, cfg)
	require.NoError(t, r.join(t.Context()))
	return r
}

func beat(t *testing.T, nodes ...*Redis) {
	t.Helper()
	for _, r := range nodes {
		require.NoError(t, r.beat(t.Context()))
	}
}
