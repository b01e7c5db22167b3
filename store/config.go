package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/sirupsen/logrus"
)

// ServerNone as Config.Server means: no redis-server, miniredis in the process.
const ServerNone = "none"

// Config says which Redis and how to wait for it. The zero value is the embedded
// Redis in ".orbweaver".
type Config struct {
	// URL of the Redis, in the forms of parseURL (redis, rediss, unix,
	// redis+sentinel; several addresses are a cluster). Empty: embedded.
	URL string
	// DataDir is the folder of the embedded Redis; made when missing. Default
	// ".orbweaver". Unused with a URL.
	DataDir string
	// Server is the embedded server's program: a path or a name on PATH; "none"
	// for miniredis. Empty: redis-server, valkey-server, or else miniredis.
	Server string
	// Fsync is the embedded server's appendfsync. "everysec" (default) loses up
	// to a second when the machine stops (not when a process dies), "always"
	// nothing and costs a disk flush per batch.
	Fsync string
	// StartTimeout bounds the wait for a server that starts or loads its data.
	// Default 2 minutes; loading takes roughly 10 s per GB.
	StartTimeout time.Duration
	// DialTimeout and Timeout bound a connect (default 3 s) and one exchange
	// (default 5 s) unless the URL or the call's context says less.
	DialTimeout time.Duration
	Timeout     time.Duration
	// PoolSize is the most connections per Redis server. Default 4 per CPU, at
	// least 8: the node talks in few, large batches.
	PoolSize int
	// Log gets warnings about the store. nil: nothing is logged.
	Log logrus.FieldLogger
}

// WithDefaults is a copy with every unset field at its default.
func (c Config) WithDefaults() Config {
	c.DataDir = cmp.Or(c.DataDir, ".orbweaver")
	c.Fsync = cmp.Or(c.Fsync, "everysec")
	c.StartTimeout = cmp.Or(c.StartTimeout, 2*time.Minute)
	c.DialTimeout = cmp.Or(c.DialTimeout, 3*time.Second)
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	c.PoolSize = cmp.Or(c.PoolSize, max(8, 4*runtime.GOMAXPROCS(0)))
	if c.Log == nil {
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		c.Log = silent
	}
	return c
}

// Validate reports every bad setting; the error wraps ErrConfig. The URL's host
// is not looked up.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("store: %w: "+format, append([]any{ErrConfig}, args...)...))
	}
	if c.URL != "" {
		if _, err := parseURL(c.URL); err != nil {
			errs = append(errs, err)
		}
	}
	switch c.Fsync {
	case "always", "everysec", "no":
	default:
		bad("fsync %q: want always, everysec or no", c.Fsync)
	}
	if c.StartTimeout <= 0 || c.DialTimeout <= 0 || c.Timeout <= 0 {
		bad("timeouts %s, %s, %s: want more than 0", c.StartTimeout, c.DialTimeout, c.Timeout)
	}
	if c.PoolSize <= 0 {
		bad("pool size %d: want 1 or more", c.PoolSize)
	}
	return errors.Join(errs...)
}
