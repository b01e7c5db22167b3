package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
	"orbweaver/internal/webtest"
)

// service is the command line of a long-lived node.
func service(args ...[]string) []string {
	out := []string{"start", "--allow-private", "-s", "AUTOTHROTTLE_ENABLED=false", "-s", "SLOT_TTL=2", "-s", "SLOT_RENEW=0.5", "-s", "SLOT_MARGIN=0.5"}
	for _, a := range args {
		out = append(out, a...)
	}
	return out
}

// stored waits until a crawl has n items in Redis, and gives them.
func stored(t *testing.T, rdb *redis.Client, crawl string, n int) []item {
	t.Helper()
	ctx := within(t)
	eventually(t, func() bool { return rdb.LLen(ctx, crawl+":items").Val() >= int64(n) }, fmt.Sprint(n, " items of ", crawl))
	return lines(t, strings.Join(rdb.LRange(ctx, crawl+":items", 0, -1).Val(), "\n")+"\n")
}

// Any Redis client can start requests at a running node, as with scrapy-redis, by a
// list, a set or a sorted set, plain or as JSON. What cannot be read is put aside
// with the reason, and the rest goes on.
func TestStartURLs(t *testing.T) {
	for _, tt := range []struct {
		kind string
		push func(ctx context.Context, rdb *redis.Client, key string, values ...any) error
	}{
		{"list", func(ctx context.Context, rdb *redis.Client, key string, values ...any) error {
			return rdb.LPush(ctx, key, values...).Err()
		}},
		{"set", func(ctx context.Context, rdb *redis.Client, key string, values ...any) error {
			return rdb.SAdd(ctx, key, values...).Err()
		}},
		{"zset", func(ctx context.Context, rdb *redis.Client, key string, values ...any) error {
			members := make([]redis.Z, len(values))
			for i, v := range values {
				members[i] = redis.Z{Score: float64(i), Member: v}
			}
			return rdb.ZAdd(ctx, key, members...).Err()
		}},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			site := webtest.New(t, webtest.Config{Hosts: 3, Pages: 12})
			server := redistest.New(t)
			rdb := server.Client()
			n := start(t, service([]string{"--redis", server.URL(), "--name", "shop", "--admin", "off"})...)
			n.say("node is up")
			require.NoError(t, tt.push(within(t), rdb, "shop:start_urls", site.PageURL(0, 0), "no url at all",
				`{"url": "`+site.PageURL(1, 0)+`", "meta": {"depth": 3}}`, "\xff\xfe"))
			requireItems(t, site, 2, stored(t, rdb, "shop", 24))
			require.NoError(t, tt.push(within(t), rdb, "shop:start_urls", site.PageURL(2, 0)))
			items := stored(t, rdb, "shop", 36)
			requireExact(t, site, items)
			for _, it := range items {
				if it.URL == site.PageURL(1, 0) {
					require.Equal(t, 3, it.Depth)
				}
			}

			ctx := within(t)
			eventually(t, func() bool { return rdb.Exists(ctx, "shop:start_urls", "{shop:start_urls}:taken").Val() == 0 }, "all seeds taken")
			rejected := rdb.LRange(ctx, "shop:start_urls:rejected", 0, -1).Val()
			require.Len(t, rejected, 2)
			for _, r := range rejected {
				var entry struct{ Payload, Reason string }
				require.NoError(t, json.Unmarshal([]byte(r), &entry))
				require.NotEmpty(t, entry.Payload)
				require.NotEmpty(t, entry.Reason)
			}
			n.signal(syscall.SIGTERM)
			require.Equal(t, 130, n.wait())
			requireNothingHeld(t, rdb)
		})
	}
}

// requireItems requires the pages of the first hosts, each once.
func requireItems(t *testing.T, site *webtest.Site, hosts int, items []item) {
	t.Helper()
	require.ElementsMatch(t, site.PageURLs()[:hosts*site.Pages()], urls(items))
}

// `node seed` makes a crawl when there is none; a running node finds it.
func TestSeedCommand(t *testing.T) {
	t.Parallel()
	site := webtest.New(t, webtest.Config{Hosts: 3, Pages: 12})
	server := redistest.New(t)
	where := []string{"--redis", server.URL()}
	n := start(t, service(where, []string{"--admin", "off"})...)
	n.say("node is up")
	run(t, append([]string{"seed", "shop", site.PageURL(0, 0), `{"url": "` + site.PageURL(1, 0) + `"}`}, where...)...).finish()
	stored(t, server.Client(), "shop", 24)
	sent := launch(t, "# more\n"+site.PageURL(2, 0)+"\n", nil, append([]string{"seed", "shop", "-"}, where...)...)
	sent.finish()
	requireExact(t, site, stored(t, server.Client(), "shop", 36))

	bad := launch(t, site.PageURL(0, 0)+"\nnot a url\n", nil, append([]string{"seed", "shop", "-", "ftp://x.example/"}, where...)...)
	require.Equal(t, 2, bad.wait())
	require.Contains(t, bad.err.String(), "standard input:2")
	require.Contains(t, bad.err.String(), "ftp://x.example/")
	require.False(t, n.ended())
}

// adminOf waits for a node's admin endpoint.
func adminOf(t *testing.T, n *node) string {
	t.Helper()
	n.say("node is up")
	m := regexp.MustCompile(`admin="?([0-9.]+:\d+)`).FindStringSubmatch(n.err.String())
	require.NotNil(t, m, "the node tells where its admin endpoint is")
	return "http://" + m[1]
}

// ask asks an admin endpoint and decodes what it answers.
func ask(t *testing.T, method, url, body string, into any) int {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t), method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	if into != nil {
		require.NoError(t, json.Unmarshal(text, into), string(text))
	}
	return resp.StatusCode
}

