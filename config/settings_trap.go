package config

func trapSettings(c *Trap) []Setting {
	return []Setting{{
		Name: "TRAP_ENABLED", Path: "trap.enabled", Default: "true",
		Doc:   "Do not follow links into sites without end: calendars, sessions, relative links that grow, lists without new content.",
		value: boolValue{&c.Enabled},
	}, {
		Name: "TRAP_REPEATED_SEGMENTS", Path: "trap.repeated_segments", Default: "3",
		Doc:   "Times that a path segment may stand in a row; anywhere in a path it may twice as often, and a group of segments must stand fewer times in a row. 0 also lets in URLs in URLs in URLs, and numbers of more than 32 digits.",
		value: intValue{p: &c.RepeatedSegments, max: many},
	}, {
		Name: "TRAP_PATH_DEPTH", Path: "trap.path_depth", Default: "32",
		Doc:   "Segments of a path.",
		value: intValue{p: &c.PathDepth, max: many},
	}, {
		Name: "TRAP_QUERY_PARAMS", Path: "trap.query_params", Default: "24",
		Doc:   "Parameters of a query.",
		value: intValue{p: &c.QueryParams, max: many},
	}, {
		Name: "TRAP_REPEATED_PARAMS", Path: "trap.repeated_params", Default: "12",
		Doc:   "Parameters of a query with one name (`f[0]` and `f[1]` are one); the same name with the same value may stand three times.",
		value: intValue{p: &c.RepeatedParams, max: many},
	}, {
		Name: "TRAP_QUERY_COMBINATIONS", Path: "trap.query_combinations", Default: "128",
		Doc:   "Different sets of parameter names for one path.",
		value: intValue{p: &c.QueryCombinations, max: 4096},
	}, {
		Name: "TRAP_CALENDAR_PAST", Path: "trap.calendar_past", Default: "20",
		Doc:   "Years back for which dates in URLs are not limited.",
		value: intValue{p: &c.CalendarPast, max: 10_000},
	}, {
		Name: "TRAP_CALENDAR_FUTURE", Path: "trap.calendar_future", Default: "2",
		Doc:   "Years ahead for which dates in URLs are not limited.",
		value: intValue{p: &c.CalendarFuture, max: 10_000},
	}, {
		Name: "TRAP_CALENDAR_MONTHS", Path: "trap.calendar_months", Default: "24",
		Doc:   "Months of a site outside those years that are followed; each page with something new about such a month adds one. 0 is no limit.",
		value: intValue{p: &c.CalendarMonths, max: 10_000},
	}, {
		Name: "TRAP_WINDOW", Path: "trap.window", Default: "64",
		Doc:   "Pages of one pattern of URLs in a row after which it is closed when they brought nothing new while its URLs grew; a site as a whole after four times as many. 0 never closes any.",
		value: intValue{p: &c.Window, max: 1024},
	}, {
		Name: "TRAP_DUPLICATES", Path: "trap.duplicates", Default: "95",
		Doc:   "Percentage of those pages that must say what earlier ones said.",
		value: intValue{p: &c.Duplicates, min: 1, max: 100},
	}, {
		Name: "TRAP_MEMORY", Path: "trap.memory", Default: "64MiB",
		Doc:   "Memory of a node for what it knows of the sites of one crawl in this; sites not met for longest are forgotten.",
		value: bytesValue{p: &c.Memory, min: 1 << 20, max: 1 << 50},
	}}
}
