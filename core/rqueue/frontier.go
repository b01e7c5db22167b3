package rqueue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// layoutVersion is the version of the key layout and the entry format.
const layoutVersion = "1"

// Frontier is a node's door to one store. All methods are safe for concurrent use.
type Frontier struct {
	cfg     Config
	rdb     redis.UniversalClient
	scripts *scripts
	seen    *seenCache

	identify func() identity // in tests, instead of INFO

	mu     sync.Mutex
	watch  watch  // guarded by mu
	epochs epochs // guarded by mu
}

// Open checks the store's layout, or lays it out at its first use, and loads the
// scripts. The client must not retry by itself (MaxRetries -1): a retried lease
// is leased twice. The client stays the caller's to close.
func Open(ctx context.Context, rdb redis.UniversalClient, cfg Config) (*Frontier, error) {
	return open(ctx, rdb, cfg, nil)
}

func open(ctx context.Context, rdb redis.UniversalClient, cfg Config, identify func() identity) (*Frontier, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	sc, err := newScripts(cfg.Node)
	if err != nil {
		return nil, err
	}
	f := &Frontier{cfg: cfg, rdb: rdb, scripts: sc, seen: newSeenCache(cfg.SeenCache), identify: identify}
	if cfg.Checks != nil {
		f.epochs = newEpochs()
	}
	if err := f.layout(ctx); err != nil {
		return nil, err
	}
	if err := sc.load(ctx, rdb); err != nil {
		return nil, err
	}
	f.watch.begin(f.now(), cfg.TTL, cfg.Exclusive)
	if err := f.Ping(ctx); err != nil {
		return nil, err
	}
	return f, nil
}

// layout writes the layout of an empty store and compares that of another.
func (f *Frontier) layout(ctx context.Context) error {
	key := f.cfg.Prefix + ":layout"
	pipe := f.rdb.TxPipeline()
	pipe.HSetNX(ctx, key, "version", layoutVersion)
	pipe.HSetNX(ctx, key, "shards", f.cfg.Shards)
	pipe.HSetNX(ctx, f.cfg.Prefix+":store", "id", rand.Text())
	got := pipe.HMGet(ctx, key, "version", "shards")
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("rqueue: read layout: %w", err)
	}
	have, want := fmt.Sprint(got.Val()...), fmt.Sprint(any(layoutVersion), any(strconv.Itoa(f.cfg.Shards)))
	if have != want {
		return fmt.Errorf("%w: %s has version and shards %v, this node wants [%s %d]",
			ErrLayout, key, got.Val(), layoutVersion, f.cfg.Shards)
	}
	return nil
}

func (f *Frontier) now() time.Time { return f.cfg.Now() }

// clock adds a script's first argument: the time in tests, else ”.
func (f *Frontier) clock(a *args) {
	if f.cfg.ServerTime == nil {
		a.str("")
		return
	}
	a.int(f.cfg.ServerTime())
}

// step is an Op as this package carries it out: one script.
type step interface {
	Op
	build(f *Frontier, a *args) *script
	// parse reads the reply of a call that was written at or after sent.
	// Its error is r.err or what the step is refused.
	parse(f *Frontier, r *reply, sent time.Time) error
}

// Do carries out the steps in one pipeline, in order. Its error is that of the
// connection as a whole, and then each step's Err holds it too; what a step is
// refused is in that step's Err alone.
func (f *Frontier) Do(ctx context.Context, ops ...Op) error {
	if len(ops) == 0 {
		return nil
	}
	sent := f.now()
	cmds := make([]*redis.RawCmd, len(ops))
	calls := make([]*args, len(ops))
	used := make([]*script, len(ops))
	defer func() {
		for _, a := range calls {
			a.free()
		}
	}()
	pipe := f.rdb.Pipeline()
	for i, op := range ops {
		st, ok := op.(step)
		if !ok { // an Op of another package cannot exist: op is unexported
			panic(fmt.Sprintf("rqueue: %T is not a step", op))
		}
		calls[i] = newArgs()
		used[i] = st.build(f, calls[i])
		cmds[i] = redis.NewRawCmd(ctx, calls[i].command(used[i])...)
		_ = pipe.Process(ctx, cmds[i]) // queued only
	}
	window := f.traced()
	f.faults(used, false)
	var err error
	if len(ops) == 1 {
		err = f.rdb.Process(ctx, cmds[0])
	} else {
		_, err = pipe.Exec(ctx)
	}
	f.faults(used, true)
	if err != nil {
		err = fmt.Errorf("rqueue: do %d steps: %w", len(ops), err)
		for _, op := range ops {
			op.op().Err, op.op().unknown = err, true
		}
		f.trace(window, ops)
		return err
	}
	f.touch()
	for i, op := range ops {
		r := newReply(cmds[i].Val())
		began := sent
		if unknownScript(r.err) {
			if err := f.reload(ctx); err != nil { // it was not carried out
				op.op().Err = err
				continue
			}
			began = f.now()
			again := newArgs() // built anew: the waits of rule 7 may have changed
			st, _ := op.(step)
			s := st.build(f, again)
			r, err = f.eval(ctx, f.rdb, s, again)
			again.free()
			if err != nil {
				var se *StoreError
				op.op().Err, op.op().unknown = err, !errors.As(err, &se)
				continue
			}
		}
		st, _ := op.(step)
		op.op().Err = parseStep(f, st, &r, began)
		op.op().unknown = errors.Is(op.op().Err, errReply)
	}
	f.trace(window, ops)
	return nil
}

func parseStep(f *Frontier, st step, r *reply, sent time.Time) error {
	if r.err == nil {
		if err := st.parse(f, r, sent); err != nil && !errors.Is(err, r.err) {
			return err
		}
	}
	if r.err != nil {
		return fmt.Errorf("rqueue: %T: %w", st, r.err)
	}
	return nil
}

// verdict turns a script's word into an error.
func verdict(word []byte) error {
	switch string(word) {
	case "ok":
		return nil
	case "lost":
		return ErrLeaseLost
	case "held":
		return ErrHeld
	case "paused":
		return ErrPaused
	case "stale":
		return ErrStaleRun
	case "stopped":
		return ErrNotRunning
	}
	return errors.Join(errReply, fmt.Errorf("rqueue: word %q", word))
}
