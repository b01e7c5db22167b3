package webtest

import (
	"encoding/binary"
	"io"
	"net"
	"syscall"
	"time"
)

// stampedReader reads from a connection with the time at which the kernel
// received what it reads: a request is on time however late this process notices.
type stampedReader struct {
	raw syscall.RawConn // nil: no such times to be had
	oob []byte
}

// askStamps asks for the times on a listener, for all that it accepts: asked for
// on a connection they would be missing for what had come before.
func askStamps(_, _ string, raw syscall.RawConn) error {
	return raw.Control(func(fd uintptr) {
		// Where it is refused, read falls back on its own time.
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
	})
}

func (r *stampedReader) open(c net.Conn) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	if raw, err := tcp.SyscallConn(); err == nil {
		r.raw, r.oob = raw, make([]byte, 128)
	}
}

// read is Read, and when the bytes came.
func (r *stampedReader) read(c net.Conn, b []byte) (int, time.Time, error) {
	if r.raw == nil || len(b) == 0 {
		n, err := c.Read(b)
		return n, time.Now(), err
	}
	var n, oobn int
	var err error
	waitErr := r.raw.Read(func(fd uintptr) bool {
		n, oobn, _, _, err = syscall.Recvmsg(int(fd), b, r.oob, 0)
		return err != syscall.EAGAIN && err != syscall.EINTR //nolint:errorlint // as the call gives it
	})
	now := time.Now()
	switch {
	case waitErr != nil:
		return 0, now, waitErr
	case err != nil:
		return 0, now, &net.OpError{Op: "read", Net: "tcp", Err: err}
	case n == 0:
		return 0, now, io.EOF
	}
	return n, received(r.oob[:oobn], now), nil
}

// received is the time in a control message, on the monotonic clock.
func received(oob []byte, now time.Time) time.Time {
	msgs, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return now
	}
	for _, m := range msgs {
		if m.Header.Level == syscall.SOL_SOCKET && m.Header.Type == syscall.SCM_TIMESTAMPNS && len(m.Data) >= 16 {
			at := time.Unix(int64(binary.NativeEndian.Uint64(m.Data)), int64(binary.NativeEndian.Uint64(m.Data[8:]))) //nolint:gosec // a time
			return now.Add(-now.Round(0).Sub(at))
		}
	}
	return now
}
