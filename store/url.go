package store

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const forms = "want redis://[user:password@]host[:port][/db], rediss:// for TLS, unix:///path/to/socket, " +
	"redis://host1:port1,host2:port2 for a cluster, redis+sentinel://host1:port1,host2:port2/master[/db]"

// target is a parsed store URL.
type target struct {
	options          *redis.Options // of the (first) address
	addrs            []string       // every address, host:port
	cluster          bool
	master           string // Sentinel's name for the primary; "" without Sentinel
	sentinelUser     string
	sentinelPassword string
	display          string // the URL with passwords masked
}

// String is the URL with passwords masked.
func (t *target) String() string { return t.display }

// parseURL reads what go-redis's ParseURL takes (redis, rediss, unix, with its
// query parameters, among them skip_verify), and beyond it: a bare host:port or
// socket path; several addresses separated by commas, which are a cluster; and
// redis+sentinel or rediss+sentinel with the primary's name as the first path
// segment and the query parameters sentinel_username and sentinel_password. The
// error wraps ErrConfig and repeats no password.
func parseURL(raw string) (*target, error) {
	shown := mask(raw)
	fail := func(why string) (*target, error) {
		if strings.HasSuffix(shown, "***") { // then a reason could repeat the password
			why = "not a URL; write / # ? @ : % in a password as %2F %23 %3F %40 %3A %25"
		}
		return nil, fmt.Errorf("store: open %s: %w: %s; %s", shown, ErrConfig, why, forms)
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		scheme, rest = "redis", raw
		if strings.HasPrefix(raw, "/") {
			scheme = "unix"
		}
	}
	scheme, sentinel := strings.CutSuffix(strings.ToLower(scheme), "+sentinel")
	if scheme != "redis" && scheme != "rediss" && (scheme != "unix" || sentinel) {
		return fail("unknown scheme")
	}

	// The hosts are cut out before net/url sees them: it takes only one.
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, path := rest[:end], rest[end:]
	user, hosts := "", authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, hosts = authority[:at+1], authority[at+1:]
	}
	addrs := strings.Split(hosts, ",")
	u, err := url.Parse(scheme + "://" + user + addrs[0] + path)
	if err != nil {
		// net/url's own words may hold a piece of the password.
		return fail("not a URL; write / # ? @ : % in a password as %2F %23 %3F %40 %3A %25")
	}
	if u.Fragment != "" {
		return fail("a # has no meaning here (in a password, write %23)")
	}
	t := &target{display: shown, cluster: len(addrs) > 1 && !sentinel}
	if sentinel {
		if err := t.takeSentinel(u); err != nil {
			return fail(err.Error())
		}
	}
	if t.options, err = redis.ParseURL(u.String()); err != nil {
		return fail(strings.TrimPrefix(err.Error(), "redis: "))
	}
	if scheme == "unix" {
		t.addrs = []string{t.options.Addr}
		return t, nil
	}
	defaultPort := "6379"
	if sentinel {
		defaultPort = "26379"
	}
	for _, addr := range addrs {
		a, err := url.Parse("redis://" + addr)
		if err != nil || a.User != nil || a.Path != "" || (a.Hostname() == "" && len(addrs) > 1) {
			return fail(fmt.Sprintf("bad address %q", addr))
		}
		host, port := a.Hostname(), a.Port()
		if host == "" {
			host = "localhost"
		}
		if port == "" {
			port = defaultPort
		}
		t.addrs = append(t.addrs, net.JoinHostPort(host, port))
	}
	t.options.Addr = t.addrs[0]
	if t.cluster && t.options.DB != 0 {
		return fail("a Redis Cluster has only database 0")
	}
	return t, nil
}

// takeSentinel moves what go-redis's ParseURL does not know out of u.
func (t *target) takeSentinel(u *url.URL) error {
	name, db, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if name == "" {
		return errors.New("the name of Sentinel's master is missing")
	}
	t.master = name
	u.Path, u.RawPath = "/"+db, ""
	q := u.Query()
	t.sentinelUser, t.sentinelPassword = q.Get("sentinel_username"), q.Get("sentinel_password")
	q.Del("sentinel_username")
	q.Del("sentinel_password")
	u.RawQuery = q.Encode()
	return nil
}

