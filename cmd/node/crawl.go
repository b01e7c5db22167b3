package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"orbweaver/actors/scheduler"
	"orbweaver/config"
	"orbweaver/core/rqueue"
	"orbweaver/core/weburl"
	"orbweaver/export"
)

// crawlOptions are what the crawl command takes besides settings.
type crawlOptions struct {
	seedsFile string
	output    string
	overwrite string
}

func newCrawlCommand(t *terminal) *cobra.Command {
	var opt crawlOptions
	cmd := &cobra.Command{
		Use:   "crawl URL...",
		Short: "Crawl from the given URLs until nothing is left, then print a summary",
		Long: `Crawl from the given URLs until nothing is left, then print a summary.

The crawl is kept in Redis: the embedded one in the data folder, or the one that
--redis names. Interrupted (Ctrl-C once: what is in flight is finished; twice: at
once) or killed, the same command goes on where it was.

Exit codes: 0 finished, 1 nothing could be fetched, 2 usage or configuration,
3 the store cannot be reached, 4 items could not be written, 5 given up by the other
nodes (run it again), 130 interrupted.`,
		Example: `  node crawl https://example.org/ -o pages.jsonl
  node crawl https://example.org/ -s DOWNLOAD_DELAY=2 --depth 3 --max-pages 500
  node crawl --seeds urls.txt --redis redis://127.0.0.1:6379/0 --name shop`,
	}
	flags := addSettings(cmd)
	cmd.Flags().StringVar(&opt.seedsFile, "seeds", "", "read seeds from this `FILE`, one a line; - is standard input")
	cmd.Flags().StringVarP(&opt.output, "output", "o", "", "append items to `FILE` (.jsonl, .json, .csv; - is standard output as JSON lines)")
	cmd.Flags().StringVarP(&opt.overwrite, "overwrite-output", "O", "", "write items to `FILE`, replacing what it holds")
	var prof profiles
	prof.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		cfg, err := flags.load(t.env)
		if err != nil {
			return err
		}
		stop, err := prof.start()
		if err != nil {
			return usage(err)
		}
		defer func() { err = errors.Join(err, stop()) }()
		seeds, err := gatherSeeds(cfg, args, opt.seedsFile, t)
		if err != nil {
			return usage(err)
		}
		return runCrawl(cmd.Context(), cfg, seeds, opt, t)
	}
	return cmd
}

