package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sirupsen/logrus"

	"orbweaver/store/redisproc"
)

const (
	// serverDir, in the data folder, is the embedded server's working folder.
	serverDir  = "redis"
	socketName = "redis.sock"

	stopTimeout = 30 * time.Second // for the last flush to a slow disk

	// A server that died is started again after a pause that doubles from the
	// first to the last and starts over once one ran for steadyAfter.
	firstBackoff = 20 * time.Millisecond
	lastBackoff  = 5 * time.Second
	steadyAfter  = 30 * time.Second
)

// embedded is a redis-server child and the goroutine that keeps it alive.
type embedded struct {
	cfg      Config
	log      logrus.FieldLogger
	options  redisproc.Options
	cleanup  func() // removes the socket
	restarts atomic.Int64
	cancel   context.CancelFunc // ends keep
	done     chan struct{}
	once     sync.Once
	closed   error // of the first close
}

// startEmbedded starts the server on dir and waits until it has loaded its data.
// The caller holds the folder's lock in file, which the server inherits.
func startEmbedded(ctx context.Context, cfg Config, server redisproc.Server, dir string, file *os.File) (*embedded, redis.UniversalClient, error) {
	work := filepath.Join(dir, serverDir)
	if err := os.MkdirAll(work, 0o700); err != nil {
		return nil, nil, fmt.Errorf("store: make data folder: %w: %w", ErrConfig, err)
	}
	socket, cleanup, err := placeSocket(work)
	if err != nil {
		return nil, nil, err
	}
	e := &embedded{
		cfg: cfg, log: cfg.Log, cleanup: cleanup, done: make(chan struct{}),
		options: redisproc.Options{
			Path: server.Path, Dir: work, Socket: socket,
			AppendOnly: true, Fsync: cfg.Fsync, Inherit: file,
		},
	}
	proc, err := e.start(ctx)
	if err != nil {
		cleanup()
		return nil, nil, fmt.Errorf("store: open %s: %w: %w", dir, ErrServerFailed, err)
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.cancel = cancel
	go e.keep(life, proc)
	o := &redis.Options{Network: "unix", Addr: socket}
	cfg.apply(o)
	return e, redis.NewClient(o), nil
}

// start starts one server and waits until it answers; on an error none is left.
func (e *embedded) start(ctx context.Context) (*redisproc.Process, error) {
	proc, err := redisproc.Start(e.options)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, e.cfg.StartTimeout)
	defer cancel()
	err = proc.WaitReady(ctx, func() { e.log.WithField("dir", e.options.Dir).Info("waiting for redis-server to load its data") })
	if err != nil {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(err, proc.Stop(stopCtx))
	}
	return proc, nil
}

// keep starts the server again whenever it dies, until ctx ends.
func (e *embedded) keep(ctx context.Context, proc *redisproc.Process) {
	defer close(e.done)
	backoff, born := firstBackoff, time.Now()
	for {
		if proc != nil {
			select {
			case <-ctx.Done():
				stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
				defer cancel()
				e.closed = proc.Stop(stopCtx)
				return
			case <-proc.Done():
			}
			e.log.WithField("err", fmt.Sprint(proc.Err())).WithField("detail", redisproc.LastLogLine(e.options.Dir)).
				Warn("redis-server ended, starting it again")
			if time.Since(born) > steadyAfter {
				backoff = firstBackoff
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff):
			backoff = min(2*backoff, lastBackoff)
		}
		var err error
		born = time.Now()
		if proc, err = e.start(ctx); err != nil {
			if ctx.Err() == nil {
				e.log.WithError(err).Error("redis-server does not start, trying again")
			}
			continue
		}
		e.restarts.Add(1)
		e.log.WithField("restarts", e.restarts.Load()).Info("redis-server is back")
	}
}

// close stops the server and waits until it has written out everything.
func (e *embedded) close() error {
	e.once.Do(func() {
		e.cancel()
		<-e.done
		e.cleanup()
	})
	if e.closed != nil {
		return fmt.Errorf("store: close: %w", e.closed)
	}
	return nil
}

// holdsData reports whether an embedded redis-server has worked in dir.
func holdsData(dir string) bool {
	for _, name := range []string{"appendonlydir", "appendonly.aof"} { // Redis 7, Redis 6
		if _, err := os.Stat(filepath.Join(dir, serverDir, name)); err == nil {
			return true
		}
	}
	return false
}

// placeSocket is a path for the server's socket: in work, or, when that name is
// too long for a socket, in a short private folder that a link in work points
// to. cleanup removes what it made; what a killed run left is removed first.
func placeSocket(work string) (path string, cleanup func(), err error) {
	local := filepath.Join(work, socketName)
	if old, err := os.Readlink(local); err == nil && filepath.Base(old) == socketName {
		_ = os.Remove(old)
		_ = os.Remove(filepath.Dir(old)) // only when empty
	}
	if err := os.Remove(local); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", nil, fmt.Errorf("store: remove old socket: %w: %w", ErrConfig, err)
	}
	if len(local) <= redisproc.MaxSocketPath {
		return local, func() { _ = os.Remove(local) }, nil
	}
	for _, parent := range []string{"", "/tmp"} { // "" is $TMPDIR, which may be long as well
		short, err := os.MkdirTemp(parent, "orbweaver-")
		if err != nil {
			continue
		}
		path = filepath.Join(short, socketName)
		if len(path) > redisproc.MaxSocketPath {
			_ = os.Remove(short)
			continue
		}
		if err := os.Symlink(path, local); err != nil {
			_ = os.Remove(short)
			return "", nil, fmt.Errorf("store: link socket: %w: %w", ErrConfig, err)
		}
		return path, func() {
			_ = os.Remove(local)
			_ = os.Remove(path)
			_ = os.Remove(short)
		}, nil
	}
	return "", nil, fmt.Errorf("store: place socket: %w: no folder with a name short enough for a unix socket "+
		"(%d bytes): set TMPDIR or --data-dir to a shorter one", ErrConfig, redisproc.MaxSocketPath)
}
