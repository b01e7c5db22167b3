package pipeline

import (
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"orbweaver/messages"
)

// Writer is where exported items go; package export has the ones for files.
type Writer interface {
	Write(items [][]byte) error
	Flush() (offset int64, err error) // everything written is safe; the place to resume at
	Close() error
}

// Source is where they come from: one crawl's export list.
type Source interface {
	// ExportPosition is the file's remembered offset; ok is false when there is none.
	ExportPosition(ctx context.Context, file string) (offset int64, ok bool, err error)
	ExportRead(ctx context.Context, n int) ([][]byte, error)
	// ExportAck forgets n items and remembers the file's offset, in one step.
	ExportAck(ctx context.Context, n int, file string, offset int64) error
}

// ExportConfig is the exporter's settings.
type ExportConfig struct {
	File    string        // its name in the store
	Batch   int           // items in one round
	Every   time.Duration // a round at least so often while items come
	Timeout time.Duration // of one call of the store
}

// Exporter copies items from the store to a file, each exactly once: the file is
// flushed, then the items are dropped and its size is remembered in one step; after
// a crash, or a step of unknown outcome, the file is cut back to that size. While
// the file cannot be written the items stay in the store.
type Exporter struct {
	cfg    ExportConfig
	source Source
	open   func(resumeAt int64) (Writer, error) // resumeAt < 0: from the beginning
	writer Writer                               // nil: to be opened; confined to the round that runs
	log    logrus.FieldLogger

	running, armed, soon bool
	fails                int
	lastErr              string
	drainTo              *actor.PID
}

// NewExporter makes the exporter.
func NewExporter(cfg ExportConfig, source Source, open func(resumeAt int64) (Writer, error), log logrus.FieldLogger) *Exporter {
	return &Exporter{cfg: cfg, source: source, open: open, log: log.WithField("actor", "exporter")}
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
		e.armed = false
		e.round(ctx)
	case *exported:
		e.onExported(ctx, msg)
	case *messages.Drain:
		e.drainTo = ctx.Sender()
		e.fails = 0
		e.round(ctx)
	case *actor.Stopping, *actor.Stopped, *actor.Restarting:
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
	if e.running {
		e.soon = true
		return
	}
	e.arm(ctx, e.cfg.Every)
}

func (e *Exporter) round(ctx actor.Context) {
	if e.running {
		e.soon = true
		return
	}
	e.running = true
	root, self := ctx.ActorSystem().Root, ctx.Self()
	go func() { root.Send(self, e.export()) }()
}

// export runs beside the actor; the writer is its alone.
func (e *Exporter) export() *exported {
	ctx, cancel := context.WithTimeout(context.Background(), e.cfg.Timeout)
	defer cancel()
	if err := e.begin(ctx); err != nil {
		return &exported{err: err}
	}
	items, err := e.source.ExportRead(ctx, e.cfg.Batch)
	if err != nil || len(items) == 0 {
		return &exported{err: err}
	}
	err = e.writer.Write(items)
	if err == nil {
		err = e.checkpoint(ctx, len(items))
	}
	if err != nil {
		e.abandon()
		return &exported{err: err}
	}
	return &exported{items: len(items), more: len(items) == e.cfg.Batch}
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
	if ok {
		return nil
	}
	if err := e.checkpoint(ctx, 0); err != nil {
		e.abandon()
		return err
	}
	return nil
}

func (e *Exporter) checkpoint(ctx context.Context, items int) error {
	offset, err := e.writer.Flush()
	if err != nil {
		return err
	}
	return e.source.ExportAck(ctx, items, e.cfg.File, offset)
}

// abandon closes a file that may hold more than the store knows of.
func (e *Exporter) abandon() {
	if err := e.writer.Close(); err != nil {
		e.log.WithField("err", err).Debug("file not closed")
	}
	e.writer = nil
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
	if msg.err != nil {
		e.failed(ctx, msg.err)
		return
	}
	e.fails, e.lastErr = 0, ""
	switch {
	case msg.more || e.drainTo != nil && msg.items > 0:
		e.round(ctx)
	case e.drainTo != nil:
		if err := e.finish(); err != nil {
			ctx.Send(e.drainTo, &Failed{Err: err})
		} else {
			ctx.Send(e.drainTo, &messages.Drained{})
		}
		e.drainTo = nil
	case e.soon:
		e.soon = false
		e.arm(ctx, e.cfg.Every)
	}
}

func (e *Exporter) failed(ctx actor.Context, err error) {
	e.fails++
	if e.lastErr != err.Error() {
		e.log.WithField("err", err).Error("items not written, they stay in the store")
	}
	e.lastErr = err.Error()
	if e.drainTo != nil && e.fails >= 3 {
		ctx.Send(e.drainTo, &Failed{Err: err})
		e.drainTo = nil
	}
	e.arm(ctx, min(5*time.Second, 100*time.Millisecond<<min(e.fails, 6)))
}
