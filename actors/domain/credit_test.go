package domain

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/throttle"
	"orbweaver/messages"
)

func id(n int) crawl.ID { return crawl.NewID("id", fmt.Sprint(n)) }

func TestTableCredits(t *testing.T) {
	t.Parallel()
	a, b := &actor.PID{Id: "a"}, &actor.PID{Id: "b"}
	c := newCrawl()
	table := NewTable(2)
	require.Equal(t, Taken, table.Take("s", c, id(1), a))
	require.Equal(t, Taken, table.Take("s", c, id(2), a))
	require.Equal(t, NoCredit, table.Take("s", c, id(3), a))
	require.Equal(t, NoCredit, table.Take("s", c, id(3), a), "one place in the line, however often it asks")
	require.Equal(t, NoCredit, table.Take("s", c, id(4), b))
	require.Equal(t, 2, table.InFlight())
	require.Nil(t, table.NextWaiting(), "no credit is free")
	require.Nil(t, table.Put("s", id(9), false), "unknown ids are ignored")
	require.Nil(t, table.Put("x", id(1), false))
	require.Equal(t, a, table.Put("s", id(1), false), "the first in line")
	require.Equal(t, b, table.NextWaiting())
	require.Nil(t, table.NextWaiting())
	require.ElementsMatch(t, []crawl.ID{id(2)}, table.Held("s", c))
	require.Empty(t, table.Held("s", newCrawl()))
	table.Put("s", id(2), false)
	require.Zero(t, table.InFlight())
	require.Empty(t, table.slots, "nothing is kept of an empty slot")
}

func TestTableLeave(t *testing.T) {
	t.Parallel()
	a, b := &actor.PID{Id: "a"}, &actor.PID{Id: "b"}
	table := NewTable(1)
	table.Take("s", nil, id(1), a)
	table.Take("s", nil, id(2), a)
	table.Take("s", nil, id(3), b)
	require.Nil(t, table.Leave(a), "no credit is free")
	require.Equal(t, b, table.Put("s", id(1), false))
	table.Take("s", nil, id(4), a)
	table.Take("s", nil, id(5), b)
	require.Equal(t, b, table.Put("s", id(4), false))
	table.Take("s", nil, id(6), a)
	table.Take("s", nil, id(7), b)
	table.credits = 1
	require.Equal(t, b, table.Leave(&actor.PID{Id: "told and gone"}), "its credit goes to the next")
}

// A request may be leased again before the end of its last lease is told.
func TestTableTakesTwice(t *testing.T) {
	t.Parallel()
	c := newCrawl()
	table := NewTable(5)
	table.Take("s", c, id(1), nil)
	table.Take("s", c, id(1), nil)
	table.Put("s", id(1), false)
	require.Equal(t, []crawl.ID{id(1)}, table.Held("s", c))
	require.Equal(t, 1, table.InFlight())
	table.Put("s", id(1), false)
	table.Put("s", id(1), false)
	require.Zero(t, table.InFlight())
	require.Equal(t, 5, table.credits)
}

func TestTablePageLimit(t *testing.T) {
	t.Parallel()
	c, free := newCrawl(), newCrawl()
	table := NewTable(9)
	_, ok := table.PagesLeft(c)
	require.False(t, ok)
	table.LimitPages(c, 3, 1)
	require.Equal(t, Taken, table.Take("s", c, id(1), nil))
	require.Equal(t, Taken, table.Take("s", c, id(2), nil))
	require.Equal(t, PageLimit, table.Take("s", c, id(3), nil))
	require.Equal(t, Taken, table.Take("s", free, id(4), nil))
	table.Put("s", id(1), false)
	require.Equal(t, Taken, table.Take("s", c, id(3), nil), "the first was no page")
	table.Put("s", id(2), true)
	table.Put("s", id(3), true)
	require.Equal(t, PageLimit, table.Take("s", c, id(5), nil))
	left, ok := table.PagesLeft(c)
	require.True(t, ok)
	require.Zero(t, left)
}

