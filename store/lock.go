package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	lockName = "lock"
	// orphanWait bounds the wait for the server of a killed run to end. It gets
	// SIGTERM from the kernel and writes out its buffer first.
	orphanWait  = 15 * time.Second
	orphanPause = 10 * time.Millisecond
	// dyingWait is the time a living holder gets before it is believed to stay:
	// a process that was just killed exists until it has given its memory back.
	dyingWait = 500 * time.Millisecond
)

// folderLock is an exclusive lock on a data folder. It belongs to the open file,
// so a child that inherits the file holds it too: the folder is free when both
// have ended, and whoever gets the lock is alone with the data.
type folderLock struct {
	file *os.File
}

// lockFolder makes dir when it is missing and locks it. A holder that lives is an
// ErrLocked after dyingWait; when it is dead its server is about to end, and is
// waited for.
func lockFolder(ctx context.Context, dir string) (*folderLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("store: make data folder: %w: %w", ErrConfig, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store: lock data folder: %w: %w", ErrConfig, err)
	}
	start := time.Now()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("store: lock data folder %s: %w", dir, err)
		}
		holder := readHolder(f)
		if waited := time.Since(start); waited > orphanWait || (waited > dyingWait && alive(holder)) {
			f.Close()
			return nil, lockedError(dir, holder)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("store: lock data folder %s: %w", dir, ctx.Err())
		case <-time.After(orphanPause):
		}
	}
	if err := writeHolder(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("store: lock data folder %s: %w", dir, err)
	}
	return &folderLock{file: f}, nil
}

func lockedError(dir string, holder int) error {
	if alive(holder) {
		return fmt.Errorf("store: data folder %s: %w by process %d: wait for it or stop it, or use another --data-dir",
			dir, ErrLocked, holder)
	}
	return fmt.Errorf("store: data folder %s: %w: the redis-server of an ended run (process %d) still holds it: "+
		"stop that server, or use another --data-dir", dir, ErrLocked, holder)
}

// readHolder is the process id in the lock file, 0 when there is none (yet).
func readHolder(f *os.File) int {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid < 1 {
		return 0
	}
	return pid
}

func writeHolder(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// alive reports whether a process of this number runs; one that we may not
// signal does, one that has ended and was not waited for (a zombie) does not.
func alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	if err := syscall.Kill(pid, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true // no /proc here
	}
	// "pid (name) state ...": the name may hold anything, so look from its end.
	_, state, ok := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	return !ok || !strings.HasPrefix(state, "Z")
}

// release gives the folder up. The lock file stays: removing it would let two
// processes hold locks on two files of one name.
func (l *folderLock) release() { _ = l.file.Close() }
