package config

import (
	"math"
	"time"
)

func throttleSettings(c *Throttle) []Setting {
	return []Setting{{
		Name: "AUTOTHROTTLE_ENABLED", Path: "throttle.autothrottle_enabled", Default: "true", Scrapy: "False",
		Doc: "Adapt each site's delay to how fast it answers.",
		Why: "Polite by default.", value: boolValue{&c.Enabled},
	}, {
		Name: "AUTOTHROTTLE_START_DELAY", Path: "throttle.autothrottle_start_delay", Default: "5", Scrapy: "5.0",
		Doc:   "Delay of a site that was never visited.",
		value: durationValue{&c.StartDelay, 0, year},
	}, {
		Name: "AUTOTHROTTLE_MAX_DELAY", Path: "throttle.autothrottle_max_delay", Default: "60", Scrapy: "60.0",
		Doc:   "Longest delay that slow answers lead to.",
		value: durationValue{&c.MaxDelay, 0, year},
	}, {
		Name: "AUTOTHROTTLE_TARGET_CONCURRENCY", Path: "throttle.autothrottle_target_concurrency", Default: "1", Scrapy: "1.0",
		Doc:   "Requests that a site should be answering at once, on average.",
		value: floatValue{&c.TargetConcurrency, 0.001, 10_000, " (AUTOTHROTTLE_ENABLED=false turns it off)"},
	}, {
		Name: "AUTOTHROTTLE_DEBUG", Path: "throttle.autothrottle_debug", Default: "false", Scrapy: "False",
		Doc:   "Log every adjustment of a delay.",
		value: boolValue{&c.Debug},
	}, {
		Name: "DOWNLOAD_DELAY", Path: "throttle.download_delay", Default: "0", Scrapy: "0",
		Doc:   "Time between two requests to a site; with AUTOTHROTTLE_ENABLED the shortest that it may get to.",
		value: durationValue{&c.DownloadDelay, 0, year},
	}, {
		Name: "RANDOMIZE_DOWNLOAD_DELAY", Path: "throttle.randomize_download_delay", Default: "true", Scrapy: "True",
		Doc:   "Wait 0.5 to 1.5 times the delay, drawn anew for each request.",
		value: boolValue{&c.RandomizeDelay},
	}, {
		Name: "CONCURRENT_REQUESTS_PER_DOMAIN", Path: "throttle.concurrent_requests_per_domain", Default: "8", Scrapy: "8",
		Doc:   "Requests under way at a site at once, over all nodes and crawls.",
		value: intValue{p: &c.ConcurrencyPerDomain, min: 1, max: 10_000},
	}, {
		Name: "CONCURRENT_REQUESTS_PER_IP", Path: "throttle.concurrent_requests_per_ip", Default: "0", Scrapy: "0",
		Doc:   "When not 0, the limit of a site in place of CONCURRENT_REQUESTS_PER_DOMAIN. A site stays a host name: limits that hosts on one address share are not there yet.",
		value: intValue{p: &c.ConcurrencyPerIP, max: 10_000},
	}, {
		Name: "RETRY_AFTER_MAX", Path: "throttle.retry_after_max", Default: "3600",
		Doc:   "Longest wait that a Retry-After field can ask for; 0 ignores the field.",
		value: durationValue{&c.RetryAfterMax, 0, year},
	}, {
		Name: "BACKOFF_BASE", Path: "throttle.backoff_base", Default: "1",
		Doc:   "Wait added for a site after a first 503, timeout or refused connection, and before the next try after a 429; it doubles with each further one. 0 adds none.",
		value: durationValue{&c.BackoffBase, 0, year},
	}, {
		Name: "BACKOFF_MAX", Path: "throttle.backoff_max", Default: "600",
		Doc:   "Longest such wait.",
		value: durationValue{&c.BackoffMax, 0, year},
	}, {
		Name: "BACKOFF_RECOVERY", Path: "throttle.backoff_recovery", Default: "0.1",
		Doc:   "Share of the wait reached that each good answer takes away again: with 0.1 it is gone after ten.",
		value: floatValue{p: &c.BackoffRecovery, min: 0.001, max: 1},
	}, {
		Name: "RATELIMIT_OBEY", Path: "throttle.ratelimit_obey", Default: "true",
		Doc:   "Spread requests over what the RateLimit fields of answers (X-RateLimit and older ones too) say is left, and stay away while nothing is, for RETRY_AFTER_MAX at most.",
		value: boolValue{&c.RateLimitObey},
	}, {
		Name: "QUOTA_MEMORY", Path: "throttle.quota_memory", Default: "21600",
		Doc:   "How long after the last 429 the interval between requests that was learned from such answers is kept; 0 learns none, and a 429 backs off as a 503 does.",
		value: durationValue{&c.QuotaMemory, 0, year},
	}, {
		Name: "ERROR_SHARE", Path: "throttle.error_share", Default: "0.2",
		Doc:   "Share of 500, 502 and 504 among a site's last 32 answers from which it is visited a little more slowly; 0 looks at none.",
		value: floatValue{p: &c.ErrorShare, min: 0, max: 1},
	}, {
		Name: "SLOW_START_ENABLED", Path: "throttle.slow_start_enabled", Default: "true",
		Doc:   "Begin a site with one request at a time, and allow one more at once with each good answer.",
		value: boolValue{&c.SlowStart},
	}, {
		Name: "CRAWL_DELAY_MAX", Path: "throttle.crawl_delay_max", Default: "60",
		Doc:   "Longest delay that a Crawl-delay or Request-rate line of robots.txt can ask for; 0 ignores both.",
		value: durationValue{&c.CrawlDelayMax, 0, year},
	}, {
		Name: "CIRCUIT_FAILURES", Path: "throttle.circuit_failures", Default: "10",
		Doc:   "Failures in a row after which a site is left alone for CIRCUIT_OPEN, then tried with one request; 0 never does.",
		value: intValue{p: &c.CircuitFailures, max: many},
	}, {
		Name: "CIRCUIT_OPEN", Path: "throttle.circuit_open", Default: "30",
		Doc:   "How long a failing site is left alone; it doubles while the single tries fail.",
		value: durationValue{&c.CircuitOpen, time.Millisecond, year},
	}, {
		Name: "CIRCUIT_OPEN_MAX", Path: "throttle.circuit_open_max", Default: "1800",
		Doc:   "Longest that it doubles to.",
		value: durationValue{&c.CircuitOpenMax, time.Millisecond, year},
	}}
}

