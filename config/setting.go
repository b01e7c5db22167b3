package config

// Setting describes one setting. The registry is the only place that knows
// names, places, ranges and defaults; documents and the example file are
// printed from it.
type Setting struct {
	Name    string // upper case, as -s takes it; ORBWEAVER_<Name> in the environment
	Path    string // section.key in cluster.yaml
	Flag    string // own flag of the command line, with dashes; "" when it has none
	Default string // as -s takes it
	Scrapy  string // default of Scrapy or scrapy-redis, as its manual writes it; "" when neither has the setting
	Doc     string // meaning, unit, and what 0 or empty means
	Why     string // why the default differs from Scrapy's; "" when it does not

	alias  string // a second name that -s and the environment take; "" when there is none
	secret bool   // a URL, or several: printed with its passwords masked
	sealed bool   // printed masked altogether
	value  value
}

// Type names what the setting takes, for documents: "bool", "int", "seconds"...
func (s *Setting) Type() string { return s.value.kind() }

// section is a group of cluster.yaml and of the settings document.
type section struct {
	name string
	doc  string
}

// sections are the groups in the order of the documents.
func sections() []section {
	return []section{
		{"redis", "The store, and the keys that scrapy-redis programs share with it."},
		{"crawl", "What a crawl covers and when it ends."},
		{"trap", "Limits against sites without end (docs/traps.md). 0 turns a limit off."},
		{"scheduler", "Queue, dupefilter and the leases on sites."},
		{"throttle", "How gently a site is visited."},
		{"fetch", "The HTTP client: who it says it is, its limits, redirects."},
		{"httpcache", "Answers kept on disk, for work on a spider."},
		{"robots", "robots.txt."},
		{"retry", "Requests that failed."},
		{"pipeline", "From the fetched page to the stored item."},
		{"admin", "The admin endpoint."},
		{"log", "Logs, on standard error."},
		{"cluster", "How nodes that share a Redis know and reach each other."},
		{"node", "The process."},
	}
}

// Settings lists every setting, by section in the order of cluster.yaml.
func Settings() []Setting { return registry(&Config{}) }

// registry lists every setting, bound to the fields of c.
func registry(c *Config) []Setting {
	rows := make([]Setting, 0, 100)
	rows = append(rows, redisSettings(&c.Redis)...)
	rows = append(rows, crawlSettings(&c.Crawl)...)
	rows = append(rows, linkSettings(&c.Crawl)...)
	rows = append(rows, trapSettings(&c.Trap)...)
	rows = append(rows, schedulerSettings(&c.Scheduler)...)
	rows = append(rows, throttleSettings(&c.Throttle)...)
	rows = append(rows, fetchSettings(&c.Fetch)...)
	rows = append(rows, proxySettings(&c.Fetch)...)
	rows = append(rows, httpCacheSettings(&c.HTTPCache)...)
	rows = append(rows, webSettings(&c.Fetch)...)
	rows = append(rows, robotsSettings(&c.Robots)...)
	rows = append(rows, retrySettings(&c.Retry)...)
	rows = append(rows, pipelineSettings(&c.Pipeline)...)
	rows = append(rows, adminSettings(&c.Admin)...)
	rows = append(rows, logSettings(&c.Log)...)
	rows = append(rows, clusterSettings(&c.Cluster)...)
	return append(rows, nodeSettings(&c.Node)...)
}
