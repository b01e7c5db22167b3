// Package scheduler is a node's door to the frontier. Its actor gathers the steps
// that domains ask for into pipelines, reads the due index and wakes domains,
// claims seeds, and declares crawls finished.
//
//	in   Do, Seed, SeedsPushed, Moved, Attach, Detach, Drain, Inspect
//	out  Done -> the asker, Wake -> domains, Finished -> whoever attached the crawl
//
// All its state can be rebuilt from Redis. Redis is only called from goroutines
// that send one message back.
package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

// Config is the scheduler's settings.
type Config struct {
	Linger    time.Duration // steps are gathered so long; default 500 µs
	BatchMax  int           // most steps in one pipeline; default 128
	Pipelines int           // pipelines on their way at once; default 2
	Poll      time.Duration // the due index and the seeds are read this often; default 250 ms
	PollIdle  time.Duration // when there has been nothing for long, this often; default 1 s
	Look      time.Duration // the store is looked at this often, for what it may have forgotten; default 1 s
	Wakes     int           // most hosts woken by one poll; default 1000
	SeedBatch int           // seeds claimed at once (REDIS_START_URLS_BATCH_SIZE); default 256
	SeedAge   time.Duration // claimed seeds older than this are claimed anew; default 30 s
	Timeout   time.Duration // of one call of the store; default 10 s
	// Adopt is how long all must have been well before hosts are taken that another
	// node should own and does not look at (SLOT_TTL); default 8 s.
	Adopt time.Duration
}

// WithDefaults fills zero fields.
func (c Config) WithDefaults() Config {
	c.Linger = cmp.Or(c.Linger, 500*time.Microsecond)
	c.BatchMax = cmp.Or(c.BatchMax, 128)
	c.Pipelines = cmp.Or(c.Pipelines, 2)
	c.Poll = cmp.Or(c.Poll, 250*time.Millisecond)
	c.PollIdle = cmp.Or(c.PollIdle, time.Second)
	c.Look = cmp.Or(c.Look, time.Second)
	c.Wakes = cmp.Or(c.Wakes, 1000)
	c.SeedBatch = cmp.Or(c.SeedBatch, 256)
	c.SeedAge = cmp.Or(c.SeedAge, 30*time.Second)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Adopt = cmp.Or(c.Adopt, 8*time.Second)
	return c
}

// frontier is what the scheduler needs of the store besides crawls.
type frontier interface {
	Do(ctx context.Context, ops ...rqueue.Op) error
	Ping(ctx context.Context) error // looks at the store's identity and clock
	NewSession() *rqueue.Session
}

// Deps is who the scheduler talks to. All are required.
type Deps struct {
	Frontier frontier
	Domains  *actor.PID
	Room     func() int // how many more domains may live on this node
	// Mine reports whether this node should own a host's slot for a crawl. Safe for
	// concurrent use.
	Mine func(host, crawl string) bool
	Log  logrus.FieldLogger
}

// Actor is the scheduler.
type Actor struct {
	cfg  Config
	deps Deps
	log  logrus.FieldLogger

	steps     []step // waiting for the next pipeline
	flushing  bool   // a flush is on its way
	running   int
	batches   int64
	stepCount int64

	crawls   []*crawlState
	turn     int // which crawl is polled first
	polling  bool
	pollSoon bool // something happened: poll again at once
	pollSeq  int
	quiet    int // polls in a row that found nothing
	timer    *time.Timer
	lastPoll time.Time
	lastLook time.Time     // at the store itself
	settled  time.Time     // since when every poll went well
	retired  []*crawlState // detached while a poll runs: it may use their sessions
	stepErr  string        // of the last pipeline
	pollErr  string        // of the last poll
	drainTo  *actor.PID
}

// step is one ask's share of a pipeline.
type step struct {
	ops []rqueue.Op
	to  *actor.PID
}

// crawlState is what the scheduler knows of one crawl.
type crawlState struct {
	Attach
	session *rqueue.Session // confined to the poll that runs, as cursor
	cursor  rqueue.Cursor
	done    bool
}

// New makes the scheduler. It panics when deps are missing.
func New(cfg Config, deps Deps) *Actor {
	if deps.Frontier == nil || deps.Domains == nil || deps.Room == nil || deps.Mine == nil || deps.Log == nil {
		panic("scheduler: Deps has a nil field")
	}
	return &Actor{cfg: cfg, deps: deps}
}

// Receive implements actor.Actor.
func (a *Actor) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		a.onStarted(ctx)
	case *messages.Do:
		a.onDo(ctx, msg)
	case flush:
		a.onFlush(ctx)
	case *ran:
		a.onRan(ctx, msg)
	case *Attach:
		a.onAttach(ctx, msg)
	case *Detach:
		a.onDetach(msg)
	case pollNow:
		a.onPollNow(ctx, msg)
	case *polled:
		a.onPolled(ctx, msg)
	case *messages.SeedsPushed:
		a.wantPoll(ctx)
	case *messages.Moved:
		a.settled = time.Time{}
		a.wantPoll(ctx)
	case *messages.Seed:
		a.onSeed(ctx, msg)
	case *seeded:
		a.onSeeded(ctx, msg)
	case *messages.Drain:
		a.onDrain(ctx)
	case *messages.Inspect:
		ctx.Respond(a.snapshot())
	case *actor.Restarting:
		a.onRestarting(ctx)
	case *actor.Stopping:
		a.onStopping()
	case *actor.Stopped:
	default:
		a.log.WithField("type", fmt.Sprintf("%T", msg)).Warn("unexpected message")
	}
}

