package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

// Writer is where exported items go; package export has the ones for files.
type Writer interface {
	// Write adds all items or none. An error that has a method BadItem() int says
	// that this one of them can never be written.
	Write(items [][]byte) error
	Flush() (offset int64, err error) // everything written is safe; the place to resume at
	Close() error
}

// Source is where they come from: one crawl's export list.
type Source interface {
	// ExportPosition is the file's remembered offset; ok is false when there is none.
	ExportPosition(ctx context.Context, file string) (offset int64, ok bool, err error)
	// ExportRead reads the first items, and makes this process their writer for some
	// seconds. An *rqueue.ExportHeldError: another process is.
	ExportRead(ctx context.Context, file string, n int) ([][]byte, error)
	// ExportAck forgets n items and remembers the file's offset, in one step.
	// rqueue.ErrExportLost: this process is not their writer any more.
	ExportAck(ctx context.Context, n int, file string, offset int64) error
	ExportRelease(ctx context.Context, file string) error // it writes no more
}

// ExportConfig is the exporter's settings.
type ExportConfig struct {
	File    string        // its name in the store
	Batch   int           // items in one round
	Every   time.Duration // a round at least so often while items come
	Timeout time.Duration // of one call of the store
	// Look is how often to look for items that other nodes stored; default 1 s. It must
	// be well below what the source gives a writer.
	Look time.Duration
	// Yield bounds how long a drain waits until another process that writes the items
	// has shown that it lives, or has lost its place; default 15 s.
	Yield time.Duration
}

// drainFails is after how many rounds that failed a drain is given up.
const drainFails = 3

// Exporter copies items from the store to a file, each exactly once: the file is
// flushed, then the items are dropped and its size is remembered in one step; after
// a crash, or a step of unknown outcome, the file is cut back to that size. While
// the file cannot be written the items stay in the store. An item that no file of
// its format can hold is dropped and logged.
//
// Of several processes that export one crawl, one writes at a time; the others take
// over when it ends, or is silent for too long. One that was silent for too long, or
// that begins while another writes, cuts its file back as after a crash, for what it
// had written beyond is in the other's. Not when the other writes to the same file,
// which is the other's to cut. A drain leaves the items to another process that lives.
//
//	in   Drain, Inspect     from the node
//	out  Drained or Failed  to who asked for the drain; after it nothing is written
type Exporter struct {
	cfg    ExportConfig
	source Source
	open   func(resumeAt int64) (Writer, error) // resumeAt < 0: from the beginning
	log    logrus.FieldLogger

	// Confined to the round that runs.
	writer Writer // nil: to be opened
	holds  bool   // the source may still take this process for the writer
	dirty  bool   // the closed file may hold more than the store knows of

	running, armed bool
	soon           bool      // items came since the round that runs began
	ended          bool      // drained
	other          *sighting // of the process that writes, when it is another
	watched        *sighting // the first one of it since the drain was asked for
	drainBy        time.Time
	fails          int
	lastErr        string
	drainTo        *actor.PID

	rounds, written, dropped int64
}

// ExporterSnapshot is what an exporter answers messages.Inspect with.
type ExporterSnapshot struct {
	Rounds    int64 // that wrote something
	Items     int64 // in the file
	Dropped   int64 // that cannot be written
	LastError string
}

// NewExporter makes the exporter.
func NewExporter(cfg ExportConfig, source Source, open func(resumeAt int64) (Writer, error), log logrus.FieldLogger) *Exporter {
	cfg.Look = cmp.Or(cfg.Look, time.Second)
	cfg.Yield = cmp.Or(cfg.Yield, 15*time.Second)
	return &Exporter{cfg: cfg, source: source, open: open, dirty: true, log: log.WithField("actor", "exporter")}
}

// Failed is how an exporter that could not empty its list answers Drain.
type Failed struct{ Err error }

// Receive implements actor.Actor.
func (e *Exporter) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		e.arm(ctx, e.cfg.Every)
	case exportNow:
		e.onExportNow(ctx)
	case exportTick:
		e.onExportTick(ctx)
	case *exported:
		e.onExported(ctx, msg)
	case *messages.Drain:
		e.onDrain(ctx)
	case *messages.Inspect:
		ctx.Respond(&ExporterSnapshot{Rounds: e.rounds, Items: e.written, Dropped: e.dropped, LastError: e.lastErr})
	case *actor.Stopping, *actor.Restarting:
		e.onStopping()
	case *actor.Stopped:
	default:
		e.log.WithField("type", fmt.Sprintf("%T", msg)).Warn("unexpected message")
	}
}

// exportTick is the exporter's own timer.
type exportTick struct{}

func (e *Exporter) arm(ctx actor.Context, d time.Duration) {
	if e.armed {
		return
	}
	e.armed = true
	root, self := ctx.ActorSystem().Root, ctx.Self()
	time.AfterFunc(d, func() { root.Send(self, exportTick{}) })
}

func (e *Exporter) onExportNow(ctx actor.Context) {
	switch {
	case e.ended:
	case e.running:
		e.soon = true
	default:
		e.arm(ctx, e.cfg.Every)
	}
}

func (e *Exporter) onExportTick(ctx actor.Context) {
	e.armed = false
	if !e.ended {
		e.round(ctx)
	}
}

func (e *Exporter) onDrain(ctx actor.Context) {
	e.drainTo = ctx.Sender()
	e.fails, e.ended, e.watched = 0, false, nil
	e.drainBy = time.Now().Add(e.cfg.Yield)
	e.round(ctx)
}

// onStopping lets the file go, if no round has it: that one's goroutine ends with
// the process.
func (e *Exporter) onStopping() {
	if e.running {
		return
	}
	if e.writer != nil {
		e.abandon()
	}
	e.leave()
}

