package chaos

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// tether makes a child die with this process.
func tether(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// monotonicNS is CLOCK_MONOTONIC, the clock of the lease histories.
func monotonicNS() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return ts.Nano()
}
