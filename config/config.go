// Package config is every setting of the product: its name, place in
// cluster.yaml, type, range, default and meaning, and how a run's values come
// together from defaults, file, environment and flags.
//
// The main type is Config: plain values, grouped by the part that uses them.
// The package maps nothing onto other packages and starts nothing; cmd/node
// does that.
package config

import (
	"net/netip"
	"strings"
	"time"

	"orbweaver/core/crawl"
	"orbweaver/core/netguard"
)

// Config is the effective settings of one process. Its values are within the
// ranges of the registry; fields are named after the settings, which say what
// they mean (docs/settings.md). Make one with Load or Default.
type Config struct {
	Redis     Redis
	Crawl     Crawl
	Trap      Trap
	Scheduler Scheduler
	Throttle  Throttle
	Fetch     Fetch
	HTTPCache HTTPCache
	Robots    Robots
	Retry     Retry
	Pipeline  Pipeline
	Admin     Admin
	Log       Log
	Node      Node
	Cluster   Cluster

	origins map[string]string // setting name -> where its value came from; absent is the default
}

// Redis is the store, and the names under which scrapy-redis knows its keys.
type Redis struct {
	URL         string // REDIS_URL; "" is the embedded store
	Server      string // REDIS_SERVER; "" looks on PATH; embedded store only
	AppendFsync string // APPENDFSYNC: "everysec" or "always"; embedded store only
	Shards      int    // SHARDS
	Encoding    string // REDIS_ENCODING of seeds

	// Key templates; Key fills in the crawl's name.
	StartURLsKey string // REDIS_START_URLS_KEY
	ItemsKey     string // REDIS_ITEMS_KEY

	StartURLsAsSet     bool // REDIS_START_URLS_AS_SET
	StartURLsAsZSet    bool // REDIS_START_URLS_AS_ZSET; never together with StartURLsAsSet
	StartURLsBatchSize int  // REDIS_START_URLS_BATCH_SIZE
}

// Crawl is what one crawl covers and when it ends.
type Crawl struct {
	Name                  string   // CRAWL_NAME; "" leaves it to the command
	Scope                 string   // SCOPE: "seeds", "any" or domains with commas between
	DepthLimit            int      // DEPTH_LIMIT; 0 is no limit
	DepthPriority         int      // DEPTH_PRIORITY
	DepthStatsVerbose     bool     // DEPTH_STATS_VERBOSE
	URLLengthLimit        int      // URLLENGTH_LIMIT, bytes; 0 is no limit
	Sitemap               []string // SITEMAP: URLs, and "robots"
	SitemapSince          string   // SITEMAP_SINCE, a date; "" is none
	DomainPageLimit       int      // DOMAIN_PAGE_LIMIT; 0 is no limit
	FollowNofollow        bool     // FOLLOW_NOFOLLOW
	FollowInvisible       bool     // FOLLOW_INVISIBLE
	IgnoredExtensions     []string // IGNORED_EXTENSIONS, as written
	CloseSpiderPageCount  int      // CLOSESPIDER_PAGECOUNT; 0 is no limit
	HTTPErrorAllowAll     bool     // HTTPERROR_ALLOW_ALL
	BlockedPark           bool     // BLOCKED_PARK
	HTTPErrorAllowedCodes []int    // HTTPERROR_ALLOWED_CODES
	StatsFile             string   // STATS_FILE; "" writes none
}

// Trap is the limits against sites without end. 0 turns a limit off.
type Trap struct {
	Enabled           bool  // TRAP_ENABLED
	RepeatedSegments  int   // TRAP_REPEATED_SEGMENTS
	PathDepth         int   // TRAP_PATH_DEPTH, segments
	QueryParams       int   // TRAP_QUERY_PARAMS
	RepeatedParams    int   // TRAP_REPEATED_PARAMS
	QueryCombinations int   // TRAP_QUERY_COMBINATIONS
	CalendarPast      int   // TRAP_CALENDAR_PAST, years; 0 is this month
	CalendarFuture    int   // TRAP_CALENDAR_FUTURE, years; 0 is this month
	CalendarMonths    int   // TRAP_CALENDAR_MONTHS
	Window            int   // TRAP_WINDOW, pages
	Duplicates        int   // TRAP_DUPLICATES, percent
	Memory            int64 // TRAP_MEMORY, bytes
}

