//go:build !unix

package sockio

import "syscall"

const supported, direct = false, false

func read(uintptr, []byte) (int, syscall.Errno)     { return 0, syscall.EINVAL }
func write(uintptr, []byte) (int, syscall.Errno)    { return 0, syscall.EINVAL }
func recvPeek(uintptr, []byte) (int, syscall.Errno) { return 0, syscall.EINVAL }
