//go:build unix

package export

import (
	"errors"
	"os"
	"syscall"
)

// lock keeps a second process out of the file, as long as f is open. File
// systems without locks go unlocked.
func lock(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) { //nolint:gosec // a descriptor fits
		return ErrInUse
	}
	return nil
}

// ignoreUnsupported drops the answer of file systems that cannot sync a folder.
func ignoreUnsupported(err error) error {
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}
