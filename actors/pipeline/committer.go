package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"orbweaver/core/policy"
	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

// maxCommitTries is after how many refused commits, of this page and not of the
// whole batch, a page is stored as dead instead.
const maxCommitTries = 20

// Session is what the committer needs of the frontier.
type Session interface {
	Commit(ctx context.Context, pages []*rqueue.Page, stats []rqueue.Stat) ([]rqueue.HostRef, error)
}

// committer stores outcomes in batches, one batch on its way at a time. What it
// holds is bounded by the credits of the pages.
type committer struct {
	cfg  Config
	deps Deps
	log  logrus.FieldLogger

	pending []*outcome
	stats   map[*rqueue.Crawl]map[string]int64 // of outcomes that are gathered, or whose commit failed
	running bool
	armed   bool
	fails   int // commits that failed in a row
	lastErr string

	batches, done, gone, retried int64

	drainTo *actor.PID
	drained int // workers that are done
	workers int
}

func newCommitter(cfg Config, deps Deps) *committer {
	return &committer{cfg: cfg, deps: deps, log: deps.Log.WithField("actor", "committer"), stats: map[*rqueue.Crawl]map[string]int64{}}
}

// Receive implements actor.Actor.
func (c *committer) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *outcome:
		c.onOutcome(ctx, msg)
	case *tallied:
		addCounts(c.stats, msg.crawl, msg.stats)
	case flush:
		c.onFlush(ctx)
	case *committed:
		c.onCommitted(ctx, msg)
	case *drainCommitter:
		c.drainTo, c.workers = msg.to, msg.workers
		c.checkDrained(ctx)
	case workerDrained:
		c.drained++
		c.checkDrained(ctx)
	case *messages.Inspect:
		ctx.Respond(c.snapshot())
	case *actor.Started, *actor.Stopping, *actor.Stopped, *actor.Restarting:
	default:
		c.log.WithField("type", fmt.Sprintf("%T", msg)).Warn("unexpected message")
	}
}

func (c *committer) onOutcome(ctx actor.Context, msg *outcome) {
	c.pending = append(c.pending, msg)
	addCounts(c.stats, msg.page.Crawl, msg.stats)
	switch {
	case c.running || c.fails > 0:
	case len(c.pending) >= c.cfg.Batch:
		c.onFlush(ctx)
	default:
		c.arm(ctx, c.cfg.Linger)
	}
}

func addCounts(stats map[*rqueue.Crawl]map[string]int64, of *rqueue.Crawl, counts []count) {
	m := stats[of]
	if m == nil {
		m = make(map[string]int64, 16)
		stats[of] = m
	}
	for _, n := range counts {
		m[n.name] += n.n
	}
}

func (c *committer) arm(ctx actor.Context, d time.Duration) {
	if c.armed {
		return
	}
	c.armed = true
	root, self := ctx.ActorSystem().Root, ctx.Self()
	time.AfterFunc(d, func() { root.Send(self, flush{}) })
}

func (c *committer) onFlush(ctx actor.Context) {
	c.armed = false
	if c.running || len(c.pending) == 0 && len(c.stats) == 0 {
		return
	}
	batch := c.pending
	if len(batch) > c.cfg.Batch {
		batch, c.pending = batch[:c.cfg.Batch:c.cfg.Batch], batch[c.cfg.Batch:]
	} else {
		c.pending = nil
	}
	stats := c.stats
	c.stats = map[*rqueue.Crawl]map[string]int64{}
	c.running = true
	c.batches++
	root, self := ctx.ActorSystem().Root, ctx.Self()
	go func() { root.Send(self, c.commit(batch, stats)) }()
}

