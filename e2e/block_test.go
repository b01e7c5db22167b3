package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
	"orbweaver/internal/webtest"
)

func externalRedis(t *testing.T) []string {
	t.Helper()
	return []string{"--redis", redistest.New(t).URL()}
}

// A slow host with many URLs at the head of the queue delays no other: the others
// take as long as without it.
func TestSlowHostBlocksNobody(t *testing.T) {
	const fast, slow = 9, 9 // hosts 0 to 8 are fast, host 9 is slow
	site := webtest.New(t, webtest.Config{Hosts: 10, Pages: 1001, Script: func(v webtest.Visit) *webtest.Answer {
		switch {
		case v.Host == slow && v.Page >= 0:
			return &webtest.Answer{Body: "slow", Delay: 2 * time.Second}
		case v.Page >= 0:
			return &webtest.Answer{Body: "fast", Delay: 20 * time.Millisecond}
		}
		return nil
	}})
	var fastSeeds, slowSeeds []string
	for p := range 50 {
		for h := range fast {
			fastSeeds = append(fastSeeds, site.PageURL(h, p))
		}
	}
	for p := range 1001 {
		slowSeeds = append(slowSeeds, site.PageURL(slow, p))
	}
	// took is how long the fast hosts take, and how many pages the slow one gave meanwhile.
	took := func(seeds []string) (time.Duration, int) {
		site.Forget()
		dir := t.TempDir()
		file := filepath.Join(dir, "seeds.txt")
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(seeds, "\n")), 0o600))
		n := start(t, crawl(nil, unthrottled(), embedded(dir), []string{
			"--seeds", file, "-s", "CONCURRENT_REQUESTS=32",
			"-s", "CONCURRENT_REQUESTS_PER_DOMAIN=2",
		})...)
		require.NoError(t, site.WaitFor(within(t), func(all []*webtest.Arrival) bool {
			done := 0
			for _, a := range all {
				if a.Host != slow && a.Page >= 0 && a.Status == 200 {
					done++
				}
			}
			return done == len(fastSeeds)
		}))
		all := site.Arrivals(-1)
		n.kill()
		first, last, slowPages := all[0].Start, all[0].End, 0
		for _, a := range all {
			switch {
			case a.Host == slow && a.Page >= 0:
				slowPages++
			case a.Host != slow && a.End.After(last):
				last = a.End
			}
		}
		return last.Sub(first), slowPages
	}
	alone, _ := took(fastSeeds)
	together, slowPages := took(append(slowSeeds, fastSeeds...))
	t.Logf("alone %s, with the slow host %s", alone, together)
	require.Less(t, float64(together), 1.3*float64(alone))
	require.Positive(t, slowPages)
	require.Less(t, slowPages, 20)
}
