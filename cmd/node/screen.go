package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/sirupsen/logrus"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"orbweaver/core/rqueue"
	"orbweaver/core/throttle"
)

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	if s, ok := w.(*screen); ok {
		return s.progress != nil
	}
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// screen is standard error: log lines, and below them, on a terminal, a line of
// progress. Elsewhere progress is a log line now and then.
type screen struct {
	out      io.Writer
	progress *mpb.Progress // nil: not a terminal
	mu       sync.Mutex
}

func newScreen(w io.Writer) *screen {
	s := &screen{out: w}
	if isTerminal(w) {
		s.progress = mpb.New(mpb.WithOutput(w), mpb.WithRefreshRate(250*time.Millisecond))
	}
	return s
}

// Write implements io.Writer for the log.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.progress != nil {
		if n, err := s.progress.Write(b); err == nil {
			return n, nil
		}
	}
	return s.out.Write(b)
}

func (s *screen) close() {
	s.mu.Lock()
	p := s.progress
	s.progress = nil
	s.mu.Unlock()
	if p != nil {
		p.Shutdown()
	}
}

// follow shows a crawl's progress until the returned func is called, also while an
// interrupted one ends.
func (s *screen) follow(ctx context.Context, r *crawlRun) (stop func()) {
	ctx = context.WithoutCancel(ctx)
	done := make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	m := &meter{run: r}
	if s.progress != nil {
		bar := s.progress.New(0, mpb.NopStyle(), mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return m.line() })))
		wg.Go(func() {
			m.sampleUntil(ctx, done, 500*time.Millisecond, nil)
			bar.Abort(true)
		})
	} else if every := r.cfg.Log.StatsInterval; every > 0 {
		wg.Go(func() {
			m.sampleUntil(ctx, done, every, func(p progress) {
				r.log.WithFields(p.fields()).Info("crawling")
			})
		})
	}
	return func() {
		once.Do(func() { close(done) })
		wg.Wait()
		s.close()
	}
}

// meter samples a crawl's progress.
type meter struct {
	run  *crawlRun
	mu   sync.Mutex
	last progress
}

// progress is one sample.
type progress struct {
	pages, items, errors int64
	rate                 float64 // pages a second since the last sample
	queued               int64
	inFlight             int
	waiting              string // the reason most domains wait for
	at                   time.Time
}

func (m *meter) sampleUntil(ctx context.Context, done <-chan struct{}, every time.Duration, tell func(progress)) {
	t := time.NewTicker(every)
	defer t.Stop()
	m.sample(ctx)
	for {
		select {
		case <-done:
			return
		case <-t.C:
			p := m.sample(ctx)
			if tell != nil {
				tell(p)
			}
		}
	}
}

func (m *meter) sample(ctx context.Context) progress {
	r := m.run
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	c := r.node.counters
	p := progress{
		pages: c.Pages.Load(), items: c.Items.Load(), errors: c.Errors.Load(),
		inFlight: r.node.table.InFlight(), waiting: slowest(r.node.table.Waits()), at: time.Now(),
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p.queued = m.last.queued
	if counts, err := r.crawl.Counts(ctx); err == nil {
		p.queued = queued(counts)
		if p.waiting == "" && p.inFlight == 0 && counts.Delayed > 0 {
			p.waiting = "retry" // no domain lives for it until it is due
		}
	}
	if !m.last.at.IsZero() {
		p.rate = float64(p.pages-m.last.pages) / p.at.Sub(m.last.at).Seconds()
	}
	m.last = p
	return p
}

func queued(c rqueue.Counts) int64 { return c.Waiting + c.Delayed }

// slowest names why most domains wait, the plain lack of work aside.
func slowest(waits map[throttle.Reason]int64) string {
	reasons := make([]string, 0, len(waits))
	for r := range waits {
		if r != throttle.ReasonNoWork && r != throttle.ReasonNone {
			reasons = append(reasons, string(r))
		}
	}
	if len(reasons) == 0 {
		return ""
	}
	sort.Slice(reasons, func(i, j int) bool {
		a, b := waits[throttle.Reason(reasons[i])], waits[throttle.Reason(reasons[j])]
		if a != b {
			return a > b
		}
		return reasons[i] < reasons[j]
	})
	return reasons[0]
}

// line is the progress as a person reads it.
func (m *meter) line() string {
	m.mu.Lock()
	p := m.last
	m.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%d pages  %.1f pages/s  %d queued  %d in flight  %d errors", p.pages, p.rate, p.queued, p.inFlight, p.errors)
	if p.waiting != "" {
		b.WriteString("  waiting: " + p.waiting)
	}
	return b.String()
}

func (p progress) fields() logrus.Fields {
	f := logrus.Fields{
		"pages": p.pages, "pages_per_s": fmt.Sprintf("%.1f", p.rate), "items": p.items, "queued": p.queued,
		"in_flight": p.inFlight, "errors": p.errors,
	}
	if p.waiting != "" {
		f["waiting"] = p.waiting
	}
	return f
}