// Scheduler is the queue, the dupefilter and the slots.
type Scheduler struct {
	QueueClass   string // SCHEDULER_QUEUE_CLASS: "PriorityQueue", "FifoQueue" or "LifoQueue"
	Persist      bool   // SCHEDULER_PERSIST
	FlushOnStart bool   // SCHEDULER_FLUSH_ON_START

	DupeFilterMode string // DUPEFILTER_MODE: "compact", "scrapy" or "off"
	DupeFilterKey  string // DUPEFILTER_KEY, a template for Key; mode "scrapy" only

	Fingerprinter  string   // REQUEST_FINGERPRINTER_IMPLEMENTATION: "2.7", "2.6" or "scrapy-redis"
	IncludeHeaders []string // REQUEST_FINGERPRINTER_INCLUDE_HEADERS
	KeepFragments  bool     // REQUEST_FINGERPRINTER_KEEP_FRAGMENTS

	SeenCache  int           // SEEN_CACHE, fingerprints
	LeaseBatch int           // LEASE_BATCH
	SlotTTL    time.Duration // SLOT_TTL
	SlotMargin time.Duration // SLOT_MARGIN
	SlotRenew  time.Duration // SLOT_RENEW; SlotRenew + SlotMargin < SlotTTL
	MaxDomains int           // MAX_DOMAINS
	DomainIdle time.Duration // DOMAIN_IDLE
}

// Throttle is how gently a site is visited.
type Throttle struct {
	Enabled           bool          // AUTOTHROTTLE_ENABLED
	StartDelay        time.Duration // AUTOTHROTTLE_START_DELAY
	MaxDelay          time.Duration // AUTOTHROTTLE_MAX_DELAY
	TargetConcurrency float64       // AUTOTHROTTLE_TARGET_CONCURRENCY
	Debug             bool          // AUTOTHROTTLE_DEBUG

	DownloadDelay        time.Duration // DOWNLOAD_DELAY
	RandomizeDelay       bool          // RANDOMIZE_DOWNLOAD_DELAY
	ConcurrencyPerDomain int           // CONCURRENT_REQUESTS_PER_DOMAIN
	ConcurrencyPerIP     int           // CONCURRENT_REQUESTS_PER_IP; 0 makes the host the slot

	RetryAfterMax   time.Duration // RETRY_AFTER_MAX
	BackoffBase     time.Duration // BACKOFF_BASE
	BackoffMax      time.Duration // BACKOFF_MAX, at least BackoffBase
	BackoffRecovery float64       // BACKOFF_RECOVERY, a share
	RateLimitObey   bool          // RATELIMIT_OBEY
	QuotaMemory     time.Duration // QUOTA_MEMORY; 0 learns none
	ErrorShare      float64       // ERROR_SHARE; 0 looks at none
	SlowStart       bool          // SLOW_START_ENABLED
	CrawlDelayMax   time.Duration // CRAWL_DELAY_MAX
	CircuitFailures int           // CIRCUIT_FAILURES; 0 never opens
	CircuitOpen     time.Duration // CIRCUIT_OPEN
	CircuitOpenMax  time.Duration // CIRCUIT_OPEN_MAX, at least CircuitOpen
}

