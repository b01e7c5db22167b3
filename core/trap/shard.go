package trap

import "sync"

// shard holds a share of the hosts.
type shard struct {
	limit int64 // bytes

	mu          sync.Mutex
	used        int64            // bytes; guarded by mu
	hosts       map[string]*host // by name; guarded by mu
	first, last *host            // most and least recently asked about; guarded by mu
}

// get gives a host's state, fresh when it is not known, and puts it first.
func (s *shard) get(name string) *host {
	h := s.hosts[name]
	if h == nil {
		h = newHost(name)
		s.hosts[name] = h
	} else {
		if h == s.first {
			return h
		}
		s.unlink(h)
	}
	h.next = s.first
	if s.first != nil {
		s.first.prev = h
	} else {
		s.last = h
	}
	s.first = h
	return h
}

func (s *shard) unlink(h *host) {
	if h.prev != nil {
		h.prev.next = h.next
	} else {
		s.first = h.next
	}
	if h.next != nil {
		h.next.prev = h.prev
	} else {
		s.last = h.prev
	}
	h.prev, h.next = nil, nil
}

// trim counts what the host last asked about takes, and forgets the last ones until
// the shard is within its limit. The first stays, and is bounded by itself.
func (s *shard) trim() {
	h := s.first
	s.used += h.bytes - h.counted
	h.counted = h.bytes
	for s.used > s.limit && s.last != h {
		last := s.last
		s.unlink(last)
		delete(s.hosts, last.name)
		s.used -= last.counted
	}
}