func (a *Actor) onStarted(ctx actor.Context) {
	a.log = a.deps.Log.WithField("actor", messages.SchedulerName)
	a.armPoll(ctx, 0)
}

func (a *Actor) onStopping() {
	if a.timer != nil {
		a.timer.Stop()
	}
	if !a.polling {
		a.closeSessions(append(a.crawls, a.retired...))
	}
}

// onRestarting tells the next incarnation what this one was told and has not done.
func (a *Actor) onRestarting(ctx actor.Context) {
	a.onStopping()
	self, root := ctx.Self(), ctx.ActorSystem().Root
	for _, c := range a.crawls {
		if attach := c.Attach; !c.done {
			ctx.Send(self, &attach)
		}
	}
	for _, s := range a.steps {
		root.RequestWithCustomSender(self, &messages.Do{Ops: s.ops}, s.to)
	}
	if a.drainTo != nil {
		root.RequestWithCustomSender(self, &messages.Drain{}, a.drainTo)
	}
}

// onDo gathers steps; the first of a batch starts its linger.
func (a *Actor) onDo(ctx actor.Context, msg *messages.Do) {
	a.steps = append(a.steps, step{msg.Ops, ctx.Sender()})
	if a.running >= a.cfg.Pipelines || a.flushing {
		return
	}
	a.flushing = true
	if len(a.steps) >= a.cfg.BatchMax {
		ctx.Send(ctx.Self(), flush{})
		return
	}
	root, self := ctx.ActorSystem().Root, ctx.Self()
	time.AfterFunc(a.cfg.Linger, func() { root.Send(self, flush{}) })
}

func (a *Actor) onFlush(ctx actor.Context) {
	a.flushing = false
	if len(a.steps) == 0 || a.running >= a.cfg.Pipelines {
		return
	}
	batch := a.steps
	if len(batch) > a.cfg.BatchMax {
		batch, a.steps = batch[:a.cfg.BatchMax:a.cfg.BatchMax], batch[a.cfg.BatchMax:]
	} else {
		a.steps = nil
	}
	a.running++
	a.batches++
	a.stepCount += int64(len(batch))
	root, self := ctx.ActorSystem().Root, ctx.Self()
	go func() {
		n := 0
		for _, s := range batch {
			n += len(s.ops)
		}
		ops := make([]rqueue.Op, 0, n)
		for _, s := range batch {
			ops = append(ops, s.ops...)
		}
		c, cancel := context.WithTimeout(context.Background(), a.cfg.Timeout)
		defer cancel()
		err := a.deps.Frontier.Do(c, ops...)
		for _, s := range batch {
			root.Send(s.to, &messages.Done{Ops: s.ops})
		}
		root.Send(self, &ran{by: a, err: err})
	}()
}

func (a *Actor) onRan(ctx actor.Context, msg *ran) {
	if msg.by == a {
		a.running--
	}
	a.note(&a.stepErr, msg.err)
	if len(a.steps) > 0 && !a.flushing {
		a.onFlush(ctx)
	}
	a.checkDrained(ctx)
}

// note logs when the store fails and when it answers again, not each failure
// between the two.
func (a *Actor) note(last *string, err error) {
	switch {
	case err != nil && *last == "":
		a.log.WithField("err", err).Warn("store failed, waiting for it")
	case err == nil && *last != "":
		a.log.Info("store answers again")
	}
	*last = ""
	if err != nil {
		*last = err.Error()
	}
}

func (a *Actor) onAttach(ctx actor.Context, msg *Attach) {
	a.crawls = append(a.crawls, &crawlState{Attach: *msg, session: a.deps.Frontier.NewSession()})
	a.wantPoll(ctx)
}

func (a *Actor) onDetach(msg *Detach) {
	for i, c := range a.crawls {
		if c.Crawl == msg.Crawl {
			a.crawls = append(a.crawls[:i:i], a.crawls[i+1:]...)
			a.retire(c)
			return
		}
	}
}

// retire gives back what crawls hold that are no longer served.
func (a *Actor) retire(crawls ...*crawlState) {
	if a.polling {
		a.retired = append(a.retired, crawls...)
		return
	}
	a.closeSessions(crawls)
}

func (a *Actor) closeSessions(crawls []*crawlState) {
	for _, c := range crawls {
		if err := c.session.Close(); err != nil {
			a.log.WithField("err", err).Debug("connection not closed")
		}
	}
}

func (a *Actor) onDrain(ctx actor.Context) {
	a.drainTo = ctx.Sender()
	a.checkDrained(ctx)
}

// checkDrained answers a Drain once nothing is on its way.
func (a *Actor) checkDrained(ctx actor.Context) {
	if a.drainTo != nil && a.running == 0 && len(a.steps) == 0 && !a.polling {
		ctx.Send(a.drainTo, &messages.Drained{})
		a.drainTo = nil
		a.retire(a.crawls...)
		a.crawls = nil
	}
}

func (a *Actor) snapshot() *Snapshot {
	s := &Snapshot{Pending: len(a.steps), Running: a.running, Batches: a.batches, Steps: a.stepCount, LastError: cmp.Or(a.stepErr, a.pollErr)}
	for _, c := range a.crawls {
		s.Crawls = append(s.Crawls, c.Crawl.Name())
	}
	if !a.lastPoll.IsZero() {
		s.LastPoll = time.Since(a.lastPoll)
	}
	return s
}