// Over HTTP a node takes seeds, and shows its actors, its domains with the reason
// why each waits, its crawls and its metrics.
func TestAdminEndpoint(t *testing.T) {
	t.Parallel()
	site := webtest.New(t, webtest.Config{Hosts: 2, Pages: 12})
	n := start(t, service(embedded(t.TempDir()), []string{
		"--name", "shop", "--admin", "127.0.0.1:0",
		"-s", "DOWNLOAD_DELAY=0.2", "-s", "RANDOMIZE_DOWNLOAD_DELAY=false",
	})...)
	at := adminOf(t, n)
	require.Equal(t, 200, ask(t, "GET", at+"/healthz", "", nil))

	var sent struct {
		Accepted, Refused int
		Rejected          []struct {
			Position int
			Reason   string
		}
	}
	seeds := fmt.Sprintf(`[%q, {"url": %q}, "no url"]`, site.PageURL(0, 0), site.PageURL(1, 0))
	require.Equal(t, 200, ask(t, "POST", at+"/api/v1/crawls/shop/seeds", seeds, &sent))
	require.Equal(t, 2, sent.Accepted)
	require.Equal(t, 2, sent.Rejected[0].Position)
	require.Equal(t, 404, ask(t, "POST", at+"/api/v1/crawls/none/seeds", seeds, nil))

	require.NoError(t, site.WaitCount(within(t), 8))
	var d struct {
		Slot   string
		Delay  float64 `json:"delay_s"`
		Reason string
		Crawls []string
	}
	eventually(t, func() bool {
		return ask(t, "GET", at+"/api/v1/domains/"+site.Host(0), "", &d) == 200 && d.Reason == "delay"
	}, "the domain waits for its delay")
	require.Equal(t, 0.2, d.Delay) //nolint:testifylint // exactly as set
	require.Equal(t, []string{"shop"}, d.Crawls)
	var domains struct{ Domains []struct{ Slot string } }
	require.Equal(t, 200, ask(t, "GET", at+"/api/v1/domains", "", &domains))
	require.Len(t, domains.Domains, 2)
	require.Equal(t, 404, ask(t, "GET", at+"/api/v1/domains/none.example", "", nil))
	var actors struct {
		Actors []struct{ Kind, State string }
	}
	require.Equal(t, 200, ask(t, "GET", at+"/api/v1/actors", "", &actors))
	kinds := map[string]bool{}
	for _, a := range actors.Actors {
		kinds[a.Kind] = true
	}
	for _, kind := range []string{"scheduler", "domains", "domain", "pipeline"} {
		require.True(t, kinds[kind], "no %s among %v", kind, kinds)
	}

	// `node seed` reaches it as well.
	run(t, "seed", "shop", site.URL(0, "/extra"), "--admin", strings.TrimPrefix(at, "http://")).finish()
	require.NoError(t, site.WaitPath(within(t), 0, "/extra"))

	var crawls struct {
		Crawls []struct {
			Name, State string
			Items       int
		}
	}
	eventually(t, func() bool {
		return ask(t, "GET", at+"/api/v1/crawls", "", &crawls) == 200 && len(crawls.Crawls) == 1 && crawls.Crawls[0].Items == 24
	}, "all items counted")
	require.Equal(t, "shop", crawls.Crawls[0].Name)
	require.Equal(t, "running", crawls.Crawls[0].State)
	require.InDelta(t, 24, metric(t, at, "orbweaver_items_total"), 0)
	require.Empty(t, site.Missing())
	requireGaps(t, site, siteDelay)
}

// metric reads one metric without labels.
func metric(t *testing.T, at, name string) float64 {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t), http.MethodGet, at+"/metrics", http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var v float64
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			_, err := fmt.Sscan(rest, &v)
			require.NoError(t, err)
			return v
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// A finished crawl leaves neither queue nor filter behind, unless SCHEDULER_PERSIST
// keeps them: then the same command fetches only its seeds again.
func TestPersist(t *testing.T) {
	t.Parallel()
	site := webtest.New(t, webtest.Config{Pages: 20})
	server := redistest.New(t)
	args := crawl(site.Roots(0, 1), unthrottled(), shortLeases(), []string{"--redis", server.URL(), "--name", "shop"})
	left := func() (out []string) {
		for _, k := range server.Client().Keys(within(t), "shop:{*").Val() {
			if !strings.HasSuffix(k, ":run") {
				out = append(out, k)
			}
		}
		return out
	}
	run(t, args...).finish()
	require.Empty(t, left())
	site.Forget()
	run(t, append(args, "-s", "SCHEDULER_PERSIST=true")...).finish()
	require.Empty(t, site.Missing(), "a finished crawl begins anew")
	require.NotEmpty(t, left())
	site.Forget()
	run(t, append(args, "-s", "SCHEDULER_PERSIST=true")...).finish()
	require.Len(t, site.Missing(), 19, "only the seed is fetched again")
}

// --flush throws away what an interrupted crawl left.
func TestFlush(t *testing.T) {
	t.Parallel()
	site := webtest.New(t, webtest.Config{Pages: 30})
	dir := t.TempDir()
	file := filepath.Join(dir, "items.jsonl")
	args := crawl(site.Roots(0, 1), fixedDelay(), embedded(dir))
	n := start(t, args...)
	require.NoError(t, site.WaitCount(within(t), 10))
	n.kill()
	site.Forget()
	n = run(t, crawl(site.Roots(0, 1), unthrottled(), embedded(dir), []string{"--flush", "-O", file})...).finish()
	require.NotContains(t, n.err.String(), "Resuming crawl")
	requireExact(t, site, lines(t, readFile(t, file)))
}
