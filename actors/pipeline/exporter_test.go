package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"orbweaver/core/rqueue"
	"orbweaver/internal/actortest"
	"orbweaver/messages"
)

// shelf is a crawl's export list and the file that it goes to.
type shelf struct {
	logs *logtest.Hook

	mu     sync.Mutex
	items  []string  // guarded by mu
	file   string    // guarded by mu
	closed bool      // guarded by mu
	opens  int       // guarded by mu
	safe   int64     // guarded by mu; the remembered offset
	known  bool      // guarded by mu
	full   bool      // guarded by mu; writes fail
	lost   bool      // guarded by mu; flushes fail
	bad    string    // guarded by mu; an item that cannot be written
	read   chan bool // guarded by mu; each read waits for one, when it is not nil
	freed  int       // guarded by mu; times released

	held    *rqueue.ExportHeldError // guarded by mu; another process writes
	heldTo  time.Time               // guarded by mu; its place ends then
	renewed time.Duration           // guarded by mu; it renews at each look so long as this is not 0
	acks    func() error            // guarded by mu; what becomes of an acknowledgement; nil: it is stored
}

func (s *shelf) ExportPosition(context.Context, string) (int64, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.safe, s.known, nil
}

func (s *shelf) ExportRead(_ context.Context, _ string, n int) ([][]byte, error) {
	s.mu.Lock()
	if err := s.other(); err != nil {
		s.mu.Unlock()
		return nil, fmt.Errorf("read: %w", err)
	}
	var out [][]byte
	for _, it := range s.items[:min(n, len(s.items))] {
		out = append(out, []byte(it))
	}
	read := s.read
	s.mu.Unlock()
	if read != nil {
		<-read
	}
	return out, nil
}

// hold makes another process the writer, for a time that it renews or not.
func (s *shelf) hold(file string, life time.Duration, renews bool) {
	s.change(func() {
		s.held, s.heldTo, s.renewed = &rqueue.ExportHeldError{Member: "n2", File: file}, time.Now().Add(life), 0
		if renews {
			s.renewed = life
		}
	})
}

// other is what is said of another process that writes, if one does. Call it with mu.
func (s *shelf) other() error {
	if s.held == nil || !time.Now().Before(s.heldTo) {
		s.held = nil
		return nil
	}
	held := *s.held
	held.For, held.Items = time.Until(s.heldTo), int64(len(s.items))
	if s.renewed > 0 {
		s.heldTo = time.Now().Add(s.renewed)
	}
	return &held
}

func (s *shelf) ExportRelease(context.Context, string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.freed++
	return nil
}

func (s *shelf) ExportAck(_ context.Context, n int, _ string, offset int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.other() != nil {
		return fmt.Errorf("ack: %w", rqueue.ErrExportLost)
	}
	if s.acks != nil {
		if err := s.acks(); err != nil {
			return err
		}
	}
	s.items, s.safe, s.known = s.items[n:], offset, true
	return nil
}

// change changes the shelf while an exporter is at work.
func (s *shelf) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *shelf) add(items ...string) { s.change(func() { s.items = append(s.items, items...) }) }

// open cuts the file back as package export does; its end is written by Close.
func (s *shelf) open(resumeAt int64) (Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file, s.closed = s.file[:max(resumeAt, 0)], false
	s.opens++
	return s, nil
}

func (s *shelf) Write(items [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return errors.New("no space left on device")
	}
	for i, it := range items {
		if string(it) == s.bad {
			return &itemError{i}
		}
	}
	for _, it := range items {
		s.file += string(it)
	}
	return nil
}

// itemError is what package export gives for an item that it cannot write.
type itemError struct{ i int }

func (e *itemError) Error() string { return "a bad item" }
func (e *itemError) BadItem() int  { return e.i }

func (s *shelf) Flush() (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return 0, errors.New("the disk lost written bytes")
	}
	return int64(len(s.file)), nil
}

func (s *shelf) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.full {
		s.file += "]"
	}
	s.closed = true
	return nil
}

// bench is an exporter in virtual time.
type bench struct {
	*testing.T
	sys      *actor.ActorSystem
	exporter *actor.PID
	node     *actortest.Probe
}

func exporting(t *testing.T, s *shelf, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log, hook := logtest.NewNullLogger()
		s.logs = hook
		sys := actortest.NewSystem()
		b := &bench{T: t, sys: sys, node: actortest.NewProbe(t, sys)}
		cfg := ExportConfig{File: "f", Batch: 2, Every: 300 * time.Millisecond, Timeout: time.Second}
		b.exporter = sys.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return NewExporter(cfg, s, s.open, log) }))
		synctest.Wait()
		test(b)
		actortest.Stop(t, sys, b.exporter)
		b.node.Stop(t)
		<-time.After(time.Minute) // timers that are left
	})
}

func (b *bench) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (b *bench) drain() {
	b.sys.Root.RequestWithCustomSender(b.exporter, &messages.Drain{}, b.node.PID)
}

func (b *bench) snapshot() *ExporterSnapshot {
	return actortest.Ask[*ExporterSnapshot](b, b.sys, b.exporter, &messages.Inspect{})
}

