package config

func httpCacheSettings(c *HTTPCache) []Setting {
	return []Setting{{
		Name: "HTTPCACHE_ENABLED", Path: "httpcache.enabled", Default: "false", Scrapy: "False",
		Doc:   "Keep answers on disk and give them again instead of asking the site: for work on a spider. A site that is not asked is not waited for either.",
		value: boolValue{&c.Enabled},
	}, {
		Name: "HTTPCACHE_POLICY", Path: "httpcache.policy", Default: "RFC9111", Scrapy: "scrapy.extensions.httpcache.DummyPolicy",
		Doc: "`RFC9111` goes by what servers say of their answers and asks with If-None-Match and If-Modified-Since whether stale ones are still good; `Dummy` keeps everything and never asks. Scrapy's class names are taken too.",
		Why: "Its default answers with old pages for ever.",
		value: enumValue{&c.Policy, []string{"RFC9111", "Dummy"}, map[string]string{
			"scrapy.extensions.httpcache.dummypolicy": "Dummy", "dummypolicy": "Dummy",
			"scrapy.extensions.httpcache.rfc2616policy": "RFC9111", "rfc2616policy": "RFC9111", "rfc2616": "RFC9111",
		}},
	}, {
		Name: "HTTPCACHE_DIR", Path: "httpcache.dir", Default: "httpcache", Scrapy: "httpcache",
		Doc:   "Folder of the answers, with one folder a crawl; a relative path is within DATA_DIR. Nothing is ever deleted there.",
		value: stringValue{&c.Dir, checkNotEmpty},
	}, {
		Name: "HTTPCACHE_EXPIRATION_SECS", Path: "httpcache.expiration_secs", Default: "0", Scrapy: "0",
		Doc:   "Answers older than that are fetched anew; 0 keeps them for good.",
		value: durationValue{&c.Expiration, 0, 10 * year},
	}, {
		Name: "HTTPCACHE_IGNORE_MISSING", Path: "httpcache.ignore_missing", Default: "false", Scrapy: "False",
		Doc:   "What is not stored is not fetched but passed over.",
		value: boolValue{&c.IgnoreMissing},
	}, {
		Name: "HTTPCACHE_IGNORE_HTTP_CODES", Path: "httpcache.ignore_http_codes", Scrapy: "[]",
		Doc:   "Statuses that policy Dummy does not store.",
		value: codesValue{&c.IgnoreCodes},
	}, {
		Name: "HTTPCACHE_IGNORE_SCHEMES", Path: "httpcache.ignore_schemes", Default: "file", Scrapy: "['file']",
		Doc:   "URL schemes that are never stored.",
		value: listValue{p: &c.IgnoreSchemes},
	}, {
		Name: "HTTPCACHE_GZIP", Path: "httpcache.gzip", Default: "false", Scrapy: "False",
		Doc:   "Compress stored bodies.",
		value: boolValue{&c.Gzip},
	}, {
		Name: "HTTPCACHE_ALWAYS_STORE", Path: "httpcache.always_store", Default: "false", Scrapy: "False",
		Doc:   "With RFC9111, store every answer that does not forbid it.",
		value: boolValue{&c.AlwaysStore},
	}, {
		Name: "HTTPCACHE_IGNORE_RESPONSE_CACHE_CONTROLS", Path: "httpcache.ignore_response_cache_controls", Scrapy: "[]",
		Doc:   "Cache-Control directives of answers that RFC9111 does not see, such as no-store.",
		value: listValue{p: &c.IgnoreControls},
	}}
}
