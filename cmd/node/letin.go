package main

import (
	"context"
	"errors"
	"strconv"

	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/core/sitemap"
	"orbweaver/core/weburl"
)

// robotsSitemaps, in SITEMAP, stands for the sitemaps that robots.txt names.
const robotsSitemaps = "robots"

// cliSeed is one seed of the command line, of a seeds file or of SITEMAP.
type cliSeed struct {
	url, host string
	sitemap   bool
}

// sitemapSeeds are the sitemaps that SITEMAP names.
func sitemapSeeds(names []string) ([]cliSeed, error) {
	var out []cliSeed
	for _, name := range names {
		if name == robotsSitemaps {
			continue
		}
		u, err := weburl.Clean(name)
		if err != nil {
			return nil, err
		}
		out = append(out, cliSeed{url: u, host: weburl.Host(u), sitemap: true})
	}
	return out, nil
}

// letIn enqueues seeds. Their ids come from the crawl's run: the same seeds again add
// nothing while the crawl goes on.
func (n *Node) letIn(ctx context.Context, c *rqueue.Crawl, seeds []cliSeed) error {
	if len(seeds) == 0 {
		return nil
	}
	links := make([]rqueue.Link, len(seeds))
	hosts := make([]string, len(seeds))
	round := strconv.FormatInt(c.Run(), 10) + "." + strconv.FormatInt(c.Opening(), 10)
	prints := fingerprinter(n.cfg)
	for i, s := range seeds {
		req := &crawl.Request{ID: crawl.NewID("seed", c.Name(), round, s.url), URL: s.url, Seed: true, DontFilter: true}
		if s.sitemap {
			req.Meta = sitemap.Mark(1)
		}
		req.Fingerprint = prints.Fingerprint(req)
		links[i] = rqueue.Link{Crawl: c, Host: s.host, Request: req}
		hosts[i] = s.host
	}
	if err := c.AddSeedHosts(ctx, hosts); err != nil {
		return err
	}
	session := n.frontier.NewSession()
	_, _, err := session.Enqueue(ctx, links)
	return errors.Join(err, session.Close())
}
