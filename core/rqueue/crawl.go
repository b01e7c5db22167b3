package rqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// State is what a crawl is doing.
type State string

// The states of a crawl.
const (
	StateRunning  State = "running"
	StatePaused   State = "paused"
	StateStopped  State = "stopped"
	StateFinished State = "finished"
)

// Crawl is one crawl's door: its keys and the incarnation (run) it was opened
// in. After another node's flush its steps answer ErrStaleRun: open it again.
// All methods are safe for concurrent use.
type Crawl struct {
	f         *Frontier
	spec      Spec
	class     string
	keys      *crawlKeys
	items     any // boxed keys
	dupe      any
	startURLs string
	taken     string
	claims    string
	rejected  string

	run      atomic.Pointer[runID]
	openings int64
	resumed  int64
	orphans  atomic.Bool   // a killed process may have held leases, see Due
	sweep    atomic.Uint64 // watch.setBack when the reading under way began, see Due
	swept    atomic.Uint64 // the sweep of the last whole reading
	forgets  atomic.Uint64
}

// runID is one incarnation, with what the hot path makes of it.
type runID struct {
	text string
	salt uint64 // of the cache of seen fingerprints
}

// OpenCrawl creates the crawl of that name, or comes back to it: a stopped or
// paused one runs on, and so does a finished one that was never closed, so that
// what its end still asked for is done; a closed one begins again, with its
// filter when Close kept it. With flush it begins anew in any case. The stored
// spec is replaced. A flush that was cut short is completed first.
func (f *Frontier) OpenCrawl(ctx context.Context, spec Spec, flush bool) (*Crawl, error) {
	spec = spec.WithDefaults()
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("rqueue: open crawl %s: %w", spec.Name, err)
	}
	c := f.newCrawl(spec)
	if flush {
		if err := c.flushFrom(ctx, ""); err != nil {
			return nil, err
		}
	}
	for range 3 { // a flush in between asks for one more turn; others may flush as well
		r, err := f.call(ctx, f.scripts.open, func(a *args) {
			a.key(c.keys.spec)
			a.key(c.keys.state)
			a.key(c.keys.stats)
			a.key(c.keys.totals)
			a.key(f.cfg.Prefix + ":crawls")
			for i := range c.keys.shards {
				a.key(c.keys.shards[i].run)
			}
			f.clock(a)
			a.str(spec.Name)
			a.bytes(text)
		})
		if err != nil {
			return nil, err
		}
		n := r.array()
		word, run := r.string(), r.string()
		if word == "flush" && r.err == nil {
			if err := c.flushFrom(ctx, run); err != nil {
				return nil, err
			}
			continue
		}
		if n == 4 {
			c.openings, c.resumed = r.int(), r.int()
			c.orphans.Store(f.cfg.Exclusive && c.resumed > 0)
		}
		if err := r.ok("open crawl"); err != nil {
			return nil, err
		}
		c.setRun(run)
		return c, nil
	}
	return nil, fmt.Errorf("rqueue: open crawl %s: %w", spec.Name, ErrStaleRun)
}

func (f *Frontier) newCrawl(spec Spec) *Crawl {
	return &Crawl{
		f: f, spec: spec, class: spec.class(),
		keys:      newCrawlKeys(spec.Name, f.cfg.Shards, f.cfg.ShardOf),
		items:     spec.ItemsKey,
		dupe:      spec.DupefilterKey,
		startURLs: spec.StartURLsKey,
		taken:     tagged(spec.StartURLsKey, ":taken"),
		claims:    tagged(spec.StartURLsKey, ":claims"),
		rejected:  spec.StartURLsKey + ":rejected",
	}
}

// call runs one script on any connection.
func (f *Frontier) call(ctx context.Context, s *script, build func(*args)) (reply, error) {
	a := newArgs()
	build(a)
	r, err := f.eval(ctx, f.rdb, s, a)
	a.free()
	if err == nil {
		f.touch()
	}
	return r, err
}

func (c *Crawl) setRun(run string) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.spec.Name + "\x00" + run))
	c.run.Store(&runID{text: run, salt: h.Sum64()})
}

func (c *Crawl) runText() string {
	if r := c.run.Load(); r != nil {
		return r.text
	}
	return ""
}

