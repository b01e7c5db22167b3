package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"orbweaver/actors/supervise"
	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/internal/actortest"
	"orbweaver/messages"
)

// vault is a Session: what was committed, and how.
type vault struct {
	mu      sync.Mutex
	batches [][]rqueue.Page  // guarded by mu
	stats   map[string]int64 // guarded by mu
	took    time.Duration    // guarded by mu; of one commit
	err     error            // guarded by mu; of every commit
	refuse  map[int]error    // guarded by mu; of single pages, by number
	gone    map[int]bool     // guarded by mu
	woken   []rqueue.HostRef // guarded by mu
	using   int              // guarded by mu; commits under way
	times   map[int]int      // guarded by mu; commits of each page that went through
}

// number tells a page of the tests by its token.
func number(p *rqueue.Page) int {
	n, err := strconv.Atoi(p.Token)
	if err != nil {
		return -1
	}
	return n
}

func (v *vault) Commit(_ context.Context, pages []*rqueue.Page, stats []rqueue.Stat) ([]rqueue.HostRef, error) {
	v.mu.Lock()
	v.using++
	if v.using > 1 {
		panic("a session is used by two")
	}
	took := v.took
	v.mu.Unlock()
	if took > 0 {
		<-time.After(took)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.using--
	var batch []rqueue.Page
	for _, p := range pages {
		p.Err, p.Gone = v.err, false
		if err := v.refuse[number(p)]; err != nil && p.Err == nil && p.End != rqueue.EndDead {
			p.Err = err
		}
		if p.Err == nil {
			p.Gone = v.gone[number(p)]
			v.times[number(p)]++
		}
		batch = append(batch, *p)
	}
	v.batches = append(v.batches, batch)
	if v.err != nil {
		return nil, v.err
	}
	for _, s := range stats {
		v.stats[s.Name] += s.N
	}
	return v.woken, nil
}

func (v *vault) change(f func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f()
}

// desk is a committer in virtual time.
type desk struct {
	*testing.T
	sys       *actor.ActorSystem
	vault     *vault
	committer *actor.PID
	domains   *actortest.Probe
	exporter  *actortest.Probe
	node      *actortest.Probe
	counters  *Counters
	logs      *logtest.Hook
	crawl     *rqueue.Crawl
}

func committing(t *testing.T, test func(d *desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log, hook := logtest.NewNullLogger()
		sys := actortest.NewSystem()
		d := &desk{
			T: t, sys: sys, vault: &vault{stats: map[string]int64{}, refuse: map[int]error{}, gone: map[int]bool{}, times: map[int]int{}},
			domains: actortest.NewProbe(t, sys), exporter: actortest.NewProbe(t, sys), node: actortest.NewProbe(t, sys),
			counters: &Counters{}, logs: hook, crawl: new(rqueue.Crawl),
		}
		deps := Deps{
			Session: d.vault, Domains: d.domains.PID, Counters: d.counters, Log: log,
			Exporter: func(*rqueue.Crawl) *actor.PID { return d.exporter.PID },
		}
		storing := make(chan struct{}, 1)
		cfg := Config{Batch: 4, Linger: 10 * time.Millisecond}.WithDefaults()
		strategy := supervise.NewStrategy(log, nil)
		parent := sys.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
			if _, ok := ctx.Message().(*actor.Started); ok {
				d.committer = ctx.Spawn(actor.PropsFromProducer(func() actor.Actor { return newCommitter(cfg, deps, storing) }))
			}
		}, actor.WithSupervisor(strategy)))
		synctest.Wait()
		test(d)
		actortest.Stop(t, sys, parent)
		for _, p := range []*actortest.Probe{d.domains, d.exporter, d.node} {
			p.Stop(t)
		}
		<-time.After(time.Minute)
	})
}

func (d *desk) pass(t time.Duration) {
	<-time.After(t)
	synctest.Wait()
}

