package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
	"orbweaver/internal/webtest"
)

// A Redis that refuses, loses or delays calls in mid-crawl stops nothing for good:
// once it is well the crawl ends by itself, every page stored once.
func TestBrokenStoreReplies(t *testing.T) {
	t.Parallel()
	calls := []string{"enqueue", "commit", "lease", "acquire", "renew", "release", "recover", "seed_claim", "seed_retake", "finish", "due"}
	faults := map[string]redistest.Fault{
		"oom":        {Reply: "OOM command not allowed when used memory > 'maxmemory'."},
		"readonly":   {Reply: "READONLY You can't write against a read only replica."},
		"loading":    {Reply: "LOADING Redis is loading the dataset in memory"},
		"tryagain":   {Reply: "TRYAGAIN Multiple keys request during rehashing of slot"},
		"noscript":   {Reply: "NOSCRIPT No matching script. Please use EVAL."},
		"masterdown": {Reply: "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."},
		"busy":       {Reply: "BUSY Redis is busy running a script."},
		"dropped":    {Drop: true},
		"late":       {Late: 300 * time.Millisecond},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := webtest.New(t, webtest.Config{Hosts: 4, Pages: 50, Latency: 5 * time.Millisecond})
			server := redistest.New(t)
			proxy := redistest.NewFaulty(t, server)
			file := filepath.Join(t.TempDir(), "items.jsonl")
			n := start(t, crawl(site.Roots(0, 4), unthrottled(), shortLeases(),
				[]string{"--redis", proxy.URL(), "-o", file, "--name", "broken", "-s", "CONCURRENT_REQUESTS=8"})...)
			require.NoError(t, site.WaitCount(within(t), 20))
			for i, call := range calls {
				f := fault
				f.Call, f.Skip, f.Times = call, i%3, 1+i%4
				proxy.Inject(f)
			}
			n.finish()
			require.Greater(t, proxy.Hits(), 4, "hardly a call was hit")
			requireExact(t, site, lines(t, readFile(t, file)))
			all, err := server.Client().LRange(within(t), "broken:items", 0, -1).Result()
			require.NoError(t, err)
			requireExact(t, site, lines(t, strings.Join(append(all, ""), "\n")))
		})
	}
}

// A Redis that is full lets the crawl wait and say why; with more memory it goes on.
func TestStoreIsFull(t *testing.T) {
	t.Parallel()
	const limit = 3 << 20
	site := webtest.New(t, webtest.Config{Hosts: 4, Pages: 60, Latency: 20 * time.Millisecond})
	server := redistest.New(t, redistest.WithArgs("--maxmemory", fmt.Sprint(limit), "--maxmemory-policy", "noeviction"))
	rdb := server.Client()
	ctx := within(t)
	file := filepath.Join(t.TempDir(), "items.jsonl")
	n := start(t, crawl(site.Roots(0, 4), unthrottled(), shortLeases(),
		[]string{"--redis", server.URL(), "-o", file, "-s", "CONCURRENT_REQUESTS=8"})...)
	require.NoError(t, site.WaitCount(ctx, 60))
	piece, full := strings.Repeat("x", 2048), false
	for i := 0; i <= limit/len(piece) && !full; i++ { // another program fills what is left
		err := rdb.RPush(ctx, "ballast", piece).Err()
		full = err != nil
		if full {
			require.ErrorContains(t, err, "OOM")
		}
	}
	require.True(t, full)
	n.say("OOM")
	require.False(t, n.ended())
	require.NoError(t, rdb.ConfigSet(ctx, "maxmemory", "0").Err())
	n.finish()
	requireExact(t, site, lines(t, readFile(t, file)))
}
