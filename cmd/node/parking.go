package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"orbweaver/core/rqueue"
	"orbweaver/core/weburl"
)

// parkingCommands are the commands about hosts that are left alone.
func parkingCommands(t *terminal) []*cobra.Command {
	var reason string
	park := parkingSub(t, &cobra.Command{
		Use: "park CRAWL HOST...", Short: "Leave hosts alone: send them nothing until they are released", Args: cobra.MinimumNArgs(2),
		Long: `Leave hosts alone: nothing is sent to them until they are released. Their requests
are kept as dead letters, and the crawl ends without them. Nodes that hold requests of
such a host follow within seconds.`,
	}, func(ctx context.Context, c *rqueue.Crawl, args []string) error {
		return parkHosts(ctx, t, c, args, reason)
	})
	park.Flags().StringVar(&reason, "reason", "by hand", "why, for whoever looks at it later")
	var all bool
	release := parkingSub(t, &cobra.Command{
		Use: "release CRAWL HOST...", Short: "Let the requests of parked hosts wait again", Args: cobra.MinimumNArgs(1),
		Long: `Let the requests of parked hosts wait again; --all: of all of them. A running crawl
goes on with them at once, one that has ended when its command is run again.`,
	}, func(ctx context.Context, c *rqueue.Crawl, args []string) error {
		return releaseHosts(ctx, t, c, args, all)
	})
	release.Flags().BoolVar(&all, "all", false, "release every parked host")
	return []*cobra.Command{
		parkingSub(t, &cobra.Command{
			Use: "parked CRAWL", Short: "List the hosts that are left alone, and why", Args: cobra.ExactArgs(1),
		}, func(ctx context.Context, c *rqueue.Crawl, _ []string) error { return listParked(ctx, t, c) }),
		park, release,
	}
}

// parkingSub makes a subcommand on one crawl, in a Redis or in the data folder of a
// crawl that has ended.
func parkingSub(t *terminal, cmd *cobra.Command, run func(ctx context.Context, c *rqueue.Crawl, args []string) error) *cobra.Command {
	flags := addSettings(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := flags.load(t.env)
		if err != nil {
			return err
		}
		if cfg.Redis.URL == "" {
			if _, err := os.Stat(filepath.Clean(cfg.Node.DataDir)); err != nil {
				return usage(fmt.Errorf("node: there is no crawl in %s: name its Redis with --redis, or its folder with --data-dir", cfg.Node.DataDir))
			}
		}
		ctx := cmd.Context()
		return onStore(ctx, cfg, t, func(f *rqueue.Frontier) error {
			infos, err := f.Crawls(ctx)
			if err != nil {
				return err
			}
			for _, info := range infos {
				if info.Name == args[0] {
					c, err := f.ViewCrawl(info)
					if err != nil {
						return err
					}
					return run(ctx, c, args[1:])
				}
			}
			return usage(fmt.Errorf("node: there is no crawl %q here", args[0]))
		})
	}
	return cmd
}

// hostOf reads a host as it is written on a command line, alone or in a URL.
func hostOf(arg string) (string, error) {
	url := arg
	if !strings.Contains(url, "://") {
		url = "http://" + url + "/"
	}
	clean, err := weburl.Clean(url)
	if err != nil {
		return "", fmt.Errorf("host %q: %w", arg, err)
	}
	return weburl.Host(clean), nil
}

func hostsOf(args []string) ([]string, error) {
	hosts := make([]string, 0, len(args))
	var errs []error
	for _, a := range args {
		host, err := hostOf(a)
		hosts, errs = append(hosts, host), append(errs, err)
	}
	return hosts, errors.Join(errs...)
}

func parkHosts(ctx context.Context, t *terminal, c *rqueue.Crawl, args []string, reason string) error {
	hosts, err := hostsOf(args)
	if err != nil {
		return usage(err)
	}
	for _, host := range hosts {
		parked, err := c.Park(ctx, host, reason)
		if err != nil {
			return err
		}
		word := "parked"
		if !parked {
			word = "was parked before"
		}
		fmt.Fprintf(t.out, "%s: %s\n", host, word) //nolint:errcheck // nobody is left to tell
	}
	return nil
}

func releaseHosts(ctx context.Context, t *terminal, c *rqueue.Crawl, args []string, all bool) error {
	hosts, err := hostsOf(args)
	switch {
	case err != nil:
		return usage(err)
	case all == (len(hosts) > 0):
		return usage(errors.New("node: name the hosts to release, or give --all"))
	case all:
		parked, err := c.Parked(ctx)
		if err != nil {
			return err
		}
		for _, p := range parked {
			hosts = append(hosts, p.Host)
		}
	}
	for _, host := range hosts {
		back, parked, err := c.Release(ctx, host)
		if err != nil {
			return err
		}
		if !parked && back == 0 {
			fmt.Fprintf(t.out, "%s: was not parked\n", host) //nolint:errcheck // nobody is left to tell
			continue
		}
		fmt.Fprintf(t.out, "%s: released, %d requests wait again\n", host, back) //nolint:errcheck // nobody is left to tell
	}
	return nil
}

func listParked(ctx context.Context, t *terminal, c *rqueue.Crawl) error {
	parked, err := c.Parked(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(t.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "HOST\tSINCE\tREQUESTS\tREASON") //nolint:errcheck // Flush tells
	for _, p := range parked {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", p.Host, p.Since.UTC().Format(time.RFC3339), p.Letters, p.Reason) //nolint:errcheck // Flush tells
	}
	return w.Flush()
}

// shownParked bounds the hosts that the end of a crawl lists.
const shownParked = 20

// tellParked says at the end of a crawl which hosts were left alone, and how to go on.
func (r *crawlRun) tellParked(parked []rqueue.Parked) {
	if len(parked) == 0 {
		return
	}
	where := "--redis URL"
	if r.node.store.Embedded() {
		where = "--data-dir " + r.cfg.Node.DataDir
	}
	for i, p := range parked {
		if i == shownParked {
			r.log.Warnf("... and %d more: node crawls parked %s %s", len(parked)-i, r.crawl.Name(), where)
			break
		}
		r.log.WithField("domain", p.Host).WithField("reason", p.Reason).WithField("requests", p.Letters).Warn("host was left alone, its requests are kept")
	}
	if !r.node.store.Persistent() {
		r.log.Warn("the store was in memory: nothing is left to release; install redis-server to keep crawls")
		return
	}
	r.log.Warnf("to go on: node crawls release %s HOST %s, then run the same command again", r.crawl.Name(), where)
}
