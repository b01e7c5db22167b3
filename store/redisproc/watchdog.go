package redisproc

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// watch starts a shell that signals pid when this process ends: the shell reads
// a pipe whose only write end is ours, so the kernel closes it however we end.
// release ends the shell without a signal; call it once pid has ended, before
// its number can belong to someone else.
func watch(pid int, sig syscall.Signal) (release func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("redisproc: watch %d: %w", pid, err)
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", `read -r line <&3 || kill -"$1" "$0"`, //nolint:noctx // lives as long as the child
		strconv.Itoa(pid), strconv.Itoa(int(sig)))
	cmd.ExtraFiles = []*os.File{r}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("redisproc: watch %d: %w", pid, err)
	}
	return func() {
		_, _ = w.WriteString("ended\n") // EPIPE: the shell is gone, as wanted
		w.Close()
		_ = cmd.Wait()
	}, nil
}
