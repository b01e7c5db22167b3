// Package sockio reads and writes sockets by system calls that the Go scheduler does
// not see.
//
// Before an ordinary system call the scheduler prepares for its blocking: the calling
// thread's processor may have to be taken away, and a monitor thread is woken for that
// when the process was idle; it then looks every 20 µs for a millisecond. A crawler that
// waits for polite delays is idle hundreds of times a second, and the monitor was a
// third of its CPU (docs/benchmarks.md, "Bad weather"). Go's sockets are non-blocking:
// reading or writing one ends at once, so nothing has to be prepared.
package sockio

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// Conn is a TCP or Unix-domain connection whose Read and Write do what those of package
// net do. At most one goroutine may read, wait or look, and one may write, at a time;
// deadlines, addresses and Close are the wrapped connection's.
type Conn struct {
	net.Conn

	raw    syscall.RawConn // nil: everything is left to the wrapped connection
	rd, wr transfer
	ahead  peek
}

// Wrap makes a Conn of c, which is not to be used any more. What is no socket, and every
// connection on a system without non-blocking sockets of Unix's kind, works as c does.
func Wrap(c net.Conn) *Conn {
	s := &Conn{Conn: c}
	sc, ok := c.(syscall.Conn)
	if !ok || !supported {
		return s
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return s
	}
	s.raw = raw
	s.rd.call, s.wr.call = read, write
	s.rd.try, s.wr.try = s.rd.do, s.wr.do
	s.ahead.look, s.ahead.wait = s.ahead.once, s.ahead.until
	return s
}

// transfer is one direction's call under way. It belongs to the connection, so that a
// call allocates nothing.
type transfer struct {
	call func(fd uintptr, p []byte) (int, syscall.Errno)
	try  func(fd uintptr) bool // do
	buf  []byte                // not empty
	n    int
	err  syscall.Errno
}

// do calls once; false: the socket is not ready.
func (t *transfer) do(fd uintptr) bool {
	for {
		t.n, t.err = t.call(fd, t.buf)
		switch t.err {
		case syscall.EINTR:
		case syscall.EAGAIN:
			return false
		default:
			return true
		}
	}
}

// Read implements io.Reader.
func (s *Conn) Read(p []byte) (int, error) {
	if s.raw == nil {
		return s.Conn.Read(p)
	}
	if len(p) == 0 {
		return 0, nil
	}
	t := &s.rd
	t.buf = p
	err := s.raw.Read(t.try)
	t.buf = nil
	switch {
	case err != nil:
		return 0, s.fault("read", err)
	case t.err != 0:
		return 0, s.fault("read", os.NewSyscallError("read", t.err))
	case t.n == 0:
		return 0, io.EOF
	}
	return t.n, nil
}

// Write implements io.Writer: it writes all of p, or fails.
func (s *Conn) Write(p []byte) (int, error) {
	if s.raw == nil {
		return s.Conn.Write(p)
	}
	t := &s.wr
	for done := 0; ; done += t.n {
		if done == len(p) {
			return done, nil
		}
		t.buf = p[done:]
		err := s.raw.Write(t.try)
		t.buf = nil
		switch {
		case err != nil:
			return done, s.fault("write", err)
		case t.err != 0:
			return done, s.fault("write", os.NewSyscallError("write", t.err))
		}
	}
}

// fault words an error as package net does.
func (s *Conn) fault(op string, err error) error {
	if e, ok := errors.AsType[*net.OpError](err); ok { // of the poller: closed, or past a deadline
		err = e.Err
	}
	local := s.LocalAddr()
	return &net.OpError{Op: op, Net: local.Network(), Source: local, Addr: s.RemoteAddr(), Err: err}
}

// peek looks at a socket without taking from it.
type peek struct {
	look  func(fd uintptr)      // once
	wait  func(fd uintptr) bool // until
	empty bool                  // of the last look: open, with nothing to read
	buf   [1]byte
}

func (p *peek) once(fd uintptr) {
	for {
		_, err := recvPeek(fd, p.buf[:])
		if err == syscall.EINTR {
			continue
		}
		p.empty = err == syscall.EAGAIN
		return
	}
}

func (p *peek) until(fd uintptr) bool {
	p.once(fd)
	return !p.empty
}

// Quiet reports whether the connection is open and has nothing to read. Where that
// cannot be known it is true.
func (s *Conn) Quiet() bool {
	return s.raw == nil || s.raw.Control(s.ahead.look) == nil && s.ahead.empty
}

// AwaitReadable waits, holding no buffer, until a Read will not block; where that cannot
// be known, not at all. Errors are left for that Read to find.
func (s *Conn) AwaitReadable() {
	if s.raw != nil {
		_ = s.raw.Read(s.ahead.wait)
	}
}
