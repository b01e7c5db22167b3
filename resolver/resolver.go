// Package resolver looks host names up and remembers what it found, for as long
// as their zones allow. Resolver is the main type.
//
// The hosts file has the first word, then the name servers of resolv.conf, with
// its search list; where there are none the system's own resolver answers. Of
// many callers who want one name, one look-up serves all. It judges no address:
// that is for whoever connects, at each connection.
package resolver

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// failureTTL is how long a failed look-up is remembered (RFC 9520 section 3.2:
// at least 1 s).
const failureTTL = time.Second

// Resolver looks names up. Safe for concurrent use; it needs no closing, and no
// goroutine of it outlives the look-ups that its callers wait for.
type Resolver struct {
	cfg     Config
	hosts   watched[hosts]
	servers watched[*servers]
	slots   chan struct{} // one for each query under way

	mu    sync.Mutex
	known cache            // guarded by mu
	calls map[string]*call // guarded by mu; look-ups under way
}

// answer is what a look-up brought.
type answer struct {
	addrs []netip.Addr
	err   error
	ttl   time.Duration // 0: for those who wait for it, and nobody later
}

// call is a look-up under way.
type call struct {
	done    chan struct{} // closed when answer is there
	answer  answer        // written before done is closed
	cancel  context.CancelFunc
	waiters int // guarded by Resolver.mu
}

// New gives a Resolver, or what is wrong with the configuration.
func New(cfg Config) (*Resolver, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	r := &Resolver{
		cfg:     cfg,
		hosts:   watched[hosts]{path: cfg.Hosts, parse: parseHosts},
		servers: watched[*servers]{path: cfg.ResolvConf, parse: parseResolvConf},
		slots:   make(chan struct{}, maxQueries),
		known:   cache{size: cfg.Size},
		calls:   map[string]*call{},
	}
	return r, nil
}

// LookupNetIP gives the addresses of a name, IPv4 first, each family in the order
// of its server; network is not looked at. The slice is shared: it is not to be
// changed. The error is a *net.DNSError, or ctx's.
func (r *Resolver) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	name, err := canonical(host)
	if err != nil {
		return nil, err
	}
	now := r.cfg.Now()
	if addrs := r.hosts.get(now)[name]; len(addrs) > 0 {
		return addrs, nil
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") { // RFC 6761 section 6.3
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	r.mu.Lock()
	if a, ok := r.known.get(name, now); ok {
		r.mu.Unlock()
		return a.addrs, a.err
	}
	c := r.join(ctx, name)
	r.mu.Unlock()
	select {
	case <-c.done:
		return c.answer.addrs, c.answer.err
	case <-ctx.Done():
		r.leave(name, c)
		return nil, ctx.Err()
	}
}

// join waits for the look-up of name that is under way, or begins one. Called
// with mu held.
func (r *Resolver) join(ctx context.Context, name string) *call {
	c := r.calls[name]
	if c == nil {
		// The look-up is for all who wait: it does not end with the first of them.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.Timeout)
		c = &call{done: make(chan struct{}), cancel: cancel}
		r.calls[name] = c
		go r.run(ctx, name, c)
	}
	c.waiters++
	return c
}

// leave ends a look-up that nobody waits for any more.
func (r *Resolver) leave(name string, c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.waiters--; c.waiters > 0 {
		return
	}
	if r.calls[name] == c {
		delete(r.calls, name) // whoever comes now begins anew
	}
	c.cancel()
}

func (r *Resolver) run(ctx context.Context, name string, c *call) {
	defer c.cancel()
	a := r.ask(ctx, name)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls[name] == c {
		delete(r.calls, name)
		if a.ttl > 0 {
			r.known.put(name, a, r.cfg.Now().Add(a.ttl))
		}
	}
	c.answer = a
	close(c.done)
}

// ask looks a name up, whatever is known of it. A panic is a failed look-up: the
// bytes that led to it are a stranger's.
func (r *Resolver) ask(ctx context.Context, name string) (a answer) {
	defer func() {
		if reason := recover(); reason != nil {
			a = failed(name, fmt.Sprintf("look-up panicked: %v", reason))
		}
	}()
	s := r.servers.get(r.cfg.Now())
	if len(r.cfg.Servers) > 0 {
		s = &servers{addrs: r.cfg.Servers, try: defaultTry, attempts: defaultAttempts}
	}
	if s == nil || len(s.addrs) == 0 {
		return r.askSystem(ctx, name)
	}
	return r.askServers(ctx, s, name)
}

func (r *Resolver) askSystem(ctx context.Context, name string) answer {
	addrs, err := r.cfg.System.LookupNetIP(ctx, "ip", name)
	switch dns, isDNS := err.(*net.DNSError); { //nolint:errorlint // its documented type
	case err == nil && len(addrs) > 0:
		return answer{addrs: ordered(addrs), ttl: r.cfg.TTL}
	case err == nil, isDNS && dns.IsNotFound:
		return missing(name, r.negative(r.cfg.NegativeTTL))
	default:
		return failed(name, err.Error())
	}
}

// negative bounds the time for which a name is known not to exist.
func (r *Resolver) negative(ttl time.Duration) time.Duration {
	return max(0, min(ttl, r.cfg.NegativeTTL))
}

func missing(name string, ttl time.Duration) answer {
	return answer{err: &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}, ttl: ttl}
}

func failed(name, why string) answer {
	return answer{err: &net.DNSError{Err: why, Name: name, IsTemporary: true}, ttl: failureTTL}
}

// maxAddrs bounds what is kept of a name that has many addresses.
const maxAddrs = 32

// ordered puts IPv4 first. A broken IPv6 path costs every new connection the head
// start of the first family; sites on IPv6 alone are reached all the same.
func ordered(addrs []netip.Addr) []netip.Addr {
	out := make([]netip.Addr, 0, min(len(addrs), maxAddrs))
	for _, four := range []bool{true, false} {
		for _, a := range addrs {
			if a = a.Unmap(); a.Is4() == four && len(out) < maxAddrs {
				out = append(out, a)
			}
		}
	}
	return out
}

// canonical is a name as it is remembered: in lower case, without its last dot.
// What cannot be a name is refused, and what is an address to some: 127.1, 0x7f.1.
func canonical(host string) (string, error) {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	last := name[strings.LastIndexByte(name, '.')+1:]
	fine := len(name) <= 253 && last != "" && !numeric(last)
	for label := range strings.SplitSeq(name, ".") {
		fine = fine && label != "" && len(label) <= 63
	}
	for i := range len(name) {
		c := name[i]
		fine = fine && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
	}
	if !fine {
		return "", &net.DNSError{Err: "not a host name", Name: host, IsNotFound: true}
	}
	return name, nil
}

// numeric reports whether s is a number in decimal, octal or hexadecimal.
func numeric(s string) bool {
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(s, "0123456789") == ""
}
