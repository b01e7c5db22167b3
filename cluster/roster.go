package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// roster is what one node knows of the members, and the rules by which it takes
// one for dead. It has no clock: times are local and monotonic, given by the caller.
//
// A member is dead when its key was absent in every reply during grace, in two
// at least. What was seen before a silence of the store says nothing (all keys
// lapse while it is away), nor does an absence after Redis's clock stepped
// forward (keys expire by that clock): the watch begins anew then, and not
// before everybody has had the time for a heartbeat.
type roster struct {
	heartbeat, grace time.Duration
	patience         time.Duration // after a silence: until all others have been able to come back
	fences           time.Duration // after a step of the clock: until the fences of before have passed
	tolerance        time.Duration // what is no step of the clock

	seats map[string]*seat
	born  string
	last  time.Time // of the last reply
	hold  time.Time // absences do not count before
	base  struct {  // a reply that Redis's clock is compared to
		now       int64
		sent, got time.Time
	}
}

// seat is one member in the list, or one that was in it before the store forgot it.
type seat struct {
	member   Member
	known    bool      // member is read; the store need not send it again
	usable   bool      // it made sense
	unlisted bool      // was in a list that the store forgot
	joined   int64     // by Redis's clock, unix ms
	since    time.Time // the same in local time; kept when Redis's clock steps
	absent   time.Time // of the first reply without its key, zero when the last one had it
	absences int
}

// record is how a member is stored: Run makes it unique for a process start.
type record struct {
	Member
	Run string `json:"run"`
}

func newRoster(c *Config) *roster {
	return &roster{
		heartbeat: c.Heartbeat,
		grace:     c.Grace,
		patience:  c.deadline() + longest(c.Heartbeat),
		fences:    c.TTL - c.Margin,
		tolerance: c.Margin,
		seats:     map[string]*seat{},
	}
}

// known are the ids whose records need not be sent again.
func (o *roster) known() []string {
	ids := make([]string, 0, len(o.seats))
	for id, s := range o.seats {
		if s.known {
			ids = append(ids, id)
		}
	}
	return ids
}

// apply takes in a reply to a call sent and answered at these times. It returns
// the members that are dead, to be evicted and then dropped, and what is wrong
// with records read for the first time.
func (o *roster) apply(r reply, rows []row, sent, got time.Time) (dead []string, wrong []error) {
	o.watchClock(r.now, sent, got)
	switch {
	case o.last.IsZero(): // and the clock may just have stepped
		o.anew(got.Add(max(o.patience, o.fences)))
	case got.Sub(o.last) > 2*o.heartbeat:
		o.anew(got.Add(o.patience))
	}
	forgot := o.born != "" && o.born != r.born
	o.last, o.born = got, r.born

	listed := make(map[string]bool, len(rows))
	for _, row := range rows {
		listed[row.id] = true
		s := o.seats[row.id]
		if s == nil {
			s = &seat{}
			o.seats[row.id] = s
		}
		s.unlisted = false
		if s.since.IsZero() || s.joined != row.joined {
			s.joined = row.joined
			s.since = got.Add(-age(r.now, row.joined))
		}
		if !s.known && row.alive {
			s.known = true
			if err := s.read(row); err != nil {
				wrong = append(wrong, err)
			}
		}
		if o.watch(s, row.alive, sent, got) {
			dead = append(dead, row.id)
		}
	}
	for id, s := range o.seats {
		if listed[id] {
			continue
		}
		s.unlisted = s.unlisted || forgot
		if !s.unlisted || o.watch(s, false, sent, got) {
			delete(o.seats, id) // it left, or others evicted it, or it did not come back to the new list
		}
	}
	slices.Sort(dead)
	return dead, wrong
}

// watch reports whether a member has been absent for long enough.
func (o *roster) watch(s *seat, alive bool, sent, got time.Time) bool {
	switch {
	case alive || sent.Before(o.hold):
		s.absent, s.absences = time.Time{}, 0
		return false
	case s.absences == 0:
		s.absent, s.absences = got, 1
		return false
	}
	s.absences++
	return sent.Sub(s.absent) >= o.grace // the scripts ran that far apart, at least
}

// watchClock looks whether Redis's clock went on as the local one did.
func (o *roster) watchClock(now int64, sent, got time.Time) {
	passed := time.Duration(now-o.base.now) * time.Millisecond
	ahead := passed > got.Sub(o.base.sent)+o.tolerance
	behind := passed < sent.Sub(o.base.got)-o.tolerance
	if o.base.got.IsZero() || ahead || behind {
		if !o.base.got.IsZero() && ahead {
			o.anew(got.Add(o.fences))
		}
		o.base.now, o.base.sent, o.base.got = now, sent, got
	}
}

// anew forgets all absences, and those to come before hold.
func (o *roster) anew(hold time.Time) {
	if hold.After(o.hold) {
		o.hold = hold
	}
	for _, s := range o.seats {
		s.absent, s.absences = time.Time{}, 0
	}
}

// drop removes members that were evicted.
func (o *roster) drop(ids []string) {
	for _, id := range ids {
		delete(o.seats, id)
	}
}

// members are those whose records made sense, sorted by ID, with their age at now.
func (o *roster) members(now time.Time) []Member {
	members := make([]Member, 0, len(o.seats))
	for _, id := range slices.Sorted(maps.Keys(o.seats)) {
		if s := o.seats[id]; s.usable {
			m := s.member
			m.Age = max(0, now.Sub(s.since))
			members = append(members, m)
		}
	}
	return members
}

// maxRecord bounds a member's record, in bytes.
const maxRecord = 16 << 10

// read takes a member from its record, which another node has written.
func (s *seat) read(r row) error {
	var rec record
	if len(r.record) > maxRecord {
		return fmt.Errorf("cluster: read member %.140q: longer than %d bytes", r.id, maxRecord)
	}
	if err := json.Unmarshal([]byte(r.record), &rec); err != nil {
		return fmt.Errorf("cluster: read member %.140q: %w", r.id, err)
	}
	if rec.ID != r.id {
		return fmt.Errorf("cluster: read member %.140q: it is of %.140q", r.id, rec.ID)
	}
	if err := rec.validate(); err != nil {
		return fmt.Errorf("cluster: read member %.140q: %w", r.id, err)
	}
	s.member, s.usable = rec.Member, true
	return nil
}

// maxAge is the age of whoever claims a greater one.
const maxAge = 365 * 24 * time.Hour

// age is now less joined, both unix ms: never negative, whatever the clock did.
func age(now, joined int64) time.Duration {
	return time.Duration(min(max(now-joined, 0), maxAge.Milliseconds())) * time.Millisecond
}