// gatherSeeds reads and checks the seeds; every bad one is named.
func gatherSeeds(cfg *config.Config, args []string, file string, t *terminal) ([]cliSeed, error) {
	var out []cliSeed
	var errs []error
	seen := map[string]bool{}
	guard := cfg.Fetch.Guard()
	add := func(where, raw string, sitemap bool) {
		clean, err := weburl.Clean(raw)
		if err == nil {
			err = guard.CheckURL(clean)
		}
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s%s: %w", where, raw, err))
		case !seen[clean]:
			seen[clean] = true
			out = append(out, cliSeed{url: clean, host: weburl.Host(clean), sitemap: sitemap})
		}
	}
	for _, a := range args {
		add("seed ", a, false)
	}
	if file != "" {
		if err := readSeedsFile(file, t, add); err != nil {
			return nil, err
		}
	}
	for _, a := range cfg.Crawl.Sitemap {
		if a != robotsSitemaps {
			add("SITEMAP ", a, true)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if len(out) == 0 {
		return nil, errors.New("no seeds: give URLs, or --seeds FILE; sitemaps go with -s SITEMAP=URL")
	}
	return out, nil
}

func readSeedsFile(file string, t *terminal, add func(where, raw string, sitemap bool)) error {
	in := t.in
	if file != "-" {
		f, err := os.Open(file) //nolint:gosec // the user's own file
		if err != nil {
			return fmt.Errorf("--seeds: %w", err)
		}
		defer f.Close() //nolint:errcheck // only read
		in = f
	}
	sc := bufio.NewScanner(in)
	sc.Buffer(make([]byte, 64<<10), 1<<20)
	for n := 1; sc.Scan(); n++ {
		if line := strings.TrimSpace(sc.Text()); line != "" && !strings.HasPrefix(line, "#") {
			add(fmt.Sprintf("%s:%d: ", file, n), line, false)
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("--seeds %s: %w", file, err)
	}
	return nil
}

// crawlRun is one run of the crawl command.
type crawlRun struct {
	cfg     *config.Config
	log     *logrus.Logger
	node    *Node
	crawl   *rqueue.Crawl
	opt     crawlOptions
	started time.Time
	before  map[string]int64 // the crawl's statistics when this run began
	reason  string           // finish_reason
	// elsewhere: another process finished and closed the crawl, flushed or deleted it.
	elsewhere bool
	parked    bool // requests of parked hosts are kept: the crawl is not closed
}

func runCrawl(ctx context.Context, cfg *config.Config, seeds []cliSeed, opt crawlOptions, t *terminal) error {
	name := cfg.Crawl.Name
	if name == "" {
		name = seeds[0].host
	}
	out, err := outputOf(opt)
	if err != nil {
		return usage(err)
	}
	screen := newScreen(t.err)
	defer screen.close()
	r := &crawlRun{cfg: cfg, log: newLogger(cfg, screen), opt: opt, started: time.Now()}
	if r.node, err = startNode(ctx, cfg, r.log, name); err != nil {
		return err
	}
	defer r.node.Close() //nolint:contextcheck // what runs is stopped also when ctx is over
	finished, err := r.open(ctx, name, seeds, out)
	if err != nil {
		return &exitError{exitStore, err}
	}
	stop := screen.follow(ctx, r)
	defer stop()
	return r.wait(ctx, finished, t, stop)
}

// outputOf reads -o and -O.
func outputOf(opt crawlOptions) (*output, error) {
	arg, overwrite := opt.output, false
	if opt.overwrite != "" {
		if arg != "" {
			return nil, errors.New("-o and -O exclude each other")
		}
		arg, overwrite = opt.overwrite, true
	}
	if arg == "" {
		return nil, nil //nolint:nilnil // no output asked for
	}
	path, format := export.SplitFormat(arg)
	o := &output{path: path, format: format, overwrite: overwrite}
	return o, o.check()
}

// open opens or resumes the crawl (the channel it gives says when that is finished, and
// whether elsewhere), lets its seeds in and hands it to the actors.
func (r *crawlRun) open(ctx context.Context, name string, seeds []cliSeed, out *output) (<-chan bool, error) {
	spec := crawlSpec(r.cfg, name)
	spec.Persist = r.cfg.Scheduler.Persist
	spec.Export = out != nil
	spec.Items = out == nil || !r.node.store.Embedded()
	var err error
	r.crawl, err = r.node.openCrawl(ctx, spec, r.cfg.Scheduler.FlushOnStart)
	if err != nil {
		return nil, err
	}
	if n := r.crawl.Resumed(); n > 0 {
		r.log.WithField("crawl", name).Infof("Resuming crawl (%d requests scheduled)", n)
	}
	if r.before, err = r.crawl.Stats(ctx); err != nil {
		return nil, err
	}
	job, err := r.node.addJob(ctx, r.crawl)
	if err != nil {
		return nil, err
	}
	for _, s := range seeds {
		job.Scope.AddSeed(s.host)
	}
	if err := r.node.letIn(ctx, r.crawl, seeds); err != nil {
		return nil, err
	}
	if out != nil {
		if err := r.node.addExporter(r.crawl, out); err != nil {
			return nil, err
		}
	}
	if limit := r.cfg.Crawl.CloseSpiderPageCount; limit > 0 {
		r.node.table.LimitPages(r.crawl, int64(limit), 0)
	}
	finished := make(chan bool, 1)
	report := r.node.system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if msg, ok := c.Message().(*scheduler.Finished); ok {
			finished <- msg.Elsewhere
			c.Stop(c.Self())
		}
	}))
	r.node.system.Root.Send(r.node.scheduler, &scheduler.Attach{
		Crawl: r.crawl, Seeds: r.node.seedReader(job),
		FinishWhenIdle: true, Report: report,
	})
	return finished, nil
}

