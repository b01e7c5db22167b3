package main

import (
	"context"
	"errors"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"orbweaver/actors/scheduler"
	"orbweaver/core/rqueue"
)

// discoverEvery is how often a long-lived node looks for crawls that are new, were
// flushed or stopped elsewhere.
const discoverEvery = 2 * time.Second

// hintEvery is how often a hint that there is a new crawl is followed, at most.
const hintEvery = 200 * time.Millisecond

// flushPatience is after how many looks a crawl's flush counts as cut short.
const flushPatience = 10

func newStartCommand(t *terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Run a long-lived node that serves every crawl stored in Redis",
		Long: `Run a long-lived node that serves every crawl stored in Redis.

A crawl comes into being by 'node crawl', by 'node seed', or by naming it here with
--name; then seeds may also be pushed to <crawl>:start_urls by any Redis client.
Ctrl-C once finishes what is in flight and gives the rest back.`,
		Example: `  node start --config cluster.yaml
  node start --redis redis://127.0.0.1:6379/0 --name shop`,
		Args: cobra.NoArgs,
	}
	flags := addSettings(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := flags.load(t.env)
		if err != nil {
			return err
		}
		log := newLogger(cfg, t.err)
		n, err := startNode(cmd.Context(), cfg, log, "")
		if err != nil {
			return err
		}
		defer n.Close()
		s := &service{node: n, log: log, attached: map[string]*rqueue.Crawl{}, flushing: map[string]int{}}
		return s.run(cmd.Context(), t)
	}
	return cmd
}

// service is a long-lived node.
type service struct {
	node     *Node
	log      *logrus.Logger
	attached map[string]*rqueue.Crawl
	flushing map[string]int // crawls that are being flushed: for how many looks
	looked   time.Time
	lastErr  string
}

func (s *service) run(ctx context.Context, t *terminal) error {
	if name := s.node.cfg.Crawl.Name; name != "" {
		if _, err := s.node.ensureCrawl(ctx, name); err != nil {
			return &exitError{exitStore, err}
		}
	}
	s.discover(ctx)
	s.log.WithField("admin", s.node.admin.address()).Info("node is up")
	tick := time.NewTicker(discoverEvery)
	defer tick.Stop()
	stats := time.NewTicker(max(time.Second, s.node.cfg.Log.StatsInterval))
	defer stats.Stop()
	for {
		select {
		case <-tick.C:
			s.discover(ctx)
		case <-s.node.crawlsChanged:
			if time.Since(s.looked) >= hintEvery { // else the next tick will do
				s.discover(ctx)
			}
		case <-stats.C:
			if s.node.cfg.Log.StatsInterval > 0 {
				s.tellProgress()
			}
		case <-s.node.evicted():
			return s.node.abandon()
		case <-t.interrupts:
			return s.stop(t) //nolint:contextcheck // leaving goes on when ctx is over
		case <-ctx.Done():
			return s.stop(t) //nolint:contextcheck // leaving goes on when ctx is over
		}
	}
}

// discover attaches crawls that this node does not serve yet, anew those that were
// flushed, and leaves those that are over.
func (s *service) discover(ctx context.Context) {
	s.looked = time.Now()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	infos, err := s.node.frontier.Crawls(ctx)
	if err != nil {
		if s.lastErr != err.Error() {
			s.log.WithField("err", err).Warn("crawls not listed, trying again")
		}
		s.lastErr = err.Error()
		return
	}
	s.lastErr = ""
	stored := map[string]bool{}
	for _, info := range infos {
		stored[info.Name] = true
		c := s.attached[info.Name]
		if !info.Flushing {
			delete(s.flushing, info.Name)
		} else if s.flushing[info.Name]++; s.flushing[info.Name] < flushPatience {
			continue // whoever flushes or deletes it will be done soon
		}
		switch {
		case info.State == rqueue.StateRunning && (c == nil || c.Run() != info.Run):
			if c != nil {
				s.detach(c)
			}
			if err := s.attach(ctx, info); err != nil {
				s.log.WithFields(logrus.Fields{"crawl": info.Name, "err": err}).Warn("crawl not served")
			}
		case info.State != rqueue.StateRunning && c != nil:
			s.detach(c)
		}
	}
	for name, c := range s.attached {
		if !stored[name] {
			s.detach(c)
		}
	}
}

func (s *service) attach(ctx context.Context, info rqueue.Info) error {
	var c *rqueue.Crawl
	var err error
	if info.Flushing { // cut short: to be completed
		c, err = s.node.frontier.OpenCrawl(ctx, info.Spec, false)
	} else {
		c, err = s.node.frontier.JoinCrawl(info)
	}
	if err != nil {
		return err
	}
	job, err := s.node.addJob(ctx, c)
	if err != nil {
		return err
	}
	s.node.system.Root.Send(s.node.scheduler, &scheduler.Attach{Crawl: c, Seeds: s.node.seedReader(job)})
	s.attached[info.Name] = c
	s.log.WithFields(logrus.Fields{"crawl": info.Name, "scheduled": c.Resumed()}).Info("serving crawl")
	return nil
}

func (s *service) detach(c *rqueue.Crawl) {
	s.node.system.Root.Send(s.node.scheduler, &scheduler.Detach{Crawl: c})
	delete(s.attached, c.Name())
	s.log.WithField("crawl", c.Name()).Info("crawl is no longer served")
}

func (s *service) tellProgress() {
	c := s.node.counters
	s.log.WithFields(logrus.Fields{
		"crawls": len(s.attached), "pages": c.Pages.Load(), "items": c.Items.Load(), "errors": c.Errors.Load(),
		"in_flight": s.node.table.InFlight(), "domains": s.node.table.Live(),
	}).Info("crawling")
}

func (s *service) stop(t *terminal) error {
	s.log.Warn("stopping: finishing what is in flight; interrupt again to end at once")
	done := make(chan error, 1)
	go func() { done <- s.node.drain(false) }()
	select {
	case err := <-done:
		if err != nil {
			s.log.WithField("err", err).Warn("not everything ended in time")
		}
	case <-t.interrupts:
		s.log.Warn("interrupted twice: ending at once, what is in flight will be fetched again")
	}
	return &exitError{exitInterrupted, nil}
}

// ensureCrawl makes a crawl of that name if there is none, with this node's settings.
func (n *Node) ensureCrawl(ctx context.Context, name string) (rqueue.Info, error) {
	infos, err := n.frontier.Crawls(ctx)
	if err != nil {
		return rqueue.Info{}, err
	}
	for _, info := range infos {
		if info.Name == name && info.State != rqueue.StateFinished {
			return info, nil
		}
	}
	spec := crawlSpec(n.cfg, name)
	spec.Items = true
	spec.Persist = n.cfg.Scheduler.Persist
	c, err := n.openCrawl(ctx, spec, false)
	if err != nil {
		return rqueue.Info{}, errors.Join(err)
	}
	sitemaps, err := sitemapSeeds(n.cfg.Crawl.Sitemap)
	if err == nil {
		err = n.letIn(ctx, c, sitemaps)
	}
	if err != nil {
		return rqueue.Info{}, err
	}
	return rqueue.Info{Name: name, State: rqueue.StateRunning, Run: c.Run(), Spec: c.Spec()}, nil
}