// page sends the outcome of a page, told by its number.
func (d *desk) page(n int, change ...func(o *outcome)) {
	o := &outcome{
		slot: "a.test", isDoc: true, stats: []count{{"pages", 1}},
		page: &rqueue.Page{Crawl: d.crawl, Host: "a.test", ID: crawl.NewID(strconv.Itoa(n)), Token: strconv.Itoa(n), Items: []crawl.Item{{ID: "i"}}},
	}
	for _, f := range change {
		f(o)
	}
	d.sys.Root.Send(d.committer, o)
}

// sizes are the pages in each commit so far.
func (d *desk) sizes() (sizes []int) {
	d.vault.mu.Lock()
	defer d.vault.mu.Unlock()
	for _, b := range d.vault.batches {
		sizes = append(sizes, len(b))
	}
	return sizes
}

// settled collects the numbers of the pages that were told to be settled so far.
func (d *desk) settled() (ids map[crawl.ID]int) {
	d.Helper()
	synctest.Wait()
	ids = map[crawl.ID]int{}
	for {
		select {
		case l := <-d.domains.C:
			if s, ok := l.Message.(*messages.Settled); ok {
				for _, p := range s.Pages {
					ids[p.ID]++
				}
			}
		default:
			return ids
		}
	}
}

func (d *desk) drain(workers int) {
	d.sys.Root.Send(d.committer, &drainCommitter{to: d.node.PID, workers: workers})
	for range workers {
		d.sys.Root.Send(d.committer, workerDrained{})
	}
}

func TestCommitterGathers(t *testing.T) {
	committing(t, func(d *desk) {
		d.page(0)
		d.pass(9 * time.Millisecond)
		require.Empty(t, d.sizes())
		d.page(1)
		d.pass(time.Millisecond)
		require.Equal(t, []int{2}, d.sizes(), "the linger counts from the first page")
		d.vault.change(func() { d.vault.took = 50 * time.Millisecond })
		for n := range 11 {
			d.page(2 + n)
		}
		d.pass(time.Second)
		require.Equal(t, []int{2, 4, 4, 3}, d.sizes(), "a full batch does not wait")
		require.Equal(t, int64(13), d.vault.stats["pages"])
		require.Len(t, d.settled(), 13)
		require.EqualValues(t, 13, d.counters.Pages.Load())
		require.EqualValues(t, 13, d.counters.Items.Load())
	})
}

func TestCommitterTellsTheOthers(t *testing.T) {
	committing(t, func(d *desk) {
		ref := rqueue.HostRef{Crawl: d.crawl, Host: "b.test"}
		d.vault.change(func() { d.vault.woken, d.vault.gone[2] = []rqueue.HostRef{ref}, true })
		d.page(1)
		d.page(2)
		d.page(3, func(o *outcome) { o.isDoc, o.page.End, o.page.Items = false, rqueue.EndRetry, nil })
		s := actortest.Expect[*messages.Settled](t, d.domains)
		require.Equal(t, []messages.SettledPage{
			{Crawl: d.crawl, Slot: "a.test", ID: crawl.NewID("1"), Page: true},
			{Crawl: d.crawl, Slot: "a.test", ID: crawl.NewID("2")},
			{Crawl: d.crawl, Slot: "a.test", ID: crawl.NewID("3")},
		}, s.Pages)
		require.Equal(t, []rqueue.HostRef{ref}, actortest.Expect[*messages.Wake](t, d.domains).Refs)
		actortest.Expect[exportNow](t, d.exporter)
		d.exporter.Empty(t)
		snap := actortest.Ask[*Snapshot](t, d.sys, d.committer, &messages.Inspect{})
		require.EqualValues(t, 2, snap.Committed)
		require.EqualValues(t, 1, snap.Gone)
		require.EqualValues(t, 1, d.counters.Retries.Load())
		require.EqualValues(t, 1, d.counters.Pages.Load(), "a page that is gone was not ours to count")
	})
}

