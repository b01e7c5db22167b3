package chaos

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// crawlName is the name of the one crawl of a run.
const crawlName = "chaos"

// ahead is how many pages of a host are seeded beyond those visited, at least.
const ahead = 30

// intake seeds the crawl, so that no host runs out of work before it is stopped.
// It pushes only while no restart of the store is near: a seed is lost with the
// store's last second, and that would not be the crawler's fault.
type intake struct {
	site   *site
	client *redis.Client

	mu       sync.Mutex
	paused   int             // guarded by mu
	batches  []int           // guarded by mu; by host
	doubtful map[[2]int]bool // guarded by mu; host, batch: nobody knows whether it was pushed
}

func newIntake(s *site, client *redis.Client) *intake {
	return &intake{site: s, client: client, batches: make([]int, s.hosts), doubtful: map[[2]int]bool{}}
}

// run seeds until ctx ends.
func (in *intake) run(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		in.push(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (in *intake) push(ctx context.Context) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.paused > 0 || ctx.Err() != nil {
		return
	}
	var seeds []any
	var pushed [][2]int
	for h := range in.site.hosts {
		for int64(in.batches[h]*batchPages)-in.site.visited[h].Load() < ahead && in.batches[h] < mostPages/batchPages-1 {
			seeds = append(seeds, in.site.seedOf(h, in.batches[h]))
			pushed = append(pushed, [2]int{h, in.batches[h]})
			in.batches[h]++
		}
	}
	if len(seeds) == 0 {
		return
	}
	// Not cut off by the end of the intake: the outcome would be unknown.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := in.client.RPush(ctx, crawlName+":start_urls", seeds...).Err(); err != nil {
		for _, p := range pushed {
			in.doubtful[p] = true
		}
	}
}

// pause keeps the intake from pushing until as many calls of resume.
func (in *intake) pause() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.paused++
}

func (in *intake) resume() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.paused--
}

// expected are the pages that the crawl must have; false: it may have them.
func (in *intake) expected() map[string]bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	out := map[string]bool{}
	for h, n := range in.batches {
		for b := range n {
			sure := !in.doubtful[[2]int{h, b}]
			for _, u := range in.site.pagesOf(h, b) {
				out[u] = sure
			}
		}
	}
	return out
}
