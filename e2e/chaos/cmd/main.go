// Chaos runs a cluster of nodes through faults drawn from a seed, and judges what
// the site saw and what Redis holds in the end. It exits with 1 when a promise was
// broken, with 2 when the run could not be done.
//
//	go run ./e2e/chaos/cmd -nodes 5 -hosts 200 -delay 200ms -duration 30m -requests 200000 -every 10s -seed 1
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"orbweaver/e2e/chaos"
)

func main() { os.Exit(run()) }

func run() int {
	var cfg chaos.Config
	flag.StringVar(&cfg.Node, "node", "", "the `program` under test; empty: it is built")
	flag.IntVar(&cfg.Nodes, "nodes", 5, "members at the start")
	flag.IntVar(&cfg.MostNodes, "most", 0, "members at most; 0: two more than at the start")
	flag.IntVar(&cfg.Hosts, "hosts", 200, "hosts of the site")
	flag.DurationVar(&cfg.Delay, "delay", 200*time.Millisecond, "delay of every host")
	flag.IntVar(&cfg.Concurrency, "concurrency", 1, "requests in flight at a host, at most")
	flag.DurationVar(&cfg.TTL, "ttl", 4*time.Second, "of a slot lease")
	flag.DurationVar(&cfg.Duration, "duration", 30*time.Minute, "of the faults")
	flag.IntVar(&cfg.Requests, "requests", 0, "after which the faults also end; 0: no such end")
	flag.DurationVar(&cfg.Every, "every", 10*time.Second, "between the beginnings of two faults")
	flag.DurationVar(&cfg.Longest, "longest", 20*time.Second, "of a fault, at most")
	flag.DurationVar(&cfg.Drain, "drain", 3*time.Minute, "for the crawl to end, at most")
	flag.Uint64Var(&cfg.Seed, "seed", 1, "decides the faults")
	flag.BoolVar(&cfg.Namespaces, "netns", false, "Redis in a network namespace whose links are cut; takes root")
	race := flag.Bool("race", false, "build the node with the race detector")
	dir := flag.String("dir", "", "`folder` for the logs of all processes; empty: a temporary one, kept when something is bad")
	out := flag.String("json", "", "`file` for the report as JSON")
	kinds := flag.String("faults", "", "kinds of faults to draw from, with commas between; empty: all")
	set := flag.String("set", "", "more settings of the nodes, NAME=VALUE with commas between")
	flag.Parse()
	cfg.Log = os.Stderr
	for _, k := range split(*kinds) {
		cfg.Kinds = append(cfg.Kinds, chaos.Kind(k))
	}
	cfg.Set = split(*set)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	bad, err := do(ctx, cfg, *dir, *out, *race)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 2
	case bad:
		return 1
	}
	return 0
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// do makes the run; true: a promise was broken.
func do(ctx context.Context, cfg chaos.Config, dir, out string, race bool) (bool, error) {
	temporary := dir == ""
	if temporary {
		var err error
		if dir, err = os.MkdirTemp("", "chaos-"); err != nil {
			return false, fmt.Errorf("chaos: make a folder: %w", err)
		}
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, fmt.Errorf("chaos: make a folder: %w", err)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false, fmt.Errorf("chaos: find the folder: %w", err)
	}
	cfg.Dir = dir
	if cfg.Node == "" {
		if cfg.Node, err = chaos.Build(ctx, dir, race); err != nil {
			return false, err
		}
	} else if cfg.Node, err = filepath.Abs(cfg.Node); err != nil {
		return false, fmt.Errorf("chaos: find the node: %w", err)
	}
	fmt.Fprintf(os.Stderr, "chaos: seed %d, logs in %s\n", cfg.Seed, dir)
	rep, err := chaos.Run(ctx, cfg)
	if err != nil {
		return false, err
	}
	rep.WriteText(os.Stdout)
	if out != "" {
		text, err := json.MarshalIndent(rep, "", "  ")
		if err != nil {
			return false, fmt.Errorf("chaos: write the report: %w", err)
		}
		if err := os.WriteFile(out, append(text, '\n'), 0o600); err != nil {
			return false, fmt.Errorf("chaos: write the report: %w", err)
		}
	}
	bad := len(rep.Bad()) > 0
	if temporary && !bad {
		_ = os.RemoveAll(dir) // what is left of it is in a temporary place
	}
	return bad, nil
}
