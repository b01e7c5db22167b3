// Package trap keeps a crawl out of sites without end. It judges links by their
// URL (repeated segments, parameter explosions, calendars that go on for ever) and
// by growth against content: where a pattern of URLs keeps producing new ones while
// its pages nearly all say what earlier ones said, the pattern is closed, and so is
// a host of which that is true as a whole.
//
// The main type is Detector. It has no clock and fetches nothing. What it learned
// is in memory only, per node: a restart or a move of the host learns anew.
package trap

import (
	"hash/maphash"
	"time"
)

// Kind names what a link or host was refused for; "" is not at all.
type Kind string

// The kinds. Stats count them as "trap/" + kind.
const (
	None             Kind = ""
	RepeatedSegments Kind = "repeated_segments" // past TRAP_REPEATED_SEGMENTS
	PathDepth        Kind = "path_depth"        // past TRAP_PATH_DEPTH
	QueryParams      Kind = "query_params"      // past TRAP_QUERY_PARAMS
	RepeatedParams   Kind = "repeated_params"   // past TRAP_REPEATED_PARAMS
	Combinations     Kind = "combinations"      // past TRAP_QUERY_COMBINATIONS
	Nested           Kind = "nested"            // a URL in a URL in a URL
	LongNumber       Kind = "long_number"       // a number of more than 32 digits
	Calendar         Kind = "calendar"          // past TRAP_CALENDAR_MONTHS
	Pattern          Kind = "pattern"           // of a pattern that was closed
	Host             Kind = "host"              // of a host that was closed
)

// Want is what of a page's text the detector asks for.
type Want uint8

// The answers of Visit.
const (
	WantNothing  Want = iota
	WantText          // Reader.Sum
	WantDateless      // Reader.SumDateless
)

// Verdict is what a page's text led to.
type Verdict struct {
	Kind   Kind   // Pattern or Host when this page closed one, else None
	Reason string // for people, "" with None
}

// Detector judges the links and pages of one crawl. It is safe for concurrent use.
// Its memory is bounded by Config.MemoryBytes: hosts not asked about for longest
// are forgotten.
type Detector struct {
	cfg    Config
	seed   maphash.Seed
	shards [shards]shard
}

// shards spreads hosts over locks.
const shards = 16

// New makes a Detector; the error is that of cfg.Validate.
func New(cfg Config) (*Detector, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	d := &Detector{cfg: cfg, seed: maphash.MakeSeed()}
	for i := range d.shards {
		d.shards[i].limit = cfg.MemoryBytes / shards
		d.shards[i].hosts = map[string]*host{}
	}
	return d, nil
}

func (d *Detector) shard(name string) *shard {
	return &d.shards[maphash.String(d.seed, name)%shards]
}

// Link says whether a link to url, a clean absolute URL of host, may be enqueued.
// Ask only for links that are not known as seen: each counts as one more URL that
// its pattern produced. now is about the present.
func (d *Detector) Link(name, url string, now time.Time) Kind {
	s, kind := d.cfg.inspect(url)
	if kind != None {
		return kind
	}
	sh := d.shard(name)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	h := sh.get(name)
	defer sh.trim()
	if h.all.closed {
		return Host
	}
	var room [2]*cell
	cells := h.cellsOf(&s, room[:0])
	for _, c := range cells {
		if c.closed {
			return Pattern
		}
	}
	if m, far := d.cfg.farMonth(&s, now); far && !h.mayGoFar(m, d.cfg.CalendarMonths) {
		return Calendar
	}
	if s.query != "" && !h.mayCombine(s.family, s.pattern, d.cfg.QueryCombinations) {
		return Combinations
	}
	for _, c := range cells {
		c.links++
	}
	h.all.links++
	return None
}

// Released reports whether a page of a closed host shows that somebody released the
// host: it was sent after it was put aside. Then the host is judged anew, and Link may
// be asked again.
func (d *Detector) Released(name string, sent time.Time) bool {
	sh := d.shard(name)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	h := sh.hosts[name]
	if h == nil || !h.all.closed || sent.Sub(h.closedAt) < reopenAfter {
		return false
	}
	sh.get(name).reopen()
	sh.trim()
	return true
}

// Visit counts a page of host that was read and says what of its text Page needs:
// nothing while a pattern has few pages, and of a pattern that brings new content
// only a sample.
func (d *Detector) Visit(name, url string, now time.Time) Want {
	s := shapeOf(url)
	sh := d.shard(name)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	h := sh.get(name)
	defer sh.trim()
	if _, far := d.cfg.farMonth(&s, now); far {
		return WantDateless
	}
	var room [2]*cell
	cells := h.cellsOf(&s, room[:0])
	want := false
	for _, c := range cells {
		if c.closed { // no more of it to come: that says nothing about the host
			return WantNothing
		}
	}
	for _, c := range cells {
		want = c.visit(d.cfg.Window) || want
	}
	if h.all.visit(hostWindows*d.cfg.Window) || want {
		return WantText
	}
	return WantNothing
}

// Page judges the text of a page that Visit asked for.
func (d *Detector) Page(name, url string, text Signature, now time.Time) Verdict {
	s := shapeOf(url)
	sh := d.shard(name)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	h := sh.get(name)
	defer sh.trim()
	if _, far := d.cfg.farMonth(&s, now); far {
		if !h.dateless.knows(text) {
			h.bytes += h.dateless.keep(text, keptDateless)
			h.credit++
		}
		return Verdict{}
	}
	window, percent := d.cfg.Window, d.cfg.Duplicates
	var room [2]*cell
	for _, c := range h.cellsOf(&s, room[:0]) {
		if c.judge(text, window, percent, &h.bytes) {
			h.all.rest()
			return Verdict{Pattern, "trap: ever new URLs like " + s.example() + " bring no new content"}
		}
	}
	if h.all.judge(text, hostWindows*window, percent, &h.bytes) {
		h.closedAt = now
		return Verdict{Host, "trap: ever new URLs bring no new content"}
	}
	return Verdict{}
}

// reopenAfter is how long after a host was closed requests may still be sent to it
// though nobody released it: those that were at fetchers, waiting for a connection.
const reopenAfter = 10 * time.Second

// hostWindows is how many windows of pages a host is judged by.
const hostWindows = 4