// Name is the crawl's name.
func (c *Crawl) Name() string { return c.spec.Name }

// Spec is the definition it was opened with, with defaults.
func (c *Crawl) Spec() Spec { return c.spec }

// Run is the crawl's incarnation: it grows with every flush.
func (c *Crawl) Run() int64 {
	n, _ := strconv.ParseInt(c.runText(), 10, 64)
	return n
}

// Opening counts the times the crawl began: created, or opened after its end.
// Together with Run it tells one round of seeds from the next.
func (c *Crawl) Opening() int64 { return c.openings }

// Resumed is the number of requests that were scheduled (waiting, delayed or
// leased) when the crawl was opened.
func (c *Crawl) Resumed() int64 { return c.resumed }

// State reads the crawl's state.
func (c *Crawl) State(ctx context.Context) (State, error) {
	s, err := c.f.rdb.HGet(ctx, text(c.keys.state), "state").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("rqueue: read state of %s: %w", c.spec.Name, err)
	}
	return State(s), nil
}

// text is a boxed key.
func text(key any) string {
	s, _ := key.(string)
	return s
}

// SetState makes the crawl run, pause or stop. ErrStaleRun after a flush elsewhere.
func (c *Crawl) SetState(ctx context.Context, s State) error { return c.setState(ctx, s, "") }

func (c *Crawl) setState(ctx context.Context, s State, kept string) error {
	r, err := c.f.call(ctx, c.f.scripts.state, func(a *args) {
		a.key(c.keys.state)
		a.str(c.runText())
		a.str(string(s))
		a.str(kept)
	})
	if err != nil {
		return err
	}
	if r.int() == 0 && r.err == nil {
		return ErrStaleRun
	}
	return r.ok("set state")
}

// Finish declares the crawl finished when nothing at all is left: no waiting,
// delayed or leased request at any host, no start message, none claimed. It
// reports whether the crawl is finished, by this call or before (rule 15).
// ErrNotRunning when it is stopped, ErrStaleRun after a flush elsewhere.
func (c *Crawl) Finish(ctx context.Context) (bool, error) {
	r, err := c.f.call(ctx, c.f.scripts.finish, func(a *args) {
		a.key(c.keys.state)
		a.key(c.startURLs)
		a.key(c.taken)
		for i := range c.keys.shards {
			a.key(c.keys.shards[i].index)
		}
		c.f.clock(a)
		a.str(c.runText())
	})
	if err != nil {
		return false, err
	}
	n := r.int()
	if err := r.ok("finish"); err != nil {
		return false, err
	}
	switch n {
	case -1:
		return false, ErrStaleRun
	case -2:
		return false, ErrNotRunning
	}
	return n > 0, nil
}

// Close settles what a finished crawl leaves behind. With persist queue and
// filter stay, so that opened again it fetches only what is new; without, they
// are deleted and the same command crawls anew. Items, stats, dead letters'
// counts and start messages stay.
func (c *Crawl) Close(ctx context.Context, persist bool) error {
	if persist {
		return c.setState(ctx, "", "filter")
	}
	return c.Flush(ctx)
}

// Flush empties the crawl: every request, lease, dead letter and fingerprint
// goes, at every host, and a new run begins, in which this Crawl goes on. A
// finished crawl stays finished. Cut short, it is completed by the next Flush
// or OpenCrawl (rule 14).
func (c *Crawl) Flush(ctx context.Context) error { return c.flushFrom(ctx, c.runText()) }

// flushBatch bounds the hosts that one call deletes.
const flushBatch = 200

func (c *Crawl) flushFrom(ctx context.Context, run string) error {
	next, err := c.emptied(ctx, run)
	if err != nil {
		return err
	}
	r, err := c.f.call(ctx, c.f.scripts.flushEnd, func(a *args) {
		a.key(c.keys.state)
		a.key(c.keys.totals)
		if c.spec.Filter == FilterScrapy {
			a.key(c.dupe)
		}
		a.str(next)
	})
	if err != nil {
		return err
	}
	r.int()
	if err := r.ok("flush"); err != nil {
		return err
	}
	c.setRun(next)
	return nil
}

