package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// errEvicted ends the heartbeats.
var errEvicted = errors.New("cluster: heartbeat: this node was evicted")

// run sends heartbeats until it is stopped or the node evicted, and follows the
// ramps of young members between them.
func (r *Redis) run(ctx context.Context) {
	defer close(r.done)
	began := time.Now()
	for {
		due := began.Add(r.interval())
		if least := time.Now().Add(r.cfg.Heartbeat / 4); due.Before(least) { // the last one took long
			due = least
		}
		if !r.sleep(ctx, due) {
			return
		}
		began = time.Now()
		if err := r.beat(ctx); errors.Is(err, errEvicted) {
			return
		}
	}
}

// interval is the time to the next heartbeat.
func (r *Redis) interval() time.Duration {
	part := 1 - jitter + 2*jitter*rand.Float64() //nolint:gosec // so that nodes do not beat together
	return time.Duration(float64(r.cfg.Heartbeat) * part)
}

// sleep waits until due and keeps the placement current; false when ctx ended.
func (r *Redis) sleep(ctx context.Context, due time.Time) bool {
	for {
		wait := time.Until(due)
		step := false
		if r.ramping {
			wait, step = r.Topology().nextStep(r.cfg.Now(), r.cfg.Ramp, wait)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
		if !step {
			return ctx.Err() == nil
		}
		r.refresh(r.cfg.Now())
	}
}

// join makes the node a member.
func (r *Redis) join(ctx context.Context) error {
	sent := r.cfg.Now()
	rep, err := run(ctx, r.rdb, r.scripts.join, []string{r.nodes, r.own},
		[]any{r.serverTime(), r.cfg.Self.ID, r.cfg.TTL.Milliseconds(), r.record})
	if err == nil && rep.how == "taken" {
		err = ErrTaken
	}
	var rows []row
	if err == nil {
		rows, err = rep.rows()
	}
	if err != nil {
		return fmt.Errorf("cluster: join as %s: %w", r.cfg.Self.ID, err)
	}
	r.hear(rep, rows, sent, r.cfg.Now())
	return nil
}

// beat sends one heartbeat, and evicts who is dead. errEvicted is final; other
// errors are logged here, once while they last.
func (r *Redis) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.deadline())
	defer cancel()
	known := r.roster.known()
	args := make([]any, 6, 6+len(known))
	args[0], args[1], args[2] = r.serverTime(), r.cfg.Self.ID, r.cfg.TTL.Milliseconds()
	args[3], args[4], args[5] = r.record, r.roster.born, r.joined
	for _, id := range known {
		args = append(args, id)
	}
	sent := r.cfg.Now()
	rep, err := run(ctx, r.rdb, r.scripts.heartbeat, []string{r.nodes, r.own}, args)
	got := r.cfg.Now()
	var rows []row
	if err == nil {
		rows, err = rep.rows()
	}
	switch {
	case err != nil:
		return r.fails(ctx, fmt.Errorf("cluster: heartbeat: %w", err))
	case rep.how == "evicted":
		r.fence.Store(min(r.fence.Load(), int64(got.Sub(r.base))))
		r.log.Error("this node was taken for dead and evicted")
		close(r.evicted)
		return errEvicted
	case rep.how != "ok":
		r.log.WithField("how", rep.how).Warn("this node was out of the list of members for a moment")
	}
	if dead := r.hear(rep, rows, sent, got); len(dead) > 0 {
		if err := r.evict(ctx, rep, dead); err != nil {
			return r.fails(ctx, err)
		}
	}
	if !r.failing.IsZero() {
		r.log.WithField("took_ms", got.Sub(r.failing).Milliseconds()).Info("heartbeats work again")
		r.failing = time.Time{}
	}
	return nil
}

// fails logs the first failure of a row.
func (r *Redis) fails(ctx context.Context, err error) error {
	if r.failing.IsZero() && !errors.Is(ctx.Err(), context.Canceled) {
		r.failing = r.cfg.Now()
		r.log.WithError(err).Warn("heartbeats fail")
	}
	return err
}

// hear takes in a good reply and returns who is to be evicted.
func (r *Redis) hear(rep reply, rows []row, sent, got time.Time) (dead []string) {
	r.fence.Store(int64(sent.Add(r.cfg.TTL - r.cfg.Margin).Sub(r.base)))
	dead, wrong := r.roster.apply(rep, rows, sent, got)
	for _, err := range wrong {
		r.log.WithError(err).Warn("a member's record is not understood: it gets no slots here")
	}
	if s := r.roster.seats[r.cfg.Self.ID]; s != nil {
		r.joined = s.joined
	}
	r.publish(got)
	return dead
}

// evict takes the dead from the list, unless one of them came back since.
func (r *Redis) evict(ctx context.Context, last reply, dead []string) error {
	args := []any{r.serverTime(), last.born, last.now + r.cfg.deadline().Milliseconds()}
	for _, id := range dead {
		args = append(args, id)
	}
	rep, err := run(ctx, r.rdb, r.scripts.evict, []string{r.nodes}, args)
	if err != nil {
		return fmt.Errorf("cluster: evict members: %w", err)
	}
	gone, err := rep.ids()
	if err != nil {
		return fmt.Errorf("cluster: evict members: %w", err)
	}
	if len(gone) > 0 {
		r.log.WithField("members", gone).Warn("members were taken for dead and evicted")
		r.roster.drop(gone)
		r.publish(r.cfg.Now())
	}
	return nil
}

// publish makes the members known when they are others than before.
func (r *Redis) publish(now time.Time) {
	old, members := r.Topology(), r.roster.members(now)
	same := slices.EqualFunc(old.Members, members, func(a, b Member) bool {
		a.Age, b.Age = 0, 0
		return a == b
	})
	if !same {
		r.topology.Store(&Topology{Members: members, At: now, Epoch: old.Epoch + 1})
		r.log.WithField("members", len(members)).Info("members changed")
		r.ramping = true
	}
	r.refresh(now)
}

// refresh makes the placement that of now.
func (r *Redis) refresh(now time.Time) {
	if !r.ramping {
		return
	}
	t := r.Topology()
	r.ramping = slices.ContainsFunc(t.Members, func(m Member) bool { return m.Age+now.Sub(t.At) < r.cfg.Ramp })
	p := t.Placement(now, r.cfg.Ramp)
	if p.Equal(r.Placement()) {
		return
	}
	r.placement.Store(p)
	select {
	case r.watch <- struct{}{}:
	default: // the reader has not looked at the last one yet
	}
}
