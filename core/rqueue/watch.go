package rqueue

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	clockStep = 500 * time.Millisecond // rule 8: more is a step of the store's clock
	silence   = 2 * time.Second        // rule 8: without a reply for so long the clock is unknown
)

// watch is what a node knows of its store's identity and clock (rules 7, 8).
// All times are local and monotonic. The zero value believes in nothing yet.
type watch struct {
	ttl       time.Duration
	exclusive bool

	runID, replID string
	changes       uint64        // times the store became another
	offset        time.Duration // the store's unix time minus local time since began
	known         bool          // offset is set
	began         time.Time
	lastReply     time.Time

	quarantine time.Time // rule 7: nothing is acquired before; zero when the store never changed
	takeOver   time.Time // rule 8: no unreleased slot is taken over before
	doubt      time.Time // rule 8: the last time the clock was in doubt; zero never

	setBack atomic.Uint64 // times the store's clock was set back; read without the lock
}

// begin starts the process's life: it is younger than TTL, and knows no clock.
func (w *watch) begin(now time.Time, ttl time.Duration, exclusive bool) {
	w.ttl, w.exclusive, w.began, w.lastReply = ttl, exclusive, now, now
	if !exclusive {
		w.suspect(now)
	}
}

// suspect is a doubt about the store's clock: no take-over for one TTL.
func (w *watch) suspect(now time.Time) {
	w.doubt = now
	if !w.exclusive {
		w.takeOver = now.Add(w.ttl)
	}
}

// changed is a store that may have forgotten its last second; since is how long
// it has been so.
func (w *watch) changed(now time.Time, since time.Duration) {
	w.changes++
	until := now.Add(w.ttl - since)
	if w.exclusive { // who held a slot before is dead
		until = now
	}
	if until.After(w.quarantine) {
		w.quarantine = until
	}
	if until.After(w.takeOver) && !w.exclusive {
		w.takeOver = until
	}
}

// clock compares the store's time, read between sent and now, with the expectation.
func (w *watch) clock(store time.Duration, sent, now time.Time) {
	lo, hi := store-now.Sub(w.began), store-sent.Sub(w.began) // the offset lies between
	if w.known && (w.offset < lo-clockStep || w.offset > hi+clockStep) {
		w.suspect(now)
		if w.offset > hi {
			w.setBack.Add(1)
		}
	}
	w.offset, w.known = lo+(hi-lo)/2, true
}

// heard notes a reply; a long silence before it leaves the clock unknown.
func (w *watch) heard(now time.Time) {
	w.silent(now)
	w.lastReply = now
}

// silent suspects the clock of a store not heard of for long. Alone with the
// store there is nobody whose slot could be taken too early.
func (w *watch) silent(now time.Time) {
	if now.Sub(w.lastReply) > silence && !w.exclusive {
		w.suspect(now)
	}
}

func (f *Frontier) touch() {
	now := f.now()
	f.mu.Lock()
	f.watch.heard(now)
	f.mu.Unlock()
}

// Ping looks at the store: whether it is another than before (rule 7), and what
// its clock does (rule 8). Call it every second or so, and after a broken
// connection; without it, slots that died with their owner are not taken over.
func (f *Frontier) Ping(ctx context.Context) error {
	sent := f.now()
	pipe := f.rdb.Pipeline()
	server, repl, clock := pipe.Info(ctx, "server"), pipe.Info(ctx, "replication"), pipe.Time(ctx)
	stored := pipe.HMGet(ctx, f.cfg.Prefix+":store", "run_id", "replid", "since")
	_, _ = pipe.Exec(ctx) // miniredis knows no INFO of these: each reply speaks for itself
	if err := clock.Err(); err != nil {
		return fmt.Errorf("rqueue: ping store: %w", err)
	}
	if err := stored.Err(); err != nil {
		return fmt.Errorf("rqueue: ping store: %w", err)
	}
	now := f.now()
	id := identity{
		runID:  infoField(server, "run_id"),
		replID: infoField(repl, "master_replid"),
		second: infoField(repl, "master_replid2"),
	}
	if up, err := strconv.Atoi(infoField(server, "uptime_in_seconds")); err == nil {
		id.uptime = time.Duration(up) * time.Second
	}
	if f.identify != nil {
		id = f.identify()
	}
	ms := clock.Val().UnixMilli()
	if f.cfg.ServerTime != nil {
		ms = f.cfg.ServerTime()
	}
	remember, since := f.see(id, stored.Val(), ms, sent, now)
	if remember {
		at := ms - since.Milliseconds()
		if err := f.rdb.HSet(ctx, f.cfg.Prefix+":store", "run_id", id.runID, "replid", id.replID, "since", at).Err(); err != nil {
			return fmt.Errorf("rqueue: remember store: %w", err)
		}
	}
	return nil
}

// identity is who the store says it is; empty texts where it does not say.
type identity struct {
	runID, replID, second string
	uptime                time.Duration
}

// see judges one look at the store, and tells whether its identity is to be stored,
// and how long ago it became what it is.
func (f *Frontier) see(id identity, stored []any, ms int64, sent, now time.Time) (remember bool, since time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := &f.watch
	w.heard(now)
	w.clock(time.Duration(ms)*time.Millisecond, sent, now)
	text := func(i int) string { s, _ := stored[i].(string); return s }
	remember = text(0) != id.runID || text(1) != id.replID
	if w.runID == id.runID && w.replID == id.replID && w.changes > 0 {
		return remember, 0
	}
	first := w.changes == 0
	w.runID, w.replID = id.runID, id.replID
	switch {
	case id.runID == "": // it does not say: it is in this process, or not to be asked
		since = w.ttl
	case !remember: // another node saw it first, and when
		if at, err := strconv.ParseInt(text(2), 10, 64); err == nil {
			since = max(time.Duration(ms-at)*time.Millisecond, 0)
		}
	case first && text(0) == "": // a new store: only its start can have lost anything
		since = id.uptime
	case text(1) != "" && id.second == text(1): // a replica that was promoted, nobody knows when
	default: // started anew
		since = id.uptime
	}
	w.changed(now, since)
	return remember, since
}

func infoField(info *redis.StringCmd, name string) string {
	_, rest, ok := strings.Cut(info.Val(), "\n"+name+":")
	if !ok {
		return ""
	}
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

// Health is what a node knows of its store.
type Health struct {
	LastReply  time.Duration // since the store last answered
	Quarantine time.Duration // rule 7: no slot is acquired for so long; <= 0: none
	NoTakeOver time.Duration // rule 8: no slot that was not released is taken over for so long; <= 0: none
	Changes    uint64        // see StoreChanges
}

// Health tells what the last Ping and replies told; it asks nobody.
func (f *Frontier) Health() Health {
	now := f.now()
	f.mu.Lock()
	defer f.mu.Unlock()
	h := Health{
		LastReply:  now.Sub(f.watch.lastReply),
		NoTakeOver: f.watch.takeOver.Sub(now),
		Changes:    f.watch.changes,
	}
	if !f.watch.quarantine.IsZero() {
		h.Quarantine = f.watch.quarantine.Sub(now)
	}
	return h
}

// StoreChanges counts the times the store became one that may have forgotten
// its last second (a restart, a failover); it begins at 1. An owner for whom it
// differs from before its last Reserve or Lease reserves again before it sends (rule 7).
func (f *Frontier) StoreChanges() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.watch.changes
}
