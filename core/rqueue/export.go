package rqueue

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// ExportRead reads the first n items (at least 1) that await a file, without
// taking them. One reader at a time: with ExportAck after the file is safe,
// each item is in the file once, whatever dies in between.
func (c *Crawl) ExportRead(ctx context.Context, n int) ([][]byte, error) {
	c.f.fault(callExportRead + faultBefore)
	all, err := c.f.rdb.LRange(ctx, text(c.keys.export), 0, int64(max(n, 1))-1).Result()
	c.f.fault(callExportRead + faultAfter)
	if err != nil {
		return nil, fmt.Errorf("rqueue: read items of %s: %w", c.spec.Name, err)
	}
	items := make([][]byte, len(all))
	for i := range all {
		items[i] = []byte(all[i])
	}
	return items, nil
}

// ExportAck drops the first n items and remembers, in the same step, that the
// file holds them up to offset. It reports how many items are left.
func (c *Crawl) ExportAck(ctx context.Context, n int, file string, offset int64) (int64, error) {
	r, err := c.f.call(ctx, c.f.scripts.exportAck, func(a *args) {
		a.key(c.keys.export)
		a.key(c.keys.files)
		a.key(c.keys.state)
		a.int(int64(max(n, 0)))
		a.str(file)
		a.int(offset)
	})
	if err != nil {
		return 0, err
	}
	left := r.int()
	return left, r.ok("export ack")
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
