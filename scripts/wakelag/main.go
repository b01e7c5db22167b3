// Command wakelag fills a Redis with a crawl of very many hosts of which so many become
// due each second, for measuring how late running nodes look at them and how much memory
// they take. Point it at an empty Redis, start the bench's site for as many hosts and
// then nodes with --name wakelag; it prints what it did, and when the first host is due.
//
//	wakelag fill -redis 127.0.0.1:6399 -hosts 1000000 -pages 3 -rate 500 -after 60s -due 60000
//	wakelag read -log site.log -start UNIX_MS -rate 500 -due 60000
//
// fill lets -pages requests in at each host of the synthetic web, and sets the due index so
// that the first -due hosts are due one after the other, the others in a day. read takes
// the site's log and prints how long after its time each host saw its first request.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/core/weburl"
)

const (
	crawlName = "wakelag"
	shards    = 64
	batch     = 2000
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "wakelag:", err) //nolint:errcheck,forbidigo // a command
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("want fill or read")
	}
	fs := flag.NewFlagSet("wakelag", flag.ContinueOnError)
	address := fs.String("redis", "127.0.0.1:6399", "Redis to fill")
	hosts := fs.Int("hosts", 1_000_000, "hosts known")
	pages := fs.Int("pages", 3, "requests at each")
	rate := fs.Int("rate", 500, "hosts that become due each second")
	due := fs.Int("due", 60_000, "hosts that become due")
	after := fs.Duration("after", time.Minute, "until the first of them is due")
	log := fs.String("log", "site.log", "the site's log")
	start := fs.Int64("start", 0, "when the first host was due, unix ms")
	if err := fs.Parse(args[1:]); err != nil {
		return err
	}
	if args[0] == "read" {
		return read(*log, *start, *rate, *due)
	}
	return fill(context.Background(), *address, *hosts, *pages, *rate, *due, *after)
}

// host is the address of a host of the synthetic web.
func host(i int) string {
	return fmt.Sprintf("127.%d.%d.%d", 1+i/64000, i%64000/250, i%250+1)
}

func fill(ctx context.Context, address string, hosts, pages, rate, due int, after time.Duration) error {
	rdb := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1, ReadTimeout: time.Minute})
	defer rdb.Close() //nolint:errcheck // the process ends
	shardOf := func(h string) int { return weburl.Shard(h, shards) }
	f, err := rqueue.Open(ctx, rdb, rqueue.Config{Node: "fill", Shards: shards, ShardOf: shardOf})
	if err != nil {
		return err
	}
	c, err := f.OpenCrawl(ctx, rqueue.Spec{Name: crawlName, Items: true}, false)
	if err != nil {
		return err
	}
	if err := c.SetState(ctx, rqueue.StatePaused); err != nil {
		return err
	}
	s := f.NewSession()
	defer s.Close() //nolint:errcheck // as above
	fp := &weburl.Fingerprinter{}
	links := make([]rqueue.Link, 0, batch*pages)
	for i := range hosts {
		for p := range pages {
			url := "http://" + host(i) + ":8800/"
			if p > 0 {
				url += "p/" + strconv.Itoa(p)
			}
			r := &crawl.Request{ID: crawl.NewID(crawlName, url), URL: url}
			r.Fingerprint = fp.Fingerprint(r)
			links = append(links, rqueue.Link{Crawl: c, Host: host(i), Request: r})
		}
		if len(links) < batch*pages && i < hosts-1 {
			continue
		}
		if _, _, err := s.Enqueue(ctx, links); err != nil {
			return err
		}
		links = links[:0]
	}
	first := time.Now().Add(after)
	far := first.Add(24 * time.Hour).UnixMilli()
	for from := 0; from < hosts; from += batch {
		pipe := rdb.Pipeline()
		for i := from; i < min(from+batch, hosts); i++ {
			at := far
			if i < due {
				at = first.UnixMilli() + int64(i)*1000/int64(rate)
			}
			key := crawlName + ":{" + strconv.Itoa(shardOf(host(i))) + "}:hosts"
			pipe.ZAdd(ctx, key, redis.Z{Score: float64(at), Member: host(i)})
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
	}
	if err := c.SetState(ctx, rqueue.StateRunning); err != nil {
		return err
	}
	fmt.Printf("%d hosts, %d requests each; the first is due at %d\n", hosts, pages, first.UnixMilli()) //nolint:forbidigo // a command
	return nil
}

func read(name string, start int64, rate, due int) error {
	f, err := os.Open(name) //nolint:gosec // the user's file
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	seen := map[string]int64{}
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		part := strings.Split(sc.Text(), ",")
		if len(part) < 4 {
			continue
		}
		at, err := strconv.ParseInt(part[2], 10, 64)
		if err != nil {
			continue
		}
		if old, ok := seen[part[0]]; !ok || at < old {
			seen[part[0]] = at
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	var lags []float64
	for i := range due {
		for _, h := range []string{host(i), strconv.Itoa(i)} { // the log has the one or the other
			if at, ok := seen[h]; ok {
				lags = append(lags, float64(at)/1000-float64(start)-float64(i)*1000/float64(rate))
			}
		}
	}
	if len(lags) == 0 {
		return errors.New("the log has none of the hosts")
	}
	slices.Sort(lags)
	q := func(p float64) float64 { return lags[int(p*float64(len(lags)-1))] }
	//nolint:forbidigo // a command
	fmt.Printf("hosts due %d, seen %d; first request after its time, ms: p50 %.0f, p90 %.0f, p99 %.0f, p99.9 %.0f, max %.0f\n",
		due, len(lags), q(0.5), q(0.9), q(0.99), q(0.999), q(1))
	return nil
}