func fetchSettings(c *Fetch) []Setting {
	return []Setting{{
		Name: "CONCURRENT_REQUESTS", Path: "fetch.concurrent_requests", Default: "256", Scrapy: "16",
		Doc: "Pages on a node at once, from fetching to stored: the bound of its memory.",
		Why: "It is over all sites, and a site's own limit keeps that site safe.", value: intValue{p: &c.ConcurrentRequests, min: 1, max: 1_000_000},
	}, {
		Name: "USER_AGENT", Path: "fetch.user_agent", Default: "orbweaver/%(version)s (+%(contact)s)", Scrapy: "Scrapy/VERSION (+https://scrapy.org)",
		Doc: "User-Agent field. `%(version)s` is the program's version, `%(contact)s` is USER_AGENT_CONTACT.",
		Why: "Who is visited should know whom to write to.", value: stringValue{&c.UserAgent, checkUserAgent},
	}, {
		Name: "USER_AGENT_CONTACT", Path: "fetch.user_agent_contact",
		Doc:   "URL or mail address of who runs the crawl, for USER_AGENT. Empty: the `(+...)` is left out.",
		value: stringValue{&c.UserAgentContact, checkContact},
	}, {
		Name: "DEFAULT_REQUEST_HEADERS", Path: "fetch.default_request_headers",
		Default: `{"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "Accept-Language": "en"}`,
		Scrapy:  `{"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "Accept-Language": "en"}`,
		Doc:     "Header fields of every request that does not set them itself. A JSON object with -s and in the environment.",
		value:   headersValue{&c.DefaultHeaders},
	}, {
		Name: "DOWNLOAD_TIMEOUT", Path: "fetch.download_timeout", Default: "180", Scrapy: "180",
		Doc:   "Time for one whole fetch: name look-up to last byte.",
		value: durationValue{&c.DownloadTimeout, time.Millisecond, 24 * time.Hour},
	}, {
		Name: "CONNECT_TIMEOUT", Path: "fetch.connect_timeout", Default: "30",
		Doc:   "Time for name look-up, connecting and TLS together; DOWNLOAD_TIMEOUT bounds it too.",
		value: durationValue{&c.ConnectTimeout, time.Millisecond, 24 * time.Hour},
	}, {
		Name: "DNSCACHE_ENABLED", Path: "fetch.dnscache_enabled", Default: "true", Scrapy: "True",
		Doc:   "Remember names that were looked up, for as long as their zones allow.",
		value: boolValue{&c.DNSCache},
	}, {
		Name: "DNSCACHE_SIZE", Path: "fetch.dnscache_size", Default: "10000", Scrapy: "10000",
		Doc:   "Names that are remembered; the one used longest ago goes first.",
		value: intValue{p: &c.DNSCacheSize, min: 1, max: 10_000_000},
	}, {
		Name: "DNSCACHE_TTL", Path: "fetch.dnscache_ttl", Default: "60",
		Doc:   "How long addresses are used whose source says nothing about it: the system's resolver, where resolv.conf names no server.",
		value: durationValue{&c.DNSTTL, time.Millisecond, 24 * time.Hour},
	}, {
		Name: "DNSCACHE_MAX_TTL", Path: "fetch.dnscache_max_ttl", Default: "3600",
		Doc:   "Longest time that addresses are used, whatever their zone allows.",
		value: durationValue{&c.DNSMaxTTL, time.Millisecond, 24 * time.Hour},
	}, {
		Name: "DNSCACHE_NEGATIVE_TTL", Path: "fetch.dnscache_negative_ttl", Default: "30",
		Doc:   "Longest time for which a name is known not to exist; 0 asks each time.",
		value: durationValue{&c.DNSNegativeTTL, 0, 24 * time.Hour},
	}, {
		Name: "DNS_TIMEOUT", Path: "fetch.dns_timeout", Default: "60", Scrapy: "60",
		Doc:   "Time for one look-up, all tries together; CONNECT_TIMEOUT bounds how long a fetch waits for it.",
		value: durationValue{&c.DNSTimeout, time.Millisecond, 24 * time.Hour},
	}, {
		Name: "DNS_SERVERS", Path: "fetch.dns_servers",
		Doc:   "Name servers, ADDRESS or ADDRESS:PORT. Empty: those of resolv.conf.",
		value: listValue{&c.DNSServers, checkServer},
	}, {
		Name: "DOWNLOAD_HEADER_TIMEOUT", Path: "fetch.download_header_timeout", Default: "0",
		Doc:   "Time from sending a request to the end of the answer's header; 0: DOWNLOAD_TIMEOUT alone bounds it.",
		value: durationValue{&c.HeaderTimeout, 0, 24 * time.Hour},
	}, {
		Name: "DOWNLOAD_STALL_TIMEOUT", Path: "fetch.download_stall_timeout", Default: "30",
		Doc:   "How long a body may come slower than DOWNLOAD_STALL_RATE before it is given up; 0: DOWNLOAD_TIMEOUT alone bounds it.",
		value: durationValue{&c.StallTimeout, 0, 24 * time.Hour},
	}, {
		Name: "DOWNLOAD_STALL_RATE", Path: "fetch.download_stall_rate", Default: "64",
		Doc:   "The slowest body, in bytes a second.",
		value: intValue{p: &c.StallRate, min: 1, max: 1 << 30},
	}, {
		Name: "DOWNLOAD_HEADER_MAXSIZE", Path: "fetch.download_header_maxsize", Default: "64KiB",
		Doc:   "Largest header of an answer.",
		value: bytesValue{p: &c.HeaderMaxSize, min: 64 << 10, max: 16 << 20},
	}, {
		Name: "DOWNLOAD_MAX_RATIO", Path: "fetch.download_max_ratio", Default: "250",
		Doc:   "How many times its compressed size a body over 4 MiB may have; a larger one is given up as a bomb. 0: DOWNLOAD_MAXSIZE alone bounds it.",
		value: intValue{p: &c.MaxRatio, max: 1_000_000},
	}, {
		Name: "KEEPALIVE_TIMEOUT", Path: "fetch.keepalive_timeout", Default: "60",
		Doc:   "How long a connection that is not used is kept.",
		value: durationValue{&c.KeepAliveTimeout, time.Millisecond, time.Hour},
	}, {
		Name: "KEEPALIVE_MAX", Path: "fetch.keepalive_max", Default: "4096",
		Doc:   "Unused connections of a node; each costs a file descriptor.",
		value: intValue{p: &c.KeepAliveMax, min: 1, max: 1_000_000},
	}, {
		Name: "DOWNLOAD_MAXSIZE", Path: "fetch.download_maxsize", Default: "32MiB", Scrapy: "1073741824 (1 GiB)",
		Doc: "Largest body, compressed or not; a larger one is given up. There is no way to say no limit.",
		Why: "A page is held in memory, up to CONCURRENT_REQUESTS of them.",
		value: bytesValue{
			p: &c.DownloadMaxSize, min: 1, max: 16 << 30,
			note: " (a body always has a limit)",
		},
	}, {
		Name: "DOWNLOAD_WARNSIZE", Path: "fetch.download_warnsize", Default: "16MiB", Scrapy: "33554432 (32 MiB)",
		Doc: "Body size from which a warning is logged; 0 never warns.",
		Why: "It has to lie under DOWNLOAD_MAXSIZE to be of use.", value: bytesValue{p: &c.DownloadWarnSize, max: math.MaxInt64},
	}, {
		Name: "DOWNLOAD_VERIFY_CERTIFICATES", Path: "fetch.download_verify_certificates", Default: "true", Scrapy: "False",
		Doc: "Refuse a server whose TLS certificate is not valid for its name.",
		Why: "What is stored under a name should come from there.", value: boolValue{&c.VerifyCertificates},
	}, {
		Name: "DOWNLOAD_VERIFY_EXCEPT", Path: "fetch.download_verify_except",
		Doc:   "Domains, with the hosts below them, whose certificates may be wrong.",
		value: listValue{&c.VerifyExcept, checkDomain},
	}, {
		Name: "DOWNLOAD_TLS_MIN_VERSION", Path: "fetch.download_tls_min_version", Default: "1.2", Scrapy: "None (what OpenSSL allows)",
		Doc: "Oldest version of TLS that is spoken.",
		Why: "Older ones protect nothing any more.", value: tlsValue(&c.TLSMinVersion),
	}, {
		Name: "DOWNLOAD_TLS_MAX_VERSION", Path: "fetch.download_tls_max_version", Default: "1.3", Scrapy: "None (what OpenSSL allows)",
		Doc:   "Newest version of TLS that is spoken.",
		value: tlsValue(&c.TLSMaxVersion),
	}, {
		Name: "ALLOW_PRIVATE", Path: "fetch.allow_private", Flag: "--allow-private", Default: "false",
		Doc:   "Fetch from loopback and private addresses too. Without it a page on the web cannot steer the crawler into your network.",
		value: boolValue{&c.AllowPrivate},
	}, {
		Name: "ADDRESS_ALLOW", Path: "fetch.address_allow",
		Doc:   "Addresses and networks (10.1.0.0/16) that may be fetched from whatever else is said; ADDRESS_DENY alone is stronger.",
		value: prefixesValue{p: &c.AddressAllow},
	}, {
		Name: "ADDRESS_DENY", Path: "fetch.address_deny",
		Doc:   "Addresses and networks that are never fetched from.",
		value: prefixesValue{p: &c.AddressDeny},
	}, {
		Name: "ALLOWED_PORTS", Path: "fetch.allowed_ports",
		Doc:   "The only ports fetched from (80,443,8000-8999). Empty: all but those of other protocols, which browsers refuse too; 1-65535: all.",
		value: portsValue{&c.AllowedPorts},
	}, {
		Name: "NAT64_PREFIX", Path: "fetch.nat64_prefix",
		Doc:   "IPv6 prefixes by which this network reaches IPv4 (RFC 6052), apart from 64:ff9b::/96: what is inside is judged.",
		value: prefixesValue{&c.NAT64Prefix, true},
	}, {
		Name: "REDIRECT_ENABLED", Path: "fetch.redirect_enabled", Default: "true", Scrapy: "True",
		Doc:   "Follow redirects; each is a new request that waits for its own site's turn.",
		value: boolValue{&c.RedirectEnabled},
	}, {
		Name: "REDIRECT_MAX_TIMES", Path: "fetch.redirect_max_times", Default: "20", Scrapy: "20",
		Doc:   "Redirects in a row that are followed.",
		value: intValue{p: &c.RedirectMaxTimes, max: 1000},
	}, {
		Name: "REDIRECT_PRIORITY_ADJUST", Path: "fetch.redirect_priority_adjust", Default: "2", Scrapy: "+2",
		Doc:   "Added to the priority of a redirect's target; higher goes first.",
		value: intValue{p: &c.RedirectPriorityAdjust, min: -1_000_000, max: 1_000_000},
	}}
}

