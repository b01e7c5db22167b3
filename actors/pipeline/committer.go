package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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

// maxBackoff is the longest wait between two tries of a commit.
const maxBackoff = 3 * time.Second

// statsLinger is how long statistics without a page wait for one.
const statsLinger = time.Second

// committer stores outcomes in batches, one batch on its way at a time. While the
// store fails all wait; a page that is refused alone waits alone. What it holds is
// bounded by the credits of the pages.
type committer struct {
	cfg     Config
	deps    Deps
	log     logrus.FieldLogger
	storing chan struct{} // holds one while Session is used

	pending  []*outcome
	refused  []*outcome                         // alone; each waits for its time
	stats    map[*rqueue.Crawl]map[string]int64 // of outcomes that are gathered, or whose commit failed
	running  bool
	timer    *time.Timer
	timerAt  time.Time // zero: not armed
	timerSeq int
	fails    int // commits that failed in a row
	lastErr  string

	batches, done, gone, retried int64

	drainTo *actor.PID
	drained int // workers that are done
	workers int
}

func newCommitter(cfg Config, deps Deps, storing chan struct{}) *committer {
	return &committer{cfg: cfg, deps: deps, storing: storing, log: deps.Log.WithField("actor", "committer"), stats: map[*rqueue.Crawl]map[string]int64{}}
}

// Receive implements actor.Actor.
func (c *committer) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *outcome:
		c.onOutcome(ctx, msg)
	case *tallied:
		c.onTallied(ctx, msg)
	case flush:
		c.onFlush(ctx, msg)
	case *committed:
		c.onCommitted(ctx, msg)
	case *drainCommitter:
		c.drainTo, c.workers, c.drained = msg.to, msg.workers, 0
	case workerDrained:
		c.drained++
		c.checkDrained(ctx)
	case *messages.Inspect:
		ctx.Respond(c.snapshot())
	case *actor.Restarting:
		c.onRestarting(ctx)
	case *actor.Stopping:
		c.disarm()
	case *actor.Started, *actor.Stopped:
	default:
		c.log.WithField("type", fmt.Sprintf("%T", msg)).Warn("unexpected message")
	}
}

func (c *committer) onOutcome(ctx actor.Context, msg *outcome) {
	addCounts(c.stats, msg.page.Crawl, msg.stats)
	c.pending = append(c.pending, msg)
	switch {
	case c.running || c.fails > 0:
	case len(c.pending) >= c.cfg.Batch:
		c.flush(ctx)
	default:
		c.arm(ctx, c.cfg.Linger)
	}
}

func (c *committer) onTallied(ctx actor.Context, msg *tallied) {
	addCounts(c.stats, msg.crawl, msg.stats)
	if !c.running && c.fails == 0 {
		c.arm(ctx, statsLinger)
	}
}

