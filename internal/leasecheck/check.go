package leasecheck

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Config says under which rules the histories came about.
type Config struct {
	TTL time.Duration // of a slot lease; required
	// RestartsNS are the times, CLOCK_MONOTONIC ns, from which on the store may have
	// forgotten its last second: restarts, failovers.
	RestartsNS []int64
	// Deadline bounds the check of a slot; default 20 s. A slot that takes longer is
	// Unknown.
	Deadline time.Duration
}

// Violation is a slot whose history no store that keeps the rules could have given.
type Violation struct {
	Slot string
	// Op is the first operation that does not fit, Before those that led to it.
	Op     Op
	Before []Op
}

func (v Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "slot %s: does not fit: %s", v.Slot, v.Op)
	for _, o := range v.Before {
		fmt.Fprintf(&b, "\n    after %s", o)
	}
	return b.String()
}

// Result is the judgement of a run.
type Result struct {
	Slots, Ops int
	Violations []Violation // in order of their slots
	Unknown    []string    // slots that could not be judged in time
}

// mostBefore is how many operations before a violation are shown.
const mostBefore = 8

// underWay is how long before its death a process can have sent a command whose
// outcome it did not write down any more.
const underWay = int64(10e9)

// Check judges histories. The error says that they cannot be judged: a token
// without an epoch, an operation of nobody.
func Check(histories []History, cfg Config) (Result, error) {
	if cfg.TTL <= 0 {
		return Result{}, errors.New("leasecheck: check: no TTL")
	}
	slots, err := bySlot(histories, cfg)
	if err != nil {
		return Result{}, err
	}
	names := make([]string, 0, len(slots))
	for name := range slots {
		names = append(names, name)
	}
	slices.Sort(names)
	res := Result{Slots: len(names)}
	m := model(int64(cfg.TTL))
	for _, name := range names {
		h := slots[name]
		for _, o := range h {
			if o.Metadata != nil {
				res.Ops++
			}
		}
		result, info := porcupine.CheckOperationsVerbose(m, h, cmp.Or(cfg.Deadline, 20*time.Second))
		switch result {
		case porcupine.Ok:
		case porcupine.Unknown:
			res.Unknown = append(res.Unknown, name)
		case porcupine.Illegal:
			res.Violations = append(res.Violations, explain(name, h, info))
		}
	}
	return res, nil
}

// bySlot is each slot's history for porcupine, in order of the calls. What the
// model need not know is left out: refusals change nothing, and an acquire or a
// renewal of unknown outcome could only forbid more than it allows.
func bySlot(histories []History, cfg Config) (map[string][]porcupine.Operation, error) {
	out := map[string][]porcupine.Operation{}
	for i, h := range histories {
		held := map[[2]string]bool{} // slot, node
		for _, o := range h.Ops {
			st, ok, err := stepOf(o)
			if err != nil {
				return nil, fmt.Errorf("leasecheck: check %s: %s: %w", h.Name, o, err)
			}
			held[[2]string{o.Slot, o.Node}] = true
			if ok {
				out[o.Slot] = append(out[o.Slot], porcupine.Operation{
					ClientId: i, Input: st, Call: o.CallNS, Return: o.ReturnNS, Metadata: o,
				})
			}
		}
		if h.KilledNS == 0 {
			continue
		}
		for k := range held {
			out[k[0]] = append(out[k[0]], porcupine.Operation{
				ClientId: i, Input: step{kind: stepEnd, node: k[1]}, Call: h.KilledNS - underWay, Return: h.KilledNS,
			})
		}
	}
	for slot, h := range out {
		for _, at := range cfg.RestartsNS {
			h = append(h, porcupine.Operation{Input: step{kind: stepRestart}, Call: at, Return: at})
		}
		slices.SortStableFunc(h, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		out[slot] = h
	}
	return out, nil
}

// stepOf is what an operation means to the model; false: nothing.
func stepOf(o Op) (step, bool, error) {
	st := step{node: o.Node, token: o.Token, call: o.CallNS, result: o.ReturnNS}
	switch {
	case o.Err != "" && o.Kind == "release" && o.Token != "":
		st.kind = stepDoubt
		return st, true, nil
	case o.Err != "" || o.Held:
		return step{}, false, nil
	}
	var ok bool
	if st.epoch, ok = epochOf(o.Token); !ok {
		return step{}, false, errors.New("its token has no epoch")
	}
	switch o.Kind {
	case "acquire":
		st.kind = stepAcquire
	case "release":
		st.kind = stepRelease
	default:
		st.kind = stepExtend
	}
	return st, true, nil
}

// explain finds the first operation that is in no linearization that porcupine got
// furthest with.
func explain(slot string, h []porcupine.Operation, info porcupine.LinearizationInfo) Violation {
	var longest []porcupine.Operation
	for _, partition := range info.PartialLinearizationsOperations() {
		for _, l := range partition {
			if len(l) > len(longest) {
				longest = l
			}
		}
	}
	done := map[Op]bool{}
	v := Violation{Slot: slot}
	for _, o := range longest {
		if op, ok := o.Metadata.(Op); ok {
			done[op] = true
			v.Before = append(v.Before, op)
		}
	}
	v.Before = v.Before[max(0, len(v.Before)-mostBefore):]
	for _, o := range h {
		if op, ok := o.Metadata.(Op); ok && !done[op] {
			v.Op = op
			break
		}
	}
	return v
}
