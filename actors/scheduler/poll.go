package scheduler

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

// armPoll sets the poll timer; a later call replaces it.
func (a *Actor) armPoll(ctx actor.Context, d time.Duration) {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.pollSeq++
	root, self, msg := ctx.ActorSystem().Root, ctx.Self(), pollNow{a.pollSeq}
	a.timer = time.AfterFunc(d, func() { root.Send(self, msg) })
}

// wantPoll polls as soon as the poll that runs is over.
func (a *Actor) wantPoll(ctx actor.Context) {
	if a.polling {
		a.pollSoon = true
		return
	}
	a.armPoll(ctx, 0)
}

func (a *Actor) onPollNow(ctx actor.Context, msg pollNow) {
	if msg.seq != a.pollSeq || a.polling || a.drainTo != nil {
		return
	}
	a.polling = true
	a.lastPoll = time.Now()
	crawls := slices.Clone(a.crawls)
	if n := len(crawls); n > 1 { // room is short: each is the first in turn
		a.turn = (a.turn + 1) % n
		crawls = append(crawls[a.turn:], crawls[:a.turn]...)
	}
	look := a.pollErr != "" || a.lastPoll.Sub(a.lastLook) >= a.cfg.Look
	if look {
		a.lastLook = a.lastPoll
	}
	root, self := ctx.ActorSystem().Root, ctx.Self()
	room := min(a.cfg.Wakes, a.deps.Room())
	go func() { root.Send(self, a.poll(crawls, room, look)) }()
}

// poll reads seeds and due hosts of every crawl. It runs beside the actor and
// touches only what it was given.
func (a *Actor) poll(crawls []*crawlState, room int, look bool) *polled {
	out := &polled{by: a, nextDue: -1}
	var errs []error
	if look {
		ctx, cancel := context.WithTimeout(context.Background(), a.cfg.Timeout)
		errs = append(errs, a.deps.Frontier.Ping(ctx))
		cancel()
	}
	for _, c := range crawls {
		if c.done {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), a.cfg.Timeout)
		err := a.pollCrawl(ctx, c, room, out)
		cancel()
		switch {
		case err == nil || errors.Is(err, rqueue.ErrNotRunning):
		case errors.Is(err, rqueue.ErrStaleRun):
			out.finished = append(out.finished, &Finished{Crawl: c.Crawl, Elsewhere: true})
		default:
			errs = append(errs, err)
		}
	}
	if look && len(out.wake) > 0 {
		errs = append(errs, a.audit(out.wake[rand.N(len(out.wake))])) //nolint:gosec // a sample
	}
	out.err = errors.Join(errs...)
	return out
}

// audit looks whether a host's books balance; what does not is counted by the frontier.
func (a *Actor) audit(ref rqueue.HostRef) error {
	ctx, cancel := context.WithTimeout(context.Background(), a.cfg.Timeout)
	defer cancel()
	_, err := ref.Crawl.Audit(ctx, ref.Host)
	if errors.Is(err, rqueue.ErrStaleRun) {
		return nil
	}
	return err
}

func (a *Actor) pollCrawl(ctx context.Context, c *crawlState, room int, out *polled) error {
	claimed, seedErr := a.takeSeeds(ctx, c, out) // in whatever state the start key is, hosts go on
	if claimed >= a.cfg.SeedBatch {
		out.more = true
	}
	left := room - len(out.wake)
	if left <= 0 {
		out.nextDue = 0
		return seedErr
	}
	due, err := c.Crawl.Due(ctx, c.cursor, left)
	if err != nil {
		return errors.Join(seedErr, err)
	}
	c.cursor = due.Next
	for i, host := range due.Hosts {
		ref := rqueue.HostRef{Crawl: c.Crawl, Host: host}
		switch {
		case a.deps.Mine(host, c.Crawl.Name()):
			out.wake = append(out.wake, ref)
		case due.Late != nil && due.Late[i] && rand.N(2) == 0: //nolint:gosec // not all nodes at once
			out.adopt = append(out.adopt, ref)
		}
	}
	if !due.Next.Done() {
		out.more = true
	}
	if due.Later >= 0 && (out.nextDue < 0 || due.Later < out.nextDue) {
		out.nextDue = due.Later
	}
	if seedErr == nil && c.FinishWhenIdle && claimed == 0 && len(due.Hosts) == 0 && due.Later < 0 {
		done, err := c.Crawl.Finish(ctx)
		if err != nil {
			return err
		}
		if done {
			out.finished = append(out.finished, &Finished{Crawl: c.Crawl})
		}
	}
	return seedErr
}

// adopt takes hosts that their owner does not look at (rule 11), when this node has
// seen the store and the placement well for so long that it must be the owner's fault.
func (a *Actor) adopt(ctx actor.Context, msg *polled) {
	now := time.Now()
	switch {
	case msg.err != nil:
		a.settled = time.Time{}
	case a.settled.IsZero():
		a.settled = now
	case now.Sub(a.settled) >= a.cfg.Adopt && len(msg.adopt) > 0:
		ctx.Send(a.deps.Domains, &messages.Wake{Refs: msg.adopt, Here: true})
	}
}

// pause is how long to wait for the next poll: longer and longer while there is
// nothing to be found and nobody waits for an end.
func (a *Actor) pause(msg *polled) time.Duration {
	quiet := len(msg.wake) == 0 && len(msg.finished) == 0 && !msg.more
	for _, c := range a.crawls {
		quiet = quiet && (c.done || !c.FinishWhenIdle)
	}
	if !quiet {
		a.quiet = 0
		return a.cfg.Poll
	}
	a.quiet++
	return min(a.cfg.Poll*time.Duration(max(1, a.quiet/quietPolls)), max(a.cfg.Poll, a.cfg.PollIdle))
}

// quietPolls is how many polls that find nothing make the pause grow by one more.
const quietPolls = 8

func (a *Actor) onPolled(ctx actor.Context, msg *polled) {
	a.note(&a.pollErr, msg.err)
	if len(msg.wake) > 0 {
		ctx.Send(a.deps.Domains, &messages.Wake{Refs: msg.wake})
	}
	a.adopt(ctx, msg)
	for _, done := range msg.finished {
		for _, c := range a.crawls {
			if c.Crawl == done.Crawl && !c.done {
				c.done = true
				if c.Report != nil {
					ctx.Send(c.Report, done)
				}
			}
		}
	}
	if msg.by != a {
		return
	}
	a.polling = false
	a.closeSessions(a.retired)
	a.retired = nil
	a.checkDrained(ctx)
	d := a.pause(msg)
	if msg.nextDue >= 0 && msg.nextDue < d {
		d = max(msg.nextDue, 20*time.Millisecond)
	}
	if msg.more || a.pollSoon {
		d = 0
	}
	a.pollSoon = false
	if msg.err != nil {
		d = max(d, time.Second)
	}
	a.armPoll(ctx, d)
}
