//go:build unix

package fetcher

import "syscall"

// probe looks at a socket without taking from it. It belongs to one connection,
// so that looking allocates nothing.
type probe struct {
	once  func(fd uintptr)      // nil until used
	until func(fd uintptr) bool // nil until used
	empty bool                  // of the last look: open, with nothing to read
	buf   [1]byte
}

func (p *probe) look(fd uintptr) {
	for {
		_, _, err := syscall.Recvfrom(int(fd), p.buf[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		if err == syscall.EINTR { //nolint:errorlint // a plain errno
			continue
		}
		p.empty = err == syscall.EAGAIN //nolint:errorlint // a plain errno
		return
	}
}

func (p *probe) readable(fd uintptr) bool {
	p.look(fd)
	return !p.empty
}

// quiet reports whether a kept connection is as it was left: open, with nothing
// to read. A server that closed it, or sent what nobody asked for, is found
// before a request is wasted on it.
func (c *conn) quiet() bool {
	if c.raw == nil {
		return true
	}
	if c.probe.once == nil {
		c.probe.once = c.probe.look
	}
	return c.raw.Control(c.probe.once) == nil && c.probe.empty
}

// awaitReadable waits, holding no buffer, until a read will not block. Errors
// are left for that read to find.
func (c *conn) awaitReadable() {
	if c.raw == nil || c.secured {
		return // TLS may have the bytes already
	}
	if c.probe.until == nil {
		c.probe.until = c.probe.readable
	}
	_ = c.raw.Read(c.probe.until)
}