// commit runs beside the actor and touches only what it was given.
func (c *committer) commit(batch []*outcome, stats map[*rqueue.Crawl]map[string]int64) *committed {
	pages := make([]*rqueue.Page, len(batch))
	for i, o := range batch {
		pages[i] = o.page
		o.page.Err = nil
	}
	var all []rqueue.Stat
	for of, m := range stats {
		for name, n := range m {
			all = append(all, rqueue.Stat{Crawl: of, Name: name, N: n})
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.cfg.Timeout)
	defer cancel()
	err := storeSeedHosts(ctx, batch)
	if err != nil {
		return refused(batch, stats, err)
	}
	woken, err := c.deps.Session.Commit(ctx, pages, all)
	out := &committed{batch: batch, woken: woken, err: err}
	if err != nil {
		out.stats = stats
	}
	return out
}

// storeSeedHosts makes the hosts that seeds redirect to outlive this process,
// before the redirect is committed.
func storeSeedHosts(ctx context.Context, batch []*outcome) error {
	for _, o := range batch {
		if o.seedHost == "" {
			continue
		}
		if err := o.page.Crawl.AddSeedHosts(ctx, []string{o.seedHost}); err != nil {
			return err
		}
	}
	return nil
}

// refused is a batch of which nothing was stored.
func refused(batch []*outcome, stats map[*rqueue.Crawl]map[string]int64, err error) *committed {
	for _, o := range batch {
		o.page.Err = err
	}
	return &committed{batch: batch, stats: stats, err: err}
}

func (c *committer) onCommitted(ctx actor.Context, msg *committed) {
	c.running = false
	settled := &messages.Settled{Pages: make([]messages.SettledPage, 0, len(msg.batch))}
	var again []*outcome
	exports := map[*rqueue.Crawl]bool{}
	problem := msg.err
	for _, o := range msg.batch {
		if o.page.Err != nil {
			if problem == nil {
				problem = o.page.Err
			}
			again = append(again, c.again(o, msg.err == nil))
			continue
		}
		if o.page.Gone {
			c.gone++
		} else {
			c.done++
			if len(o.page.Items) > 0 {
				exports[o.page.Crawl] = true
			}
		}
		c.deps.Counters.committed(o)
		if n := o.page.Filtered; n > 0 { // seen, but not known to this node
			addCounts(c.stats, o.page.Crawl, []count{{policy.StatDupeFiltered, int64(n)}})
		}
		settled.Pages = append(settled.Pages, messages.SettledPage{Crawl: o.page.Crawl, Slot: o.slot, ID: o.page.ID, Page: o.isDoc && !o.page.Gone})
	}
	for of, m := range msg.stats { // not stored: with the next batch
		for name, n := range m {
			addCounts(c.stats, of, []count{{name, n}})
		}
	}
	if len(settled.Pages) > 0 {
		ctx.Send(c.deps.Domains, settled)
	}
	if len(msg.woken) > 0 {
		ctx.Send(c.deps.Domains, &messages.Wake{Refs: msg.woken})
	}
	for of := range exports {
		if pid := c.deps.Exporter(of); pid != nil {
			ctx.Send(pid, exportNow{})
		}
	}
	c.pending = append(again, c.pending...)
	c.schedule(ctx, problem)
	c.checkDrained(ctx)
}

// again prepares a page whose commit was refused for another try.
func (c *committer) again(o *outcome, alone bool) *outcome {
	c.retried++
	if alone {
		o.tries++
	}
	if o.tries >= maxCommitTries {
		o.page.Links, o.page.Items = nil, nil
		o.page.End, o.page.Cause = rqueue.EndDead, "commit: "+o.page.Err.Error()
	}
	return o
}

// schedule sets the next batch off: at once when one is full, after a back-off
// when the store failed.
func (c *committer) schedule(ctx actor.Context, problem error) {
	if problem != nil {
		c.fails++
		if c.lastErr != problem.Error() {
			c.log.WithField("err", problem).Warn("commit failed, pages wait")
		}
		c.lastErr = problem.Error()
		d := min(3*time.Second, 50*time.Millisecond<<min(c.fails, 10))
		c.arm(ctx, d/2+rand.N(d)) //nolint:gosec // spreads load
		return
	}
	if c.fails > 0 {
		c.log.Info("commits go through again")
	}
	c.fails, c.lastErr = 0, ""
	switch {
	case len(c.pending) >= c.cfg.Batch, len(c.pending) > 0 && c.drainTo != nil:
		c.onFlush(ctx)
	case len(c.pending) > 0:
		c.arm(ctx, c.cfg.Linger)
	}
}

func (c *committer) checkDrained(ctx actor.Context) {
	if c.drainTo == nil || c.drained < c.workers || c.running {
		return
	}
	if len(c.pending) > 0 || len(c.stats) > 0 {
		if c.fails == 0 {
			c.onFlush(ctx)
		}
		return
	}
	ctx.Send(c.drainTo, &messages.Drained{})
	c.drainTo = nil
}

func (c *committer) snapshot() *Snapshot {
	return &Snapshot{
		Workers: c.cfg.Workers, Committing: len(c.pending), Batches: c.batches, Committed: c.done,
		Gone: c.gone, Retried: c.retried, LastError: c.lastErr,
	}
}
