package resolver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// System looks names up where no name server is known. *net.Resolver is one.
type System interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Config is what a Resolver needs to know. The zero value of a field is its
// default, filled in by WithDefaults.
type Config struct {
	// Timeout bounds one look-up, all tries and name servers together. Default 60 s.
	Timeout time.Duration
	// Size is how many names are remembered, found or not; each costs about
	// 300 bytes. Default 10 000; negative remembers none.
	Size int
	// TTL is how long addresses are used that come without a time of their own:
	// those of System. Default 60 s.
	TTL time.Duration
	// MaxTTL bounds the time that a zone gives its addresses. Default 1 h.
	MaxTTL time.Duration
	// NegativeTTL bounds the time for which a name is known not to exist.
	// Default 30 s; negative forgets at once.
	NegativeTTL time.Duration
	// Servers are the name servers. None: those that ResolvConf names.
	Servers []netip.AddrPort
	// ResolvConf is a resolv.conf(5) file, read again when it changes. Default
	// /etc/resolv.conf. Where it names no server, System answers.
	ResolvConf string
	// Hosts is a hosts(5) file, read again when it changes; it has the first
	// word. Default /etc/hosts.
	Hosts string
	// System is asked when there are no name servers. nil is net.DefaultResolver.
	System System
	// Now is the clock. nil is time.Now.
	Now func() time.Time
}

// WithDefaults is a copy of c in which every unset field has its default.
func (c Config) WithDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 60*time.Second)
	c.Size = cmp.Or(c.Size, 10_000)
	c.TTL = cmp.Or(c.TTL, 60*time.Second)
	c.MaxTTL = cmp.Or(c.MaxTTL, time.Hour)
	c.NegativeTTL = cmp.Or(c.NegativeTTL, 30*time.Second)
	c.ResolvConf = cmp.Or(c.ResolvConf, "/etc/resolv.conf")
	c.Hosts = cmp.Or(c.Hosts, "/etc/hosts")
	if c.System == nil {
		c.System = net.DefaultResolver
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Validate gives all that is wrong with c, after WithDefaults.
func (c Config) Validate() error {
	var errs []error
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"timeout", c.Timeout}, {"TTL", c.TTL}, {"max TTL", c.MaxTTL}} {
		if f.value < 0 {
			errs = append(errs, fmt.Errorf("resolver: config: %s %s: want more than 0", f.name, f.value))
		}
	}
	for _, s := range c.Servers {
		if !s.IsValid() || s.Port() == 0 {
			errs = append(errs, fmt.Errorf("resolver: config: server %s: not an address with a port", s))
		}
	}
	return errors.Join(errs...)
}
