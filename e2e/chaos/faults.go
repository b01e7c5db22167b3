package chaos

import (
	"fmt"
	"syscall"
	"time"

	"orbweaver/internal/faultproxy"
)

// Of so many members at least two stay healthy, so that the crawl goes on.
const leastHealthy = 2

// leastMembers is how many a leave leaves.
const leastMembers = 3

// fault begins a fault of a kind; it arranges its own end.
func (r *run) fault(k Kind, c chance) {
	longest := r.cfg.Longest
	switch k {
	case Join, Leave:
		r.joinOrLeave(k, c)
	case RedisKill, RedisStop:
		r.restartStore(k, c.between(200*time.Millisecond, 3*time.Second))
	case RedisClock:
		r.storeClock(time.Duration(c.IntN(11)+5) * time.Second)
	case Kill:
		r.impair(k, c, c.between(time.Second, min(8*time.Second, longest)), "", r.beginKill)
	case Freeze:
		r.impair(k, c, c.between(5*time.Second, longest), "", r.beginFreeze)
	case CutRedis:
		r.impair(k, c, c.between(3*time.Second, min(15*time.Second, longest)), r.ending(c), cut(faultproxy.Cut(), faultproxy.Fault{}, faultproxy.Fault{}))
	case CutPeers:
		r.impair(k, c, c.between(3*time.Second, min(15*time.Second, longest)), r.ending(c), cut(faultproxy.Fault{}, faultproxy.Cut(), faultproxy.Cut()))
	case CutBoth:
		r.impair(k, c, c.between(3*time.Second, min(15*time.Second, longest)), r.ending(c), cut(faultproxy.Cut(), faultproxy.Cut(), faultproxy.Cut()))
	case CutOneWay:
		r.cutOneWay(c)
	case Loss:
		f := faultproxy.Fault{Loss: 0.05}
		r.impair(k, c, c.between(5*time.Second, min(15*time.Second, longest)), "5%", cut(f, f, f))
	case SlowRedis:
		ms := 50 + c.IntN(151)
		f := faultproxy.Fault{Latency: time.Duration(ms) * time.Millisecond, Jitter: 20 * time.Millisecond}
		r.impair(k, c, c.between(5*time.Second, min(15*time.Second, longest)), fmt.Sprint(ms, " ms"), cut(f, faultproxy.Fault{}, faultproxy.Fault{}))
	case NodeClock:
		by := 10
		if c.IntN(2) == 0 {
			by = -10
		}
		r.impair(k, c, c.between(5*time.Second, min(15*time.Second, longest)), fmt.Sprintf("%+d s", by), clock(by))
	default: // Evicted is not drawn
	}
}

// Words of Fault.Detail for how a cut ends.
const (
	delivers = "then delivers"
	resets   = "then resets"
)

// ending draws how a cut ends.
func (*run) ending(c chance) string {
	if c.IntN(2) == 0 {
		return resets
	}
	return delivers
}

// begin starts a fault at a member and gives what ends it.
type begin func(m *member, f *Fault) (end func())

// impair begins a fault at a healthy member, and ends it after d.
func (r *run) impair(k Kind, c chance, d time.Duration, detail string, do begin) {
	roll := c.Uint64()
	var healthy []*member
	for _, m := range r.members {
		if m.wanted && !m.busy && m.proc != nil && m.proc.out.adminAddr() != "" {
			healthy = append(healthy, m)
		}
	}
	if len(healthy) <= leastHealthy {
		r.report.Passed++
		return
	}
	m := healthy[roll%uint64(len(healthy))]
	f := r.note(k, m.proc.name, detail)
	m.busy = true
	end := do(m, f)
	r.after(d, func() {
		end()
		m.busy = false
		f.end(r.now())
	})
}

func (r *run) beginKill(m *member, _ *Fault) func() {
	m.held = true
	r.kill(m.proc)
	return func() {
		m.held = false
		r.revive(m)
	}
}

func (r *run) beginFreeze(m *member, _ *Fault) func() {
	p := m.proc
	i := len(r.freezes)
	r.freezes = append(r.freezes, freeze{agent: p.name, from: time.Now()})
	p.signal(syscall.SIGSTOP)
	return func() {
		r.freezes[i].to = time.Now()
		p.signal(syscall.SIGCONT)
	}
}

// cut gives a member bad connections: to Redis, from its peers, to its peers.
func cut(store, in, out faultproxy.Fault) func(*member, *Fault) func() {
	return func(m *member, f *Fault) func() { return m.cut(store, in, out, f.Detail == resets) }
}

