package rqueue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// exportLock is how long a process that writes items may be silent before another
// takes over.
const exportLock = 10 * time.Second

// ExportHeldError is an ErrExportHeld that says who writes the items.
type ExportHeldError struct {
	Crawl  string
	Member string        // the process that writes
	File   string        // what it writes to, by the name that it has in the store
	For    time.Duration // its lock ends then, unless it renews it
	Items  int64         // that await a file
}

func (e *ExportHeldError) Error() string {
	return fmt.Sprintf("rqueue: read items of %s: %v (%s, to %s)", e.Crawl, ErrExportHeld, e.Member, e.File)
}

// Unwrap makes it an ErrExportHeld.
func (e *ExportHeldError) Unwrap() error { return ErrExportHeld }

// ExportRead reads the first n items (at least 1) that await a file, without
// taking them, and makes this process the one that writes them, to that file, for
// 10 s from now: read again, also when nothing comes. An *ExportHeldError while
// another does; alone with the store (Config.Exclusive) nobody else does. With
// ExportAck after the file is safe, each item is in one file once, whatever dies,
// once each file is cut back to its ExportPosition.
func (c *Crawl) ExportRead(ctx context.Context, file string, n int) ([][]byte, error) {
	r, err := c.f.call(ctx, c.f.scripts.exportRead, func(a *args) {
		a.key(c.keys.export)
		a.key(c.keys.exportLock)
		a.key(c.keys.state)
		a.str(c.exportOwner(file))
		a.int(ms(exportLock))
		a.int(int64(max(n, 1)))
		a.flag(c.f.cfg.Exclusive)
	})
	if err != nil {
		return nil, err
	}
	left := r.array()
	word := r.string()
	if word == "held" {
		held := &ExportHeldError{Crawl: c.spec.Name}
		held.Member, held.File, _ = strings.Cut(r.string(), "|")
		held.For = time.Duration(r.int()) * time.Millisecond
		held.Items = r.int()
		if err := r.ok("export read"); err != nil {
			return nil, err
		}
		return nil, held
	}
	items := make([][]byte, 0, max(left-1, 0))
	for i := 1; i < left && r.err == nil; i++ {
		items = append(items, []byte(r.string()))
	}
	return items, r.ok("export read")
}

// ExportAck drops the first n items and remembers, in the same step, that the
// file holds them up to offset; it renews what ExportRead gave. It reports how many
// items are left. ErrExportLost, and nothing has happened, when this process was
// silent for too long: what it wrote since its last ack is another's to write, or
// its own once it has read again, and must be cut off.
func (c *Crawl) ExportAck(ctx context.Context, n int, file string, offset int64) (int64, error) {
	r, err := c.f.call(ctx, c.f.scripts.exportAck, func(a *args) {
		a.key(c.keys.export)
		a.key(c.keys.files)
		a.key(c.keys.state)
		a.key(c.keys.exportLock)
		a.int(int64(max(n, 0)))
		a.str(file)
		a.int(offset)
		a.str(c.exportOwner(file))
		a.int(ms(exportLock))
	})
	if err != nil {
		return 0, err
	}
	left := r.int()
	if err := r.ok("export ack"); err != nil {
		return 0, err
	}
	if left < 0 {
		return 0, fmt.Errorf("rqueue: drop items of %s: %w", c.spec.Name, ErrExportLost)
	}
	return left, nil
}

// ExportRelease says that this process writes no more items to the file: another
// may at once. Nothing happens when another does already.
func (c *Crawl) ExportRelease(ctx context.Context, file string) error {
	r, err := c.f.call(ctx, c.f.scripts.exportRelease, func(a *args) {
		a.key(c.keys.exportLock)
		a.str(c.exportOwner(file))
	})
	if err != nil {
		return err
	}
	r.int()
	return r.ok("export release")
}

// exportOwner is who has the lock when this process writes to a file.
func (c *Crawl) exportOwner(file string) string { return c.f.cfg.Node + "|" + file }

// ExportPosition is the offset up to which a file's items were acknowledged; what
// lies beyond was written before a crash and must be cut off. False: never.
func (c *Crawl) ExportPosition(ctx context.Context, file string) (int64, bool, error) {
	c.f.fault(callExportPosition + faultBefore)
	n, err := c.f.rdb.HGet(ctx, text(c.keys.files), file).Int64()
	c.f.fault(callExportPosition + faultAfter)
	if errors.Is(err, redis.Nil) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("rqueue: read position of %s: %w", file, err)
	}
	return n, true, nil
}
