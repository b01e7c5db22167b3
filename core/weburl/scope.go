package weburl

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
)

// The scopes that are words; anything else is a list of domains.
const (
	ScopeSeeds = "seeds"
	ScopeAny   = "any"
)

// ErrScope is why NewScope refuses.
var ErrScope = errors.New("want seeds, any or a comma-separated list of domains")

// Scope says which hosts a crawl follows links to. It is safe for concurrent
// use; AddSeed is the only change. Make one with NewScope.
type Scope struct {
	spec       string
	any        bool
	subdomains bool
	mu         sync.Mutex                      // held while hosts is replaced
	hosts      atomic.Pointer[map[string]bool] // never changed, only replaced
}

// NewScope reads a scope: "seeds" (or "") for exactly the hosts of the seeds,
// "any" for every host, or comma-separated domains, each with its subdomains,
// as Scrapy's allowed_domains. seedHosts are as Host gives them.
func NewScope(spec string, seedHosts []string) (*Scope, error) {
	s := &Scope{spec: spec}
	hosts := map[string]bool{}
	switch strings.TrimSpace(spec) {
	case "", ScopeSeeds:
		s.spec = ScopeSeeds
		for _, h := range seedHosts {
			hosts[h] = true
		}
	case ScopeAny:
		s.any = true
	default:
		s.subdomains = true
		for d := range strings.SplitSeq(spec, ",") {
			host, err := scopeDomain(strings.TrimSpace(d))
			if err != nil {
				return nil, fmt.Errorf("weburl: scope %q: domain %q: %w", spec, d, err)
			}
			hosts[host] = true
		}
	}
	s.hosts.Store(&hosts)
	return s, nil
}

func scopeDomain(d string) (string, error) {
	d = strings.TrimPrefix(d, ".")
	if d == "" || d == ScopeSeeds || d == ScopeAny {
		return "", ErrScope
	}
	out, err := appendHost(nil, d, true)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrScope, err)
	}
	return hostKey(string(out)), nil
}

// AddSeed lets links to a seed's host in, where the scope is that of the seeds.
func (s *Scope) AddSeed(host string) {
	if s.any || s.subdomains || host == "" || (*s.hosts.Load())[host] {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	hosts := maps.Clone(*s.hosts.Load())
	hosts[host] = true
	s.hosts.Store(&hosts)
}

// Allows reports whether links to host, as Host gives it, are followed.
func (s *Scope) Allows(host string) bool {
	if s.any {
		return host != ""
	}
	hosts := *s.hosts.Load()
	if hosts[host] {
		return true
	}
	if !s.subdomains {
		return false
	}
	for {
		dot := strings.IndexByte(host, '.')
		if dot < 0 {
			return false
		}
		if host = host[dot+1:]; hosts[host] {
			return true
		}
	}
}

// String is the scope as NewScope reads it.
func (s *Scope) String() string { return s.spec }
