package rqueue

import "errors"

// What callers branch on; test with errors.Is.
var (
	// ErrLeaseLost: the slot token is not current; drop the slot, acquire anew.
	ErrLeaseLost = errors.New("rqueue: slot lease lost")
	// ErrHeld: another node holds the slot; see Acquire.HeldFor.
	ErrHeld = errors.New("rqueue: slot held by another node")
	// ErrExportHeld: another process writes the crawl's items to a file.
	ErrExportHeld = errors.New("rqueue: items are written by another process")
	// ErrExportLost: this process was silent for too long to go on as the one that
	// writes the crawl's items to a file.
	ErrExportLost = errors.New("rqueue: the place of the process that writes items is lost")
	// ErrQuarantine: the store may have forgotten its last second, or its clock is
	// in doubt; ask again after Acquire.HeldFor.
	ErrQuarantine = errors.New("rqueue: store in quarantine")
	// ErrPaused: the slot or the crawl is paused.
	ErrPaused = errors.New("rqueue: paused")
	// ErrStaleRun: the crawl was flushed; reopen it.
	ErrStaleRun = errors.New("rqueue: crawl has a newer run")
	// ErrNotRunning: the crawl is finished or stopped.
	ErrNotRunning = errors.New("rqueue: crawl is not running")
	// ErrWaiting: the URL's request waits or is leased; it cannot be forgotten now.
	ErrWaiting = errors.New("rqueue: request waits or is leased")
	// ErrLayout: the store was set up with another layout.
	ErrLayout = errors.New("rqueue: store has another layout")
)
