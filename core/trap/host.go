package trap

import "time"

// Bounds on what is kept of one host.
const (
	maxCells    = 256    // patterns and families
	maxSets     = 4096   // TRAP_QUERY_COMBINATIONS
	maxFar      = 10_000 // TRAP_CALENDAR_MONTHS, and what new content adds
	maxFamilies = 32     // families whose combinations are told apart
)

// keptDateless is how many texts of far months are told apart.
const keptDateless = 64

// About what things take in memory.
const (
	hostBytes      = 640
	cellBytes      = 160
	entryBytes     = 24 // of a set
	signatureBytes = 16
)

// host is what is known of one host. Guarded by its shard's mu.
type host struct {
	name       string
	prev, next *host // by when they were last asked about
	bytes      int64 // about what it takes
	counted    int64 // of that, in the shard's sum

	all      cell             // over all its pages
	closedAt time.Time        // when all was closed
	cells    map[uint64]*cell // by pattern or family
	combined map[uint64]set   // family -> its patterns that have parameters
	months   set              // far ones that links were let in for
	credit   int              // far months allowed on top, for new content found there
	dateless ring             // texts of pages of far months, keptDateless of them
}

type set map[uint64]struct{}

func newHost(name string) *host {
	return &host{name: name, bytes: hostBytes + int64(len(name)), cells: map[uint64]*cell{}, months: set{}, combined: map[uint64]set{}}
}

// reopen forgets what the host's pages were like.
func (h *host) reopen() {
	for _, c := range h.cells {
		h.bytes -= cellBytes + c.ring.bytes()
	}
	h.bytes -= h.all.ring.bytes()
	h.all = cell{}
	clear(h.cells)
}

// cellsOf appends the states that a URL counts for: its pattern's and, when it has
// parameters, that of its path with any parameters.
func (h *host) cellsOf(s *shape, dst []*cell) []*cell {
	dst = append(dst, h.cell(s.pattern))
	if s.query != "" {
		dst = append(dst, h.cell(s.family))
	}
	return dst
}

// cell gives the state of a pattern or family. When there are too many, one that
// has few pages makes room.
func (h *host) cell(key uint64) *cell {
	c := h.cells[key]
	if c != nil {
		return c
	}
	if len(h.cells) >= maxCells {
		c = h.dropCell()
		*c = cell{}
	} else {
		c = &cell{}
		h.bytes += cellBytes
	}
	h.cells[key] = c
	return c
}

// dropCell forgets the least visited of a few: the order of a map is random.
func (h *host) dropCell() *cell {
	const few = 8
	var least uint64
	var dropped *cell
	looked := 0
	for key, c := range h.cells {
		if dropped == nil || rank(c) < rank(dropped) {
			least, dropped = key, c
		}
		if looked++; looked == few {
			break
		}
	}
	h.bytes -= dropped.ring.bytes()
	delete(h.cells, least)
	return dropped
}

// rank is how much would be lost with a cell: a closed one is dropped last.
func rank(c *cell) uint64 {
	if c.closed {
		return 1 << 40
	}
	return uint64(c.pages)
}

// mayGoFar reports whether links of a far month are let in: so many months are,
// and one more for each that had something new.
func (h *host) mayGoFar(month, limit int) bool {
	key := uint64(month) //nolint:gosec // from year 0 on
	if _, known := h.months[key]; known {
		return true
	}
	if len(h.months) >= min(limit+h.credit, maxFar) {
		return false
	}
	h.months[key] = struct{}{}
	h.bytes += entryBytes
	return true
}

// mayCombine reports whether a pattern is one of the first limit sets of
// parameter names of its path; 0: all are.
func (h *host) mayCombine(family, pattern uint64, limit int) bool {
	if limit == 0 {
		return true
	}
	known := h.combined[family]
	if _, ok := known[pattern]; ok {
		return true
	}
	if len(known) >= limit {
		return false
	}
	if known == nil {
		if len(h.combined) >= maxFamilies {
			h.dropFamily()
		}
		known = set{}
		h.combined[family] = known
		h.bytes += cellBytes
	}
	known[pattern] = struct{}{}
	h.bytes += entryBytes
	return true
}

// dropFamily forgets the family with the fewest combinations.
func (h *host) dropFamily() {
	var least uint64
	fewest := maxSets + 1
	for family, known := range h.combined {
		if len(known) < fewest {
			least, fewest = family, len(known)
		}
	}
	h.bytes -= cellBytes + int64(fewest)*entryBytes
	delete(h.combined, least)
}
