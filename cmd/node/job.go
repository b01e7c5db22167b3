package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"orbweaver/actors/pipeline"
	"orbweaver/actors/scheduler"
	"orbweaver/core/blocked"
	"orbweaver/core/cookies"
	"orbweaver/core/policy"
	"orbweaver/core/rqueue"
	"orbweaver/core/sitemap"
	"orbweaver/core/trap"
	"orbweaver/core/weburl"
	"orbweaver/export"
)

// jobOf is how one crawl's pages are read.
type jobOf = pipeline.Job

// crawlSettings are the settings that belong to a crawl rather than to a node: they
// are stored with its spec, so that every node that serves it reads pages alike.
type crawlSettings struct {
	Scope          string `json:"scope"`
	DepthLimit     int    `json:"depth_limit,omitempty"`
	DepthPriority  int    `json:"depth_priority,omitempty"`
	URLLengthLimit int    `json:"urllength_limit,omitempty"`
	Fingerprinter  string `json:"fingerprinter,omitempty"`

	Sitemap      []string `json:"sitemap,omitempty"`
	SitemapSince string   `json:"sitemap_since,omitempty"`

	Traps       *trap.Config `json:"traps,omitempty"`        // nil: off
	BlockedPark *bool        `json:"blocked_park,omitempty"` // nil, of an older node's crawl: true

	Links *followed `json:"links,omitempty"` // nil, of an older node's crawl: the defaults

	NoCookies      bool `json:"no_cookies,omitempty"`
	CookiesPersist bool `json:"cookies_persist,omitempty"`
}

// openCrawl opens a crawl with this node's settings for it.
func (n *Node) openCrawl(ctx context.Context, spec rqueue.Spec, flush bool) (*rqueue.Crawl, error) {
	settings, err := json.Marshal(crawlSettings{
		Scope: n.cfg.Crawl.Scope, DepthLimit: n.cfg.Crawl.DepthLimit, DepthPriority: n.cfg.Crawl.DepthPriority,
		URLLengthLimit: n.cfg.Crawl.URLLengthLimit, Fingerprinter: n.cfg.Scheduler.Fingerprinter,
		Sitemap: n.cfg.Crawl.Sitemap, SitemapSince: n.cfg.Crawl.SitemapSince,
		Traps:       trapConfig(n.cfg),
		BlockedPark: &n.cfg.Crawl.BlockedPark,
		Links:       followedBy(n.cfg),
		NoCookies:   !n.cfg.Fetch.CookiesEnabled, CookiesPersist: n.cfg.Fetch.CookiesPersist,
	})
	if err != nil {
		return nil, fmt.Errorf("node: encode settings of crawl %s: %w", spec.Name, err)
	}
	spec.Settings = settings
	c, err := n.frontier.OpenCrawl(ctx, spec, flush)
	if err != nil {
		return nil, err
	}
	if flush {
		err = c.ClearSeedHosts(ctx)
	}
	return c, err
}

// addJob makes a crawl's pages readable on this node.
func (n *Node) addJob(ctx context.Context, c *rqueue.Crawl) (*jobOf, error) {
	var s crawlSettings
	if raw := c.Spec().Settings; len(raw) > 0 {
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, fmt.Errorf("node: settings of crawl %s: %w", c.Name(), err)
		}
	}
	hosts, err := c.SeedHosts(ctx)
	if err != nil {
		return nil, err
	}
	scope, err := weburl.NewScope(s.Scope, hosts)
	if err != nil {
		return nil, fmt.Errorf("node: crawl %s: %w", c.Name(), err)
	}
	pc := policyConfig(n.cfg)
	pc.DepthLimit, pc.DepthPriority, pc.URLLengthLimit = s.DepthLimit, s.DepthPriority, s.URLLengthLimit
	p, err := policy.New(pc)
	if err != nil {
		return nil, fmt.Errorf("node: crawl %s: %w", c.Name(), err)
	}
	if !s.NoCookies {
		jars, err := cookies.New(cookiesConfig(n.cfg))
		if err != nil {
			return nil, fmt.Errorf("node: crawl %s: %w", c.Name(), err)
		}
		n.jars.Store(c, &crawlJars{jars: jars, persist: s.CookiesPersist})
	}
	since, _ := sitemap.ParseTime(s.SitemapSince)
	job := &jobOf{
		Crawl: c, Spider: defaultSpider(n.cfg, s.Links), Scope: scope, Policy: p, Fingerprint: fingerprinter(n.cfg), Cookies: !s.NoCookies,
		Sitemaps: len(s.Sitemap) > 0, RobotsSitemaps: slices.Contains(s.Sitemap, robotsSitemaps), SitemapLimits: sitemap.Limits{Since: since},
	}
	if s.Traps != nil {
		if job.Traps, err = trap.New(*s.Traps); err != nil {
			return nil, fmt.Errorf("node: crawl %s: %w", c.Name(), err)
		}
	}
	if s.BlockedPark == nil || *s.BlockedPark {
		job.Blocked = blocked.NewWatch()
	}
	n.jobs.Store(c, job)
	return job, nil
}

