//go:build !unix

package fetcher

type probe struct{}

// quiet cannot tell here: a request on a connection that was closed ends as stale.
func (c *conn) quiet() bool { return true }

// awaitReadable leaves the waiting to the read.
func (c *conn) awaitReadable() {}
