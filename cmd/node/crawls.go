package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"orbweaver/config"
	"orbweaver/core/rqueue"
	"orbweaver/store"
)

func newCrawlsCommand(t *terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "crawls",
		Short: "List, flush or delete the crawls stored in a Redis",
		Example: `  node crawls list --redis redis://127.0.0.1:6379/0
  node crawls flush shop --redis redis://127.0.0.1:6379/0
  node crawls delete shop --items --redis redis://127.0.0.1:6379/0
  node crawls parked shop --redis redis://127.0.0.1:6379/0`,
	}
	var items bool
	del := crawlsSub(t, &cobra.Command{
		Use: "delete CRAWL", Short: "Delete a crawl: every key of it but its items", Args: cobra.ExactArgs(1),
		Long: `Delete a crawl: requests, dupefilter, statistics, seeds; with --items its items too.
Nodes that serve it stop doing so within seconds. Cut short, run it again.`,
	}, func(ctx context.Context, f *rqueue.Frontier, args []string) error {
		return withCrawl(ctx, f, args[0], func(c *rqueue.Crawl) error { return c.Delete(ctx, items) })
	})
	del.Flags().BoolVar(&items, "items", false, "delete the items too")
	cmd.AddCommand(
		crawlsSub(t, &cobra.Command{Use: "list", Short: "List the crawls", Args: cobra.NoArgs},
			func(ctx context.Context, f *rqueue.Frontier, _ []string) error { return listCrawls(ctx, f, t) }),
		crawlsSub(t, &cobra.Command{
			Use: "flush CRAWL", Short: "Empty a crawl's queue and dupefilter; it goes on with new seeds", Args: cobra.ExactArgs(1),
		}, func(ctx context.Context, f *rqueue.Frontier, args []string) error {
			return withCrawl(ctx, f, args[0], func(c *rqueue.Crawl) error { return c.Flush(ctx) })
		}),
		del,
	)
	cmd.AddCommand(parkingCommands(t)...)
	return cmd
}

// crawlsSub makes a subcommand that works on the store directly.
func crawlsSub(t *terminal, cmd *cobra.Command, run func(ctx context.Context, f *rqueue.Frontier, args []string) error) *cobra.Command {
	flags := addSettings(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := flags.load(t.env)
		if err != nil {
			return err
		}
		if cfg.Redis.URL == "" {
			return usage(errors.New("node: --redis is missing: it names the Redis that holds the crawls"))
		}
		return onStore(cmd.Context(), cfg, t, func(f *rqueue.Frontier) error { return run(cmd.Context(), f, args) })
	}
	return cmd
}

// onStore runs something on the frontier alone, without a node.
func onStore(ctx context.Context, cfg *config.Config, t *terminal, run func(*rqueue.Frontier) error) error {
	st, err := store.Open(ctx, store.Config{
		URL: cfg.Redis.URL, DataDir: cfg.Node.DataDir, Server: cfg.Redis.Server, Fsync: cfg.Redis.AppendFsync, Log: newLogger(cfg, t.err),
	})
	if errors.Is(err, store.ErrConfig) {
		return usage(err)
	}
	if err != nil {
		return &exitError{exitStore, err}
	}
	defer st.Close() //nolint:errcheck // what was to be done is done, or its error is told
	f, err := rqueue.Open(ctx, st.Client(), rqueueConfig(cfg, memberID(cfg), st.Embedded()))
	if err == nil {
		err = run(f)
	}
	var coded *exitError
	if err != nil && !errors.As(err, &coded) {
		err = &exitError{exitStore, err}
	}
	return err
}

func withCrawl(ctx context.Context, f *rqueue.Frontier, name string, do func(*rqueue.Crawl) error) error {
	infos, err := f.Crawls(ctx)
	if err != nil {
		return err
	}
	for _, info := range infos {
		if info.Name != name {
			continue
		}
		c, err := f.OpenCrawl(ctx, info.Spec, false)
		if err != nil {
			return err
		}
		if info.State != rqueue.StateRunning { // it was only opened to be emptied
			if err := c.SetState(ctx, info.State); err != nil {
				return err
			}
		}
		return do(c)
	}
	return usage(fmt.Errorf("node: there is no crawl %q in this Redis ('node crawls list' shows them)", name))
}

func listCrawls(ctx context.Context, f *rqueue.Frontier, t *terminal) error {
	infos, err := f.Crawls(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(t.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "CRAWL\tSTATE\tSCHEDULED\tSTARTED") //nolint:errcheck // Flush tells
	for _, info := range infos {
		started := "-"
		if !info.Started.IsZero() {
			started = info.Started.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", info.Name, info.State, info.Scheduled, started) //nolint:errcheck // Flush tells
	}
	return w.Flush()
}
