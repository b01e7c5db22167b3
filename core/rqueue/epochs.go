package rqueue

import (
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"

	"orbweaver/core/invariant"
)

// epochSlots bounds the slots whose last epoch a node remembers, a power of two
// (24 bytes each, and the names).
const epochSlots = 4096

// epochs remembers the greatest epoch that this node was given of recent slots, a
// newer slot displacing an older. The zero value remembers nothing.
type epochs struct {
	seed maphash.Seed
	last []epoch
}

type epoch struct {
	slot string
	n    int64
}

func newEpochs() epochs { return epochs{seed: maphash.MakeSeed(), last: make([]epoch, epochSlots)} }

// of is the slot's greatest epoch known; 0: none.
func (e *epochs) of(slot string) int64 {
	if len(e.last) == 0 {
		return 0
	}
	if at := &e.last[maphash.String(e.seed, slot)&(epochSlots-1)]; at.slot == slot {
		return at.n
	}
	return 0
}

func (e *epochs) note(slot string, n int64) {
	if len(e.last) == 0 {
		return
	}
	at := &e.last[maphash.String(e.seed, slot)&(epochSlots-1)]
	if at.slot != slot || n > at.n {
		at.slot, at.n = slot, n
	}
}

// epochOf reads the epoch of a slot token "<node>.<epoch>"; 0 when it has none.
func epochOf(token string) int64 {
	_, after, ok := strings.Cut(token, ".")
	n, err := strconv.ParseInt(after, 10, 64)
	if !ok || err != nil || n < 0 {
		return 0
	}
	return n
}

// checkEpoch holds a new token against the greatest epoch that was known of the
// slot before the call was written (rule 6), and remembers its own.
func (f *Frontier) checkEpoch(slot, token string, known int64) {
	if f.cfg.Checks == nil {
		return
	}
	n := epochOf(token)
	f.mu.Lock()
	f.epochs.note(slot, n)
	f.mu.Unlock()
	f.cfg.Checks.Hold(invariant.EpochFell, n >= known, func() string {
		return fmt.Sprintf("slot %s: token %s after epoch %d", slot, token, known)
	})
	f.cfg.Checks.Hold(invariant.TokenReused, n == 0 || n != known, func() string {
		return fmt.Sprintf("slot %s: token %s given out again", slot, token)
	})
}
