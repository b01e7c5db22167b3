package redisproc

import "syscall"

// needsWatchdog: Linux signals the child of a dead parent itself.
const needsWatchdog = false

func setDeathSignal(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }
