package config

import "time"

// year bounds every duration that has no smaller bound of its own.
const year = 366 * 24 * time.Hour

// many bounds counts that have no bound of their own.
const many = 1_000_000_000

func redisSettings(c *Redis) []Setting {
	return []Setting{{
		Name: "REDIS_URL", Path: "redis.url", Flag: "--redis", Scrapy: "None", secret: true,
		Doc: "Where the frontier lives: `redis://[user:password@]host:port/db`, `rediss://` for TLS, `unix:///path`, several `host:port` with commas between for a cluster, `redis+sentinel://host:port,.../primary`. Empty: an embedded store in DATA_DIR.",
		Why: "A first crawl needs no server.", value: stringValue{&c.URL, checkRedisURL},
	}, {
		Name: "REDIS_SERVER", Path: "redis.server",
		Doc:   "Program of the embedded store: a path, a name on PATH, or `none` for a store in the process of which nothing outlives the run. Empty: redis-server or valkey-server, and without them as `none`.",
		value: stringValue{p: &c.Server},
	}, {
		Name: "APPENDFSYNC", Path: "redis.appendfsync", Default: "everysec",
		Doc:   "How the embedded store keeps its log: `everysec` may forget the last second when the machine (not the process) fails, `always` forgets nothing and is slower.",
		value: enumValue{p: &c.AppendFsync, words: []string{"everysec", "always"}},
	}, {
		Name: "SHARDS", Path: "redis.shards", Default: "64",
		Doc:   "Hash tags over which hosts are spread. Fixed in the store by its first node; another value is refused later.",
		value: intValue{p: &c.Shards, min: 1, max: 16384},
	}, {
		Name: "REDIS_ENCODING", Path: "redis.encoding", Default: "utf-8", Scrapy: "utf-8",
		Doc:   "Character encoding of seeds in REDIS_START_URLS_KEY.",
		value: stringValue{&c.Encoding, checkEncoding},
	}, {
		Name: "REDIS_START_URLS_KEY", Path: "redis.start_urls_key", Default: "%(name)s:start_urls", Scrapy: "%(name)s:start_urls",
		Doc:   "Key from which seeds are taken. `%(name)s` is the crawl's name.",
		value: stringValue{&c.StartURLsKey, checkKeyTemplate},
	}, {
		Name: "REDIS_START_URLS_AS_SET", Path: "redis.start_urls_as_set", Default: "false", Scrapy: "False",
		Doc:   "The start key is a SET rather than a LIST.",
		value: boolValue{&c.StartURLsAsSet},
	}, {
		Name: "REDIS_START_URLS_AS_ZSET", Path: "redis.start_urls_as_zset", Default: "false", Scrapy: "False",
		Doc:   "The start key is a ZSET, highest score first, rather than a LIST.",
		value: boolValue{&c.StartURLsAsZSet},
	}, {
		Name: "REDIS_START_URLS_BATCH_SIZE", Path: "redis.start_urls_batch_size", Default: "256", Scrapy: "CONCURRENT_REQUESTS (16)",
		Doc: "Seeds claimed at once.",
		Why: "A batch costs two round trips whatever its size.", value: intValue{p: &c.StartURLsBatchSize, min: 1, max: 10_000},
	}, {
		Name: "REDIS_ITEMS_KEY", Path: "redis.items_key", Default: "%(spider)s:items", Scrapy: "%(spider)s:items",
		Doc:   "LIST to which items are pushed as JSON. `%(spider)s` is the crawl's name.",
		value: stringValue{&c.ItemsKey, checkKeyTemplate},
	}}
}

