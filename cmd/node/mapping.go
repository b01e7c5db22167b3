package main

import (
	"crypto/tls"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"orbweaver/actors/domain"
	"orbweaver/actors/fetcher"
	"orbweaver/actors/pipeline"
	"orbweaver/actors/scheduler"
	"orbweaver/config"
	"orbweaver/core/blocked"
	"orbweaver/core/cookies"
	"orbweaver/core/crawl"
	"orbweaver/core/httpcache"
	"orbweaver/core/policy"
	"orbweaver/core/robots"
	"orbweaver/core/rqueue"
	"orbweaver/core/spider"
	"orbweaver/core/throttle"
	"orbweaver/core/trap"
	"orbweaver/core/weburl"
	"orbweaver/resolver"
)

// How the settings reach each part.

func throttleConfig(cfg *config.Config) throttle.Config {
	t := cfg.Throttle
	c := throttle.Default()
	c.AutoThrottleEnabled = t.Enabled
	c.AutoThrottleStartDelay = t.StartDelay
	c.AutoThrottleMaxDelay = t.MaxDelay
	c.AutoThrottleTargetConcurrency = t.TargetConcurrency
	c.DownloadDelay = t.DownloadDelay
	c.RandomizeDownloadDelay = t.RandomizeDelay
	c.ConcurrentRequestsPerDomain = t.ConcurrencyPerDomain
	c.ConcurrentRequestsPerIP = t.ConcurrencyPerIP
	c.RetryAfterMax = t.RetryAfterMax
	c.BackoffBase = t.BackoffBase
	c.BackoffMax = t.BackoffMax
	c.RateLimitObey = t.RateLimitObey
	c.QuotaMemory = t.QuotaMemory
	c.ErrorShare = t.ErrorShare
	c.SlowStart = t.SlowStart
	c.CrawlDelayMax = t.CrawlDelayMax
	c.CircuitFailures = t.CircuitFailures
	c.CircuitOpenFor = t.CircuitOpen
	c.BackoffRecovery = t.BackoffRecovery
	c.CircuitOpenMax = t.CircuitOpenMax
	return c
}

func domainConfig(cfg *config.Config, exclusive bool) domain.Config {
	s := cfg.Scheduler
	return domain.Config{
		MaxDomains: s.MaxDomains, Idle: s.DomainIdle, LeaseBatch: s.LeaseBatch, TTL: s.SlotTTL, Renew: s.SlotRenew, Exclusive: exclusive,
		RobotsObey: cfg.Robots.Obey, RobotsAgent: robotsAgent(cfg), RobotsMaxAge: cfg.Robots.CacheMax, RobotsMinAge: cfg.Robots.CacheMin,
		Throttle: throttleConfig(cfg), Debug: cfg.Throttle.Debug, CookiesDebug: cfg.Fetch.CookiesDebug, Wall: clockHook(os.Environ()),
	}.WithDefaults()
}

// robotsAgent is the name under which sites give us rules.
func robotsAgent(cfg *config.Config) string {
	if cfg.Robots.UserAgent != "" {
		return cfg.Robots.UserAgent
	}
	return cfg.Fetch.Agent(version)
}

// followed is which links a crawl follows.
type followed struct {
	Nofollow          bool      `json:"nofollow,omitempty"`
	Invisible         bool      `json:"invisible,omitempty"`
	IgnoredExtensions *[]string `json:"ignored_extensions,omitempty"` // nil: Scrapy's
}

func followedBy(cfg *config.Config) *followed {
	c := &cfg.Crawl
	f := &followed{Nofollow: c.FollowNofollow, Invisible: c.FollowInvisible}
	if !slices.Equal(c.IgnoredExtensions, spider.IgnoredExtensions()) {
		list := append([]string{}, c.IgnoredExtensions...) // never nil: empty is none
		f.IgnoredExtensions = &list
	}
	return f
}

func defaultSpider(cfg *config.Config, f *followed) spider.Default {
	d := spider.Default{RobotsToken: robots.Token(robotsAgent(cfg)), IgnoreRobots: !cfg.Robots.ObeyMeta}
	if f == nil {
		return d
	}
	d.Links = spider.LinkRule{Nofollow: f.Nofollow, Invisible: f.Invisible}
	if f.IgnoredExtensions != nil {
		d.Links.DenyExtensions = spider.NewExtensions(*f.IgnoredExtensions)
	}
	return d
}

