package chaos

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// invariantMetric counts, in a node, what must never be.
const invariantMetric = "orbweaver_invariant_violations_total"

// metrics reads the nodes' metrics from time to time: a process that is killed
// takes its own with it.
type metrics struct {
	client http.Client

	mu    sync.Mutex
	procs []*process                    // guarded by mu
	found map[string]map[string]float64 // guarded by mu; process -> metric with labels -> the most seen
	known bool                          // guarded by mu; some node has the metric
}

func newMetrics() *metrics {
	return &metrics{client: http.Client{Timeout: time.Second}, found: map[string]map[string]float64{}}
}

func (m *metrics) watch(p *process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.procs = append(m.procs, p)
}

// run reads every few seconds until ctx ends.
func (m *metrics) run(ctx context.Context) {
	tick := time.NewTicker(3 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.scrape(ctx)
		case <-ctx.Done():
			m.client.CloseIdleConnections()
			return
		}
	}
}

// scrape reads the metrics of all processes that answer.
func (m *metrics) scrape(ctx context.Context) {
	m.mu.Lock()
	var procs []*process
	for _, p := range m.procs {
		if p.alive() {
			procs = append(procs, p)
		}
	}
	m.procs = procs
	m.mu.Unlock()
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, p := range procs {
		if addr := p.out.adminAddr(); addr != "" {
			wg.Go(func() { m.read(ctx, p.name, addr) })
		}
	}
}

func (m *metrics) read(ctx context.Context, name, addr string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", http.NoBody)
	if err != nil {
		return
	}
	resp, err := m.client.Do(req)
	if err != nil {
		return // frozen, ending, dead
	}
	defer resp.Body.Close()
	values := invariants(resp.Body)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = m.known || len(values) > 0
	if m.found[name] == nil {
		m.found[name] = map[string]float64{}
	}
	for k, v := range values {
		m.found[name][k] = max(m.found[name][k], v)
	}
}

// invariants are the counts of broken invariants in an exposition of metrics.
func invariants(text io.Reader) map[string]float64 {
	out := map[string]float64{}
	sc := bufio.NewScanner(io.LimitReader(text, 8<<20))
	for sc.Scan() {
		if !strings.HasPrefix(sc.Text(), invariantMetric) {
			continue
		}
		name, value, ok := strings.Cut(sc.Text(), " ")
		var v float64
		if _, err := fmt.Sscan(value, &v); ok && err == nil {
			out[name] = v
		}
	}
	return out
}

// broken are the invariants that were broken, by process; false: no node counts them.
func (m *metrics) broken() (map[string]map[string]float64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]map[string]float64{}
	for proc, values := range m.found {
		for k, v := range values {
			if v == 0 {
				continue
			}
			if out[proc] == nil {
				out[proc] = map[string]float64{}
			}
			out[proc][k] = v
		}
	}
	return out, m.known
}
