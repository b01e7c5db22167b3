package e2e

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/webtest"
)

// A site that answers 429 to more than four requests a second, and says nothing of
// it, is crawled to its end at about that rate.
func TestHiddenQuota(t *testing.T) {
	t.Parallel()
	const pages, perSecond = 24, 4
	var mu sync.Mutex
	var window time.Time
	var had, refused int // guarded by mu
	site := webtest.New(t, webtest.Config{Pages: pages, Script: func(v webtest.Visit) *webtest.Answer {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now().Truncate(time.Second); !now.Equal(window) {
			window, had = now, 0
		}
		if had++; had <= perSecond {
			return nil
		}
		refused++
		return &webtest.Answer{Status: 429}
	}})
	run(t, crawl(site.Roots(0, 1), unthrottled(), embedded(t.TempDir()), []string{"-s", "ROBOTSTXT_OBEY=false"})...).finish()
	require.Empty(t, site.Missing())
	mu.Lock()
	defer mu.Unlock()
	require.Positive(t, refused)
	require.Less(t, 3*refused, site.Count(), "refusals")
}
