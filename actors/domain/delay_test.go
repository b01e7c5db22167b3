package domain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDelayIsExact(t *testing.T) {
	inBubble(t, exact(time.Second, 8), func(w *world) {
		w.seed(newCrawl(), "a.test", 6)
		w.allDone()
		require.Equal(t, secs(0, 1, 2, 3, 4, 5), w.site.seenSince(w.start), "the first at once, then the delay")
		require.Equal(t, []string{"0", "1", "2", "3", "4", "5"}, w.site.paths())
	})
}