func proxySettings(c *Fetch) []Setting {
	return []Setting{{
		Name: "HTTPAUTH_USER", Path: "fetch.httpauth_user", Scrapy: `""`,
		Doc:   "User for the sites of HTTPAUTH_DOMAIN (HTTP basic authentication). Empty, with HTTPAUTH_PASS: none is sent.",
		value: stringValue{&c.AuthUser, checkAuthUser},
	}, {
		Name: "HTTPAUTH_PASS", Path: "fetch.httpauth_pass", Scrapy: `""`,
		Doc:    "Its password.",
		sealed: true, value: stringValue{p: &c.AuthPass},
	}, {
		Name: "HTTPAUTH_DOMAIN", Path: "fetch.httpauth_domain", Scrapy: `""`,
		Doc:   "Who gets them: this host and those below it (example.org), or with a scheme (https://example.org) or a port (example.org:8443) by that alone.",
		value: stringValue{&c.AuthDomain, checkAuthDomain},
	}, {
		Name: "HTTPPROXY_ENABLED", Path: "fetch.httpproxy_enabled", Default: "true", Scrapy: "True",
		Doc:   "Use the proxies of the environment (http_proxy, https_proxy, no_proxy) and of PROXY_LIST. A proxy that a request's meta names is used in any case.",
		value: boolValue{&c.ProxyEnabled},
	}, {
		Name: "PROXY_LIST", Path: "fetch.proxy_list",
		Doc:    "Proxies that take turns in place of the environment's: URLs of http, https, socks5 or socks5h. no_proxy does not count for them.",
		secret: true, value: listValue{&c.ProxyList, checkProxy},
	}, {
		Name: "PROXY_LIST_FILE", Path: "fetch.proxy_list_file",
		Doc:   "File with more of them, one a line; # begins a comment. It is read at the start.",
		value: stringValue{p: &c.ProxyListFile},
	}, {
		Name: "PROXY_RESOLVES", Path: "fetch.proxy_resolves", Default: "false",
		Doc:   "Leave looking names up to the proxies, where only they can. Then a name that leads to a private address is for the proxy to refuse.",
		value: boolValue{&c.ProxyResolves},
	}, {
		Name: "PROXY_BACKOFF_BASE", Path: "fetch.proxy_backoff_base", Default: "10",
		Doc:   "How long a proxy of the list that failed is left alone; it doubles with each further failure.",
		value: durationValue{&c.ProxyBackoffBase, time.Millisecond, year},
	}, {
		Name: "PROXY_BACKOFF_MAX", Path: "fetch.proxy_backoff_max", Default: "600",
		Doc:   "Longest that it doubles to.",
		value: durationValue{&c.ProxyBackoffMax, time.Millisecond, year},
	}}
}

