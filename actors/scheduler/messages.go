package scheduler

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"orbweaver/core/rqueue"
)

// Attach tells the scheduler to serve a crawl.
type Attach struct {
	Crawl *rqueue.Crawl
	Seeds *SeedReader
	// FinishWhenIdle declares the crawl finished once nothing is left of it, and
	// sends Finished to Report. False: it waits for more seeds, as a scrapy-redis
	// spider does.
	FinishWhenIdle bool
	Report         *actor.PID
}

// Detach tells the scheduler to leave a crawl alone.
type Detach struct{ Crawl *rqueue.Crawl }

// Finished reports that a crawl is finished; Elsewhere, that another process finished
// and closed it, flushed it or deleted it, so that nothing is left to settle.
type Finished struct {
	Crawl     *rqueue.Crawl
	Elsewhere bool
}

// Snapshot is what the scheduler answers messages.Inspect with.
type Snapshot struct {
	Pending   int // steps waiting for the next batch
	Running   int // batches on their way
	Batches   int64
	Steps     int64
	Crawls    []string
	LastPoll  time.Duration // ago
	LastError string
}

// flush runs the steps that were gathered.
type flush struct{}

// ran says that a batch is done.
type ran struct {
	by  *Actor // the incarnation that set it off; only that counts it
	err error
}

// pollNow is the timer of the due index and the seeds.
type pollNow struct{ seq int }

// polled is what a poll found.
type polled struct {
	by       *Actor // as ran's
	wake     []rqueue.HostRef
	adopt    []rqueue.HostRef // nobody looks at them, and they are not this node's
	nextDue  time.Duration    // until the next host becomes due; < 0: none
	more     bool             // a limit was reached: poll again at once
	finished []*Finished
	err      error
}

// seeded answers a Seed message's sender.
type seeded struct {
	to   *actor.PID
	resp any
	wake []rqueue.HostRef
}
