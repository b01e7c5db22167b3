package e2e

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/webtest"
)

// item is what the default spider makes of a page.
type item struct {
	URL       string `json:"url"`
	Status    int    `json:"status"`
	Title     string `json:"title"`
	Depth     int    `json:"depth"`
	FetchedAt string `json:"fetched_at"`
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// lines reads JSON lines; each must be whole.
func lines(t *testing.T, text string) []item {
	t.Helper()
	require.True(t, text == "" || strings.HasSuffix(text, "\n"), "the last line is cut off")
	var out []item
	sc := bufio.NewScanner(strings.NewReader(text))
	for sc.Scan() {
		var it item
		require.NoError(t, json.Unmarshal(sc.Bytes(), &it), sc.Text())
		out = append(out, it)
	}
	require.NoError(t, sc.Err())
	return out
}

// array reads a JSON array.
func array(t *testing.T, text string) []item {
	t.Helper()
	var out []item
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	return out
}

// rows reads CSV with its header.
func rows(t *testing.T, text string) []item {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	column := map[string]int{}
	for i, name := range all[0] {
		column[name] = i
	}
	var out []item
	for _, r := range all[1:] {
		out = append(out, item{URL: r[column["url"]], Title: r[column["title"]]})
	}
	return out
}

func urls(items []item) []string {
	out := make([]string, len(items))
	for i, it := range items {
		out[i] = it.URL
	}
	return out
}

// requireExact requires every page of the site to be an item exactly once.
func requireExact(t *testing.T, site *webtest.Site, items []item) {
	t.Helper()
	require.Empty(t, site.Missing(), "pages never fetched")
	times := map[string]int{}
	for _, it := range items {
		times[it.URL]++
	}
	var missing, doubled []string
	for _, u := range site.PageURLs() {
		switch n := times[u]; {
		case n == 0:
			missing = append(missing, u)
		case n > 1:
			doubled = append(doubled, u)
		}
		delete(times, u)
	}
	require.Empty(t, missing, "pages without an item")
	require.Empty(t, doubled, "pages with more items than one")
	require.Empty(t, times, "items that are no page")
}
