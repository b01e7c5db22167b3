package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"orbweaver/internal/leasecheck"
)

// mostShown bounds each list of evidence in a report; the counts are whole.
const mostShown = 200

// judge fills in the report when all nodes have ended.
func (r *run) judge() error {
	all := r.site.web.Arrivals(-1)
	rep := r.report
	rep.Requests = len(all)
	rep.Refetched = r.site.web.Refetched()
	rule := politeness{delay: r.cfg.Delay, concurrency: r.cfg.Concurrency, start: r.start, freezes: r.freezes}
	for h, arrivals := range byHost(all, r.cfg.Hosts) {
		for _, b := range rule.judge(r.site.web.Host(h), arrivals) {
			if b.Residue {
				rep.Residue++
			} else {
				rep.Violations++
			}
			if len(rep.Breaches) < mostShown {
				rep.Breaches = append(rep.Breaches, b)
			}
		}
	}
	slices.SortStableFunc(rep.Breaches, func(a, b Breach) int { return int(a.AtMS - b.AtMS) })
	r.timing()
	if err := r.items(); err != nil {
		return err
	}
	broken, known := r.metrics.broken()
	rep.InvariantsKnown, rep.Invariants = known, broken
	return r.leases()
}

// items counts what is lost and what is there twice.
func (r *run) items() error {
	ctx, cancel := context.WithTimeout(r.ctx, 2*time.Minute)
	defer cancel()
	had := map[string]int{}
	const step = 5000
	for from := int64(0); ; from += step {
		lines, err := r.store.client.LRange(ctx, crawlName+":items", from, from+step-1).Result()
		if err != nil {
			return fmt.Errorf("chaos: read the items: %w", err)
		}
		for _, line := range lines {
			var it struct {
				URL string `json:"url"`
			}
			if err := json.Unmarshal([]byte(line), &it); err != nil {
				return fmt.Errorf("chaos: read an item: %w", err)
			}
			had[it.URL]++
		}
		if len(lines) < step {
			break
		}
	}
	rep := r.report
	expected := r.intake.expected()
	visits := map[string]int{}
	for _, a := range r.site.web.Arrivals(-1) {
		if a.Status == 200 {
			visits[r.site.web.URL(a.Host, a.Path)]++
		}
	}
	for url, sure := range expected {
		if rep.Pages++; had[url] == 0 && sure {
			rep.Lost++
			if len(rep.LostPages) < mostShown {
				rep.LostPages = append(rep.LostPages, fmt.Sprintf("%s (answered %d times)", url, visits[url]))
			}
		}
	}
	for url, n := range had {
		rep.Items += n
		if _, ok := expected[url]; !ok {
			rep.Strange = append(rep.Strange, url)
		}
		if n > 1 {
			rep.Doubled += n - 1
			if len(rep.DoubledPages) < mostShown {
				rep.DoubledPages = append(rep.DoubledPages, fmt.Sprintf("%s (%d items, answered %d times)", url, n, visits[url]))
			}
		}
	}
	slices.Sort(rep.LostPages)
	slices.Sort(rep.DoubledPages)
	slices.Sort(rep.Strange)
	return r.dead(ctx)
}

// dead counts the requests that were given up.
func (r *run) dead(ctx context.Context) error {
	keys, err := r.store.client.Keys(ctx, crawlName+":*:dead").Result()
	if err != nil {
		return fmt.Errorf("chaos: look for dead requests: %w", err)
	}
	for _, k := range keys {
		n, err := r.store.client.LLen(ctx, k).Result()
		if err != nil {
			return fmt.Errorf("chaos: count dead requests: %w", err)
		}
		r.report.Dead += int(n)
	}
	return nil
}

// timing says of each fault how many requests came while it lasted, and when its
// node was heard again.
func (r *run) timing() {
	all := r.site.web.Arrivals(-1)
	for _, f := range r.report.Faults {
		from, to := r.start.Add(f.at), r.start.Add(f.until)
		if f.until == 0 {
			to = from
		}
		place, _, _ := strings.Cut(f.Target, ".")
		for _, a := range all {
			if !a.Start.Before(from) && a.Start.Before(to) {
				f.Requests++
			}
			agent, _, _ := strings.Cut(a.Agent, ".")
			if f.ResumedMS == 0 && !a.Start.Before(to) && (f.Target == "redis" || agent == place) {
				f.ResumedMS = max(a.Start.Sub(to).Milliseconds(), 1)
			}
		}
	}
}

// leases judges the histories of the slot leases, if the nodes wrote any.
func (r *run) leases() error {
	var histories []leasecheck.History
	for _, l := range r.lives {
		if _, err := os.Stat(l.leases); err != nil {
			continue
		}
		ops, err := leasecheck.ReadFile(l.leases)
		if err != nil {
			return fmt.Errorf("%s: %w", l.agent, err)
		}
		histories = append(histories, leasecheck.History{Name: l.agent, Ops: ops, KilledNS: max(l.killedNS, l.evictedNS)})
	}
	if len(histories) == 0 {
		return nil
	}
	res, err := leasecheck.Check(histories, leasecheck.Config{TTL: r.cfg.TTL, RestartsNS: r.restarts})
	if err != nil {
		return err
	}
	r.report.LeaseOps, r.report.LeaseSlots, r.report.LeaseUnknown = res.Ops, res.Slots, len(res.Unknown)
	r.report.LeaseFaults = len(res.Violations)
	for _, v := range res.Violations[:min(len(res.Violations), 20)] {
		r.report.LeaseEvidence = append(r.report.LeaseEvidence, v.String())
	}
	return nil
}
