// Package redistest gives a test a Redis of its own: New a real redis-server on
// a unix socket, NewMini a miniredis in the process, both with the same methods
// to kill, pause and restart it. A server starts in some 20 ms, dies with the
// test process, and listens nowhere but on the socket unless TCP is asked for.
package redistest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"orbweaver/store/redisproc"
)

// startTimeout bounds the wait for a server to answer on a loaded machine.
const startTimeout = 60 * time.Second

// Server is a private Redis. Its methods are called from the test's goroutine;
// each fails the test when it cannot do its work.
type Server struct {
	t       testing.TB
	backend backend
	client  *redis.Client // made at the first call of Client
}

// backend is what differs between redis-server and miniredis.
type backend interface {
	network() string
	addr() string
	kill() error
	pause() error
	resume() error
	restart() error
	close() error
}

// New starts a private redis-server (or valkey-server) that keeps nothing on
// disk unless an option says so, and stops it when the test ends. A machine
// without one fails the test.
func New(t testing.TB, opts ...Option) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	found, err := redisproc.Find(ctx)
	if err != nil {
		t.Fatalf("this test needs a Redis: run `make tools`, or install one "+
			"(apt-get install redis-server, dnf install valkey, apk add redis, brew install redis): %v", err)
	}
	r := &process{opts: redisproc.Options{
		Path:        found.Path,
		Dir:         t.TempDir(),
		DeathSignal: syscall.SIGKILL, // ends a paused server as well
	}}
	for _, o := range opts {
		o(t, &r.opts)
	}
	r.opts.Socket = socketPath(t, r.opts.Dir)
	return serve(t, r)
}

// NewMini starts a miniredis in this process, with the wall clock as its time,
// and stops it when the test ends. Persistence options do not exist for it; it
// keeps its data over Kill and Restart.
func NewMini(t testing.TB) *Server {
	t.Helper()
	return serve(t, newMini())
}

func serve(t testing.TB, b backend) *Server {
	t.Helper()
	s := &Server{t: t, backend: b}
	t.Cleanup(func() {
		if s.client != nil {
			_ = s.client.Close()
		}
		if err := b.close(); err != nil {
			t.Errorf("redistest: %v", err)
		}
	})
	s.must("start", b.restart())
	return s
}

func (s *Server) must(verb string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("redistest: %s: %v", verb, err)
	}
}

// Client is a client of the server, the same one at every call, with the
// settings of the crawler's own: no retry, deadlines from the context.
func (s *Server) Client() *redis.Client {
	if s.client == nil {
		s.client = s.NewClient()
	}
	return s.client
}

// NewClient is one more client with connections of its own, closed when the
// test ends.
func (s *Server) NewClient() *redis.Client {
	c := redis.NewClient(&redis.Options{
		Network:                  s.backend.network(),
		Addr:                     s.backend.addr(),
		Protocol:                 2,
		MaxRetries:               -1,
		DialerRetries:            1,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// Addr is the path of the unix socket, or host:port for miniredis and a server
// with TCP.
func (s *Server) Addr() string { return s.backend.addr() }

// URL is the server's address in the form of the --redis flag.
func (s *Server) URL() string {
	if s.backend.network() == "unix" {
		return "unix://" + s.backend.addr()
	}
	return "redis://" + s.backend.addr()
}

// Kill ends the server at once, as kill -9 does. Restart brings it back.
func (s *Server) Kill() {
	s.t.Helper()
	s.must("kill", s.backend.kill())
}

// Pause stops the server's answers without closing a connection (SIGSTOP).
func (s *Server) Pause() {
	s.t.Helper()
	s.must("pause", s.backend.pause())
}

// Resume undoes Pause.
func (s *Server) Resume() {
	s.t.Helper()
	s.must("resume", s.backend.resume())
}

// Restart starts the server again on the same folder and address, after a clean
// stop when it runs. Without AppendOnly a redis-server comes back empty.
func (s *Server) Restart() {
	s.t.Helper()
	s.must("restart", s.backend.restart())
}

// socketPath is a path for a unix socket in dir, or in a short private folder
// when dir's name is too long for one.
func socketPath(t testing.TB, dir string) string {
	t.Helper()
	if path := filepath.Join(dir, "redis.sock"); len(path) <= redisproc.MaxSocketPath {
		return path
	}
	short, err := os.MkdirTemp("/tmp", "redistest-") //nolint:usetesting // t.TempDir is what is too long
	if err != nil {
		t.Fatalf("redistest: make a folder for the socket: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	return filepath.Join(short, "redis.sock")
}

// freePort is a TCP port of 127.0.0.1 that nobody listens on right now.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // loopback, immediate
	if err != nil {
		t.Fatalf("redistest: find a free port: %v", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Option changes how New starts the server.
type Option func(testing.TB, *redisproc.Options)

// WithAppendOnly keeps an append-only file with the given appendfsync policy
// ("always", "everysec" or "no"), so that Restart brings the data back.
func WithAppendOnly(fsync string) Option {
	return func(_ testing.TB, o *redisproc.Options) { o.AppendOnly, o.Fsync = true, fsync }
}

// WithTCP makes the server listen on a free port of 127.0.0.1 too; Addr and URL
// then give that.
func WithTCP() Option {
	return func(t testing.TB, o *redisproc.Options) { o.Port = freePort(t) }
}

// WithArgs adds arguments of redis-server ("--requirepass", "secret").
func WithArgs(args ...string) Option {
	return func(_ testing.TB, o *redisproc.Options) { o.Args = append(o.Args, args...) }
}

// process is a redis-server process.
type process struct {
	opts redisproc.Options
	proc *redisproc.Process
}

func (r *process) network() string {
	if r.opts.Port != 0 {
		return "tcp"
	}
	return "unix"
}

func (r *process) addr() string {
	if r.opts.Port != 0 {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(r.opts.Port))
	}
	return r.opts.Socket
}

func (r *process) kill() error {
	if err := r.proc.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-r.proc.Done()
	return nil
}

func (r *process) pause() error  { return r.proc.Signal(syscall.SIGSTOP) }
func (r *process) resume() error { return r.proc.Signal(syscall.SIGCONT) }

func (r *process) restart() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if r.proc != nil {
		if err := r.proc.Stop(ctx); err != nil {
			return err
		}
	}
	proc, err := redisproc.Start(r.opts)
	if err != nil {
		return err
	}
	r.proc = proc
	return proc.WaitReady(ctx, nil)
}

// close kills: no test looks at the data after its end.
func (r *process) close() error {
	if r.proc == nil {
		return nil
	}
	return r.kill()
}
