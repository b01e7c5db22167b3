package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"orbweaver/config"
	"orbweaver/core/rqueue"
	"orbweaver/core/seeds"
	"orbweaver/store"
)

func newSeedCommand(t *terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "seed CRAWL URL...",
		Short: "Send seeds to a crawl",
		Long: `Send seeds to a crawl: URLs, or the JSON form that scrapy-redis takes
({"url": ..., "method": ..., "meta": ...}); - reads them from standard input, one a
line.

With a Redis (REDIS_URL) they are pushed to the crawl's start_urls, and the crawl is
made when there is none; nodes pick them up. Without one they are sent to the
running node's admin endpoint.`,
		Example: `  node seed shop https://example.org/ --redis redis://127.0.0.1:6379/0
  node seed shop - --admin 127.0.0.1:6080 < urls.txt`,
		Args: cobra.MinimumNArgs(2),
	}
	flags := addSettings(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := flags.load(t.env)
		if err != nil {
			return err
		}
		payloads, err := seedPayloads(cfg, args[1:], t.in)
		if err != nil {
			return usage(err)
		}
		if cfg.Redis.URL == "" {
			return postSeeds(cmd.Context(), cfg, args[0], payloads, t)
		}
		return pushSeeds(cmd.Context(), cfg, args[0], payloads, t)
	}
	return cmd
}

// seedPayloads gathers the seeds and refuses those that no node could read.
func seedPayloads(cfg *config.Config, args []string, in io.Reader) ([][]byte, error) {
	var out [][]byte
	var errs []error
	add := func(where string, payload []byte, err error) {
		if err == nil {
			_, err = seeds.Parse(payload, cfg.Redis.Encoding)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", where, err))
			return
		}
		out = append(out, bytes.Clone(payload))
	}
	for _, a := range args {
		if a != "-" {
			add("seed "+a, []byte(a), nil)
			continue
		}
		err := seeds.ReadLines(in, func(line int, payload []byte, err error) error {
			add(fmt.Sprintf("standard input:%d", line), payload, err)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
	}
	return out, errors.Join(errs...)
}

// pushSeeds pushes to start_urls, as any Redis client may, after making the crawl.
func pushSeeds(ctx context.Context, cfg *config.Config, name string, payloads [][]byte, t *terminal) error {
	log := newLogger(cfg, t.err)
	st, err := store.Open(ctx, store.Config{URL: cfg.Redis.URL, Log: log})
	if err != nil {
		if errors.Is(err, store.ErrConfig) {
			return usage(err)
		}
		return &exitError{exitStore, err}
	}
	defer st.Close() //nolint:errcheck // everything is pushed, or its error is told
	f, err := rqueue.Open(ctx, st.Client(), rqueueConfig(cfg, memberID(cfg), false))
	if err != nil {
		return &exitError{exitStore, err}
	}
	n := &Node{cfg: cfg, log: log, store: st, frontier: f}
	info, err := n.ensureCrawl(ctx, name)
	if err != nil {
		return &exitError{exitStore, err}
	}
	if err := push(ctx, st.Client(), info.Spec, payloads); err != nil {
		return &exitError{exitStore, err}
	}
	log.WithField("crawl", name).Infof("%d seeds sent", len(payloads))
	return nil
}

// push adds start messages in the way of the key's type.
func push(ctx context.Context, rdb redis.UniversalClient, spec rqueue.Spec, payloads [][]byte) error {
	key, kind := spec.StartURLsKey, spec.StartURLsType
	if kind == "" {
		var err error
		if kind, err = rdb.Type(ctx, key).Result(); err != nil {
			return fmt.Errorf("node: look at %s: %w", key, err)
		}
	}
	members := make([]any, len(payloads))
	scored := make([]redis.Z, len(payloads))
	for i, p := range payloads {
		members[i] = p
		scored[i] = redis.Z{Member: p}
	}
	var err error
	switch kind {
	case "set":
		err = rdb.SAdd(ctx, key, members...).Err()
	case "zset":
		err = rdb.ZAdd(ctx, key, scored...).Err()
	default:
		err = rdb.RPush(ctx, key, members...).Err()
	}
	if err != nil {
		return fmt.Errorf("node: push to %s: %w", key, err)
	}
	return nil
}

// postSeeds sends the seeds to a running node.
func postSeeds(ctx context.Context, cfg *config.Config, name string, payloads [][]byte, t *terminal) error {
	if cfg.Admin.Listen == "" {
		return usage(errors.New("node: no way to send seeds: give --redis URL, or the --admin HOST:PORT of a running node"))
	}
	list := make([]string, len(payloads))
	for i, p := range payloads {
		list[i] = string(p)
	}
	body, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("node: encode seeds: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	target := "http://" + cfg.Admin.Listen + "/api/v1/crawls/" + url.PathEscape(name) + "/seeds"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return usage(fmt.Errorf("node: --admin %s: %w", cfg.Admin.Listen, err))
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return &exitError{exitStore, fmt.Errorf("node: no node answers at %s (is one running? 'node start'; or give --redis URL): %w", cfg.Admin.Listen, err)}
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	return readSeedAnswer(resp, t)
}

func readSeedAnswer(resp *http.Response, t *terminal) error {
	var res struct {
		Accepted int `json:"accepted"`
		Rejected []struct {
			Seed, Reason string
		} `json:"rejected"`
		Error *struct{ Message string } `json:"error"`
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return &exitError{exitStore, fmt.Errorf("node: read answer: %w", err)}
	}
	if err := json.Unmarshal(text, &res); err != nil {
		return &exitError{exitStore, fmt.Errorf("node: the answer (status %d) is not a node's: %w", resp.StatusCode, err)}
	}
	for _, r := range res.Rejected {
		fmt.Fprintf(t.err, "rejected: %s: %s\n", r.Seed, r.Reason) //nolint:errcheck,forbidigo // told as well as can be
	}
	if res.Error != nil {
		return usage(fmt.Errorf("node: %s", res.Error.Message))
	}
	fmt.Fprintf(t.err, "%d seeds sent\n", res.Accepted) //nolint:errcheck,forbidigo // told as well as can be
	return nil
}
