package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/webtest"
)

// Every page once, every item once, nothing that robots.txt forbids; and the
// summary says so.
func TestCrawlIsCompleteAndExact(t *testing.T) {
	site := webtest.New(t, webtest.Config{Hosts: 20, Pages: 50, Cross: true})
	dir := t.TempDir()
	file, stats := filepath.Join(dir, "items.jsonl"), filepath.Join(dir, "stats.json")
	n := run(t, crawl(site.Roots(0, 1), unthrottled(), embedded(dir),
		[]string{"--scope", "any", "-o", file, "--stats", stats})...).finish()

	items := lines(t, readFile(t, file))
	requireExact(t, site, items)
	require.Zero(t, site.Refetched())
	require.Empty(t, site.Under(webtest.RobotsDisallow))
	require.Len(t, site.Under("/robots.txt"), 20)
	for _, it := range items {
		require.Equal(t, 200, it.Status)
		require.Contains(t, it.Title, "Page ")
		require.NotEmpty(t, it.FetchedAt)
	}
	require.Empty(t, n.out.String(), "standard output carries items only when asked to")

	var sum map[string]any
	require.NoError(t, json.Unmarshal([]byte(readFile(t, stats)), &sum))
	require.Equal(t, "finished", sum["finish_reason"])
	require.EqualValues(t, 1000, sum["item_scraped_count"])
	require.EqualValues(t, 1000+20, sum["downloader/response_status_count/200"], "pages and robots.txt")
	for _, name := range []string{
		"downloader/request_count", "downloader/response_bytes", "elapsed_time_seconds",
		"robotstxt/forbidden", "robotstxt/request_count", "scheduler/enqueued/redis",
	} {
		require.Contains(t, sum, name)
		require.Contains(t, n.err.String(), name)
	}
}

func TestOutputFormats(t *testing.T) {
	site := webtest.New(t, webtest.Config{Pages: 30})
	dir := t.TempDir()
	for name, read := range map[string]func(*testing.T, string) []item{"a.json": array, "a.csv": rows, "a.jsonl": lines} {
		site.Forget()
		file := filepath.Join(dir, name)
		run(t, crawl(site.Roots(0, 1), unthrottled(), embedded(filepath.Join(dir, name+".d")), []string{"-o", file})...).finish()
		requireExact(t, site, read(t, readFile(t, file)))
	}
}

func TestStandardOutputCarriesOnlyItems(t *testing.T) {
	site := webtest.New(t, webtest.Config{Pages: 30})
	n := run(t, crawl(site.Roots(0, 1), unthrottled(), embedded(t.TempDir()), []string{"-o", "-", "--log-level", "debug"})...).finish()
	requireExact(t, site, lines(t, n.out.String()))
}

// -o appends to what a file holds, -O replaces it; a finished crawl starts anew.
func TestAppendAndOverwrite(t *testing.T) {
	site := webtest.New(t, webtest.Config{Pages: 10})
	dir := t.TempDir()
	for _, name := range []string{"a.jsonl", "a.csv"} {
		read := lines
		if name == "a.csv" {
			read = rows
		}
		file := filepath.Join(dir, name)
		args := crawl(site.Roots(0, 1), unthrottled(), embedded(dir))
		run(t, append(args, "-o", file)...).finish()
		run(t, append(args, "-o", file)...).finish()
		all := urls(read(t, readFile(t, file)))
		require.Len(t, all, 20)
		slices.Sort(all)
		require.Len(t, slices.Compact(all), 10)
		run(t, append(args, "-O", file)...).finish()
		require.Len(t, read(t, readFile(t, file)), 10)
	}
}

// Only links of the seeds' hosts are followed, unless another scope is given.
func TestScope(t *testing.T) {
	for _, tt := range []struct {
		name  string
		scope []string
		want  []int // pages of each host
	}{
		{"seeds", nil, []int{5, 0, 0}},
		{"any", []string{"--scope", "any"}, []int{5, 5, 5}},
		{"domains", []string{"--scope", "127.1.0.1,127.1.0.3"}, []int{5, 0, 5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			site := webtest.New(t, webtest.Config{Hosts: 3, Pages: 5, Cross: true})
			run(t, crawl(site.Roots(0, 1), unthrottled(), embedded(t.TempDir()), tt.scope)...).finish()
			for h, want := range tt.want {
				require.Equal(t, want, site.PagesOf(h))
			}
		})
	}
}

func TestDepthAndPageLimits(t *testing.T) {
	site := webtest.New(t, webtest.Config{Pages: 85}) // 1 + 4 + 16 + 64
	dir := t.TempDir()
	n := run(t, crawl(site.Roots(0, 1), unthrottled(), embedded(dir), []string{"-o", "-", "--depth", "2"})...).finish()
	items := lines(t, n.out.String())
	require.Len(t, items, 21)
	for _, it := range items {
		require.LessOrEqual(t, it.Depth, 2)
	}
	site.Forget()
	n = run(t, crawl(site.Roots(0, 1), unthrottled(), embedded(filepath.Join(dir, "2")), []string{"-o", "-", "--max-pages", "33"})...).finish()
	require.Len(t, lines(t, n.out.String()), 33)
	require.Equal(t, 33, site.PagesOf(0))
	require.Contains(t, n.err.String(), "closespider_pagecount")
}
