package chaos

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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
	faketime  string // library of libfaketime; "": the clock stays
	back      int    // by how many seconds the server's clock is behind
	proc      *process
	client    *redis.Client // not through any proxy
}

func newStore(dir string) (*store, error) {
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
	s := &store{path: path, dir: dir, port: port, faketime: findFaketime()}
	s.client = redis.NewClient(&redis.Options{
		Addr: s.addr(), Protocol: 2, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	return s, nil
}

func (s *store) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// start starts the server; ready says when it answers.
func (s *store) start() error {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir}
	if s.faketime != "" {
		if err := s.stepBack(0); err != nil {
			return err
		}
		env = append(env, "LD_PRELOAD="+s.faketime, "FAKETIME_TIMESTAMP_FILE="+s.clockFile(),
			"FAKETIME_CACHE_DURATION=1", "FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_NO_CACHE=0")
	}
	p, err := startProcess("redis", s.dir, filepath.Join(s.dir, "redis.log"), env, nil, s.path,
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir, "--daemonize", "no", "--save", "",
		"--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0")
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

// stepBack moves the server's clock back by whole seconds, for good; the server
// follows within a second.
func (s *store) stepBack(seconds int) error {
	s.back += seconds
	if err := writeWhole(s.clockFile(), fmt.Sprintf("-%d\n", s.back)); err != nil {
		return fmt.Errorf("chaos: set the store's clock: %w", err)
	}
	return nil
}

// close ends the server at once.
func (s *store) close() {
	_ = s.client.Close()
	if s.proc != nil {
		s.proc.signal(syscall.SIGKILL)
		<-s.proc.done
	}
}

// findFaketime is the library that moves a process's clock (Debian's package
// faketime); "" when it is not installed. ORBWEAVER_FAKETIME names another place.
func findFaketime() string {
	places := []string{
		os.Getenv("ORBWEAVER_FAKETIME"),
		"/usr/lib/faketime/libfaketime.so.1",
		"/usr/lib64/faketime/libfaketime.so.1",
		"/usr/local/lib/faketime/libfaketime.so.1",
	}
	found, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1") // the pattern is good
	for _, path := range append(places, found...) {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
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
