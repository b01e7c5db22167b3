package rqueue

import (
	"errors"
	"time"
)

const millisecond = time.Millisecond

func (op *Acquire) build(f *Frontier, a *args) *script {
	now := f.now()
	a.key(f.slotKey(op.Slot))
	for _, c := range op.Crawls {
		a.key(c.keys.host(op.Slot).shard.index)
	}
	f.clock(a)
	a.str(f.cfg.Node)
	a.int(ms(f.cfg.TTL))
	a.str(op.Slot)

	f.mu.Lock()
	defer f.mu.Unlock()
	op.known = f.epochs.of(op.Slot)
	w := &f.watch
	w.silent(now)
	a.flag(w.quarantine.After(now))
	switch {
	case f.cfg.Exclusive:
		a.str("2")
	default:
		a.flag(w.takeOver.After(now))
	}
	if w.known && !f.cfg.Exclusive {
		a.int(int64((now.Sub(w.began) + w.offset) / time.Millisecond))
	} else {
		a.str("")
	}
	a.int(ms(clockStep))
	a.relative(w.quarantine, now)
	a.relative(w.doubt, now)
	return f.scripts.acquire
}

// relative adds a local time as ms from now, rounded up, or ” for the zero time.
func (a *args) relative(t, now time.Time) {
	if t.IsZero() {
		a.str("")
		return
	}
	d := t.Sub(now)
	if d < 0 {
		d += time.Millisecond // up, not towards zero by accident of sign
	}
	a.int(ms(d))
}

func (op *Acquire) parse(f *Frontier, r *reply, sent time.Time) error {
	n := r.array()
	word := r.bytes()
	store := r.int()
	if r.err != nil {
		return r.err
	}
	now := f.now()
	f.mu.Lock()
	f.watch.clock(time.Duration(store)*millisecond, sent, now)
	quarantine, takeOver := f.watch.quarantine.Sub(now), f.watch.takeOver.Sub(now)
	f.mu.Unlock()
	switch string(word) {
	case "held":
		op.HeldFor = time.Duration(r.int()+1) * millisecond
		return ErrHeld
	case "quarantine", "clock":
		op.HeldFor = max(quarantine, takeOver, 100*time.Millisecond)
		if string(word) == "clock" && takeOver <= 0 { // the call was slow, the clock is well
			op.HeldFor = time.Millisecond
		}
		return ErrQuarantine
	}
	if err := verdict(word); err != nil || n != 7 {
		return errors.Join(err, r.ok("acquire"))
	}
	token := r.string()
	next, hold := r.int(), r.int()
	paused := r.string()
	op.State.parse(r.string())
	if r.err != nil {
		return r.err
	}
	f.checkEpoch(op.Slot, token, op.known)
	op.Token = token
	op.State.NextIn = time.Duration(next) * millisecond
	op.State.HoldIn = max(time.Duration(hold)*millisecond, 0)
	op.State.Paused = paused == "1"
	op.Deadline = f.deadline(sent)
	return nil
}

// deadline is the local end of a slot lease whose command was written at sent (rule 5).
func (f *Frontier) deadline(sent time.Time) time.Time { return sent.Add(f.cfg.TTL - f.cfg.Margin) }

// word reads the beginning of a reply {word, now, ...}.
func word(r *reply) error {
	r.array()
	w := r.bytes()
	r.int()
	if r.err != nil {
		return r.err
	}
	return verdict(w)
}

func (op *Renew) build(f *Frontier, a *args) *script {
	a.key(f.slotKey(op.Slot))
	for _, c := range op.Crawls {
		a.key(c.keys.host(op.Slot).shard.index)
	}
	f.clock(a)
	a.str(op.Token)
	a.int(ms(f.cfg.TTL))
	a.str(op.Slot)
	a.throttle(&op.State, 0)
	return f.scripts.renew
}

func (op *Renew) parse(f *Frontier, r *reply, sent time.Time) error {
	if err := word(r); err != nil {
		return err
	}
	op.Paused = r.string() == "1"
	op.Ready = r.int() == 1
	op.Deadline = f.deadline(sent)
	return nil
}

func (op *Reserve) build(f *Frontier, a *args) *script {
	a.key(f.slotKey(op.Slot))
	f.clock(a)
	a.str(op.Token)
	a.int(max(ms(op.NextIn), 0))
	a.throttle(&op.State, 0)
	return f.scripts.reserve
}

func (op *Reserve) parse(_ *Frontier, r *reply, sent time.Time) error {
	if err := word(r); err != nil {
		return err
	}
	op.StoredNext = sent.Add(max(op.NextIn, 0))
	return nil
}

func (op *Release) build(f *Frontier, a *args) *script {
	a.key(f.slotKey(op.Slot))
	for _, c := range op.Crawls {
		h := c.keys.host(op.Slot)
		a.key(h.shard.index)
		a.key(h.request)
		a.key(h.delayed)
		a.key(h.leased)
	}
	f.clock(a)
	a.str(op.Token)
	a.int(ms(f.cfg.TTL))
	a.str(op.Slot)
	a.int(max(ms(op.NextIn), 0))
	a.throttle(&op.State, 0)
	return f.scripts.release
}

func (op *Release) parse(_ *Frontier, r *reply, _ time.Time) error { return word(r) }

func (op *Steer) build(f *Frontier, a *args) *script {
	a.key(f.slotKey(op.Slot))
	if op.Paused == nil {
		a.str("")
	} else {
		a.flag(*op.Paused)
	}
	return f.scripts.steer
}

func (op *Steer) parse(_ *Frontier, r *reply, _ time.Time) error {
	r.int()
	return r.err
}

func (op *RobotsGet) build(f *Frontier, a *args) *script {
	a.key(f.robotsKey(op.Host, op.Origin))
	f.clock(a)
	return f.scripts.robotsGet
}

func (op *RobotsGet) parse(_ *Frontier, r *reply, _ time.Time) error {
	if r.array() == 0 {
		return r.err
	}
	age, life, unreachable, failures, retry, status, has := r.int(), r.int(), r.int(), r.int(), r.int(), r.int(), r.int()
	body := r.bytes()
	if r.err != nil {
		return r.err
	}
	op.Found = true
	op.Robots = Robots{
		Good:             age >= 0,
		Age:              time.Duration(max(age, 0)) * millisecond,
		Life:             time.Duration(life) * millisecond,
		Status:           int(status),
		UnreachableSince: time.Duration(unreachable) * millisecond,
		Failures:         int(failures),
		RetryIn:          time.Duration(retry) * millisecond,
	}
	if has == 1 {
		op.Robots.Body = append([]byte{}, body...)
	}
	return nil
}

func (op *RobotsPut) build(f *Frontier, a *args) *script {
	robots := &op.Robots
	a.key(f.robotsKey(op.Host, op.Origin))
	f.clock(a)
	a.int(max(ms(robots.UnreachableSince), 0))
	a.int(int64(robots.Status))
	if robots.UnreachableSince > 0 {
		a.int(int64(robots.Failures))
		a.int(max(ms(robots.RetryIn), 0))
		return f.scripts.robotsPut
	}
	a.int(max(ms(robots.Age), 0))
	a.int(max(ms(robots.Life), 0))
	a.flag(robots.Body != nil)
	a.bytes(robots.Body)
	return f.scripts.robotsPut
}

func (op *RobotsPut) parse(_ *Frontier, r *reply, _ time.Time) error {
	r.int()
	return r.err
}
