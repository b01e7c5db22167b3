package rqueue

import (
	"context"
	"fmt"
)

// ExportForget forgets how far a file holds the crawl's items: the next crawl that
// writes to it goes on after whatever it holds then.
func (c *Crawl) ExportForget(ctx context.Context, file string) error {
	c.f.fault(callExportForget + faultBefore)
	err := c.f.rdb.HDel(ctx, text(c.keys.files), file).Err()
	c.f.fault(callExportForget + faultAfter)
	if err != nil {
		return fmt.Errorf("rqueue: forget position of %s: %w", file, err)
	}
	return nil
}
