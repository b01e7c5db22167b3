package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"orbweaver/admin"
	"orbweaver/config"
)

func newNodesCommand(t *terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "nodes",
		Short: "List the nodes of the cluster, as a running node sees them",
		Example: `  node nodes
  node nodes --admin 10.0.0.7:6080`,
		Args: cobra.NoArgs,
	}
	flags := addSettings(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := flags.load(t.env)
		if err != nil {
			return err
		}
		nodes, err := listNodes(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(t.out, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "NODE\tADDRESS\tADMIN\tCRAWL\tWEIGHT\tSHARE\tAGE\tVERSION") //nolint:errcheck // Flush tells
		for _, n := range nodes {
			//nolint:errcheck // Flush tells
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%g\t%.1f%%\t%s\t%s\n", n.ID, orDash(n.Address), orDash(n.Admin), cmp.Or(n.Crawl, "all"), n.Weight, 100*n.Share,
				time.Duration(n.Age).Round(time.Second), n.Version)
		}
		return w.Flush()
	}
	return cmd
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func listNodes(ctx context.Context, cfg *config.Config) ([]admin.Node, error) {
	if cfg.Admin.Listen == "" {
		return nil, usage(errors.New("node: no node to ask: give the --admin HOST:PORT of a running one"))
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+cfg.Admin.Listen+"/api/v1/nodes", nil)
	if err != nil {
		return nil, usage(fmt.Errorf("node: --admin %s: %w", cfg.Admin.Listen, err))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, &exitError{exitStore, fmt.Errorf("node: no node answers at %s (is one running? 'node start'): %w", cfg.Admin.Listen, err)}
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	var res struct {
		Nodes []admin.Node              `json:"nodes"`
		Error *struct{ Message string } `json:"error"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 16<<20)).Decode(&res); err != nil {
		return nil, &exitError{exitStore, fmt.Errorf("node: the answer (status %d) is not a node's: %w", resp.StatusCode, err)}
	}
	if res.Error != nil {
		return nil, &exitError{exitStore, fmt.Errorf("node: %s", res.Error.Message)}
	}
	return res.Nodes, nil
}