func crawlSettings(c *Crawl) []Setting {
	return []Setting{{
		Name: "CRAWL_NAME", Path: "crawl.name", Flag: "--name",
		Doc:   "Name of the crawl that the command runs; it starts the crawl's keys in Redis. Empty: made from the first seed's host.",
		value: stringValue{&c.Name, checkCrawlName},
	}, {
		Name: "SCOPE", Path: "crawl.scope", Flag: "--scope", Default: "seeds",
		Doc:   "Which links are followed: `seeds` (the seeds' hosts), `any`, or domains with commas between, each with its subdomains (Scrapy's allowed_domains).",
		value: scopeValue{&c.Scope},
	}, {
		Name: "DEPTH_LIMIT", Path: "crawl.depth_limit", Flag: "--depth", Default: "0", Scrapy: "0",
		Doc:   "Links from a seed that are followed at most; 0 is no limit.",
		value: intValue{p: &c.DepthLimit, max: many},
	}, {
		Name: "DEPTH_PRIORITY", Path: "crawl.depth_priority", Default: "0", Scrapy: "0",
		Doc:   "Taken off a request's priority for each link from its seed: above 0 goes breadth first, below 0 depth first.",
		value: intValue{p: &c.DepthPriority, min: -1_000_000, max: 1_000_000},
	}, {
		Name: "DEPTH_STATS_VERBOSE", Path: "crawl.depth_stats_verbose", Default: "true", Scrapy: "False",
		Doc: "Show the pages of each depth in the summary (request_depth_count/N).",
		Why: "They are counted anyway: request_depth_max and the number of pages come from them.", value: boolValue{&c.DepthStatsVerbose},
	}, {
		Name: "URLLENGTH_LIMIT", Path: "crawl.urllength_limit", Default: "2083", Scrapy: "2083",
		Doc:   "Longest URL that is followed, in bytes; 0 is no limit.",
		value: intValue{p: &c.URLLengthLimit, max: many},
	}, {
		Name: "SITEMAP", Path: "crawl.sitemap",
		Doc:   "Sitemaps to read, their URLs or `robots`, which stands for those that the robots.txt of each seed's host names (sitemap_urls of Scrapy's SitemapSpider). With any, pages that turn out to be sitemaps are read as such too; a seed always is. For DEPTH_LIMIT each file on the way counts as a page.",
		value: listValue{&c.Sitemap, checkSitemap},
	}, {
		Name: "SITEMAP_SINCE", Path: "crawl.sitemap_since",
		Doc:   "Date (2026-11-30, or with a time) before which a sitemap's entries are left out, by their lastmod; those without one are taken. Empty: all are.",
		value: stringValue{&c.SitemapSince, checkDate},
	}, {
		Name: "DOMAIN_PAGE_LIMIT", Path: "crawl.domain_page_limit", Default: "0",
		Doc:   "Requests of the crawl that a host lets in, over all nodes and runs until the crawl is flushed; further links to it are dropped (trap/page_limit). Redirects and what robots.txt forbids count, retries do not; seeds are never dropped. 0 is no limit.",
		value: intValue{p: &c.DomainPageLimit, max: many},
	}, {
		Name: "CLOSESPIDER_PAGECOUNT", Path: "crawl.closespider_pagecount", Flag: "--max-pages", Default: "0", Scrapy: "0",
		Doc:   "Pages after which the crawl stops; 0 is no limit. Fetches under way are finished, so a few more may come.",
		value: intValue{p: &c.CloseSpiderPageCount, max: many},
	}, {
		Name: "HTTPERROR_ALLOW_ALL", Path: "crawl.httperror_allow_all", Default: "false", Scrapy: "False",
		Doc:   "Parse pages of every status, not only 200 to 299.",
		value: boolValue{&c.HTTPErrorAllowAll},
	}, {
		Name: "HTTPERROR_ALLOWED_CODES", Path: "crawl.httperror_allowed_codes", Scrapy: "[]",
		Doc:   "Statuses that are parsed besides 200 to 299.",
		value: codesValue{&c.HTTPErrorAllowedCodes},
	}, {
		Name: "BLOCKED_PARK", Path: "crawl.blocked_park", Default: "true",
		Doc:   "Leave a site alone that answers with a challenge, a block, a demand for payment or a login in place of its pages (docs/parking.md). `node crawls release` lets its requests go on.",
		value: boolValue{&c.BlockedPark},
	}, {
		Name: "STATS_FILE", Path: "crawl.stats_file", Flag: "--stats",
		Doc:   "File for the summary as JSON, written at the end. Empty: none.",
		value: stringValue{p: &c.StatsFile},
	}}
}

