// Package pipeline turns fetched pages into links and items and stores the outcome.
// Its root actor deals pages out to one parse worker for each processor; the
// workers send outcomes to the committer, which stores them in batches: links
// first, then, on the same connection, items with the end of the lease.
//
//	in   Page, Drain, Inspect            from fetchers, domains, the node
//	out  Settled, Wake -> domains
//
// A panic while parsing fails that page only. Nothing here must survive a crash:
// a page whose outcome is not stored is leased again.
package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"orbweaver/actors/supervise"
	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

// Config is the pipeline's settings.
type Config struct {
	Workers int           // parse workers (PARSE_WORKERS); default: processors
	Batch   int           // most pages in one commit (COMMIT_BATCH); default 64
	Linger  time.Duration // outcomes are gathered so long (COMMIT_LINGER); default 5 ms
	Timeout time.Duration // of one commit; default 10 s
}

// WithDefaults fills zero fields.
func (c Config) WithDefaults() Config {
	c.Workers = cmp.Or(c.Workers, runtime.GOMAXPROCS(0))
	c.Batch = cmp.Or(c.Batch, 64)
	c.Linger = cmp.Or(c.Linger, 5*time.Millisecond)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	return c
}

// Validate reports every problem of a config that has its defaults.
func (c Config) Validate() error {
	var errs []error
	if c.Workers < 1 {
		errs = append(errs, fmt.Errorf("pipeline: PARSE_WORKERS %d: want 0 or more", c.Workers))
	}
	if c.Batch < 1 || c.Batch > 1024 {
		errs = append(errs, fmt.Errorf("pipeline: COMMIT_BATCH %d: want 1 to 1024", c.Batch))
	}
	return errors.Join(errs...)
}

// Deps is who the pipeline talks to. All are required.
type Deps struct {
	Session  Session
	Domains  *actor.PID
	Jobs     func(*rqueue.Crawl) *Job       // how to read a crawl's pages; nil for a crawl that is gone
	Release  func(*crawl.Response)          // gives a body's buffer back
	Exporter func(*rqueue.Crawl) *actor.PID // who exports a crawl's items; nil: nobody
	Counters *Counters
	Registry *supervise.Registry
	Log      logrus.FieldLogger
}

// Actor is the pipeline's root.
type Actor struct {
	cfg     Config
	deps    Deps
	log     logrus.FieldLogger
	storing chan struct{}

	workers   []*actor.PID
	committer *actor.PID
	next      int
}

// New makes the pipeline. It panics when deps are missing.
func New(cfg Config, deps Deps) *Actor {
	if deps.Session == nil || deps.Domains == nil || deps.Jobs == nil || deps.Release == nil || deps.Exporter == nil || deps.Counters == nil ||
		deps.Registry == nil || deps.Log == nil {
		panic("pipeline: Deps has a nil field")
	}
	return &Actor{cfg: cfg, deps: deps, storing: make(chan struct{}, 1)}
}

// Receive implements actor.Actor.
func (a *Actor) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *messages.Page:
		a.onPage(ctx, msg)
	case *messages.RobotsFetched:
		ctx.Forward(a.workers[0])
	case *actor.Started:
		a.onStarted(ctx)
	case *messages.Drain:
		a.onDrain(ctx)
	case *messages.Inspect:
		ctx.Forward(a.committer)
	case *actor.Stopping, *actor.Stopped, *actor.Restarting, *actor.Terminated:
	default:
		a.log.WithField("type", fmt.Sprintf("%T", msg)).Warn("unexpected message")
	}
}

func (a *Actor) onStarted(ctx actor.Context) {
	a.log = a.deps.Log.WithField("actor", messages.PipelineName)
	strategy := actor.WithSupervisor(supervise.NewStrategy(a.log, a.deps.Registry.Failed))
	a.workers = nil
	props := a.deps.Registry.Props("committer", func() actor.Actor { return newCommitter(a.cfg, a.deps, a.storing) }, strategy)
	a.committer = spawn(ctx, props, "committer")
	for i := range a.cfg.Workers {
		props := a.deps.Registry.Props("parser", func() actor.Actor { return newWorker(a.deps, a.committer) }, strategy)
		a.workers = append(a.workers, spawn(ctx, props, fmt.Sprintf("parser-%d", i)))
	}
}

// spawn starts a named child; the only error, a name that exists, is a mistake of ours.
func spawn(ctx actor.Context, props *actor.Props, name string) *actor.PID {
	pid, err := ctx.SpawnNamed(props, name)
	if err != nil {
		panic(fmt.Sprintf("pipeline: spawn %s: %v", name, err))
	}
	return pid
}

func (a *Actor) onPage(ctx actor.Context, msg *messages.Page) {
	ctx.Send(a.workers[a.next], msg)
	a.next = (a.next + 1) % len(a.workers)
}

func (a *Actor) onDrain(ctx actor.Context) {
	ctx.Send(a.committer, &drainCommitter{to: ctx.Sender(), workers: len(a.workers)})
	for _, w := range a.workers {
		ctx.Send(w, &messages.Drain{})
	}
}