// cut sets a member's faults and gives what heals them. Its way to its peers is
// through their proxies, where it is known by its address.
func (m *member) cut(store, in, out faultproxy.Fault, reset bool) func() {
	heal := func() {}
	if m.link != nil {
		heal = m.link.cut(store)
	}
	m.redis.Set(store)
	if m.peers != nil {
		m.peers.Set(in)
		for _, p := range m.others {
			p.SetFrom(m.ip(), out)
		}
	}
	return func() {
		heal()
		if reset {
			m.redis.Reset()
		}
		m.redis.Set(faultproxy.Fault{})
		if m.peers == nil {
			return
		}
		if reset {
			m.peers.Reset()
		}
		m.peers.Set(faultproxy.Fault{})
		for _, p := range m.others {
			if reset {
				p.ResetFrom(m.ip())
			}
			p.SetFrom(m.ip(), faultproxy.Fault{})
		}
	}
}

func (r *run) cutOneWay(c chance) {
	up, down := faultproxy.Fault{CutUp: true}, faultproxy.Fault{CutDown: true}
	ways := []struct {
		name           string
		store, in, out faultproxy.Fault
	}{
		{name: "to Redis", store: up},
		{name: "from Redis", store: down},
		{name: "to its peers", in: down, out: up},
		{name: "from its peers", in: up, out: down},
		{name: "to all", store: up, in: down, out: up},
	}
	if !r.cluster {
		ways = ways[:2]
	}
	w := ways[c.IntN(len(ways))]
	r.impair(CutOneWay, c, c.between(3*time.Second, min(15*time.Second, r.cfg.Longest)), w.name, cut(w.store, w.in, w.out))
}

// clock moves a member's clock, in its present process.
func clock(seconds int) func(*member, *Fault) func() {
	return func(m *member, _ *Fault) func() {
		file := m.clockFile()
		_ = writeWhole(file, fmt.Sprintf("%d\n", seconds)) // the folder is ours
		return func() { _ = writeWhole(file, "0\n") }
	}
}

// joinOrLeave does the other where the one is not possible.
func (r *run) joinOrLeave(k Kind, c chance) {
	roll := c.Uint64()
	var in []*member
	for _, m := range r.members {
		if m.wanted {
			in = append(in, m)
		}
	}
	if k == Leave && len(in) > leastMembers || len(in) >= r.cfg.MostNodes {
		var idle []*member
		for _, m := range in {
			if !m.busy && m.proc != nil && m.proc.alive() {
				idle = append(idle, m)
			}
		}
		if len(idle) > leastHealthy {
			r.leave(idle[roll%uint64(len(idle))], c)
			return
		}
	}
	if len(in) < r.cfg.MostNodes {
		r.join()
		return
	}
	r.report.Passed++
}

// join starts a process at the first place that is free.
func (r *run) join() {
	for _, m := range r.members {
		if !m.wanted && m.proc == nil && !m.busy {
			m.wanted = true
			if r.revive(m); m.proc != nil {
				r.note(Join, m.proc.name, "").end(r.now())
			}
			return
		}
	}
	r.report.Passed++ // those who leave have not gone yet
}

// leave ends a member in good order.
func (r *run) leave(m *member, c chance) {
	p := m.proc
	f := r.note(Leave, p.name, "")
	r.leaving[p] = f
	m.wanted = false
	p.signal(syscall.SIGTERM)
	r.after(stopPatience, func() {
		if p.alive() {
			r.report.Hangs = append(r.report.Hangs, fmt.Sprintf("%s has not ended %s after SIGTERM", p.name, stopPatience))
			r.kill(p)
		}
	})
	r.after(c.between(2*time.Second, 6*time.Second), func() {
		wanted := 0
		for _, m := range r.members {
			if m.wanted {
				wanted++
			}
		}
		if wanted < r.cfg.Nodes && !r.draining {
			r.join()
		}
	})
}

// settleTime is how long no seed may have been pushed before the store is killed:
// with everysec up to two seconds are lost.
const settleTime = 2500 * time.Millisecond

// restartStore takes the store down for d.
func (r *run) restartStore(k Kind, d time.Duration) {
	if r.storeBusy {
		r.report.Passed++
		return
	}
	r.storeBusy = true
	r.intake.pause()
	r.after(settleTime, func() {
		f := r.note(k, "redis", "down "+d.Round(time.Millisecond).String())
		r.restarts = append(r.restarts, monotonicNS())
		sig := syscall.SIGKILL
		if k == RedisStop {
			sig = syscall.SIGTERM
		}
		old := r.store.proc
		old.signal(sig)
		r.after(d, func() {
			go func() {
				<-old.done
				r.post(func() { r.startStore(f) })
			}()
		})
	})
}

func (r *run) startStore(f *Fault) {
	if err := r.store.start(); err != nil {
		r.fail(err)
		return
	}
	go func() {
		err := r.store.ready(r.ctx)
		r.post(func() {
			if err != nil {
				r.fail(err)
				return
			}
			f.end(r.now())
			r.intake.resume()
			r.storeBusy = false
		})
	}()
}

// storeClock steps the store's clock back, for good.
func (r *run) storeClock(by time.Duration) {
	f := r.note(RedisClock, "redis", "back "+by.String())
	if err := r.store.stepBack(int(by.Seconds())); err != nil {
		r.fail(err)
	}
	f.end(r.now())
}