// Fetch is the HTTP client and what it may reach.
type Fetch struct {
	ConcurrentRequests int            // CONCURRENT_REQUESTS
	UserAgent          string         // USER_AGENT as set; Agent fills it in
	UserAgentContact   string         // USER_AGENT_CONTACT
	DefaultHeaders     []crawl.Header // DEFAULT_REQUEST_HEADERS, in order
	DownloadTimeout    time.Duration  // DOWNLOAD_TIMEOUT
	ConnectTimeout     time.Duration  // CONNECT_TIMEOUT
	HeaderTimeout      time.Duration  // DOWNLOAD_HEADER_TIMEOUT; 0 is DownloadTimeout
	StallTimeout       time.Duration  // DOWNLOAD_STALL_TIMEOUT; 0 has no such limit
	StallRate          int            // DOWNLOAD_STALL_RATE, bytes a second
	MaxRatio           int            // DOWNLOAD_MAX_RATIO; 0 has no such limit
	HeaderMaxSize      int64          // DOWNLOAD_HEADER_MAXSIZE, bytes
	DNSCache           bool           // DNSCACHE_ENABLED
	DNSCacheSize       int            // DNSCACHE_SIZE, names
	DNSTTL             time.Duration  // DNSCACHE_TTL, of addresses without a time of their own
	DNSMaxTTL          time.Duration  // DNSCACHE_MAX_TTL
	DNSNegativeTTL     time.Duration  // DNSCACHE_NEGATIVE_TTL; 0 remembers no missing name
	DNSTimeout         time.Duration  // DNS_TIMEOUT
	DNSServers         []string       // DNS_SERVERS, ADDRESS or ADDRESS:PORT; none: those of the system
	KeepAliveTimeout   time.Duration  // KEEPALIVE_TIMEOUT
	KeepAliveMax       int            // KEEPALIVE_MAX, connections
	DownloadMaxSize    int64          // DOWNLOAD_MAXSIZE, bytes
	DownloadWarnSize   int64          // DOWNLOAD_WARNSIZE, bytes; 0 never warns
	VerifyExcept       []string       // DOWNLOAD_VERIFY_EXCEPT, domains
	TLSMinVersion      string         // DOWNLOAD_TLS_MIN_VERSION: "1.0" to "1.3"
	TLSMaxVersion      string         // DOWNLOAD_TLS_MAX_VERSION, at least TLSMinVersion
	VerifyCertificates bool           // DOWNLOAD_VERIFY_CERTIFICATES

	AuthUser   string // HTTPAUTH_USER
	AuthPass   string // HTTPAUTH_PASS
	AuthDomain string // HTTPAUTH_DOMAIN; set when the others are

	ProxyEnabled     bool          // HTTPPROXY_ENABLED
	ProxyList        []string      // PROXY_LIST, URLs
	ProxyListFile    string        // PROXY_LIST_FILE; "" for none
	ProxyResolves    bool          // PROXY_RESOLVES
	ProxyBackoffBase time.Duration // PROXY_BACKOFF_BASE
	ProxyBackoffMax  time.Duration // PROXY_BACKOFF_MAX, at least ProxyBackoffBase

	AllowPrivate bool                 // ALLOW_PRIVATE
	AddressAllow []netip.Prefix       // ADDRESS_ALLOW
	AddressDeny  []netip.Prefix       // ADDRESS_DENY
	AllowedPorts []netguard.PortRange // ALLOWED_PORTS; none: all but those of other protocols
	NAT64Prefix  []netip.Prefix       // NAT64_PREFIX

	RedirectEnabled        bool // REDIRECT_ENABLED
	RedirectMaxTimes       int  // REDIRECT_MAX_TIMES
	RedirectPriorityAdjust int  // REDIRECT_PRIORITY_ADJUST

	MetaRefreshEnabled    bool          // METAREFRESH_ENABLED
	MetaRefreshMaxDelay   time.Duration // METAREFRESH_MAXDELAY
	MetaRefreshIgnoreTags []string      // METAREFRESH_IGNORE_TAGS, lower case
	RefererEnabled        bool          // REFERER_ENABLED
	ReferrerPolicy        string        // REFERRER_POLICY, a name of the W3C or "scrapy-default"

	CookiesEnabled bool  // COOKIES_ENABLED
	CookiesDebug   bool  // COOKIES_DEBUG
	CookiesPersist bool  // COOKIES_PERSIST
	CookiesMaxSize int64 // COOKIES_MAXSIZE, bytes of a crawl's cookies on a node
}

// HTTPCache keeps answers on disk.
type HTTPCache struct {
	Enabled        bool          // HTTPCACHE_ENABLED
	Policy         string        // HTTPCACHE_POLICY: "RFC9111" or "Dummy"
	Dir            string        // HTTPCACHE_DIR; a relative path is within DATA_DIR
	Expiration     time.Duration // HTTPCACHE_EXPIRATION_SECS; 0 is never
	IgnoreMissing  bool          // HTTPCACHE_IGNORE_MISSING
	IgnoreCodes    []int         // HTTPCACHE_IGNORE_HTTP_CODES
	IgnoreSchemes  []string      // HTTPCACHE_IGNORE_SCHEMES
	Gzip           bool          // HTTPCACHE_GZIP
	AlwaysStore    bool          // HTTPCACHE_ALWAYS_STORE
	IgnoreControls []string      // HTTPCACHE_IGNORE_RESPONSE_CACHE_CONTROLS
}

// Robots is how robots.txt is obeyed.
type Robots struct {
	Obey      bool          // ROBOTSTXT_OBEY
	UserAgent string        // ROBOTSTXT_USER_AGENT; "" uses the User-Agent sent
	CacheMax  time.Duration // ROBOTSTXT_CACHE_MAX
	CacheMin  time.Duration // ROBOTSTXT_CACHE_MIN
	ObeyMeta  bool          // METAROBOTS_OBEY
}

