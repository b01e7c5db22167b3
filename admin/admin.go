// Package admin is the HTTP endpoint by which people and programs look into a
// running node and send it seeds: JSON under /api/v1, /metrics for Prometheus,
// /healthz. The main type is Server. It knows nothing of actors or Redis: what
// it shows comes from the interfaces in backend.go, which cmd/node fills.
//
// There is no authentication yet. The endpoint listens on a loopback address by
// default and keeps web pages out: it answers only to host names that cannot be
// rebound to it, sends no CORS header and refuses cross-origin writes.
package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
)

// Config is where and how the endpoint listens.
type Config struct {
	// Address is HOST:PORT; port 0 takes a free one. Required.
	Address string
	// Timeout bounds what a request may wait for the node. Default 10 s, also for 0.
	Timeout time.Duration
	// SeedLimitBytes bounds the body of a POST of seeds. Default 16 MiB, also for 0.
	SeedLimitBytes int64
}

// WithDefaults fills in the defaults.
func (c Config) WithDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.SeedLimitBytes = cmp.Or(c.SeedLimitBytes, 16<<20)
	return c
}

// Validate reports all problems.
func (c Config) Validate() error {
	var problems []error
	if _, _, err := net.SplitHostPort(c.Address); err != nil {
		problems = append(problems, fmt.Errorf("admin: address %q: %w", c.Address, err))
	}
	if c.Timeout < 0 {
		problems = append(problems, fmt.Errorf("admin: timeout %s is negative", c.Timeout))
	}
	if c.SeedLimitBytes < 0 {
		problems = append(problems, fmt.Errorf("admin: seed limit of %d bytes is negative", c.SeedLimitBytes))
	}
	return errors.Join(problems...)
}

// Deps is what the endpoint shows and calls. All are required but Health.
type Deps struct {
	Inspector Inspector
	Crawler   Crawler
	Cluster   Cluster
	Parker    Parker // nil: parking is not to be had
	Metrics   prometheus.Gatherer
	Log       logrus.FieldLogger
	// Health says why the node is not well; nil, as a function or an answer, is well.
	Health func(ctx context.Context) error
}

// Server is the endpoint. Its methods are safe for concurrent use.
type Server struct {
	cfg      Config
	deps     Deps
	http     *http.Server
	listener net.Listener // set by Listen, before anything is served
}

// New makes a Server that does not listen yet. It panics on a missing Dep.
func New(cfg Config, deps Deps) (*Server, error) {
	if deps.Inspector == nil || deps.Crawler == nil || deps.Cluster == nil || deps.Metrics == nil || deps.Log == nil {
		panic("admin: missing dependency")
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg.WithDefaults(), deps: deps}
	s.http = &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30*time.Second + s.cfg.Timeout,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          log.New(logWriter{deps.Log}, "", 0),
	}
	return s, nil
}

// Listen takes the address, looking a name up until ctx ends, and starts
// serving; Shutdown ends it. It is called once.
func (s *Server) Listen(ctx context.Context) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", s.cfg.Address)
	if err != nil {
		return fmt.Errorf("admin: listen: %w", err)
	}
	s.listener = l
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		s.deps.Log.WithField("address", l.Addr().String()).
			Warn("admin endpoint is open to the network and asks for no password")
	}
	go func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.deps.Log.WithField("err", err).Error("admin endpoint stopped")
		}
	}()
	return nil
}

// Addr is the address listened on, with the port taken; "" before Listen.
func (s *Server) Addr() string {
	if s.listener == nil {
		return ""
	}
	return s.listener.Addr().String()
}

// Shutdown stops listening, waits for the requests under way until ctx ends and
// then breaks them off.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("admin: shut down: %w", err), s.http.Close())
	}
	return nil
}

// logWriter takes what net/http has to say.
type logWriter struct{ log logrus.FieldLogger }

func (w logWriter) Write(p []byte) (int, error) {
	w.log.WithField("detail", strings.TrimSpace(string(p))).Warn("admin endpoint")
	return len(p), nil
}
