package config

import "time"

func pipelineSettings(c *Pipeline) []Setting {
	return []Setting{{
		Name: "PARSE_WORKERS", Path: "pipeline.parse_workers", Default: "0",
		Doc:   "Pages parsed at once; 0 is one a processor core.",
		value: intValue{p: &c.ParseWorkers, max: 4096},
	}, {
		Name: "COMMIT_BATCH", Path: "pipeline.commit_batch", Default: "64",
		Doc:   "Pages whose results are stored in one round trip, at most.",
		value: intValue{p: &c.CommitBatch, min: 1, max: 10_000},
	}, {
		Name: "COMMIT_LINGER", Path: "pipeline.commit_linger", Default: "0.005",
		Doc:   "How long a finished page may wait for others to share its round trip; 0 never waits.",
		value: durationValue{&c.CommitLinger, 0, time.Minute},
	}}
}

func adminSettings(c *Admin) []Setting {
	return []Setting{{
		Name: "ADMIN", Path: "admin.listen", Flag: "--admin", Default: "127.0.0.1:6080",
		Doc:   "HOST:PORT of the admin endpoint; port 0 picks a free one; `off` opens none.",
		value: adminValue{&c.Listen},
	}}
}

func logSettings(c *Log) []Setting {
	return []Setting{{
		Name: "LOG_LEVEL", Path: "log.level", Flag: "--log-level", Default: "info", Scrapy: "DEBUG",
		Doc: "Least level that is logged. CRITICAL is taken for fatal.",
		Why: "debug is a line for every request.",
		value: enumValue{
			&c.Level,
			[]string{"debug", "info", "warning", "error", "fatal"},
			map[string]string{"warn": "warning", "critical": "fatal"},
		},
	}, {
		Name: "LOG_FORMAT", Path: "log.format", Flag: "--log-format", Default: "text", Scrapy: "%(asctime)s [%(name)s] %(levelname)s: %(message)s",
		Doc: "`text`, or `json` with one object a line.",
		Why: "Scrapy's is a format string of Python's logging.", value: enumValue{p: &c.Format, words: []string{"text", "json"}},
	}, {
		Name: "LOGSTATS_INTERVAL", Path: "log.logstats_interval", Default: "60", Scrapy: "60.0",
		Doc:   "Time between two lines of progress; 0 logs none.",
		value: durationValue{&c.StatsInterval, 0, year},
	}}
}

func nodeSettings(c *Node) []Setting {
	return []Setting{{
		Name: "NODE_NAME", Path: "node.name",
		Doc:   "Name of the node in logs and in the admin endpoint. Empty: the machine's name.",
		value: stringValue{&c.Name, checkNodeName},
	}, {
		Name: "DATA_DIR", Path: "node.data_dir", Flag: "--data-dir", Default: ".orbweaver",
		Doc:   "Folder of the embedded store; one node at a time.",
		value: stringValue{&c.DataDir, checkNotEmpty},
	}, {
		Name: "SHUTDOWN_TIMEOUT", Path: "node.shutdown_timeout", Default: "20",
		Doc:   "How long a stopping node waits for what is under way before it gives it back.",
		value: durationValue{&c.ShutdownTimeout, 0, time.Hour},
	}}
}
