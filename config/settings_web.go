package config

// webSettings are what a browser would do between two pages: follow a refresh, say
// where it comes from, keep cookies.
func webSettings(c *Fetch) []Setting {
	return []Setting{{
		Name: "METAREFRESH_ENABLED", Path: "fetch.metarefresh_enabled", Default: "true", Scrapy: "True",
		Doc:   "Follow the meta refresh of an HTML page as a redirect. A page that loads itself again is read.",
		value: boolValue{&c.MetaRefreshEnabled},
	}, {
		Name: "METAREFRESH_MAXDELAY", Path: "fetch.metarefresh_maxdelay", Default: "100", Scrapy: "100",
		Doc:   "A refresh after so long or longer is not followed.",
		value: durationValue{&c.MetaRefreshMaxDelay, 0, year},
	}, {
		Name: "METAREFRESH_IGNORE_TAGS", Path: "fetch.metarefresh_ignore_tags", Default: "noscript", Scrapy: `["noscript"] ([] before 2.11.2)`,
		Doc:   "Elements in which a refresh does not count. One within a script never does.",
		value: listValue{&c.MetaRefreshIgnoreTags, checkToken},
	}, {
		Name: "REFERER_ENABLED", Path: "fetch.referer_enabled", Default: "true", Scrapy: "True",
		Doc:   "Send a Referer field: the page that led to the request.",
		value: boolValue{&c.RefererEnabled},
	}, {
		Name: "REFERRER_POLICY", Path: "fetch.referrer_policy", Default: "scrapy-default", Scrapy: "scrapy.spidermiddlewares.referer.DefaultReferrerPolicy",
		Doc: "How much of that page's URL the field holds, where the page has no Referrer-Policy field. `scrapy-default` is no-referrer-when-downgrade. A request's `referrer_policy` in meta goes before both.",
		value: enumValue{p: &c.ReferrerPolicy, words: []string{
			"scrapy-default", "no-referrer", "no-referrer-when-downgrade", "same-origin", "origin", "strict-origin",
			"origin-when-cross-origin", "strict-origin-when-cross-origin", "unsafe-url",
		}, also: referrerClasses()},
	}, {
		Name: "COOKIES_ENABLED", Path: "fetch.cookies_enabled", Default: "true", Scrapy: "True",
		Doc:   "Keep the cookies of a crawl's sites and send them back: one jar a crawl and node, or one for each `cookiejar` in a request's meta. A request with `dont_merge_cookies`, or with a Cookie field of its own, gets none.",
		value: boolValue{&c.CookiesEnabled},
	}, {
		Name: "COOKIES_DEBUG", Path: "fetch.cookies_debug", Default: "false", Scrapy: "False",
		Doc:   "Log every cookie that is sent or received, values included.",
		value: boolValue{&c.CookiesDebug},
	}, {
		Name: "COOKIES_PERSIST", Path: "fetch.cookies_persist", Default: "false",
		Doc:   "Keep cookies in Redis with the crawl, so that they survive a restart and follow a site to another node.",
		value: boolValue{&c.CookiesPersist},
	}, {
		Name: "COOKIES_MAXSIZE", Path: "fetch.cookies_maxsize", Default: "16MiB",
		Doc:   "Most memory that the cookies of one crawl take on a node; past it the domain that went unused longest loses its own. A domain has at most 50, and 64 KiB in Redis.",
		value: bytesValue{p: &c.CookiesMaxSize, min: 1 << 10, max: 16 << 30},
	}}
}

// referrerClasses are Scrapy's classes of REFERRER_POLICY, in lower case.
func referrerClasses() map[string]string {
	classes := map[string]string{}
	for class, name := range map[string]string{
		"default": "scrapy-default", "noreferrer": "no-referrer", "noreferrerwhendowngrade": "no-referrer-when-downgrade",
		"sameorigin": "same-origin", "origin": "origin", "strictorigin": "strict-origin",
		"originwhencrossorigin": "origin-when-cross-origin", "strictoriginwhencrossorigin": "strict-origin-when-cross-origin",
		"unsafeurl": "unsafe-url",
	} {
		suffix := "policy"
		if class == "default" {
			suffix = "referrerpolicy"
		}
		classes["scrapy.spidermiddlewares.referer."+class+suffix] = name
	}
	return classes
}
