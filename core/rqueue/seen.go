package rqueue

import "sync/atomic"

// seenCache remembers fingerprints that the store has let in or filtered before,
// for all crawls of a node: a direct-mapped table in which a newer one displaces
// an older. A false "seen" needs 64 equal bits.
//
// The key mixes in the crawl's run and forget count and the store's changes, so
// that a flush, a Forget and a store that may have forgotten empty it at once.
type seenCache struct {
	slots []atomic.Uint64 // 0: empty
	mask  uint64
}

func newSeenCache(n int) *seenCache {
	if n <= 0 {
		return &seenCache{}
	}
	size := 1
	for size < n {
		size *= 2
	}
	return &seenCache{slots: make([]atomic.Uint64, size), mask: uint64(size - 1)}
}

// mix spreads a fingerprint under a salt; never 0.
func mix(fp int64, salt uint64) uint64 {
	x := uint64(fp) ^ salt //nolint:gosec // bit pattern
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	return x | 1<<63
}

func (s *seenCache) has(fp int64, salt uint64) bool {
	if len(s.slots) == 0 {
		return false
	}
	x := mix(fp, salt)
	return s.slots[x&s.mask].Load() == x
}

func (s *seenCache) add(fp int64, salt uint64) {
	if len(s.slots) == 0 {
		return
	}
	x := mix(fp, salt)
	s.slots[x&s.mask].Store(x)
}