// While the store fails the pages wait, with back-off; then each is committed once
// and each statistic is written once.
func TestCommitterWaitsForTheStore(t *testing.T) {
	for name, err := range map[string]error{
		"connection": io.ErrUnexpectedEOF,
		"full":       fmt.Errorf("rqueue: commit: %w", &rqueue.StoreError{Reply: "OOM command not allowed when used memory > 'maxmemory'."}),
		"read-only":  &rqueue.StoreError{Reply: "ERR Error running script (call to f_1): @user_script:9: -READONLY You can't write against a read only replica."},
	} {
		t.Run(name, func(t *testing.T) {
			committing(t, func(d *desk) {
				var store *rqueue.StoreError
				single := errors.As(err, &store) // each page is refused, the call itself is not
				d.vault.change(func() {
					if !single {
						d.vault.err = err
						return
					}
					for n := range 30 {
						d.vault.refuse[n] = err
					}
				})
				for n := range 10 {
					d.page(n)
				}
				d.pass(5 * time.Minute)
				require.Less(t, len(d.sizes()), 300, "with back-off")
				require.Empty(t, d.settled())
				require.Len(t, d.logs.AllEntries(), 1, "said once")
				snap := actortest.Ask[*Snapshot](t, d.sys, d.committer, &messages.Inspect{})
				require.Equal(t, 10, snap.Committing)
				require.NotEmpty(t, snap.LastError)
				for n := range 5 {
					d.page(10 + n)
				}
				d.vault.change(func() { d.vault.err, d.vault.refuse = nil, map[int]error{} })
				d.pass(5 * time.Second)
				require.Len(t, d.settled(), 15)
				for n := range 15 {
					require.Equal(t, 1, d.vault.times[n])
				}
				require.Equal(t, int64(15), d.vault.stats["pages"])
				for _, b := range d.vault.batches {
					for _, p := range b {
						require.Equal(t, rqueue.EndDone, p.End, "a store that is out of order kills no page")
					}
				}
			})
		})
	}
}

// A page that the store refuses alone delays no other, and is dead in the end.
func TestCommitterGivesARefusedPageUp(t *testing.T) {
	committing(t, func(d *desk) {
		d.vault.change(func() { d.vault.refuse[0] = &rqueue.StoreError{Reply: "WRONGTYPE Operation against a key"} })
		d.page(0)
		start := time.Now()
		for n := range 20 {
			d.page(1 + n)
			d.pass(20 * time.Millisecond)
			require.Len(t, d.settled(), 1, "page %d", 1+n)
		}
		d.pass(2 * time.Minute)
		require.Equal(t, map[crawl.ID]int{crawl.NewID("0"): 1}, d.settled())
		last := d.vault.batches[len(d.vault.batches)-1]
		require.Len(t, last, 1)
		require.Equal(t, rqueue.EndDead, last[0].End)
		require.Contains(t, last[0].Cause, "WRONGTYPE")
		require.Empty(t, last[0].Items)
		require.EqualValues(t, 1, d.counters.Dead.Load())
		require.Greater(t, time.Since(start), 20*time.Second, "it had its time")
		tries := 0
		for _, b := range d.vault.batches {
			for _, p := range b {
				if number(&p) == 0 {
					tries++
				}
			}
		}
		require.Equal(t, maxCommitTries+1, tries)
	})
}

// A page of a crawl that was flushed or deleted meanwhile is nobody's any more: it does
// not wait.
func TestCommitterDropsPagesOfAnotherRun(t *testing.T) {
	committing(t, func(d *desk) {
		d.vault.change(func() { d.vault.refuse[0] = fmt.Errorf("enqueue: %w", rqueue.ErrStaleRun) })
		d.page(0)
		d.page(1)
		d.pass(time.Second)
		require.Equal(t, map[crawl.ID]int{crawl.NewID("0"): 1, crawl.NewID("1"): 1}, d.settled())
		d.pass(time.Minute)
		tries := 0
		for _, b := range d.vault.batches {
			tries += len(b)
		}
		require.Equal(t, 2, tries)
	})
}

