package rqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// exportLock is how long a process that writes items may be silent before another
// takes over.
const exportLock = 5 * time.Second

// ExportRead reads the first n items (at least 1) that await a file, without
// taking them, and makes this process the one that writes them, for 5 s from now:
// read again, also when nothing comes. ErrExportHeld while another does. With
// ExportAck after the file is safe, each item is in one file once, whatever dies.
func (c *Crawl) ExportRead(ctx context.Context, n int) ([][]byte, error) {
	r, err := c.f.call(ctx, c.f.scripts.exportRead, func(a *args) {
		a.key(c.keys.export)
		a.key(c.keys.exportLock)
		a.key(c.keys.state)
		a.str(c.f.cfg.Node)
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
		holder := r.string()
		if err := r.ok("export read"); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("rqueue: read items of %s: %w (%s)", c.spec.Name, ErrExportHeld, holder)
	}
	items := make([][]byte, 0, max(left-1, 0))
	for i := 1; i < left && r.err == nil; i++ {
		items = append(items, []byte(r.string()))
	}
	return items, r.ok("export read")
}

// ExportAck drops the first n items and remembers, in the same step, that the
// file holds them up to offset. It reports how many items are left. ErrExportHeld
// when this process was silent for too long: what it wrote since its last ack is
// another's to write, or its own once it has read again, and must be cut off.
func (c *Crawl) ExportAck(ctx context.Context, n int, file string, offset int64) (int64, error) {
	r, err := c.f.call(ctx, c.f.scripts.exportAck, func(a *args) {
		a.key(c.keys.export)
		a.key(c.keys.files)
		a.key(c.keys.state)
		a.key(c.keys.exportLock)
		a.int(int64(max(n, 0)))
		a.str(file)
		a.int(offset)
		a.str(c.f.cfg.Node)
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
		return 0, fmt.Errorf("rqueue: drop items of %s: %w", c.spec.Name, ErrExportHeld)
	}
	return left, nil
}

// ExportRelease says that this process writes no more items: another may at once.
func (c *Crawl) ExportRelease(ctx context.Context) error {
	r, err := c.f.call(ctx, c.f.scripts.exportRelease, func(a *args) {
		a.key(c.keys.exportLock)
		a.str(c.f.cfg.Node)
	})
	if err != nil {
		return err
	}
	r.int()
	return r.ok("export release")
}

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
