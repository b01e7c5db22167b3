//go:build !linux

package chaos

import "syscall"

// tether does nothing: only Linux ends children with their parent.
func tether(*syscall.SysProcAttr) {}

// monotonicNS is not to be had in the form that other processes write it: lease
// histories are judged without the times of restarts and deaths.
func monotonicNS() int64 { return 0 }
