package pipeline

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"orbweaver/core/rqueue"
	"orbweaver/internal/actortest"
	"orbweaver/messages"
)

// said counts the lines of a text in the log.
func (s *shelf) said(text string) int {
	n := 0
	for _, e := range s.logs.AllEntries() {
		if e.Message == text && e.Level == logrus.InfoLevel {
			n++
		}
	}
	return n
}

// While another process writes the items the file is not touched, and then this one
// goes on.
func TestExporterYields(t *testing.T) {
	s := &shelf{}
	exporting(t, s, func(b *bench) {
		s.hold("g", 10*time.Second, true)
		s.add("a", "b")
		b.pass(time.Minute)
		require.Zero(t, s.opens)
		require.Empty(t, s.file)
		require.Equal(t, 1, s.said("another process writes the items to g"), "said once")
		s.hold("g", 0, false)
		b.pass(600 * time.Millisecond)
		require.Equal(t, "ab", s.file)
		require.Equal(t, 1, s.said("the items are written to f now"))
		require.Zero(t, s.freed)
		b.drain()
		actortest.Expect[*messages.Drained](t, b.node)
		require.Equal(t, 1, s.freed, "others may write at once")
	})
	require.Equal(t, 1, s.freed)
}

// A process that died is waited for no longer than its place lives.
func TestExporterTakesOver(t *testing.T) {
	s := &shelf{}
	exporting(t, s, func(b *bench) {
		s.hold("g", 4321*time.Millisecond, false)
		s.add("a")
		b.pass(4300 * time.Millisecond)
		s.change(func() { require.Empty(t, s.file) })
		b.pass(100 * time.Millisecond)
		require.Equal(t, "a", s.file)
	})
}

// A drain leaves the items to another process once that has shown that it lives, and
// takes over from one that does not. Items that nobody has to write any more are not
// waited for.
func TestExporterDrainYields(t *testing.T) {
	for name, tc := range map[string]struct {
		items  []string
		renews bool
		took   time.Duration
		file   string
		left   int
	}{
		"alive":        {items: []string{"a"}, renews: true, took: 800 * time.Millisecond, left: 1},
		"dead":         {items: []string{"a"}, took: 10 * time.Second, file: "a]"},
		"nothing left": {},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shelf{}
			exporting(t, s, func(b *bench) {
				s.hold("g", 10*time.Second, tc.renews)
				s.add(tc.items...)
				asked := time.Now()
				b.drain()
				actortest.Expect[*messages.Drained](t, b.node)
				require.InDelta(t, tc.took.Seconds(), time.Since(asked).Seconds(), 0.05)
				require.Equal(t, tc.file, s.file)
				require.Len(t, s.items, tc.left)
				require.Equal(t, tc.left, s.said("the other process is to write what is left to g"))
			})
			require.Equal(t, tc.file != "", s.freed > 0, "released by the one that has it")
		})
	}
}

// However often the place passes to others that die, a drain ends.
func TestExporterDrainYieldsForSoLong(t *testing.T) {
	s := &shelf{}
	exporting(t, s, func(b *bench) {
		s.hold("g", time.Hour, false)
		s.add("a")
		asked := time.Now()
		b.drain()
		actortest.Expect[*messages.Drained](t, b.node)
		require.InDelta(t, 15, time.Since(asked).Seconds(), 0.51)
		require.Empty(t, s.file)
	})
}

// Whether a process has renewed its place shows through whatever time calls take.
func TestSightingAlive(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	at := func(asked, told, left time.Duration) *sighting {
		return &sighting{held: rqueue.ExportHeldError{Member: "n2", File: "g", For: left}, asked: begin.Add(asked), told: begin.Add(told)}
	}
	first := at(0, 200*time.Millisecond, 9*time.Second)
	for name, tc := range map[string]struct {
		second *sighting
		want   bool
	}{
		"silent":                     {at(time.Second, time.Second, 8100*time.Millisecond), false},
		"silent, its answer took 2s": {at(time.Second, 3*time.Second, 7*time.Second), false},
		"renewed":                    {at(time.Second, time.Second, 8500*time.Millisecond), true},
		"renewed now":                {at(time.Second, time.Second, 10*time.Second), true},
		"another process":            {&sighting{held: rqueue.ExportHeldError{Member: "n3", File: "g"}, asked: first.asked, told: first.told}, true},
	} {
		require.Equal(t, tc.want, tc.second.alive(first), name)
	}
}