func resolverConfig(cfg *config.Config) resolver.Config {
	f := cfg.Fetch
	c := resolver.Config{
		Timeout: f.DNSTimeout, Size: f.DNSCacheSize, TTL: f.DNSTTL, MaxTTL: f.DNSMaxTTL, NegativeTTL: orNone(f.DNSNegativeTTL),
	}
	if !f.DNSCache {
		c.Size = -1
	}
	for _, text := range f.DNSServers {
		server, err := netip.ParseAddrPort(text)
		if addr, addrErr := netip.ParseAddr(text); addrErr == nil {
			server, err = netip.AddrPortFrom(addr, 53), nil
		}
		if err == nil { // config has checked it
			c.Servers = append(c.Servers, server)
		}
	}
	return c
}

// newClient makes the node's HTTP client with its resolver.
func newClient(cfg *config.Config) (*fetcher.Client, error) {
	c := fetcherConfig(cfg)
	var err error
	if c.Proxy, err = proxyConfig(cfg, os.Environ()); err != nil {
		return nil, err
	}
	names, err := resolver.New(resolverConfig(cfg))
	if err != nil {
		return nil, err
	}
	c.Resolver = names
	return fetcher.New(c)
}

func fetcherConfig(cfg *config.Config) fetcher.Config {
	f := cfg.Fetch
	return fetcher.Config{
		Timeout: f.DownloadTimeout, ConnectTimeout: f.ConnectTimeout, HeaderTimeout: f.HeaderTimeout,
		StallTimeout: orNone(f.StallTimeout), StallRate: f.StallRate, IdleTimeout: f.KeepAliveTimeout, MaxIdle: f.KeepAliveMax,
		MaxSize: f.DownloadMaxSize, WarnSize: orNone(f.DownloadWarnSize), MaxRatio: orNone(f.MaxRatio), MaxHeaderBytes: int(f.HeaderMaxSize),
		UserAgent:      f.Agent(version),
		Auth:           fetcher.Auth{User: f.AuthUser, Password: f.AuthPass, Domain: f.AuthDomain},
		DefaultHeaders: f.DefaultHeaders, Guard: f.Guard(),
		SkipVerify: !f.VerifyCertificates, SkipVerifyFor: f.VerifyExcept, MinTLS: tlsVersion(f.TLSMinVersion), MaxTLS: tlsVersion(f.TLSMaxVersion),
	}
}

// tlsVersion is crypto/tls's number of a version; 0, the fetcher's default, for "".
func tlsVersion(name string) uint16 {
	switch name {
	case "1.0":
		return tls.VersionTLS10
	case "1.1":
		return tls.VersionTLS11
	case "1.2":
		return tls.VersionTLS12
	case "1.3":
		return tls.VersionTLS13
	default:
		return 0
	}
}

// httpCache makes the cache of answers; nil when there is to be none.
func httpCache(cfg *config.Config) (*httpcache.Cache, error) {
	h := cfg.HTTPCache
	if !h.Enabled {
		return nil, nil //nolint:nilnil // no cache is no error
	}
	dir := h.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(cfg.Node.DataDir, dir)
	}
	c := httpcache.Config{
		Dir: dir, Policy: h.Policy, Expiration: h.Expiration, IgnoreMissing: h.IgnoreMissing, IgnoreCodes: h.IgnoreCodes,
		IgnoreSchemes: lowered(h.IgnoreSchemes), Gzip: h.Gzip, AlwaysStore: h.AlwaysStore, IgnoreControls: lowered(h.IgnoreControls),
		MaxSize: cfg.Fetch.DownloadMaxSize,
	}
	if cfg.Crawl.BlockedPark {
		c.Refused = func(resp *crawl.Response) bool {
			return blocked.Recognise(resp, blocked.UnknownLinks, false).Kind != ""
		}
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return httpcache.New(c, time.Now), nil
}

func lowered(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.ToLower(w)
	}
	return out
}

// orNone turns the settings' word for no limit into the fetcher's.
func orNone[N int | int64 | time.Duration](n N) N {
	if n == 0 {
		return -1
	}
	return n
}

func schedulerConfig(cfg *config.Config) scheduler.Config {
	return scheduler.Config{SeedBatch: cfg.Redis.StartURLsBatchSize, Adopt: cfg.Scheduler.SlotTTL}.WithDefaults()
}