func (e *Exporter) round(ctx actor.Context) {
	if e.running {
		e.soon = true
		return
	}
	e.running, e.soon = true, false
	root, self := ctx.ActorSystem().Root, ctx.Self()
	go func() { root.Send(self, e.export()) }()
}

// export runs beside the actor; the writer is its alone.
func (e *Exporter) export() *exported {
	ctx, cancel := context.WithTimeout(context.Background(), e.cfg.Timeout)
	defer cancel()
	asked := time.Now()
	items, err := e.source.ExportRead(ctx, e.cfg.File, e.cfg.Batch) // first: the file may be another's as well
	if held, ok := errors.AsType[*rqueue.ExportHeldError](err); ok {
		seen := &sighting{held: *held, asked: asked, told: time.Now()}
		return &exported{other: seen, err: e.standBack(ctx, held)}
	}
	if err != nil {
		return &exported{err: err}
	}
	e.holds = true
	if err := e.begin(ctx); err != nil || len(items) == 0 {
		return &exported{err: err}
	}
	bad, err := e.write(items)
	if err == nil {
		err = e.checkpoint(len(items))
	}
	if err != nil {
		e.abandon()
		return &exported{err: err}
	}
	return &exported{items: len(items), bad: bad, more: len(items) == e.cfg.Batch}
}

// write adds the items but for those that cannot be written in any try: one of
// them must not keep the others waiting for ever.
func (e *Exporter) write(items [][]byte) (bad int, err error) {
	left := items
	for len(left) > 0 {
		err := e.writer.Write(left)
		var fault interface{ BadItem() int }
		if err == nil || !errors.As(err, &fault) {
			return bad, err
		}
		i := fault.BadItem()
		if i < 0 || i >= len(left) {
			return bad, err
		}
		e.log.WithFields(logrus.Fields{"err": err, "item": string(left[i][:min(len(left[i]), 500)])}).Error("item dropped: it cannot be written")
		left = slices.Delete(slices.Clone(left), i, i+1)
		bad++
	}
	return bad, nil
}

// begin opens the file where the store says that it is safe. A file that is begun
// is remembered before anything is written to it.
func (e *Exporter) begin(ctx context.Context) error {
	if e.writer != nil {
		return nil
	}
	at, ok, err := e.source.ExportPosition(ctx, e.cfg.File)
	if err != nil {
		return err
	}
	if !ok {
		at = -1
	}
	if e.writer, err = e.open(at); err != nil {
		e.writer = nil
		return err
	}
	e.dirty = false
	if ok {
		return nil
	}
	if err := e.checkpoint(0); err != nil { //nolint:contextcheck // the store has its full time, however long the disk took
		e.abandon()
		return err
	}
	return nil
}

// checkpoint makes the file safe and then forgets the items. However long the disk
// took, the store has its full time.
func (e *Exporter) checkpoint(items int) error {
	offset, err := e.writer.Flush()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.cfg.Timeout)
	defer cancel()
	return e.source.ExportAck(ctx, items, e.cfg.File, offset)
}

// abandon closes a file that may hold more than the store knows of.
func (e *Exporter) abandon() {
	if err := e.writer.Close(); err != nil {
		e.log.WithField("err", err).Debug("file not closed")
	}
	e.writer, e.dirty = nil, true
}

// finish closes the file for good.
func (e *Exporter) finish() error {
	if e.writer == nil {
		return nil
	}
	err := e.writer.Close()
	e.writer = nil
	return err
}

func (e *Exporter) onExported(ctx actor.Context, msg *exported) {
	e.running = false
	switch {
	case errors.Is(msg.err, rqueue.ErrExportLost):
		e.log.WithField("file", e.cfg.File).Info("silent for too long to go on writing items: what another process may have written too is cut off")
		e.arm(ctx, e.cfg.Every)
		return
	case msg.err != nil:
		e.failed(ctx, msg.err)
		return
	case msg.other != nil:
		e.fails, e.lastErr = 0, ""
		e.yield(ctx, msg.other)
		return
	}
	if e.other != nil {
		e.log.Infof("the items are written to %s now", e.cfg.File)
	}
	e.other, e.watched = nil, nil
	e.fails, e.lastErr = 0, ""
	e.written, e.dropped = e.written+int64(msg.items-msg.bad), e.dropped+int64(msg.bad)
	if msg.items > 0 {
		e.rounds++
	}
	switch {
	case msg.more || e.drainTo != nil && (msg.items > 0 || e.soon): // items may have come after the round had read
		e.round(ctx)
	case e.drainTo != nil:
		e.end(ctx, e.finish())
	case e.soon:
		e.arm(ctx, e.cfg.Every)
	default:
		e.arm(ctx, e.cfg.Look)
	}
}

// end answers a drain. From then on the file is left alone: it is finished, and
// opening it again would cut its end off.
func (e *Exporter) end(ctx actor.Context, err error) {
	e.leave()
	var answer any = &messages.Drained{}
	if err != nil {
		answer = &Failed{Err: err}
	}
	ctx.Send(e.drainTo, answer)
	e.drainTo, e.ended = nil, true
}

func (e *Exporter) failed(ctx actor.Context, err error) {
	e.fails++
	if e.lastErr != err.Error() {
		e.log.WithField("err", err).Error("items not written, they stay in the store")
	}
	e.lastErr = err.Error()
	if e.drainTo != nil && e.fails >= drainFails {
		e.end(ctx, err)
		return
	}
	e.arm(ctx, min(5*time.Second, 100*time.Millisecond<<min(e.fails, 6)))
}
