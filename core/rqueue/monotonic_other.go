//go:build !linux && !darwin

package rqueue

// monotonic is 0: the system's clock that all processes share is not read here.
func monotonic() int64 { return 0 }