func pipelineConfig(cfg *config.Config) pipeline.Config {
	p := cfg.Pipeline
	c := pipeline.Config{Workers: p.ParseWorkers, Batch: p.CommitBatch, Linger: p.CommitLinger}
	return c.WithDefaults()
}

func rqueueConfig(cfg *config.Config, id string, exclusive bool) rqueue.Config {
	s := cfg.Scheduler
	shards := cfg.Redis.Shards
	return rqueue.Config{
		Node: id, Shards: shards, TTL: s.SlotTTL, Margin: s.SlotMargin, SeenCache: s.SeenCache, Exclusive: exclusive,
		ShardOf: func(host string) int { return weburl.Shard(host, shards) },
		Fault:   faultHook(os.Environ()),
		Trace:   traceHook(os.Environ()),
	}
}

func cookiesConfig(cfg *config.Config) cookies.Config {
	c := cookies.Default()
	c.MaxBytes = int(cfg.Fetch.CookiesMaxSize)
	return c
}

func policyConfig(cfg *config.Config) policy.Config {
	r, f := cfg.Retry, cfg.Fetch
	referrers, _ := policy.ParseReferrerPolicy(f.ReferrerPolicy) // the registry knows the same names
	return policy.Config{
		RetryEnabled: r.Enabled, RetryTimes: r.Times, RetryHTTPCodes: r.HTTPCodes, RetryBusyTimes: r.BusyTimes,
		BackoffBase: r.BackoffBase, BackoffMax: r.BackoffMax, RetryPriorityAdjust: r.PriorityAdjust,
		RetryAfterMax:   cfg.Throttle.RetryAfterMax,
		RedirectEnabled: f.RedirectEnabled, RedirectMaxTimes: f.RedirectMaxTimes, RedirectPriorityAdjust: f.RedirectPriorityAdjust,
		MetaRefreshEnabled: f.MetaRefreshEnabled, MetaRefreshMaxDelay: f.MetaRefreshMaxDelay, MetaRefreshIgnoreTags: f.MetaRefreshIgnoreTags,
		RefererEnabled: f.RefererEnabled, ReferrerPolicy: referrers,
		HTTPErrorAllowAll: cfg.Crawl.HTTPErrorAllowAll, HTTPErrorAllowedCodes: cfg.Crawl.HTTPErrorAllowedCodes,
	}
}

// trapConfig is nil when traps are not looked for.
func trapConfig(cfg *config.Config) *trap.Config {
	t := cfg.Trap
	if !t.Enabled {
		return nil
	}
	return &trap.Config{
		RepeatedSegments: t.RepeatedSegments, PathDepth: t.PathDepth, QueryParams: t.QueryParams, RepeatedParams: t.RepeatedParams,
		QueryCombinations: t.QueryCombinations, CalendarPast: t.CalendarPast, CalendarFuture: t.CalendarFuture,
		CalendarMonths: t.CalendarMonths, Window: t.Window, Duplicates: t.Duplicates, MemoryBytes: t.Memory,
	}
}

func fingerprinter(cfg *config.Config) *weburl.Fingerprinter {
	f := &weburl.Fingerprinter{IncludeHeaders: cfg.Scheduler.IncludeHeaders, KeepFragments: cfg.Scheduler.KeepFragments}
	switch cfg.Scheduler.Fingerprinter {
	case "2.6":
		f.Rule = weburl.Rule26
	case "scrapy-redis":
		f.Rule = weburl.RuleScrapyRedis
	default:
		f.Rule = weburl.Rule27
	}
	return f
}

func crawlSpec(cfg *config.Config, name string) rqueue.Spec {
	s, r := cfg.Scheduler, cfg.Redis
	spec := rqueue.Spec{
		Name: name, QueueClass: rqueue.QueueClass(s.QueueClass), Filter: rqueue.Filter(s.DupeFilterMode),
		DupefilterKey: config.Key(s.DupeFilterKey, name), StartURLsKey: config.Key(r.StartURLsKey, name), ItemsKey: config.Key(r.ItemsKey, name),
		HostLimit: cfg.Crawl.DomainPageLimit,
	}
	switch {
	case r.StartURLsAsSet:
		spec.StartURLsType = "set"
	case r.StartURLsAsZSet:
		spec.StartURLsType = "zset"
	}
	return spec
}
