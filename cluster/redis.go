package cluster

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sirupsen/logrus"

	"orbweaver/core/placement"
)

// ErrTaken says that another process has the id, or that this one had it and was
// away for too long: an id is good for one start of a process.
var ErrTaken = errors.New("id is taken")

// Redis is a Provider for nodes that share a store.
type Redis struct {
	cfg     Config
	rdb     redis.UniversalClient
	log     logrus.FieldLogger
	scripts *scripts
	nodes   string // key
	own     string // key
	record  string // JSON of the node itself

	base      time.Time    // what fence counts from
	fence     atomic.Int64 // nanoseconds after base
	topology  atomic.Pointer[Topology]
	placement atomic.Pointer[placement.Map]
	evicted   chan struct{} // closed by beat
	watch     chan struct{}

	// Confined to who beats: Start until it returns, then the goroutine.
	roster  *roster
	joined  int64     // of the node itself, by Redis's clock, unix ms
	failing time.Time // since when heartbeats fail, zero when they do not
	ramping bool      // the placement may change by itself

	mu      sync.Mutex
	started bool               // guarded by mu
	left    bool               // guarded by mu
	stop    context.CancelFunc // guarded by mu; nil until the goroutine runs
	done    chan struct{}      // closed when the goroutine has ended
}

var _ Provider = (*Redis)(nil)

// NewRedis is membership in the store behind rdb, which should not retry by itself
// (MaxRetries -1) and keep to deadlines (ContextTimeoutEnabled). It does
// nothing before Start.
func NewRedis(rdb redis.UniversalClient, cfg Config, log logrus.FieldLogger) (*Redis, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if rdb == nil || log == nil {
		return nil, errors.New("cluster: make provider: a client and a log are needed")
	}
	s, err := newScripts()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(record{Member: cfg.Self, Run: rand.Text()})
	if err != nil {
		return nil, fmt.Errorf("cluster: write member: %w", err)
	}
	nodes := cfg.Prefix + ":{nodes}"
	r := &Redis{
		cfg:     cfg,
		rdb:     rdb,
		log:     log.WithField("node", cfg.Self.ID),
		scripts: s,
		nodes:   nodes,
		own:     nodes + ":" + cfg.Self.ID,
		record:  string(text),
		base:    cfg.Now(),
		evicted: make(chan struct{}),
		watch:   make(chan struct{}, 1),
		roster:  newRoster(&cfg),
		done:    make(chan struct{}),
	}
	r.topology.Store(&Topology{At: r.base})
	r.placement.Store(placement.New(nil))
	return r, nil
}

// Start joins and begins to send heartbeats. ErrTaken says that the id cannot be used.
func (r *Redis) Start(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started || r.left {
		return errors.New("cluster: join: started before")
	}
	if err := r.join(ctx); err != nil {
		return err
	}
	loop, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.started, r.stop = true, stop
	go r.run(loop)
	return nil
}

// Topology is who the members are, as last heard; without members before Start.
func (r *Redis) Topology() *Topology { return r.topology.Load() }

// Placement is the current one; without members before Start.
func (r *Redis) Placement() *placement.Map { return r.placement.Load() }

// Fence is the local time after which nothing may be sent to a site: the last good
// heartbeat's, when it was written, plus TTL less Margin.
func (r *Redis) Fence() time.Time { return r.base.Add(time.Duration(r.fence.Load())) }

// Evicted is closed when a heartbeat found this node no more in the list.
func (r *Redis) Evicted() <-chan struct{} { return r.evicted }

// Watch gives a hint that Placement changed.
func (r *Redis) Watch() <-chan struct{} { return r.watch }

// Leave stops the heartbeats and takes the node from the list.
func (r *Redis) Leave(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left || !r.started {
		return nil
	}
	r.stop()
	r.fence.Store(math.MinInt64 / 2)
	select {
	case <-r.done:
	case <-ctx.Done(): // a heartbeat hangs
		return fmt.Errorf("cluster: leave: %w", ctx.Err())
	}
	r.fence.Store(math.MinInt64 / 2) // a last heartbeat may have moved it
	if _, err := run(ctx, r.rdb, r.scripts.leave, []string{r.nodes, r.own}, []any{r.serverTime(), r.cfg.Self.ID}); err != nil {
		return fmt.Errorf("cluster: leave: %w", err)
	}
	r.left = true
	return nil
}

// Close stops the heartbeats and waits for the last of them.
func (r *Redis) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started {
		r.stop()
		<-r.done
	}
}

// serverTime is the scripts' first argument.
func (r *Redis) serverTime() string {
	if r.cfg.ServerTime == nil {
		return ""
	}
	return strconv.FormatInt(r.cfg.ServerTime(), 10)
}
