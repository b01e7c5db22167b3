package fetcher

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"orbweaver/core/crawl"
	"orbweaver/core/netguard"
)

// Resolver turns a host name into addresses, in the order in which they are to
// be tried. *net.Resolver is one. network is always "ip".
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Config is what a Client needs to know. The zero value of a field is its
// default, filled in by WithDefaults.
type Config struct {
	// Timeout bounds a whole fetch, from the name look-up to the last byte of
	// the body (Scrapy's DOWNLOAD_TIMEOUT). Default 180 s. A request's meta may
	// have its own (download_timeout), as for MaxSize and WarnSize.
	Timeout time.Duration
	// ConnectTimeout bounds name look-up, connecting and TLS together. Default
	// 30 s, never longer than Timeout.
	ConnectTimeout time.Duration
	// HeaderTimeout bounds the wait for the end of the header, from the moment at
	// which the request is written. Default Timeout, and never longer.
	HeaderTimeout time.Duration
	// StallTimeout is how long a body may come slower than StallRate: each such
	// period has to bring StallTimeout times StallRate bytes. Default 30 s;
	// negative is no limit but Timeout.
	StallTimeout time.Duration
	// StallRate is the slowest body in bytes per second. Default 64.
	StallRate int
	// IdleTimeout is how long an unused connection is kept. Default 60 s: long
	// enough for AUTOTHROTTLE_MAX_DELAY, short enough to beat most servers.
	IdleTimeout time.Duration
	// MaxIdle bounds the unused connections of all slots together; a connection
	// over it is closed after its fetch. Default 4096; each costs a file
	// descriptor and about 1 KiB.
	MaxIdle int
	// MaxSize bounds a body in bytes, as sent, decoded, and between two codings
	// (DOWNLOAD_MAXSIZE). Default 32 MiB; negative is no limit.
	MaxSize int64
	// WarnSize is the size in bytes, as sent or decoded, over which the actor logs a warning
	// (DOWNLOAD_WARNSIZE). Default 16 MiB; negative never warns.
	WarnSize int64
	// MaxRatio is how many times its size as sent a body may have decoded, once
	// that is over 4 MiB. Default 250: pages reach 50, bombs 1000. Negative is no
	// limit but MaxSize.
	MaxRatio int
	// MaxHeaderBytes bounds the header of one response, interim (1xx) responses
	// included. Default 64 KiB, which is also the least.
	MaxHeaderBytes int
	// UserAgent is sent unless a request has its own. Default "orbweaver".
	UserAgent string
	// DefaultHeaders are sent, in this order, unless a request has its own field
	// of that name. nil is Scrapy's Accept and Accept-Language.
	DefaultHeaders []crawl.Header
	// Guard is which addresses and ports may be connected to. The zero value
	// allows public addresses, on all ports but those of other protocols.
	Guard netguard.Policy
	// Proxy is which requests go through a proxy. Default none.
	Proxy ProxyConfig
	// Auth is sent to the sites of its domain, unless a request has an
	// Authorization field of its own or user info in its URL. Default none.
	Auth Auth
	// Roots are the certificate authorities that servers are verified against.
	// nil is the system's.
	Roots *x509.CertPool
	// SkipVerify accepts any certificate, as Scrapy does. Default false.
	SkipVerify bool
	// SkipVerifyFor is the hosts, with those below them, of which any certificate
	// is accepted, as servers or as proxies. Default none.
	SkipVerifyFor []string
	// MinTLS and MaxTLS are versions as crypto/tls numbers them. MinTLS defaults to
	// TLS 1.2, MaxTLS to the newest.
	MinTLS, MaxTLS uint16
	// Resolver looks names up. nil is net.DefaultResolver.
	Resolver Resolver
}

const minHeaderBytes = 64 << 10

// WithDefaults is a copy of c in which every unset field has its default.
func (c Config) WithDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 180*time.Second)
	c.ConnectTimeout = min(cmp.Or(c.ConnectTimeout, 30*time.Second), c.Timeout)
	c.HeaderTimeout = min(cmp.Or(c.HeaderTimeout, c.Timeout), c.Timeout)
	c.StallTimeout = cmp.Or(c.StallTimeout, 30*time.Second)
	c.StallRate = cmp.Or(c.StallRate, 64)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 60*time.Second)
	c.MaxIdle = cmp.Or(c.MaxIdle, 4096)
	c.MaxSize = cmp.Or(c.MaxSize, 32<<20)
	c.WarnSize = cmp.Or(c.WarnSize, 16<<20)
	c.MaxRatio = cmp.Or(c.MaxRatio, 250)
	c.MaxHeaderBytes = cmp.Or(c.MaxHeaderBytes, minHeaderBytes)
	c.MinTLS = cmp.Or(c.MinTLS, tls.VersionTLS12)
	c.MaxTLS = cmp.Or(c.MaxTLS, tls.VersionTLS13)
	c.UserAgent = cmp.Or(c.UserAgent, "orbweaver")
	if c.DefaultHeaders == nil {
		c.DefaultHeaders = []crawl.Header{
			{Name: "Accept", Value: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
			{Name: "Accept-Language", Value: "en"},
		}
	}
	c.Proxy = c.Proxy.withDefaults()
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	return c
}

// Validate gives all that is wrong with c, after WithDefaults.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("fetcher: config: "+format, args...))
	}
	if c.Timeout < 0 {
		bad("timeout %s: want more than 0", c.Timeout)
	}
	if c.ConnectTimeout < 0 {
		bad("connect timeout %s: want more than 0", c.ConnectTimeout)
	}
	if c.HeaderTimeout < 0 {
		bad("header timeout %s: want more than 0", c.HeaderTimeout)
	}
	if c.StallRate < 0 {
		bad("stall rate %d: want at least 1", c.StallRate)
	}
	if c.IdleTimeout < 0 {
		bad("idle timeout %s: want more than 0", c.IdleTimeout)
	}
	if c.MaxIdle < 0 {
		bad("max idle %d: want at least 0", c.MaxIdle)
	}
	if c.MaxHeaderBytes < minHeaderBytes {
		bad("max header bytes %d: want at least %d", c.MaxHeaderBytes, minHeaderBytes)
	}
	if c.MinTLS < tls.VersionTLS10 || c.MinTLS > c.MaxTLS {
		bad("TLS from %s to %s: want TLS 1.0 at least, the lower one first", tls.VersionName(c.MinTLS), tls.VersionName(c.MaxTLS))
	}
	if !validValue(c.UserAgent) {
		bad("user agent %q: not a header value", c.UserAgent)
	}
	for _, h := range c.DefaultHeaders {
		if !validToken(h.Name) || !validValue(h.Value) {
			bad("default header %q: not a header field", h.Name)
		}
	}
	if err := c.Guard.Validate(); err != nil {
		bad("guard: %w", err)
	}
	return errors.Join(errs...)
}
