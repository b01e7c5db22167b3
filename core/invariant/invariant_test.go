package invariant

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHoldCountsAndReports(t *testing.T) {
	t.Parallel()
	var now time.Duration
	var told []string
	c := newChecks(func(n Name, detail string) { told = append(told, string(n)+": "+detail) }, func() time.Duration { return now })
	detail := func(s string) func() string { return func() string { return s } }

	require.True(t, c.Hold(EpochFell, true, detail("fine")))
	require.False(t, c.Hold(EpochFell, false, detail("first")))
	require.False(t, c.Hold(EpochFell, false, detail("too soon")))
	require.False(t, c.Hold(RequestsLost, false, nil), "another name has its own second")
	now += time.Second - 1
	require.False(t, c.Hold(EpochFell, false, detail("still too soon")))
	now++
	require.False(t, c.Hold(EpochFell, false, detail("a second later")))

	require.Equal(t, []string{"epoch_fell: first", "requests_lost: ", "epoch_fell: a second later"}, told)
	require.EqualValues(t, 4, c.Count(EpochFell))
	require.EqualValues(t, 1, c.Count(RequestsLost))
	require.Zero(t, c.Count(SlotOverfull))
	require.Zero(t, c.Count("nothing of ours"))
}

func TestChecksMayBeMissing(t *testing.T) {
	t.Parallel()
	var none *Checks
	require.True(t, none.Hold(EpochFell, true, nil))
	require.False(t, none.Hold(EpochFell, false, func() string { panic("not asked for") }))
	require.Zero(t, none.Count(EpochFell))

	silent := New(nil)
	require.False(t, silent.Hold(EpochFell, false, func() string { panic("not asked for") }))
	require.EqualValues(t, 1, silent.Count(EpochFell))
}

func TestHoldOfWhatHoldsDoesNotAllocate(t *testing.T) {
	c := New(nil)
	n := 0
	require.Zero(t, testing.AllocsPerRun(100, func() {
		n++
		c.Hold(EpochFell, n > 0, func() string { return string(rune(n)) })
	}))
}

func TestUnknownNameIsAMistake(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { New(nil).Hold("nothing of ours", false, nil) })
}

func TestNamesAreDistinct(t *testing.T) {
	t.Parallel()
	seen := map[Name]bool{}
	for _, n := range Names() {
		require.False(t, seen[n], n)
		require.Regexp(t, "^[a-z_]+$", string(n))
		seen[n] = true
	}
}

func TestOneReportOfManyAtOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	reports := 0
	c := newChecks(func(Name, string) {
		mu.Lock()
		reports++
		mu.Unlock()
	}, func() time.Duration { return 0 })
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				c.Hold(SlotOverfull, false, nil)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 800, c.Count(SlotOverfull))
	require.Equal(t, 1, reports)
}
