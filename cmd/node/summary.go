package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"orbweaver/core/policy"
	"orbweaver/core/rqueue"
)

// summary prints the crawl's statistics under Scrapy's names and writes them to
// --stats FILE: those of this run. It returns those of the crawl since it began, of
// which earlier runs, interrupted or killed, may have done all.
func (r *crawlRun) summary(ctx context.Context, t *terminal) (map[string]int64, error) {
	all, err := r.crawl.Stats(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := r.crawl.Counts(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	out := map[string]any{
		"finish_reason":        r.reason,
		"start_time":           r.started.UTC().Format(time.RFC3339Nano),
		"finish_time":          now.UTC().Format(time.RFC3339Nano),
		"elapsed_time_seconds": now.Sub(r.started).Seconds(),
		"crawl":                r.crawl.Name(),
	}
	for name, n := range all {
		if strings.HasPrefix(name, policy.StatRequestDepthCount) && !r.cfg.Crawl.DepthStatsVerbose {
			continue
		}
		if n -= r.before[name]; n != 0 {
			out[name] = n
		}
	}
	if deepest := depthMax(all); deepest >= 0 {
		out[policy.StatRequestDepthMax] = deepest
	}
	addScheduler(out, counts)
	parked, err := r.crawl.Parked(ctx)
	if err != nil {
		return nil, err
	}
	kept := int64(0)
	for i := range parked {
		kept += parked[i].Letters
	}
	if kept > 0 {
		out["scheduler/parked"] = kept
		r.parked = true
	}
	r.print(t, out)
	r.tellParked(parked)
	if r.cfg.Crawl.StatsFile != "" {
		if err := writeStats(r.cfg.Crawl.StatsFile, out); err != nil {
			r.log.WithField("err", err).Error("statistics not written")
		}
	}
	return all, nil
}

// pagesIn is the number of parsed pages in a crawl's statistics.
func pagesIn(stats map[string]int64) int64 {
	var n int64
	for name, v := range stats {
		if strings.HasPrefix(name, policy.StatRequestDepthCount) {
			n += v
		}
	}
	return n
}

// depthMax is the deepest page in a crawl's statistics; -1 when it has none.
func depthMax(stats map[string]int64) int {
	deepest := -1
	for name := range stats {
		if depth, ok := strings.CutPrefix(name, policy.StatRequestDepthCount); ok {
			if n, err := strconv.Atoi(depth); err == nil {
				deepest = max(deepest, n)
			}
		}
	}
	return deepest
}

// addScheduler adds what the queue says, for all runs of the crawl since it began.
func addScheduler(out map[string]any, c rqueue.Counts) {
	out["scheduler/enqueued/redis"] = c.Seen
	out["scheduler/dequeued/redis"] = c.Done + c.Dead
	for name, n := range map[string]int64{"scheduler/pending": c.Scheduled(), "scheduler/dead": c.Dead, "scheduler/lost": c.Lost} {
		if n > 0 {
			out[name] = n
		}
	}
}

func (r *crawlRun) print(t *terminal, out map[string]any) {
	names := make([]string, 0, len(out))
	for name := range out {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	for _, name := range names {
		switch v := out[name].(type) {
		case float64:
			fmt.Fprintf(&b, "  %s: %.3f\n", name, v)
		default:
			fmt.Fprintf(&b, "  %s: %v\n", name, v)
		}
	}
	if r.cfg.Log.Format == "json" {
		r.log.WithField("stats", out).Info("crawl statistics")
		return
	}
	fmt.Fprintf(t.err, "Crawl statistics:\n%s", b.String()) //nolint:errcheck // nobody is left to tell
}

func writeStats(file string, out map[string]any) error {
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("node: encode statistics: %w", err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil { //nolint:gosec // a report
		return fmt.Errorf("node: write %s: %w", file, err)
	}
	return nil
}