// Retry is what happens to a request that failed.
type Retry struct {
	Enabled        bool          // RETRY_ENABLED
	Times          int           // RETRY_TIMES
	HTTPCodes      []int         // RETRY_HTTP_CODES
	BusyTimes      int           // RETRY_BUSY_TIMES
	BackoffBase    time.Duration // RETRY_BACKOFF_BASE
	BackoffMax     time.Duration // RETRY_BACKOFF_MAX, at least BackoffBase
	PriorityAdjust int           // RETRY_PRIORITY_ADJUST
}

// Pipeline is the way of a page from the fetcher to the store.
type Pipeline struct {
	ParseWorkers int           // PARSE_WORKERS; 0 is one a core
	CommitBatch  int           // COMMIT_BATCH
	CommitLinger time.Duration // COMMIT_LINGER; 0 never waits
}

// Admin is the admin endpoint.
type Admin struct {
	Listen string // ADMIN: "host:port", or "" for none (written "off")
}

// Log is what goes to standard error.
type Log struct {
	Level         string        // LOG_LEVEL: "debug", "info", "warning", "error" or "fatal", as logrus names them
	Format        string        // LOG_FORMAT: "text" or "json"
	StatsInterval time.Duration // LOGSTATS_INTERVAL; 0 logs no progress
}

// Node is the process itself.
type Node struct {
	Name            string        // NODE_NAME; "" leaves it to the command
	DataDir         string        // DATA_DIR
	ShutdownTimeout time.Duration // SHUTDOWN_TIMEOUT
}

// Cluster is how nodes that share a Redis know and reach each other.
type Cluster struct {
	Provider  string        // CLUSTER_PROVIDER: "auto", "redis" or "single"
	Bind      string        // CLUSTER_BIND
	Advertise string        // CLUSTER_ADVERTISE; "" is the address that is bound
	Weight    float64       // CLUSTER_WEIGHT
	TTL       time.Duration // CLUSTER_TTL
	Heartbeat time.Duration // CLUSTER_HEARTBEAT
	Ramp      time.Duration // CLUSTER_RAMP; 0: none
	TLSCA     string        // CLUSTER_TLS_CA
	TLSCert   string        // CLUSTER_TLS_CERT
	TLSKey    string        // CLUSTER_TLS_KEY
	Insecure  bool          // CLUSTER_INSECURE
}

// Default is the settings of a run that sets nothing.
func Default() *Config {
	c := &Config{}
	for _, s := range registry(c) {
		if err := s.value.set(textInput(s.Default)); err != nil {
			panic("config: default of " + s.Name + ": " + err.Error()) // a mistake in the registry
		}
	}
	return c
}

// Source says where a setting's value came from: "default", "cluster.yaml:12",
// "env ORBWEAVER_LOG_LEVEL", "-s LOG_LEVEL" or "--log-level". The name is the
// setting's upper-case one; "" is the answer for a name that is none.
func (c *Config) Source(name string) string {
	if origin, ok := c.origins[name]; ok {
		return origin
	}
	for _, s := range registry(&Config{}) {
		if s.Name == name {
			return sourceDefault
		}
	}
	return ""
}

// Key fills a key template with the crawl's name, for %(name)s and %(spider)s
// alike, as scrapy-redis does.
func Key(template, crawlName string) string {
	return strings.NewReplacer("%(name)s", crawlName, "%(spider)s", crawlName).Replace(template)
}

// Guard is what the HTTP client may connect to.
func (f Fetch) Guard() netguard.Policy {
	return netguard.Policy{
		AllowPrivate: f.AllowPrivate, Allow: f.AddressAllow, Deny: f.AddressDeny, NAT64: f.NAT64Prefix, Ports: f.AllowedPorts,
	}
}

// Agent is the User-Agent to send: USER_AGENT with the version and the contact
// filled in. Without a contact the "(+...)" that would hold it is left out.
func (f Fetch) Agent(version string) string {
	agent := f.UserAgent
	if f.UserAgentContact == "" {
		agent = strings.ReplaceAll(agent, " (+%(contact)s)", "")
	}
	return strings.NewReplacer("%(version)s", version, "%(contact)s", f.UserAgentContact).Replace(agent)
}