func robotsSettings(c *Robots) []Setting {
	return []Setting{{
		Name: "ROBOTSTXT_OBEY", Path: "robots.obey", Default: "true", Scrapy: "False (True in new projects)",
		Doc: "Fetch robots.txt first and keep to it (RFC 9309); while it cannot be had, the site waits.",
		Why: "Polite by default.", value: boolValue{&c.Obey},
	}, {
		Name: "ROBOTSTXT_USER_AGENT", Path: "robots.user_agent", Scrapy: "None",
		Doc:   "Name looked for in robots.txt. Empty: the product name of USER_AGENT.",
		value: stringValue{&c.UserAgent, checkASCII},
	}, {
		Name: "ROBOTSTXT_CACHE_MAX", Path: "robots.cache_max", Default: "86400",
		Doc:   "A robots.txt is used for so long, by all nodes and crawls, or for as long as its Cache-Control says if that is less.",
		value: durationValue{&c.CacheMax, time.Second, 24 * time.Hour},
	}, {
		Name: "ROBOTSTXT_CACHE_MIN", Path: "robots.cache_min", Default: "300",
		Doc:   "It is used for so long at least, even if its Cache-Control says no-store; but never for longer than ROBOTSTXT_CACHE_MAX.",
		value: durationValue{&c.CacheMin, time.Second, 24 * time.Hour},
	}, {
		Name: "METAROBOTS_OBEY", Path: "robots.obey_meta", Default: "true",
		Doc:   "Keep to meta robots elements and X-Robots-Tag fields, for every crawler or for ROBOTSTXT_USER_AGENT: `nofollow` and no link of the page is followed, `noindex` and no item is made of it. Counted as `metarobots/nofollow` and `metarobots/noindex`.",
		value: boolValue{&c.ObeyMeta},
	}}
}

