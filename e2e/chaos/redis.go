package chaos

import (
	"context"
	_ "embed" // clock.c.txt
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// store is the cluster's Redis: append-only with everysec, on a port and folder of
// its own that it keeps over restarts.
type store struct {
	path, dir string
	port      int
	shim      string     // library that moves the server's clock; "": it stays
	back      int        // by how many seconds the server's clock is behind
	ns        *namespace // that it runs in; nil: the machine's own
	control   *link      // into ns, of the run's own
	proc      *process
	client    *redis.Client // not through any proxy
}

func newStore(ctx context.Context, dir string, ns *namespace) (*store, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if path, err = exec.LookPath("valkey-server"); err != nil {
			return nil, fmt.Errorf("chaos: find redis-server or valkey-server: %w", err)
		}
	}
	dir = filepath.Join(dir, "redis")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("chaos: make the store's folder: %w", err)
	}
	port, err := freePort("127.0.0.1")
	if err != nil {
		return nil, err
	}
	s := &store{path: path, dir: dir, port: port, shim: buildShim(dir), ns: ns}
	if ns != nil {
		if s.control, err = ns.connect(ctx, 200); err != nil { // no member has that number
			return nil, err
		}
	}
	s.client = redis.NewClient(&redis.Options{
		Addr: s.addr(), Protocol: 2, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	return s, nil
}

// addr is where the run itself, and the members' proxies, reach the server.
func (s *store) addr() string {
	if s.control != nil {
		return s.at(s.control)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
}

// at is the server at the far end of a link.
func (s *store) at(l *link) string { return net.JoinHostPort(l.far(), strconv.Itoa(s.port)) }

// start starts the server; ready says when it answers.
func (s *store) start() error {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir}
	if s.shim != "" {
		if err := s.stepBack(0); err != nil {
			return err
		}
		env = append(env, "LD_PRELOAD="+s.shim, "CHAOS_CLOCK="+s.clockFile())
	}
	path, in, bind := s.path, []string(nil), "127.0.0.1"
	if s.ns != nil { // ip becomes the server: one process
		path, in, bind = "ip", []string{"netns", "exec", s.ns.name, s.path, "--protected-mode", "no"}, "0.0.0.0"
	}
	p, err := startProcess("redis", s.dir, filepath.Join(s.dir, "redis.log"), env, nil, path, append(in,
		"--port", strconv.Itoa(s.port), "--bind", bind, "--dir", s.dir, "--daemonize", "no", "--save", "",
		"--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0")...)
	if err != nil {
		return err
	}
	s.proc = p
	return nil
}

// ready waits until the server answers.
func (s *store) ready(ctx context.Context) error {
	for {
		err := s.ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("chaos: wait for the store: %w (%s)", err, s.proc.out.last(300))
		}
	}
}

func (s *store) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return s.client.Ping(ctx).Err()
}

func (s *store) clockFile() string { return filepath.Join(s.dir, "clock") }

// stepBack moves the server's clock back by whole seconds, for good.
func (s *store) stepBack(seconds int) error {
	s.back += seconds
	f, err := os.OpenFile(s.clockFile(), os.O_CREATE|os.O_WRONLY, 0o600) // not replaced: the server has it mapped
	if err != nil {
		return fmt.Errorf("chaos: set the store's clock: %w", err)
	}
	offset := -int64(s.back) * time.Second.Microseconds()
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(offset)), 0) //nolint:gosec // two's complement
	return errors.Join(err, f.Close())
}

// close ends the server at once.
func (s *store) close() {
	_ = s.client.Close()
	if s.proc != nil {
		s.proc.signal(syscall.SIGKILL)
		<-s.proc.done
	}
}

//go:embed clock.c.txt
var clockSource []byte

// buildShim makes the library that moves a process's clock; "" where there is no C
// compiler, or the system is another.
func buildShim(dir string) string {
	cc, err := exec.LookPath("cc")
	if err != nil || runtime.GOOS != "linux" {
		return ""
	}
	source, out := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		return ""
	}
	if err := exec.Command(cc, "-shared", "-fPIC", "-O1", "-o", out, source).Run(); err != nil { //nolint:noctx,gosec // ends by itself
		return ""
	}
	return out
}

// freePort is a TCP port of an address that nobody listens on right now.
func freePort(ip string) (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0")) //nolint:noctx // loopback, immediate
	if err != nil {
		return 0, fmt.Errorf("chaos: find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