func TestExporterWritesItemsOnce(t *testing.T) {
	s := &shelf{}
	exporting(t, s, func(b *bench) {
		s.add("a", "b", "c")
		b.pass(time.Second)
		require.Equal(t, "abc", s.file)
		s.add("d")
		b.sys.Root.Send(b.exporter, exportNow{})
		b.pass(time.Second)
		require.Equal(t, "abcd", s.file)
		s.add("e")
		b.drain()
		actortest.Expect[*messages.Drained](t, b.node)
		require.Equal(t, "abcde]", s.file)
		require.Empty(t, s.items)
	})
}

// An exporter that was drained leaves the file alone, whatever timer was set: open
// again it would lose its end.
func TestExporterIsDoneOnceDrained(t *testing.T) {
	s := &shelf{}
	exporting(t, s, func(b *bench) {
		s.add("a")
		b.sys.Root.Send(b.exporter, exportNow{}) // sets the timer
		b.drain()
		actortest.Expect[*messages.Drained](t, b.node)
		b.sys.Root.Send(b.exporter, exportNow{})
		b.pass(10 * time.Second)
		require.Equal(t, "a]", s.file)
		require.True(t, s.closed)
		require.Equal(t, 1, s.opens)
	})
}

// What was stored while a round was under way that began before it is written too.
func TestExporterDrainsWhatComesDuringARound(t *testing.T) {
	s := &shelf{}
	exporting(t, s, func(b *bench) {
		read := make(chan bool, 10)
		s.change(func() { s.read = read })
		b.pass(time.Second) // a round has read that there is nothing
		s.add("a", "b", "c")
		b.drain()
		synctest.Wait()
		for range 4 {
			read <- true
		}
		actortest.Expect[*messages.Drained](t, b.node)
		require.Equal(t, "abc]", s.file)
	})
}

func TestExporterGivesUpOnAFullDisk(t *testing.T) {
	s := &shelf{full: true}
	exporting(t, s, func(b *bench) {
		s.add("a", "b")
		b.drain()
		failed := actortest.Expect[*Failed](t, b.node)
		require.ErrorContains(t, failed.Err, "no space left")
		require.Equal(t, "ab", strings.Join(s.items, ""), "they stay")
		opens := s.opens
		b.pass(time.Minute)
		require.Equal(t, opens, s.opens)
	})
}

// A drain that failed may be asked for again.
func TestExporterDrainsAgain(t *testing.T) {
	s := &shelf{full: true}
	exporting(t, s, func(b *bench) {
		s.add("a", "b")
		b.drain()
		actortest.Expect[*Failed](t, b.node)
		s.change(func() { s.full = false })
		b.drain()
		actortest.Expect[*messages.Drained](t, b.node)
		require.Equal(t, "ab]", s.file)
	})
}

// The store does not answer, or refuses: whatever became of it, each item is in the
// file once.
func TestExporterAcknowledgementFails(t *testing.T) {
	for name, stored := range map[string]bool{"refused": false, "carried out, the answer lost": true} {
		t.Run(name, func(t *testing.T) {
			s := &shelf{}
			exporting(t, s, func(b *bench) {
				fails := 0
				s.change(func() {
					s.acks = func() error {
						if fails++; fails%2 == 0 {
							return nil
						}
						if stored && fails > 1 {
							s.items, s.safe = s.items[min(2, len(s.items)):], int64(len(s.file))
						}
						return errors.New("i/o timeout")
					}
				})
				s.add("a", "b", "c", "d", "e")
				b.pass(20 * time.Second)
				b.drain()
				actortest.Expect[*messages.Drained](t, b.node)
				require.Equal(t, "abcde]", s.file)
				require.Greater(t, s.opens, 1, "the file was cut back")
			})
		})
	}
}

// A file that cannot be written for a while, or that the disk lost bytes of, costs
// no item.
func TestExporterWaitsForTheDisk(t *testing.T) {
	for name, s := range map[string]*shelf{"full": {full: true}, "lost": {lost: true}} {
		t.Run(name, func(t *testing.T) {
			exporting(t, s, func(b *bench) {
				s.change(func() { s.known = true }) // begun before
				s.add("a", "b", "c")
				b.pass(time.Minute)
				require.NotEmpty(t, b.snapshot().LastError)
				require.Len(t, s.logs.AllEntries(), 1, "said once")
				require.Less(t, s.opens, 40, "with back-off")
				s.change(func() { s.full, s.lost = false, false })
				b.pass(10 * time.Second)
				require.Equal(t, "abc", s.file)
				require.Equal(t, &ExporterSnapshot{Rounds: 2, Items: 3}, b.snapshot())
			})
		})
	}
}

// An item that can never be written does not keep the others waiting.
func TestExporterDropsBadItems(t *testing.T) {
	s := &shelf{bad: "bad"}
	exporting(t, s, func(b *bench) {
		s.add("a", "bad", "bad", "bad", "b", "bad")
		b.drain()
		actortest.Expect[*messages.Drained](t, b.node)
		require.Equal(t, "ab]", s.file)
		require.Empty(t, s.items)
		require.Equal(t, &ExporterSnapshot{Rounds: 3, Items: 2, Dropped: 4}, b.snapshot())
		require.Len(t, s.logs.AllEntries(), 4)
		require.Equal(t, "bad", s.logs.AllEntries()[0].Data["item"])
	})
}

// Items that other nodes stored are written without anybody telling.
func TestExporterLooks(t *testing.T) {
	s := &shelf{}
	exporting(t, s, func(b *bench) {
		b.pass(5 * time.Second)
		s.add("a")
		b.pass(1500 * time.Millisecond)
		require.Equal(t, "a", s.file)
	})
}
