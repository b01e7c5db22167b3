package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"orbweaver/core/rqueue"
)

// yieldLook is how often to look whether another process still writes the items.
const yieldLook = 500 * time.Millisecond

// leaveWithin bounds how long leaving waits for the store: a writer's place ends by itself.
const leaveWithin = 2 * time.Second

// sighting is what the source said of another process that writes the items, between
// two moments of this process's clock.
type sighting struct {
	held        rqueue.ExportHeldError
	asked, told time.Time
}

// alive reports whether the process has been at work after an earlier sighting of it,
// or of another one: its place would end sooner had it not renewed it.
func (s *sighting) alive(before *sighting) bool {
	if s.held.Member != before.held.Member || s.held.File != before.held.File {
		return true
	}
	const rounding = 5 * time.Millisecond
	passed := s.asked.Sub(before.told) // at least, at the store
	return s.held.For > before.held.For-passed+rounding
}

// standBack leaves the items to another process, and takes from the file what is in
// that one's or will be.
func (e *Exporter) standBack(ctx context.Context, held *rqueue.ExportHeldError) error {
	e.holds = false
	if e.writer != nil {
		e.abandon()
	}
	if held.File == e.cfg.File {
		return nil
	}
	return e.cut(ctx)
}

// cut ends a closed file where the store says that it is safe. No other process may
// be writing to it.
func (e *Exporter) cut(ctx context.Context) error {
	if !e.dirty {
		return nil
	}
	at, ok, err := e.source.ExportPosition(ctx, e.cfg.File)
	if err != nil {
		return err
	}
	if ok && at >= 0 { // else nothing was begun in it, or it is no file that can be cut
		w, err := e.open(at)
		if err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	e.dirty = false
	return nil
}

// leave lets others write at once. What they are to write is cut off first, if the
// store answers.
func (e *Exporter) leave() {
	if !e.holds {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), min(e.cfg.Timeout, leaveWithin))
	defer cancel()
	if e.dirty {
		_, err := e.source.ExportRead(ctx, e.cfg.File, 1) // is it still this process's to cut?
		if held, ok := errors.AsType[*rqueue.ExportHeldError](err); ok {
			err = e.standBack(ctx, held)
		} else if err == nil {
			err = e.cut(ctx)
		}
		if err != nil {
			e.log.WithField("err", err).Debug("the file is cut back when the next crawl writes to it")
		}
	}
	if !e.holds {
		return
	}
	e.holds = false
	if err := e.source.ExportRelease(ctx, e.cfg.File); err != nil {
		e.log.WithField("err", err).Debug("others have to wait until they may write items")
	}
}

// yield leaves the items to the process that writes them, and looks when that may have
// ended. A drain waits until it has shown that it lives, for one that died keeps its
// place for some seconds.
func (e *Exporter) yield(ctx actor.Context, seen *sighting) {
	file := seen.held.File
	if e.other == nil || e.other.held.File != file || e.other.held.Member != seen.held.Member {
		e.log.WithField("member", seen.held.Member).Infof("another process writes the items to %s", file)
	}
	e.other = seen
	if e.drainTo == nil {
		e.arm(ctx, min(yieldLook, seen.held.For+time.Millisecond))
		return
	}
	if e.watched == nil {
		e.watched = seen
	}
	switch {
	case seen.held.Items == 0: // each is in a file
		e.end(ctx, nil)
	case seen.alive(e.watched) && seen != e.watched, !time.Now().Before(e.drainBy):
		e.log.WithField("items", seen.held.Items).Infof("the other process is to write what is left to %s", file)
		e.end(ctx, nil)
	default:
		e.arm(ctx, min(yieldLook, seen.held.For+time.Millisecond))
	}
}
