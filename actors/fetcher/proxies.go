package fetcher

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ProxyConfig says which requests go through a proxy. The zero value sends none
// but those whose meta names one. Proxies are URLs of http, https, socks5 or
// socks5h; their user info is sent to them and to nobody else.
type ProxyConfig struct {
	// HTTP and HTTPS are the proxies of requests for these schemes, as http_proxy
	// and https_proxy name them. "" is none.
	HTTP, HTTPS string
	// No is the hosts that HTTP and HTTPS are not for, as no_proxy has them: names
	// with their subdomains, with commas between, or "*". Loopback hosts belong to
	// it always.
	No string
	// List is proxies that take turns, in place of HTTP and HTTPS and whatever No
	// says. One that fails is left alone for BackoffBase, then for twice as long
	// each time, BackoffMax at most. While all are, requests fail.
	List []string
	// BackoffBase defaults to 10 s, BackoffMax to 10 min.
	BackoffBase, BackoffMax time.Duration
	// Resolves leaves looking names up to the proxies. Otherwise a name is looked
	// up here too, and refused when any address of it is.
	Resolves bool
}

func (c ProxyConfig) withDefaults() ProxyConfig {
	c.BackoffBase = cmp.Or(c.BackoffBase, 10*time.Second)
	c.BackoffMax = cmp.Or(c.BackoffMax, 10*time.Minute)
	return c
}

// errProxiesOut is when all of the list have failed.
var errProxiesOut = errors.New("no proxy of the list serves at the moment")

// proxies are those of the settings. It is immutable but for the turns and the
// proxies' health.
type proxies struct {
	http, https *proxy
	no          []string // in lower case, without a leading dot
	all         bool     // no_proxy is "*"
	list        []*proxy
	turn        atomic.Uint64
}

func newProxies(cfg ProxyConfig) (*proxies, error) {
	s := new(proxies)
	var errs []error
	read := func(name, raw string) *proxy {
		p, err := parseProxy(raw)
		if err != nil {
			errs = append(errs, fmt.Errorf("fetcher: config: %s: %w", name, err))
			return nil
		}
		p.trusted = true
		return p
	}
	if cfg.HTTP != "" {
		s.http = read("http proxy", cfg.HTTP)
	}
	if cfg.HTTPS != "" {
		s.https = read("https proxy", cfg.HTTPS)
	}
	for i, raw := range cfg.List {
		if p := read(fmt.Sprintf("proxy %d of the list", i+1), raw); p != nil {
			p.health = &health{base: cfg.BackoffBase, most: cfg.BackoffMax}
			s.list = append(s.list, p)
		}
	}
	if cfg.BackoffBase < 0 || cfg.BackoffMax < cfg.BackoffBase {
		errs = append(errs, fmt.Errorf("fetcher: config: proxy back-off %s to %s: want more than 0, the lower one first", cfg.BackoffBase, cfg.BackoffMax))
	}
	for name := range strings.SplitSeq(strings.ToLower(cfg.No), ",") {
		name = strings.TrimLeft(strings.TrimSpace(name), ".")
		s.all = s.all || name == "*"
		if name != "" {
			s.no = append(s.no, name)
		}
	}
	return s, errors.Join(errs...)
}

// none reports whether all requests go directly that do not say otherwise.
func (s *proxies) none() bool { return s.http == nil && s.https == nil && len(s.list) == 0 }

// forTarget gives the proxy for t, nil for the direct way.
func (s *proxies) forTarget(t *target) (*proxy, error) {
	if len(s.list) > 0 {
		return s.next()
	}
	p := s.http
	if t.tls {
		p = s.https
	}
	if p == nil || s.bypassed(t) {
		return nil, nil //nolint:nilnil // nil is the direct way
	}
	return p, nil
}

// bypassed is the rule of Python's getproxies and so of Scrapy: the host, alone or
// with its port, is a name of no_proxy or under one.
func (s *proxies) bypassed(t *target) bool {
	host := strings.TrimSuffix(strings.ToLower(t.host), ".")
	if s.all || host == "localhost" || strings.HasSuffix(host, ".localhost") || isLoopback(host) {
		return true
	}
	return slices.ContainsFunc(s.no, func(name string) bool {
		return under(host, name) || under(host+":"+t.port, name)
	})
}

// under reports whether host is domain or a name below it.
func under(host, domain string) bool {
	rest, ok := strings.CutSuffix(host, domain)
	return ok && (rest == "" || strings.HasSuffix(rest, "."))
}

// next gives the proxy of the list whose turn it is, of those that are not out.
func (s *proxies) next() (*proxy, error) {
	n := uint64(len(s.list))
	now, first := time.Now(), s.turn.Add(1)-1
	for i := range n {
		if p := s.list[(first+i)%n]; p.health.serves(now) {
			return p, nil
		}
	}
	return nil, errProxiesOut
}

// own gives the proxy that a request's meta names. It is trusted when the settings
// have that server too; the user info is the meta's.
func (s *proxies) own(raw string) (*proxy, error) {
	p, err := parseProxy(raw)
	if err != nil {
		return nil, err
	}
	for _, known := range append([]*proxy{s.http, s.https}, s.list...) {
		if known != nil && known.is(p) {
			p.trusted = true
			return p, nil
		}
	}
	return p, nil
}

// tolerated is how many failures in a row that may be the site's take a proxy out.
const tolerated = 5

// health is how a proxy of the list does. Safe for concurrent use.
type health struct {
	base, most time.Duration

	mu       sync.Mutex
	failures int           // in a row, since it was last out; guarded by mu
	pause    time.Duration // of the last time out; 0 after a success; guarded by mu
	until    time.Time     // out before it; guarded by mu
}

func (h *health) serves(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !now.Before(h.until)
}

func (h *health) succeeded() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures, h.pause = 0, 0
}

// failed takes it out for a while. Failures of requests that were under way when
// it went out count no more.
func (h *health) failed(certain bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if now.Before(h.until) {
		return
	}
	if h.failures++; !certain && h.failures < tolerated {
		return
	}
	h.failures = 0
	h.pause = min(max(h.base, 2*h.pause), h.most)
	h.until = now.Add(h.pause)
}