// wait ends the run: finished, its page budget used up, or interrupted.
func (r *crawlRun) wait(ctx context.Context, finished <-chan bool, t *terminal, stopScreen func()) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case r.elsewhere = <-finished:
			r.reason = "finished"
			return r.end(ctx, stopScreen, t)
		case <-tick.C:
			if left, limited := r.node.table.PagesLeft(r.crawl); limited && left == 0 {
				r.reason = "closespider_pagecount"
				return r.end(ctx, stopScreen, t)
			}
		case <-r.node.evicted():
			stopScreen()
			return r.node.abandon()
		case <-t.interrupts:
			r.reason = "shutdown"
			return r.interrupted(ctx, stopScreen, t)
		case <-ctx.Done():
			r.reason = "shutdown"
			return r.interrupted(ctx, stopScreen, t)
		}
	}
}

// end closes a crawl that is over.
func (r *crawlRun) end(ctx context.Context, stopScreen func(), t *terminal) error {
	if err := r.node.drain(false); err != nil { //nolint:contextcheck // leaving goes on when ctx is over
		r.log.WithField("err", err).Warn("not everything ended in time")
	}
	exportErr := r.node.drainExports(r.crawl)
	stopScreen()
	stats, err := r.summary(ctx, t)
	if err != nil {
		return &exitError{exitStore, err}
	}
	if r.reason == "finished" && !r.parked && exportErr == nil { // else the next run ends it
		r.settle(ctx)
	}
	switch {
	case exportErr != nil:
		return &exitError{exitExport, fmt.Errorf("items could not be written, they are kept in the store; run the same command again to write them: %w", exportErr)}
	case pagesIn(stats) == 0 && (r.crawl.Resumed() == 0 || pagesIn(r.before) == 0):
		return &exitError{exitNothing, errors.New("nothing could be fetched: see the summary above, or run again with --log-level debug")}
	}
	return nil
}

// settle closes a crawl whose items are all where they belong. Should the process die
// before it, the same command does it; after it, the command crawls anew.
func (r *crawlRun) settle(ctx context.Context) {
	if err := r.crawl.Close(ctx, r.cfg.Scheduler.Persist); err != nil {
		r.log.WithField("err", err).Warn("queue and filter not deleted")
	}
	if out, _ := outputOf(r.opt); out != nil {
		if err := r.crawl.ExportForget(ctx, out.name()); err != nil {
			r.log.WithField("err", err).Warn("place in the output file not forgotten")
		}
	}
}

// interrupted gives back what is not sent, finishes what is in flight, and says how
// to go on. A second signal ends the process at once: leases lapse by themselves.
func (r *crawlRun) interrupted(ctx context.Context, stopScreen func(), t *terminal) error {
	r.log.Warn("interrupted: finishing what is in flight; interrupt again to end at once")
	done := make(chan struct{})
	go func() { //nolint:contextcheck // leaving goes on when ctx is over
		defer close(done)
		if err := r.node.drain(false); err != nil {
			r.log.WithField("err", err).Warn("not everything ended in time")
		}
		if err := r.node.drainExports(r.crawl); err != nil {
			r.log.WithField("err", err).Error("items could not be written, they are kept in the store")
		}
	}()
	select {
	case <-done:
	case <-t.interrupts:
		r.log.Warn("interrupted twice: ending at once, what is in flight will be fetched again")
		return &exitError{exitInterrupted, nil}
	}
	stopScreen()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := r.summary(ctx, t); err != nil {
		r.log.WithField("err", err).Warn("no summary")
	}
	if r.node.store.Persistent() {
		r.log.Info("run the same command again to resume")
	} else {
		r.log.Warn("the store was in memory: nothing is left to resume; install redis-server to keep crawls")
	}
	return &exitError{exitInterrupted, nil}
}
