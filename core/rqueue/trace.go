package rqueue

import "time"

// Trace is one step on a slot's lease as it was carried out, for the history of
// a test. The step took effect, if it did, within Call and Return.
type Trace struct {
	Op      string // acquire, renew, reserve, lease, release or recover
	Slot    string
	Node    string // who did it
	Token   string // the slot's token after it; "" when it was released, refused or is unknown
	Held    string // the token that it was done under; "" for acquire
	Err     string // why it was refused or failed; "" when it was done
	Unknown bool   // the call failed: the step may have been carried out all the same, also later

	Call, Return time.Time // local
	// The same on the machine's CLOCK_MONOTONIC, which all its processes share, ns;
	// 0 where the system has none.
	CallNS, ReturnNS int64
}

// traced starts the window of a round trip's steps.
func (f *Frontier) traced() Trace {
	if f.cfg.Trace == nil {
		return Trace{}
	}
	return Trace{Node: f.cfg.Node, Call: f.now(), CallNS: monotonic()}
}

// trace tells of the steps whose window began with t.
func (f *Frontier) trace(t Trace, ops []Op) {
	if f.cfg.Trace == nil {
		return
	}
	t.Return, t.ReturnNS = f.now(), monotonic()
	for _, op := range ops {
		tr := t
		after := ""
		switch o := op.(type) {
		case *Acquire:
			tr.Op, tr.Slot, after = "acquire", o.Slot, o.Token
		case *Renew:
			tr.Op, tr.Slot, tr.Held, after = "renew", o.Slot, o.Token, o.Token
		case *Reserve:
			tr.Op, tr.Slot, tr.Held, after = "reserve", o.Slot, o.Token, o.Token
		case *Lease:
			tr.Op, tr.Slot, tr.Held, after = "lease", o.Slot, o.Token, o.Token
		case *Release:
			tr.Op, tr.Slot, tr.Held = "release", o.Slot, o.Token
		case *Recover:
			tr.Op, tr.Slot, tr.Held, after = "recover", o.Slot, o.Token, o.Token
		default: // not on a slot's lease
			continue
		}
		base := op.op()
		if base.Err == nil {
			tr.Token = after
		} else {
			tr.Err, tr.Unknown = base.Err.Error(), base.unknown
		}
		f.cfg.Trace(tr)
	}
}