// An exporter that was silent for too long cuts off what another process may have
// written too, before that one has ended.
func TestExporterLosesItsPlace(t *testing.T) {
	s := &shelf{}
	exporting(t, s, func(b *bench) {
		s.add("a")
		b.pass(2 * time.Second)
		require.Equal(t, "a", s.file)
		s.change(func() {
			s.acks = func() error { // it was frozen between its write and its ack
				s.held, s.heldTo, s.renewed = &rqueue.ExportHeldError{Member: "n2", File: "g"}, time.Now().Add(time.Hour), time.Hour
				return rqueue.ErrExportLost
			}
		})
		s.add("b")
		b.pass(2 * time.Second)
		require.Equal(t, "a]", s.file, "b is the other's")
		require.True(t, s.closed)
		opens := s.opens
		b.pass(time.Minute)
		require.Equal(t, opens, s.opens, "cut once")
		s.hold("g", 0, false)
		s.change(func() { s.acks, s.items = nil, []string{"c"} }) // the other has written b, and ended
		b.pass(3 * time.Second)
		require.Equal(t, "ac", s.file)
		b.drain()
		actortest.Expect[*messages.Drained](t, b.node)
		require.Equal(t, "ac]", s.file)
	})
}

// Another process that took over the same file has cut it already: it is left alone.
func TestExporterLosesItsFile(t *testing.T) {
	s := &shelf{}
	exporting(t, s, func(b *bench) {
		s.add("a")
		b.pass(2 * time.Second)
		s.hold("f", time.Hour, true)
		b.pass(2 * time.Second)
		require.True(t, s.closed)
		s.change(func() { s.file = "a and more" })
		opens := s.opens
		b.pass(time.Minute)
		b.drain()
		actortest.Expect[*messages.Drained](t, b.node)
		require.Equal(t, opens, s.opens)
		require.Equal(t, "a and more", s.file)
	})
}

// What a process that was killed wrote last is cut off by the one that is started in
// its stead, whoever writes the items meanwhile.
func TestExporterBeginsBesideAnother(t *testing.T) {
	for name, tc := range map[string]struct {
		known bool
		file  string
		want  string
	}{
		"gone on with":   {true, "abc", "a]"},
		"begun never":    {false, "of the user's", "of the user's"},
		"of the other's": {true, "abc", "abc"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shelf{file: tc.file, safe: 1, known: tc.known}
			exporting(t, s, func(b *bench) {
				other := "g"
				if name == "of the other's" {
					other = "f"
				}
				s.hold(other, time.Hour, true)
				s.add("b", "c")
				b.pass(5 * time.Second)
				require.Equal(t, tc.want, s.file)
				b.drain()
				actortest.Expect[*messages.Drained](t, b.node)
				require.Equal(t, tc.want, s.file)
			})
		})
	}
}

// A drain that fails cuts off what others are to write, and lets them at once.
func TestExporterFailsAndLetsOthers(t *testing.T) {
	s := &shelf{lost: true, known: true}
	exporting(t, s, func(b *bench) {
		s.add("a")
		b.drain()
		actortest.Expect[*Failed](t, b.node)
		synctest.Wait()
		require.Equal(t, "]", s.file)
		require.Equal(t, 1, s.freed)
	})
}

// Stopped without a drain, an exporter lets others write at once.
func TestExporterStopsAndLetsOthers(t *testing.T) {
	s := &shelf{}
	exporting(t, s, func(b *bench) {
		s.add("a")
		b.pass(2 * time.Second)
		require.Zero(t, s.freed)
	})
	require.Equal(t, 1, s.freed)
}
