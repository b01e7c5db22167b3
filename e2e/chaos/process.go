package chaos

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// process is a child that cannot outlive this process. Its methods are safe for
// concurrent use.
type process struct {
	name    string
	pid     int
	started time.Time
	done    chan struct{}
	code    int // once done is closed; -1: ended by a signal
	out     *output
}

// startProcess starts a program whose output goes to logPath. It is called back by
// ended, in a goroutine, when it has ended.
func startProcess(name, dir, logPath string, env []string, ended func(*process), path string, args ...string) (*process, error) {
	file, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("chaos: start %s: %w", name, err)
	}
	p := &process{name: name, started: time.Now(), done: make(chan struct{}), out: &output{file: file}}
	cmd := exec.Command(path, args...) //nolint:gosec,noctx // the program under test, ended by kill
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, p.out, p.out
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is ours to answer
	tether(cmd.SysProcAttr)
	started := make(chan error, 1)
	go func() {
		// The death signal comes when the thread that forked ends: it is kept.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer file.Close()
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // how it ended is in its state
		p.code = cmd.ProcessState.ExitCode()
		close(p.done)
		if ended != nil {
			ended(p)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("chaos: start %s: %w", name, err)
	}
	return p, nil
}

// signal sends a signal, unless the process has ended.
func (p *process) signal(sig syscall.Signal) {
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(p.pid, sig) // it may end this very moment
	}
}

// alive reports whether the process has not ended.
func (p *process) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// output is what a process writes: it goes to a file, its last part is kept.
type output struct {
	file *os.File

	mu    sync.Mutex
	tail  []byte // guarded by mu
	admin string // guarded by mu; host:port of the admin endpoint, once told
}

const keptBytes = 16 << 10

// Crash words and the admin address in what a node says.
var (
	adminPattern = regexp.MustCompile(`node is up.*admin="?([0-9.]+:\d+)`)
	crashPattern = regexp.MustCompile(`(?m)^(panic: |fatal error: |WARNING: DATA RACE|SIGSEGV)`)
)

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail = append(o.tail, b...)
	if o.admin == "" {
		if m := adminPattern.FindSubmatch(o.tail); m != nil {
			o.admin = string(m[1])
		}
	}
	if len(o.tail) > 2*keptBytes {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-keptBytes:]...)
	}
	return o.file.Write(b)
}

// adminAddr is where the admin endpoint listens; "" as long as nobody knows.
func (o *output) adminAddr() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.admin
}

// crash is what the process said of its crash; "" when it did not.
func (o *output) crash() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := crashPattern.FindIndex(o.tail); i != nil {
		return string(bytes.TrimSpace(o.tail[i[0]:min(i[0]+4000, len(o.tail))]))
	}
	return ""
}

// last is the last n bytes that the process said.
func (o *output) last(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.tail[max(0, len(o.tail)-n):])
}