// crawlJars are the cookies of one crawl on this node.
type crawlJars struct {
	jars    *cookies.Jars
	persist bool
}

// cookiesOf gives the cookies of a crawl; nil: it keeps none.
func (n *Node) cookiesOf(c *rqueue.Crawl) (jars *cookies.Jars, persist bool) {
	if j, ok := n.jars.Load(c); ok {
		cj := j.(*crawlJars) //nolint:forcetypeassert // only jars are stored
		return cj.jars, cj.persist
	}
	return nil, false
}

// seedReader reads a crawl's start_urls.
func (n *Node) seedReader(job *jobOf) *scheduler.SeedReader {
	return &scheduler.SeedReader{Encoding: n.cfg.Redis.Encoding, Fingerprint: job.Fingerprint, Scope: job.Scope, Check: n.cfg.Fetch.Guard().CheckURL}
}

// output is a file that items go to.
type output struct {
	path, format string
	overwrite    bool
}

// check refuses what can be known to fail before anything is crawled.
func (o *output) check() error {
	if o.path == export.Stdout {
		return nil
	}
	return export.CheckFormat(o.path, o.format)
}

// open opens the file. One that somebody cut or removed since the last run cannot be
// gone on with: then the items that are still to come are appended to what there is.
func (o *output) open(resumeAt int64, log logrus.FieldLogger) (pipeline.Writer, error) {
	if info, err := os.Stat(o.path); resumeAt > 0 && (errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() < resumeAt) {
		log.WithField("file", o.path).Warn("output file is shorter than when it was left: appending to what it holds")
		resumeAt = export.NoOffset
	}
	w, err := export.Open(o.path, o.format, o.overwrite && resumeAt < 0, resumeAt)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// name is the output's name in the store: where it is, whatever folder the command
// is run from.
func (o *output) name() string {
	if o.path == export.Stdout {
		return o.path
	}
	if abs, err := filepath.Abs(o.path); err == nil {
		return abs
	}
	return o.path
}

// addExporter starts the actor that copies a crawl's items to a file. The file is
// opened now, so that a path that cannot be written is known before the crawl.
func (n *Node) addExporter(c *rqueue.Crawl, o *output) error {
	cfg := pipeline.ExportConfig{File: o.name(), Batch: 512, Every: 300 * time.Millisecond, Timeout: 10 * time.Second}
	producer := func() actor.Actor {
		return pipeline.NewExporter(cfg, exportSource{c}, func(resumeAt int64) (pipeline.Writer, error) { return o.open(resumeAt, n.log) }, n.log)
	}
	pid, err := n.system.Root.SpawnNamed(n.registry.Props("exporter", producer), "exporter:"+safeName(c.Name()))
	if err != nil {
		return errors.Join(fmt.Errorf("node: start exporter of %s", c.Name()), err)
	}
	n.mu.Lock()
	n.exporters[c] = pid
	n.mu.Unlock()
	return nil
}

// exportSource is a crawl's export list as the exporter needs it.
type exportSource struct{ c *rqueue.Crawl }

func (s exportSource) ExportPosition(ctx context.Context, file string) (int64, bool, error) {
	return s.c.ExportPosition(ctx, file)
}

func (s exportSource) ExportRead(ctx context.Context, file string, n int) ([][]byte, error) {
	return s.c.ExportRead(ctx, file, n)
}

func (s exportSource) ExportRelease(ctx context.Context, file string) error {
	return s.c.ExportRelease(ctx, file)
}

func (s exportSource) ExportAck(ctx context.Context, n int, file string, offset int64) error {
	_, err := s.c.ExportAck(ctx, n, file, offset)
	return err
}
