//go:build unix && (!linux || race)

package sockio

import (
	"errors"
	"syscall"
)

// The race detector learns from package syscall that what one end of a connection does
// comes before what the other does after it.

const supported, direct = true, false

func read(fd uintptr, p []byte) (int, syscall.Errno) {
	n, err := syscall.Read(int(fd), p)
	return n, errno(err)
}

func write(fd uintptr, p []byte) (int, syscall.Errno) {
	n, err := syscall.Write(int(fd), p)
	return n, errno(err)
}

func recvPeek(fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, err := syscall.Recvfrom(int(fd), p, syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return n, errno(err)
}

func errno(err error) syscall.Errno {
	var e syscall.Errno
	_ = errors.As(err, &e)
	return e
}
