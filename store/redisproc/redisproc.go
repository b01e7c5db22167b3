// Package redisproc runs one private redis-server or valkey-server as a child
// process that cannot outlive this one: when this process ends, by kill -9 too,
// the child ends. It starts, signals and stops; what is restarted when, and who
// may use the folder, is the caller's business.
package redisproc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
)

// MaxSocketPath is the longest unix socket path, in bytes, that every supported
// system takes (sun_path is 104 bytes on macOS and the BSDs, 108 on Linux, with
// a terminating zero; redis-server makes the same check).
const MaxSocketPath = 103

// LogName is the server's log file inside Options.Dir.
const LogName = "redis.log"

// Options say how to start the server. Path, Dir and Socket are required.
type Options struct {
	Path       string // executable of redis-server or valkey-server
	Dir        string // absolute, existing; holds the data files and LogName
	Socket     string // absolute path of the unix socket, at most MaxSocketPath bytes
	Port       int    // TCP port on 127.0.0.1; 0: no TCP at all
	AppendOnly bool   // keep an append-only file; false: nothing is written to disk
	Fsync      string // appendfsync: "everysec" (default), "always" or "no"

	// Args are appended to the command line ("--maxmemory", "64mb").
	Args []string
	// Inherit is kept open by the child until it ends: a lock on it is then
	// held by whoever of the two lives longer. nil: nothing is handed over.
	Inherit *os.File
	// DeathSignal is what the child gets when this process dies. 0: SIGTERM, on
	// which Redis writes out what it has buffered. SIGKILL ends a stopped
	// (SIGSTOP) server too.
	DeathSignal syscall.Signal
}

// Process is a started server. Its methods may be called from any goroutine.
type Process struct {
	opts Options
	pid  int
	done chan struct{}
	err  error // written before done is closed
}

// Start starts the server and returns as soon as the process exists; WaitReady
// says when it answers.
func Start(o Options) (*Process, error) {
	if len(o.Socket) > MaxSocketPath {
		return nil, fmt.Errorf("redisproc: start %s: socket path of %d bytes is over the limit of %d: %s",
			o.Path, len(o.Socket), MaxSocketPath, o.Socket)
	}
	cmd := exec.Command(o.Path, o.arguments()...) //nolint:noctx // the child lives until Stop, not until a context ends
	cmd.Dir = o.Dir
	// A group of its own: Ctrl-C at the terminal must not stop the server
	// before the crawl has given its leases back.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if o.Inherit != nil {
		cmd.ExtraFiles = []*os.File{o.Inherit}
	}
	o.DeathSignal = cmp.Or(o.DeathSignal, syscall.SIGTERM)
	setDeathSignal(cmd.SysProcAttr, o.DeathSignal)

	p := &Process{opts: o, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(cmd, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("redisproc: start %s: %w", o.Path, err)
	}
	return p, nil
}

// run owns the child from fork to wait. Linux sends the death signal when the
// THREAD that forked ends, so this goroutine keeps its thread for the child's
// whole life.
func (p *Process) run(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	release := func() {}
	if needsWatchdog {
		var err error
		if release, err = watch(p.pid, p.opts.DeathSignal); err != nil {
			_ = cmd.Process.Kill() // better no server than one that outlives us
			_ = cmd.Wait()
			started <- err
			return
		}
	}
	started <- nil
	p.err = cmd.Wait()
	release()
	close(p.done)
}

func (o Options) arguments() []string {
	args := []string{
		"--port", strconv.Itoa(o.Port), "--bind", "127.0.0.1",
		"--unixsocket", o.Socket, "--unixsocketperm", "700",
		"--dir", o.Dir, "--logfile", filepath.Join(o.Dir, LogName),
		"--daemonize", "no", "--databases", "16", "--save", "",
		"--appendonly", "no",
	}
	if o.AppendOnly {
		args[len(args)-1] = "yes"
		args = append(args, "--appendfsync", cmp.Or(o.Fsync, "everysec"))
	}
	return append(args, o.Args...)
}

// PID is the process id of the server.
func (p *Process) PID() int { return p.pid }

// Socket is the unix socket the server listens on.
func (p *Process) Socket() string { return p.opts.Socket }

// Done is closed when the server has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the server ended: nil for a clean exit and while it runs.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Signal sends sig to the server. A server that has ended is no error.
func (p *Process) Signal(sig syscall.Signal) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	if err := syscall.Kill(p.pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("redisproc: signal %d with %s: %w", p.pid, sig, err)
	}
	return nil
}

// Stop asks the server to write out everything and end, waits until it has, and
// kills it when ctx ends before that (the error says so).
func (p *Process) Stop(ctx context.Context) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	}
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return fmt.Errorf("redisproc: stop %d: killed, it did not end by itself: %w", p.pid, ctx.Err())
}
