//go:build !linux

package redisproc

import "syscall"

// needsWatchdog: without a parent-death signal a shell watches for our end.
const needsWatchdog = true

func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}