func TestCommitterDrains(t *testing.T) {
	committing(t, func(d *desk) {
		d.vault.change(func() { d.vault.took = time.Second })
		for n := range 9 {
			d.page(n)
		}
		d.sys.Root.Send(d.committer, &drainCommitter{to: d.node.PID, workers: 2})
		d.sys.Root.Send(d.committer, workerDrained{})
		d.pass(10 * time.Second)
		d.node.Empty(t)
		d.page(9) // of the other worker
		d.sys.Root.Send(d.committer, workerDrained{})
		actortest.Expect[*messages.Drained](t, d.node)
		require.Len(t, d.settled(), 10)

		d.drain(2)
		actortest.Expect[*messages.Drained](t, d.node)

		d.vault.change(func() { d.vault.refuse[20], d.vault.took = errors.New("not this one"), 0 })
		d.page(20)
		d.drain(2)
		d.pass(time.Second)
		d.node.Empty(t)
		d.vault.change(func() { clear(d.vault.refuse) })
		actortest.Expect[*messages.Drained](t, d.node)
		require.Len(t, d.settled(), 1)
	})
}

// A second drain waits for the workers anew.
func TestCommitterDrainsAgain(t *testing.T) {
	committing(t, func(d *desk) {
		d.drain(2)
		actortest.Expect[*messages.Drained](t, d.node)
		d.sys.Root.Send(d.committer, &drainCommitter{to: d.node.PID, workers: 2})
		d.pass(time.Second)
		d.node.Empty(t)
		d.sys.Root.Send(d.committer, workerDrained{})
		d.sys.Root.Send(d.committer, workerDrained{})
		actortest.Expect[*messages.Drained](t, d.node)
	})
}

func TestCommitterDrainsWhenTheStoreIsBack(t *testing.T) {
	committing(t, func(d *desk) {
		d.vault.change(func() { d.vault.err = io.EOF })
		d.page(0)
		d.drain(1)
		d.pass(10 * time.Second)
		d.node.Empty(t)
		d.vault.change(func() { d.vault.err = nil })
		actortest.Expect[*messages.Drained](t, d.node)
		require.Equal(t, int64(1), d.vault.stats["pages"])
	})
}

// Statistics without a page are written too, and do not keep pages waiting.
func TestCommitterWritesStatsAlone(t *testing.T) {
	committing(t, func(d *desk) {
		d.sys.Root.Send(d.committer, &tallied{crawl: d.crawl, stats: []count{{"robots", 2}}})
		d.pass(2 * time.Second)
		require.Equal(t, int64(2), d.vault.stats["robots"])
		d.sys.Root.Send(d.committer, &tallied{crawl: d.crawl, stats: []count{{"robots", 1}}})
		d.page(1)
		d.pass(10 * time.Millisecond)
		require.Equal(t, int64(3), d.vault.stats["robots"])
		require.Len(t, d.settled(), 1)
	})
}

// A committer that panics loses no outcome that waited.
func TestCommitterPanics(t *testing.T) {
	committing(t, func(d *desk) {
		d.vault.change(func() { d.vault.took = 200 * time.Millisecond })
		for n := range 10 {
			d.page(n)
		}
		d.pass(50 * time.Millisecond)
		d.sys.Root.Send(d.committer, (*outcome)(nil))
		d.pass(10 * time.Second)
		require.Len(t, d.settled(), 10)
		for n := range 10 {
			require.Equal(t, 1, d.vault.times[n])
		}
	})
}

func TestRefusesAll(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  error
		want bool
	}{
		{&rqueue.StoreError{Reply: "OOM command not allowed"}, true},
		{fmt.Errorf("x: %w", &rqueue.StoreError{Reply: "MISCONF Redis is configured to save"}), true},
		{&rqueue.StoreError{Reply: "ERR Error running script: -OOM command not allowed"}, true},
		{&rqueue.StoreError{Reply: "WRONGTYPE Operation"}, false},
		{&rqueue.StoreError{Reply: "ERR ZOOM in"}, false},
		{errors.New("OOM it is not the store that says so"), false},
	}
	for _, tt := range tests {
		t.Run(tt.err.Error(), func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, refusesAll(tt.err))
		})
	}
}