// emptied begins a flush, or goes on with one, and empties every shard. It gives
// the run that the flush leads to; the flush is not over yet.
func (c *Crawl) emptied(ctx context.Context, run string) (next string, err error) {
	r, err := c.f.call(ctx, c.f.scripts.flushBegin, func(a *args) {
		a.key(c.keys.state)
		c.f.clock(a)
		a.str(run)
	})
	if err != nil {
		return "", err
	}
	next = r.string()
	if err := r.ok("flush"); err != nil {
		return "", err
	}
	if next == "" {
		return "", ErrStaleRun
	}
	for i := range c.keys.shards {
		if err := c.flushShard(ctx, &c.keys.shards[i], next); err != nil {
			return "", err
		}
	}
	return next, nil
}

func (c *Crawl) flushShard(ctx context.Context, sh *shardKeys, run string) error {
	for {
		r, err := c.f.call(ctx, c.f.scripts.flushShard, func(a *args) {
			a.key(sh.run)
			a.key(sh.known)
			a.key(sh.index)
			a.key(c.keys.state)
			a.key(sh.cookies)
			a.str(run)
			a.str(sh.prefix)
			a.int(flushBatch)
		})
		if err != nil {
			return err
		}
		n := r.int()
		if err := r.ok("flush"); err != nil {
			return err
		}
		if n < 0 {
			return nil
		}
	}
}

// Info describes one stored crawl.
type Info struct {
	Name      string
	State     State
	Run       int64
	Spec      Spec
	Started   time.Time // by the store's clock; zero when unknown
	Finished  time.Time // zero while it is not
	Scheduled int64     // waiting, delayed and leased requests
	Flushing  bool      // a flush is under way, or was cut short
}

// Crawls lists every crawl in the store, oldest first.
func (f *Frontier) Crawls(ctx context.Context) ([]Info, error) {
	names, err := f.rdb.ZRange(ctx, f.cfg.Prefix+":crawls", 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("rqueue: list crawls: %w", err)
	}
	if len(names) == 0 {
		return nil, nil
	}
	pipe := f.rdb.Pipeline()
	states, specs, totals := make([]*redis.SliceCmd, len(names)), make([]*redis.StringCmd, len(names)), make([]*redis.SliceCmd, len(names))
	for i, n := range names {
		states[i] = pipe.HMGet(ctx, n+":state", "state", "run", "started", "finished", "flush")
		specs[i] = pipe.Get(ctx, n+":spec")
		totals[i] = pipe.HMGet(ctx, n+":totals", "seen", "done", "dead")
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("rqueue: list crawls: %w", err)
	}
	infos := make([]Info, 0, len(names))
	for i, n := range names {
		s, _ := states[i].Val()[0].(string)
		info := Info{Name: n, State: State(s), Run: field(states[i], 1)}
		if at := field(states[i], 2); at > 0 {
			info.Started = time.UnixMilli(at)
		}
		if at := field(states[i], 3); at > 0 {
			info.Finished = time.UnixMilli(at)
		}
		info.Flushing = states[i].Val()[4] != nil
		info.Scheduled = field(totals[i], 0) - field(totals[i], 1) - field(totals[i], 2)
		info.Spec = Spec{Name: n}
		_ = json.Unmarshal([]byte(specs[i].Val()), &info.Spec) // one that cannot be read shows as an empty one
		infos = append(infos, info)
	}
	return infos, nil
}

// field is the i-th value of an HMGET as a number; 0 when missing.
func field(cmd *redis.SliceCmd, i int) int64 {
	if i >= len(cmd.Val()) {
		return 0
	}
	s, _ := cmd.Val()[i].(string)
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// Known reports whether the store is known to have seen the fingerprint (its
// Member), so that its link need not be enqueued. It is a hint from this node's
// memory: false says nothing. Session.Commit asks by itself.
func (c *Crawl) Known(fp int64) bool {
	return c.f.seen.has(fp, c.salt(c.f.StoreChanges()))
}

// salt mixes what makes a cached fingerprint void: another crawl, run, store, or a Forget.
func (c *Crawl) salt(changes uint64) uint64 {
	r := c.run.Load()
	if r == nil {
		return 0
	}
	return r.salt ^ changes*0x9e3779b97f4a7c15 ^ c.forgets.Load()*0xc2b2ae3d27d4eb4f
}
