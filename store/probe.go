package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"orbweaver/store/redisproc"
)

// loadingPause is the time between two questions to a server that loads.
const loadingPause = 200 * time.Millisecond

// serverInfo is what INFO says that matters here; "" for what it does not say.
type serverInfo struct {
	version string // redis_version; Valkey tells the Redis that it is compatible with
	mode    string // standalone, cluster, sentinel
	role    string // master, slave
}

// probe asks the server who it is until it has an answer, waiting (bounded by
// cfg.StartTimeout) only for one that loads its data. The error says what to do.
func probe(ctx context.Context, client redis.UniversalClient, t *target, cfg Config) (serverInfo, error) {
	deadline := time.Now().Add(cfg.StartTimeout)
	for said := false; ; said = true {
		text, err := client.Info(ctx).Result()
		if err == nil {
			in := parseInfo(text)
			return in, in.check(t)
		}
		if !isLoading(err) || time.Now().After(deadline) {
			return serverInfo{}, explain(ctx, t, err)
		}
		if !said {
			cfg.Log.WithField("url", t.String()).Info("waiting for Redis to load its data")
		}
		select {
		case <-ctx.Done():
			return serverInfo{}, fmt.Errorf("store: open %s: %w: %w", t, ErrLoading, ctx.Err())
		case <-time.After(loadingPause):
		}
	}
}

func parseInfo(text string) serverInfo {
	var in serverInfo
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "redis_version":
			in.version = value
		case "redis_mode":
			in.mode = value
		case "role":
			in.role = value
		}
	}
	return in
}

// check refuses servers that answer and still cannot hold a frontier. A server
// that does not tell a version (some compatible ones) is taken at its word.
func (in serverInfo) check(t *target) error {
	switch {
	case in.mode == "sentinel":
		return fmt.Errorf("store: open %s: %w: it is a Sentinel; name its master: redis+sentinel://host:26379/MASTER", t, ErrConfig)
	case in.version != "" && redisproc.TooOld(in.version):
		return fmt.Errorf("store: open %s: %w: version %.40q, and the scripts need Redis %d.%d or later, or Valkey",
			t, ErrTooOld, in.version, redisproc.OldestMajor, redisproc.OldestMinor)
	case in.role == "slave" && !t.cluster:
		return fmt.Errorf("store: open %s: %w: it is a read-only replica; name the primary, or its Sentinels as redis+sentinel://", t, ErrNotPrimary)
	}
	return nil
}

func isLoading(err error) bool { return redis.IsLoadingError(err) }

// explain turns the first failure of a connection into a line that says what is
// wrong and what to do.
func explain(ctx context.Context, t *target, err error) error {
	say := func(kind error, hint string) error {
		return fmt.Errorf("store: open %s: %w: %s (%w)", t, kind, hint, err)
	}
	var (
		reply     redis.Error
		dial      *net.OpError
		record    tls.RecordHeaderError
		cert      *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		timeout   net.Error
	)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("store: open %s: %w: %w", t, ErrUnreachable, ctx.Err())
	case t.master != "" && errors.Is(err, redis.Nil):
		return say(ErrConfig, fmt.Sprintf("the Sentinels know no master %q", t.master))
	case isLoading(err):
		return say(ErrLoading, "try again when it has finished")
	case errors.As(err, &reply):
		return explainReply(t, reply, say)
	case errors.As(err, &record):
		return say(ErrNotRedis, "it does not speak TLS on this port: use redis:// instead of rediss://")
	case errors.As(err, &cert), errors.As(err, &authority):
		return say(ErrUnreachable, "its TLS certificate is not trusted: correct the host name or install its authority's certificate")
	case errors.As(err, &dial) && dial.Op == "dial":
		return say(ErrUnreachable, dialHint(dial))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return say(ErrNotRedis, "it closed the connection: it is no Redis, or wants TLS (rediss://)")
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		if t.options.TLSConfig != nil {
			return say(ErrUnreachable, "it takes connections and does not answer: it does not speak TLS (use redis://), hangs, or is no Redis")
		}
		return say(ErrUnreachable, "it takes connections and does not answer: it hangs, or is no Redis")
	case strings.Contains(err.Error(), "cluster has no nodes"), t.master != "":
		return say(ErrUnreachable, "none of the addresses gives an answer that leads to a primary")
	default:
		return say(ErrNotRedis, "something else answers there: correct the host and port")
	}
}

func dialHint(dial *net.OpError) string {
	var dns *net.DNSError
	switch {
	case errors.As(dial, &dns):
		return "the host's name has no address: correct --redis"
	case dial.Net == "unix":
		return "no server listens on this socket: start one, or leave --redis out to use an embedded Redis"
	default:
		return "no server answers there: start a Redis, correct --redis, or leave it out to use an embedded one"
	}
}

// explainReply is explain for an answer that is a Redis error.
func explainReply(t *target, reply redis.Error, say func(error, string) error) error {
	text := reply.Error()
	has := func(prefix string) bool { return strings.HasPrefix(text, prefix) }
	switch {
	case has("NOAUTH"), strings.Contains(text, "Authentication required"):
		return say(ErrAuth, "it wants a password: redis://:PASSWORD@host or redis://USER:PASSWORD@host")
	case has("WRONGPASS"), strings.Contains(text, "invalid password"), strings.Contains(text, "invalid username-password"):
		return say(ErrAuth, "user name or password is wrong")
	case has("NOPERM"):
		return say(ErrAuth, "the user may not run INFO: allow it (+info), or use another user")
	case has("DENIED"):
		return say(ErrAuth, "it is in protected mode and takes only local connections without a password: set one")
	case has("MASTERDOWN"), has("READONLY"):
		return say(ErrNotPrimary, "it is a replica: name the primary")
	case has("CLUSTERDOWN"):
		return say(ErrUnreachable, "the cluster has slots that nobody serves")
	case has("ERR max number of clients"):
		return say(ErrUnreachable, "it has no connection left: raise its maxclients")
	case has("ERR SELECT is not allowed in cluster mode"):
		return say(ErrConfig, "a Redis Cluster has only database 0")
	case has("ERR DB index"):
		return say(ErrConfig, "it has no database of this number")
	case t.master != "" && strings.Contains(text, "unknown command"):
		return say(ErrConfig, "it is no Sentinel: name a Redis as redis://")
	case t.cluster && strings.Contains(text, "cluster support disabled"):
		return say(ErrConfig, "several addresses mean a Redis Cluster, and this is none: name one address")
	default:
		return say(ErrNotRedis, "it refuses INFO")
	}
}