func retrySettings(c *Retry) []Setting {
	return []Setting{{
		Name: "RETRY_ENABLED", Path: "retry.enabled", Default: "true", Scrapy: "True",
		Doc:   "Try failed requests again.",
		value: boolValue{&c.Enabled},
	}, {
		Name: "RETRY_TIMES", Path: "retry.times", Default: "5", Scrapy: "2",
		Doc: "Tries after the first.",
		Why: "Ours wait longer each time, so five of them outlast a short outage; Scrapy's follow at once.", value: intValue{p: &c.Times, max: 1_000_000},
	}, {
		Name: "RETRY_HTTP_CODES", Path: "retry.http_codes", Default: "408,429,500,502,503,504,522,524", Scrapy: "[500, 502, 503, 504, 522, 524, 408, 429]",
		Doc:   "Statuses that count as failed.",
		value: codesValue{&c.HTTPCodes},
	}, {
		Name: "RETRY_BUSY_TIMES", Path: "retry.busy_times", Default: "20",
		Doc:   "Tries after answers of 429 and 503, which are counted apart from RETRY_TIMES: the site said later, not no.",
		value: intValue{p: &c.BusyTimes, max: 1_000_000},
	}, {
		Name: "RETRY_BACKOFF_BASE", Path: "retry.backoff_base", Default: "0.5",
		Doc:   "Wait of a request before its second try; it doubles with each further one.",
		value: durationValue{&c.BackoffBase, 0, year},
	}, {
		Name: "RETRY_BACKOFF_MAX", Path: "retry.backoff_max", Default: "600",
		Doc:   "Longest such wait.",
		value: durationValue{&c.BackoffMax, 0, year},
	}, {
		Name: "RETRY_PRIORITY_ADJUST", Path: "retry.priority_adjust", Default: "-1", Scrapy: "-1",
		Doc:   "Added to the priority of a request that is tried again; higher goes first.",
		value: intValue{p: &c.PriorityAdjust, min: -1_000_000, max: 1_000_000},
	}}
}
