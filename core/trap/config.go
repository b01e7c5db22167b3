package trap

import (
	"errors"
	"fmt"
	"time"
)

// Config holds the settings. Start from Default: zero turns the rule of a field
// off, and never stands for a default.
type Config struct {
	RepeatedSegments  int   // TRAP_REPEATED_SEGMENTS, default 3
	PathDepth         int   // TRAP_PATH_DEPTH, segments; default 32
	QueryParams       int   // TRAP_QUERY_PARAMS, default 24
	RepeatedParams    int   // TRAP_REPEATED_PARAMS, default 12
	QueryCombinations int   // TRAP_QUERY_COMBINATIONS, default 128
	CalendarPast      int   // TRAP_CALENDAR_PAST, years; default 20
	CalendarFuture    int   // TRAP_CALENDAR_FUTURE, years; default 2
	CalendarMonths    int   // TRAP_CALENDAR_MONTHS, default 24
	Window            int   // TRAP_WINDOW, pages; default 64; 0: no judgement by content
	Duplicates        int   // TRAP_DUPLICATES, percent; default 95
	MemoryBytes       int64 // TRAP_MEMORY, default 64 MiB
}

// Default is the product's configuration.
func Default() Config {
	return Config{
		RepeatedSegments: 3, PathDepth: 32, QueryParams: 24, RepeatedParams: 12, QueryCombinations: 128,
		CalendarPast: 20, CalendarFuture: 2, CalendarMonths: 24, Window: 64, Duplicates: 95, MemoryBytes: 64 << 20,
	}
}

// maxWindow bounds what is kept of one pattern.
const maxWindow = 1024

// Validate reports all problems.
func (c Config) Validate() error {
	var problems []error
	in := func(name string, n, low, high int64) {
		if n < low || n > high {
			problems = append(problems, fmt.Errorf("trap: %s is %d: want %d to %d", name, n, low, high))
		}
	}
	const many = 1_000_000_000
	in("TRAP_REPEATED_SEGMENTS", int64(c.RepeatedSegments), 0, many)
	in("TRAP_PATH_DEPTH", int64(c.PathDepth), 0, many)
	in("TRAP_QUERY_PARAMS", int64(c.QueryParams), 0, many)
	in("TRAP_REPEATED_PARAMS", int64(c.RepeatedParams), 0, many)
	in("TRAP_QUERY_COMBINATIONS", int64(c.QueryCombinations), 0, maxSets)
	in("TRAP_CALENDAR_PAST", int64(c.CalendarPast), 0, 10_000)
	in("TRAP_CALENDAR_FUTURE", int64(c.CalendarFuture), 0, 10_000)
	in("TRAP_CALENDAR_MONTHS", int64(c.CalendarMonths), 0, maxFar)
	in("TRAP_WINDOW", int64(c.Window), 0, maxWindow)
	in("TRAP_DUPLICATES", int64(c.Duplicates), 1, 100)
	in("TRAP_MEMORY", c.MemoryBytes, 1<<20, 1<<50)
	return errors.Join(problems...)
}

// farMonth is the month that a URL is about when it lies outside the years that
// calendars may show.
func (c *Config) farMonth(s *shape, now time.Time) (int, bool) {
	if c.CalendarMonths == 0 {
		return 0, false
	}
	m, ok := s.month()
	if !ok {
		return 0, false
	}
	present := now.Year()*12 + int(now.Month()) - 1
	return m, m < present-12*c.CalendarPast || m > present+12*c.CalendarFuture
}
