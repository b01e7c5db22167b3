package pipeline

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"orbweaver/core/rqueue"
)

// outcome is what a worker made of one page, for the committer.
type outcome struct {
	slot  string
	page  *rqueue.Page
	isDoc bool // a page for CLOSESPIDER_PAGECOUNT: answered and not to be retried
	stats []count
	tries int       // commits that failed for this page alone
	after time.Time // no further one before it

	seedHost string // a host that a seed redirects to: it joins the scope of the seeds
}

// count raises one statistic.
type count struct {
	name string
	n    int64
}

// tallied is statistics without a page.
type tallied struct {
	crawl *rqueue.Crawl
	stats []count
}

// workerDrained tells the committer that a worker's outcomes are all in.
type workerDrained struct{}

// drainCommitter tells the committer whom to answer, and how many workers there are.
type drainCommitter struct {
	to      *actor.PID
	workers int
}

// flush commits what was gathered; seq tells a timer that was superseded.
type flush struct{ seq int }

// committed says how a batch went.
type committed struct {
	batch []*outcome
	stats map[*rqueue.Crawl]map[string]int64
	woken []rqueue.HostRef
	err   error
}

// exportNow is the exporter's timer, or a hint that items are there.
type exportNow struct{}

// exported says how a round of the exporter went.
type exported struct {
	items int // done with
	bad   int // of them dropped
	more  bool
	other *sighting // that writes the items; nil: this process does
	err   error
}

// Snapshot is what the pipeline answers messages.Inspect with.
type Snapshot struct {
	Workers    int
	Committing int // pages waiting for their commit or in it
	Batches    int64
	Committed  int64
	Gone       int64 // pages whose lease had been recovered: fetched again elsewhere
	Retried    int64 // commits tried again
	LastError  string
}