func TestTableRoom(t *testing.T) {
	t.Parallel()
	table := NewTable(2)
	require.Equal(t, 3, table.Room(3))
	table.live.Add(2)
	require.Equal(t, 1, table.Room(3))
	table.live.Add(2)
	require.Zero(t, table.Room(3))
	table.Take("s", nil, id(0), nil)
	table.Take("s", nil, id(1), nil)
	for i := range 2 * crowdFactor {
		table.Take("s", nil, id(i+2), &actor.PID{Id: fmt.Sprint(i)})
	}
	require.Zero(t, table.Room(1000), "a crowd waits for credits")
}

// With few credits every domain gets its turn, and the node never has more pages
// in memory than credits.
func TestCreditsBoundPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, exact(0, 4), 3)
		defer w.end()
		w.site.behave = func(string, int) answer { return answer{latency: 20 * time.Millisecond, status: 200} }
		w.pipe.settle = func(*messages.Page) (time.Duration, time.Duration) { return 30 * time.Millisecond, 0 }
		c := newCrawl()
		for i := range 10 {
			w.seed(c, fmt.Sprintf("h%d.test", i), 10)
		}
		w.sys.Root.Send(w.scheduler, startPoll{100 * time.Millisecond}) // for hosts that the crowd had no room for
		most, waited := 0, false
		w.until("all is done", func() bool {
			most = max(most, w.table.InFlight())
			waited = waited || w.table.Waits()[ReasonCredits] > 0
			_, _, _, done := w.store.left()
			return done == 100
		})
		require.Equal(t, 3, most)
		require.True(t, waited)
		require.Less(t, time.Since(w.start), 3*time.Second, "100 pages by 3 at 50 ms: no credit lies idle")
	})
}

// A domain that waits for a credit and goes away takes no credit with it.
func TestDeadWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, exact(0, 1), 1)
		defer w.end()
		w.pipe.held.Store(true)
		c := newCrawl()
		w.seed(c, "busy.test", 1)
		w.pass(time.Second)
		w.seed(c, "dies.test", 1)
		w.seed(c, "waits.test", 1)
		w.pass(0)
		require.Equal(t, ReasonCredits, w.snapshot("waits.test").Reason)
		for _, child := range w.live() {
			if child.Slot == "dies.test" {
				require.NoError(t, w.sys.Root.StopFuture(child.PID).Wait())
			}
		}
		p := w.pages()[0]
		w.sys.Root.Send(w.pipeline, &settled{p, 0})
		w.pass(time.Millisecond)
		require.Equal(t, []string{"0", "0"}, w.site.paths(), "the next in line is told at once")
	})
}

func TestPageLimit(t *testing.T) {
	inBubble(t, exact(0, 8), func(w *world) {
		c := newCrawl()
		w.table.LimitPages(c, 3, 0)
		w.seed(c, "a.test", 10)
		w.pass(10 * time.Second)
		require.Len(t, w.site.seen(), 3)
		require.Equal(t, ReasonPageLimit, w.snapshot("a.test").Reason)
		left, _ := w.table.PagesLeft(c)
		require.Zero(t, left)
	})
}

func TestDomainsAreCapped(t *testing.T) {
	cfg := exact(0, 1)
	cfg.MaxDomains = 3
	inBubble(t, cfg, func(w *world) {
		w.sys.Root.Send(w.scheduler, startPoll{100 * time.Millisecond})
		c := newCrawl()
		for i := range 12 {
			w.seed(c, fmt.Sprintf("h%d.test", i), 2)
		}
		most := 0
		w.until("all is done", func() bool {
			n := len(w.live())
			require.Equal(t, n, w.table.Live())
			most = max(most, n)
			_, _, _, done := w.store.left()
			return done == 24
		})
		require.Equal(t, 3, most)
		require.Positive(t, w.table.Room(3)+3)
	})
}

func TestReasonsAreCounted(t *testing.T) {
	t.Parallel()
	table := NewTable(1)
	table.reason(throttle.ReasonNone, throttle.ReasonDelay)
	table.reason(throttle.ReasonNone, throttle.ReasonDelay)
	table.reason(throttle.ReasonDelay, ReasonCredits)
	table.reason(ReasonCredits, ReasonCredits)
	require.Equal(t, map[throttle.Reason]int64{throttle.ReasonDelay: 1, ReasonCredits: 1}, table.Waits())
	table.reason(throttle.ReasonDelay, throttle.ReasonNone)
	require.Equal(t, map[throttle.Reason]int64{ReasonCredits: 1}, table.Waits())
}
