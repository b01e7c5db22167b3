// Package store opens the Redis that a node works on: the one that a URL names,
// or, without a URL, an embedded one in the data folder (a private redis-server
// that dies with this process, or a miniredis inside it). It hands out a client
// and a word on what survives; keys and scripts are core/rqueue's.
package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/sirupsen/logrus"

	"orbweaver/store/redisproc"
)

// What Open's errors wrap. ErrConfig is a mistake in the settings; every other
// one means that the settings were read and the store is not to be had.
var (
	ErrConfig       = errors.New("bad setting")
	ErrUnreachable  = errors.New("cannot be reached")
	ErrAuth         = errors.New("refuses these credentials")
	ErrNotRedis     = errors.New("does not speak the Redis protocol")
	ErrTooOld       = errors.New("is too old")
	ErrLoading      = errors.New("is still loading its data")
	ErrNotPrimary   = errors.New("cannot be written to")
	ErrLocked       = errors.New("is in use")
	ErrServerNeeded = errors.New("needs a redis-server")
	ErrServerFailed = errors.New("redis-server does not start")
)

// What Kind returns.
const (
	KindRedis          = "redis"
	KindEmbeddedServer = "embedded redis-server"
	KindEmbeddedMemory = "embedded miniredis"
)

// Store is an open Redis. Its methods may be called from any goroutine.
type Store struct {
	client   redis.UniversalClient
	kind     string
	describe string
	embedded *embedded // nil unless a redis-server is our child
	memory   *memory   // nil unless miniredis
	lock     *folderLock
}

// Open connects to cfg.URL, or locks cfg.DataDir and starts the embedded Redis
// there. It returns when the store answers and has loaded its data; all waits
// are bounded by cfg and ctx. The error is one line that says what is wrong, with
// which URL or folder (passwords masked), and what to do; it wraps one of the
// sentinels above. cfg.Log gets what happens later, too (the server restarted).
//
// Open also sends go-redis's own messages, of which there is one stream per
// process, to cfg.Log at Debug.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	redis.SetLogger(libraryLog{cfg.Log.WithField("part", "go-redis")})
	if cfg.URL != "" {
		return openURL(ctx, cfg)
	}
	return openEmbedded(ctx, cfg)
}

func openURL(ctx context.Context, cfg Config) (*Store, error) {
	t, err := parseURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	client := t.newClient(cfg)
	in, err := probe(ctx, client, t, cfg)
	if err == nil && in.mode == "cluster" && !t.cluster {
		// A member of a cluster: the same address is the way to the others.
		_ = client.Close()
		if t.options.DB != 0 {
			return nil, fmt.Errorf("store: open %s: %w: a Redis Cluster has only database 0", t, ErrConfig)
		}
		t.cluster = true
		client = t.newClient(cfg)
		in, err = probe(ctx, client, t, cfg)
	}
	if err != nil {
		_ = client.Close()
		return nil, err
	}
	return &Store{client: client, kind: KindRedis, describe: fmt.Sprintf("redis %s at %s", in.version, t)}, nil
}

func openEmbedded(ctx context.Context, cfg Config) (*Store, error) {
	dir, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return nil, fmt.Errorf("store: open %s: %w: %w", cfg.DataDir, ErrConfig, err)
	}
	s := &Store{}
	if s.lock, err = lockFolder(ctx, dir); err != nil {
		return nil, err
	}
	if err := s.embed(ctx, cfg, dir); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// embed starts what the locked folder dir gets: a redis-server or miniredis.
func (s *Store) embed(ctx context.Context, cfg Config, dir string) error {
	server, err := findServer(ctx, cfg, dir)
	if err != nil {
		return err
	}
	if server.Path == "" {
		s.kind = KindEmbeddedMemory
		s.describe = KindEmbeddedMemory + " (in memory: nothing outlives this run)"
		s.memory, s.client, err = startMemory(cfg)
		return err
	}
	s.kind = KindEmbeddedServer
	s.describe = fmt.Sprintf("%s %s in %s (append-only file, fsync %s)", KindEmbeddedServer, server.Version, dir, cfg.Fsync)
	s.embedded, s.client, err = startEmbedded(ctx, cfg, server, dir, s.lock.file)
	return err
}

// findServer picks the program for the folder; an empty Path means miniredis.
// A folder that holds a crawl is never opened without the server it needs:
// starting empty would look like a finished resume.
func findServer(ctx context.Context, cfg Config, dir string) (redisproc.Server, error) {
	var names []string
	if cfg.Server != "" {
		names = []string{cfg.Server}
	}
	var missing error
	if cfg.Server == ServerNone {
		missing = errors.New("redis.server is \"" + ServerNone + "\"")
	} else {
		server, err := redisproc.Find(ctx, names...)
		if err == nil {
			return server, nil
		}
		if ctx.Err() != nil {
			return redisproc.Server{}, fmt.Errorf("store: open %s: %w", dir, ctx.Err())
		}
		if cfg.Server != "" {
			return redisproc.Server{}, fmt.Errorf("store: open %s: %w: %w", dir, ErrServerNeeded, err)
		}
		missing = err
	}
	if holdsData(dir) {
		return redisproc.Server{}, fmt.Errorf("store: open %s: %w: the folder holds a crawl, and %w: "+
			"install redis-server 6.2 or later (or Valkey), or use another --data-dir", dir, ErrServerNeeded, missing)
	}
	cfg.Log.WithField("reason", strings.TrimPrefix(missing.Error(), "redisproc: ")).
		Warn("no redis-server to start: the crawl is kept in memory, nothing outlives this run")
	return redisproc.Server{}, nil
}

// Client is the client of the store: no retries of its own (MaxRetries -1),
// deadlines from the context. It reconnects by itself. Close closes it.
func (s *Store) Client() redis.UniversalClient { return s.client }

// Kind is KindRedis, KindEmbeddedServer or KindEmbeddedMemory.
func (s *Store) Kind() string { return s.kind }

// Embedded reports whether the Redis is ours alone, under the folder's lock.
func (s *Store) Embedded() bool { return s.kind != KindRedis }

// Persistent reports whether the data outlives this process. An external Redis
// counts as persistent: what it keeps over its own end is its owner's setting.
func (s *Store) Persistent() bool { return s.kind != KindEmbeddedMemory }

// Describe is a phrase for the log: kind, version, place, durability.
func (s *Store) Describe() string { return s.describe }

// Restarts counts how often a died embedded redis-server was started again.
func (s *Store) Restarts() int64 {
	if s.embedded == nil {
		return 0
	}
	return s.embedded.restarts.Load()
}

// Close closes the client, stops the embedded server after it has written out
// everything (waiting a bounded time), and lets the data folder go. A second
// call does nothing.
func (s *Store) Close() error {
	var errs []error
	if s.client != nil {
		if err := s.client.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
			errs = append(errs, fmt.Errorf("store: close client: %w", err))
		}
	}
	if s.embedded != nil {
		errs = append(errs, s.embedded.close())
	}
	if s.memory != nil {
		s.memory.close()
	}
	if s.lock != nil {
		s.lock.release()
	}
	return errors.Join(errs...)
}

// libraryLog is go-redis's logger: its messages repeat while a server is away,
// and callers get the same as errors.
type libraryLog struct{ log logrus.FieldLogger }

func (l libraryLog) Printf(_ context.Context, format string, args ...any) {
	l.log.Debugf(format, args...)
}