// newClient makes the client for the target; it does not connect.
func (t *target) newClient(cfg Config) redis.UniversalClient {
	o := *t.options
	if o.TLSConfig != nil {
		o.TLSConfig = o.TLSConfig.Clone()
	}
	cfg.apply(&o)
	if !t.cluster && t.master == "" {
		return redis.NewClient(&o)
	}
	o.TLSConfig = clusterTLS(o.TLSConfig)
	u := &redis.UniversalOptions{
		Addrs: slices.Clone(t.addrs), MasterName: t.master, IsClusterMode: t.cluster,
		SentinelUsername: t.sentinelUser, SentinelPassword: t.sentinelPassword,
		Username: o.Username, Password: o.Password, DB: o.DB, ClientName: o.ClientName,
		Dialer: dialer(&o), Protocol: o.Protocol, MaxRetries: o.MaxRetries, DialerRetries: o.DialerRetries,
		DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
		ContextTimeoutEnabled: o.ContextTimeoutEnabled, PoolSize: o.PoolSize, PoolTimeout: o.PoolTimeout,
		PipelinePoolSize: o.PipelinePoolSize, ReadBufferSize: o.ReadBufferSize, WriteBufferSize: o.WriteBufferSize,
		MinIdleConns: o.MinIdleConns, MaxIdleConns: o.MaxIdleConns, MaxActiveConns: o.MaxActiveConns,
		ConnMaxIdleTime: o.ConnMaxIdleTime, ConnMaxLifetime: o.ConnMaxLifetime,
		DisableIdentity: o.DisableIdentity, MaintNotificationsConfig: o.MaintNotificationsConfig,
		TLSConfig: o.TLSConfig,
	}
	if t.cluster {
		return redis.NewClusterClient(u.Cluster())
	}
	return redis.NewFailoverClient(u.Failover())
}

// clusterTLS drops the first host's name: each server is checked under its own.
func clusterTLS(c *tls.Config) *tls.Config {
	if c == nil {
		return nil
	}
	c = c.Clone()
	c.ServerName = ""
	return c
}

// apply sets what is the crawler's and not the URL's to say, and fills what the
// URL left open.
func (c Config) apply(o *redis.Options) {
	// A retry inside the client would run a lease twice (PROTOCOL rule 11).
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.ContextTimeoutEnabled = true
	o.DisableIdentity = true
	// Push frames are of no use here and are looked for at every reply.
	o.Protocol = 2
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	// One pool: a batch and what must follow it use the same connections.
	o.PipelinePoolSize = -1
	o.ReadBufferSize, o.WriteBufferSize = bufferBytes, bufferBytes
	if o.DialTimeout == 0 {
		o.DialTimeout = c.DialTimeout
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = c.Timeout
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = c.Timeout
	}
	if o.PoolSize == 0 {
		o.PoolSize = c.PoolSize
	}
	o.Dialer = dialer(o)
}

// bufferBytes is a connection's read and write buffer: a batch of enqueues fits.
const bufferBytes = 64 << 10

// mask is the URL for messages: user:password becomes user:***, a lone user ***
// (it may be a password at the wrong place), query parameters that name a
// password lose their value. An @ after the host part means that a password was
// written unescaped: nothing after the scheme is shown then.
func mask(raw string) string {
	raw = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, raw)
	scheme, rest, hasScheme := strings.Cut(raw, "://")
	if !hasScheme {
		scheme, rest = "", raw
	} else {
		scheme += "://"
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, path := rest[:end], rest[end:]
	if strings.Contains(path, "@") && scheme != "unix://" {
		return scheme + "***"
	}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, _, hasPassword := strings.Cut(authority[:at], ":")
		if hasPassword {
			user += ":"
		} else {
			user = ""
		}
		authority = user + "***" + authority[at:]
	}
	path, query, hasQuery := strings.Cut(path, "?")
	if hasQuery {
		params := strings.Split(query, "&")
		for i, param := range params {
			name, _, hasValue := strings.Cut(param, "=")
			if hasValue && strings.Contains(strings.ToLower(name), "password") {
				params[i] = name + "=***"
			}
		}
		path += "?" + strings.Join(params, "&")
	}
	return scheme + authority + path
}
