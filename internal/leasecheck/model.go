package leasecheck

import (
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

// state is one slot. The zero value was never taken. It is compared by ==.
type state struct {
	token string // "" when free
	node  string
	epoch int64 // the highest ever given
	// extended is the call of the last operation that gave the lease its TTL, ns:
	// the lease cannot have run out before extended + TTL.
	extended int64
	loose    bool // the holder may have released it, nobody knows
	forgot   bool // the store may have forgotten which token is good
}

// step is what the model makes of an operation: it is legal, or not.
type step struct {
	kind   stepKind
	node   string // of acquire; of end: whose lease
	token  string
	epoch  int64
	call   int64
	result int64 // when it returned
}

type stepKind int

const (
	stepAcquire stepKind = iota
	stepExtend           // renew, reserve, lease
	stepRelease
	stepDoubt   // a release that may have happened
	stepEnd     // a process was killed: it may have released what it held
	stepRestart // the store may have forgotten its last second
)

// tolerance is by how much a lease may seem to run out early: the store counts ms,
// and its clock is not the nodes'.
const tolerance = int64(100e6)

func model(ttl int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{} },
		Step: func(s, in, _ any) (bool, any) { return next(s.(state), in.(step), ttl) },
	}
}

// next is the slot after a step, or that there is no such step.
func next(s state, in step, ttl int64) (bool, state) {
	mine := s.token == in.token || s.forgot
	switch in.kind {
	case stepAcquire:
		free := s.token == "" || s.node == in.node || s.loose || s.forgot
		expired := in.result >= s.extended+ttl-tolerance
		if in.epoch <= s.epoch || !free && !expired {
			return false, s
		}
		return true, state{token: in.token, node: in.node, epoch: in.epoch, extended: in.call}
	case stepExtend:
		if !mine || s.token == "" && !s.forgot {
			return false, s
		}
		s.token, s.node, s.forgot = in.token, in.node, false
		s.extended = max(s.extended, in.call)
		s.epoch = max(s.epoch, in.epoch)
		return true, s
	case stepRelease:
		if !mine {
			return false, s
		}
		s.token, s.node, s.loose, s.forgot = "", "", false, false
		return true, s
	case stepDoubt:
		s.loose = s.loose || s.token == in.token
		return true, s
	case stepEnd:
		s.loose = s.loose || s.node == in.node
		return true, s
	default: // stepRestart
		s.forgot = true
		return true, s
	}
}

// epochOf is the epoch in a token; false when there is none.
func epochOf(token string) (int64, bool) {
	i := strings.LastIndexByte(token, '.')
	if i <= 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(token[i+1:], 10, 64)
	return n, err == nil && n >= 0
}