// onRestarting hands what waits to the next incarnation. What is on its way comes
// back to that by itself.
func (c *committer) onRestarting(ctx actor.Context) {
	c.disarm()
	for _, o := range append(c.refused, c.pending...) {
		ctx.Send(ctx.Self(), o)
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

// arm commits after d, or at the time already set when that is earlier.
func (c *committer) arm(ctx actor.Context, d time.Duration) {
	at := time.Now().Add(d)
	if !c.timerAt.IsZero() && !at.Before(c.timerAt) {
		return
	}
	c.disarm()
	c.timerAt = at
	root, self, msg := ctx.ActorSystem().Root, ctx.Self(), flush{c.timerSeq}
	c.timer = time.AfterFunc(d, func() { root.Send(self, msg) })
}

func (c *committer) disarm() {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timerSeq++
	c.timerAt = time.Time{}
}

func (c *committer) onFlush(ctx actor.Context, msg flush) {
	if msg.seq == c.timerSeq {
		c.flush(ctx)
	}
}

// flush sets the next batch off. Refused pages whose time has come go first.
func (c *committer) flush(ctx actor.Context) {
	c.disarm()
	c.readmit(time.Now())
	if c.running {
		return
	}
	if len(c.pending) == 0 && len(c.stats) == 0 {
		c.armRefused(ctx)
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

// readmit moves the refused pages whose time has come to the front.
func (c *committer) readmit(now time.Time) {
	var due []*outcome
	c.refused = slices.DeleteFunc(c.refused, func(o *outcome) bool {
		if o.after.After(now) {
			return false
		}
		due = append(due, o)
		return true
	})
	if len(due) > 0 {
		c.pending = append(due, c.pending...)
	}
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
	c.storing <- struct{}{} // a batch of an incarnation that panicked may be on its way
	defer func() { <-c.storing }()
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
		if errors.Is(o.page.Err, rqueue.ErrStaleRun) { // flushed or deleted: its lease is gone with it
			o.page.Err, o.page.Gone = nil, true
		}
		if err := o.page.Err; err != nil {
			c.retried++
			if msg.err == nil && !refusesAll(err) {
				c.refuse(o)
				continue
			}
			problem = cmp.Or(problem, err)
			again = append(again, o)
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
		if n := o.page.Refused; n > 0 {
			addCounts(c.stats, o.page.Crawl, []count{{statPageLimit, int64(n)}})
		}
		settled.Pages = append(settled.Pages, messages.SettledPage{Crawl: o.page.Crawl, Slot: o.slot, ID: o.page.ID, Page: o.isDoc && !o.page.Gone, Parked: o.page.Park != ""})
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

// refuse puts a page aside that was refused alone; after too many tries it is to
// be stored as dead.
func (c *committer) refuse(o *outcome) {
	o.tries++
	o.after = time.Now().Add(backoff(o.tries))
	c.refused = append(c.refused, o)
	log := c.log.WithFields(logrus.Fields{"request": o.page.ID.String(), "domain": o.slot, "err": o.page.Err})
	switch o.tries {
	case 1:
		log.Warn("commit of a page refused, it waits")
	case maxCommitTries:
		log.Error("commit of a page refused too often, it is given up")
		o.page.Links, o.page.Items, o.isDoc = nil, nil, false
		o.page.End, o.page.Cause = rqueue.EndDead, "commit: "+o.page.Err.Error()
	}
}

// backoff is the wait before the next try after n failures, n >= 1.
func backoff(n int) time.Duration {
	d := min(maxBackoff, 50*time.Millisecond<<min(n, 10))
	return d/2 + rand.N(d/2+1) //nolint:gosec // spreads load
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
		c.arm(ctx, backoff(c.fails))
		return
	}
	if c.fails > 0 {
		c.log.Info("commits go through again")
	}
	c.fails, c.lastErr = 0, ""
	switch {
	case len(c.pending) >= c.cfg.Batch, len(c.pending) > 0 && c.drainTo != nil:
		c.flush(ctx)
	case len(c.pending) > 0:
		c.arm(ctx, c.cfg.Linger)
	case len(c.stats) > 0:
		c.arm(ctx, statsLinger)
	}
	c.armRefused(ctx)
}

func (c *committer) armRefused(ctx actor.Context) {
	for _, o := range c.refused {
		c.arm(ctx, time.Until(o.after))
	}
}

func (c *committer) checkDrained(ctx actor.Context) {
	if c.drainTo == nil || c.drained < c.workers || c.running {
		return
	}
	if len(c.pending) > 0 || len(c.stats) > 0 {
		if c.fails == 0 {
			c.flush(ctx)
		}
		return
	}
	if len(c.refused) > 0 {
		return
	}
	ctx.Send(c.drainTo, &messages.Drained{})
	c.drainTo = nil
}

func (c *committer) snapshot() *Snapshot {
	return &Snapshot{
		Workers: c.cfg.Workers, Committing: len(c.pending) + len(c.refused), Batches: c.batches, Committed: c.done,
		Gone: c.gone, Retried: c.retried, LastError: c.lastErr,
	}
}