func schedulerSettings(c *Scheduler) []Setting {
	return []Setting{{
		Name: "SCHEDULER_QUEUE_CLASS", Path: "scheduler.queue_class", Default: "PriorityQueue", Scrapy: "scrapy_redis.queue.PriorityQueue",
		Doc: "Order of a host's requests: `PriorityQueue` (highest first, then oldest), `FifoQueue`, `LifoQueue`. scrapy-redis's names are taken too: with `scrapy_redis.queue.` in front, SpiderPriorityQueue, SpiderQueue, SpiderStack.",
		value: enumValue{&c.QueueClass, []string{"PriorityQueue", "FifoQueue", "LifoQueue"}, map[string]string{
			"scrapy_redis.queue.priorityqueue": "PriorityQueue", "spiderpriorityqueue": "PriorityQueue", "scrapy_redis.queue.spiderpriorityqueue": "PriorityQueue",
			"scrapy_redis.queue.fifoqueue": "FifoQueue", "spiderqueue": "FifoQueue", "scrapy_redis.queue.spiderqueue": "FifoQueue",
			"scrapy_redis.queue.lifoqueue": "LifoQueue", "spiderstack": "LifoQueue", "scrapy_redis.queue.spiderstack": "LifoQueue",
		}},
	}, {
		Name: "SCHEDULER_PERSIST", Path: "scheduler.persist", Default: "false", Scrapy: "False",
		Doc:   "Keep queue and dupefilter when the crawl has finished, so that the next run skips what was seen. An interrupted crawl keeps them in any case and resumes (scrapy-redis deletes them).",
		value: boolValue{&c.Persist},
	}, {
		Name: "SCHEDULER_FLUSH_ON_START", Path: "scheduler.flush_on_start", Flag: "--flush", Default: "false", Scrapy: "False",
		Doc:   "Delete the crawl's queue and dupefilter before starting.",
		value: boolValue{&c.FlushOnStart},
	}, {
		Name: "DUPEFILTER_MODE", Path: "scheduler.dupefilter_mode", Default: "compact",
		Doc:   "`compact`: 8 bytes of each fingerprint, about a tenth of the memory; `scrapy`: also the 40-digit set that scrapy-redis spiders share; `off`: every request is let in.",
		value: enumValue{p: &c.DupeFilterMode, words: []string{"compact", "scrapy", "off"}},
	}, {
		Name: "DUPEFILTER_KEY", Path: "scheduler.dupefilter_key", Default: "%(spider)s:dupefilter", Scrapy: "%(spider)s:dupefilter", alias: "SCHEDULER_DUPEFILTER_KEY",
		Doc:   "SET of fingerprints shared with scrapy-redis in mode `scrapy`. `%(spider)s` is the crawl's name. scrapy-redis calls it SCHEDULER_DUPEFILTER_KEY, which is taken too.",
		value: stringValue{&c.DupeFilterKey, checkKeyTemplate},
	}, {
		Name: "REQUEST_FINGERPRINTER_IMPLEMENTATION", Path: "scheduler.request_fingerprinter_implementation", Default: "2.7", Scrapy: "2.7",
		Doc:   "Rule of the fingerprint: `2.7` (Scrapy 2.7 and newer), `2.6` (before), `scrapy-redis` (scrapy-redis 0.9 in mode `scrapy`).",
		value: enumValue{p: &c.Fingerprinter, words: []string{"2.7", "2.6", "scrapy-redis"}},
	}, {
		Name: "REQUEST_FINGERPRINTER_INCLUDE_HEADERS", Path: "scheduler.request_fingerprinter_include_headers",
		Doc:   "Request headers that count in the fingerprint (Scrapy: an argument of its fingerprint function).",
		value: listValue{&c.IncludeHeaders, checkToken},
	}, {
		Name: "REQUEST_FINGERPRINTER_KEEP_FRAGMENTS", Path: "scheduler.request_fingerprinter_keep_fragments", Default: "false",
		Doc:   "URLs that differ in their #fragment only are different requests (Scrapy: an argument of its fingerprint function).",
		value: boolValue{&c.KeepFragments},
	}, {
		Name: "SEEN_CACHE", Path: "scheduler.seen_cache", Default: "262144",
		Doc:   "Fingerprints known as seen that a node remembers, so that it need not ask the store; 8 bytes each.",
		value: intValue{p: &c.SeenCache, min: 1, max: 100_000_000},
	}, {
		Name: "LEASE_BATCH", Path: "scheduler.lease_batch", Default: "16",
		Doc:   "Requests that a site's actor takes from the queue at once, at most; fewer where the delay is long.",
		value: intValue{p: &c.LeaseBatch, min: 1, max: 10_000},
	}, {
		Name: "SLOT_TTL", Path: "scheduler.slot_ttl", Default: "8",
		Doc:   "Life of a node's right to a site without renewal: how long a site rests after its node died.",
		value: durationValue{&c.SlotTTL, time.Second, 10 * time.Minute},
	}, {
		Name: "SLOT_MARGIN", Path: "scheduler.slot_margin", Default: "1.5",
		Doc:   "A node stops sending this long before its right ends, so that clocks and networks may err.",
		value: durationValue{&c.SlotMargin, 10 * time.Millisecond, 10 * time.Minute},
	}, {
		Name: "SLOT_RENEW", Path: "scheduler.slot_renew", Default: "2",
		Doc:   "The right is renewed this often. SLOT_RENEW + SLOT_MARGIN must be less than SLOT_TTL.",
		value: durationValue{&c.SlotRenew, 10 * time.Millisecond, 10 * time.Minute},
	}, {
		Name: "MAX_DOMAINS", Path: "scheduler.max_domains", Default: "10000",
		Doc:   "Sites in memory at once on a node; the others wait in Redis.",
		value: intValue{p: &c.MaxDomains, min: 1, max: 10_000_000},
	}, {
		Name: "DOMAIN_IDLE", Path: "scheduler.domain_idle", Default: "1",
		Doc:   "A site without work leaves memory after this time; what was learned stays in Redis.",
		value: durationValue{&c.DomainIdle, 0, year},
	}}
}
