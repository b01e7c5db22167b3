//go:build linux || darwin

package rqueue

import "golang.org/x/sys/unix"

// monotonic is the machine's CLOCK_MONOTONIC, ns: one for all its processes.
func monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return t.Nano()
}
