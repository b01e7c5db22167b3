package chaos

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Kind is a kind of fault.
type Kind string

// The faults.
const (
	Join       Kind = "join"        // one more node
	Leave      Kind = "leave"       // SIGTERM; replaced when too few are left
	Kill       Kind = "kill"        // kill -9, a fresh process later
	Freeze     Kind = "freeze"      // SIGSTOP, SIGCONT later
	CutRedis   Kind = "cut-redis"   // a node does not reach Redis
	CutPeers   Kind = "cut-peers"   // a node does not reach its peers
	CutBoth    Kind = "cut-both"    // neither
	CutOneWay  Kind = "cut-one-way" // one direction only, of either
	Loss       Kind = "loss"        // 5% of a node's segments, to Redis and peers
	SlowRedis  Kind = "slow-redis"  // 50 to 200 ms between a node and Redis, each way
	RedisKill  Kind = "redis-kill"  // kill -9 of Redis
	RedisStop  Kind = "redis-stop"  // a clean restart of Redis
	NodeClock  Kind = "node-clock"  // a node's clock is off by 10 s
	RedisClock Kind = "redis-clock" // Redis's clock steps back
	Evicted    Kind = "restart"     // not drawn: a node that ended by itself is started again
)

// Kinds are all faults that can be drawn.
func Kinds() []Kind {
	return []Kind{
		Join, Leave, Kill, Freeze, CutRedis, CutPeers, CutBoth, CutOneWay, Loss, SlowRedis,
		RedisKill, RedisStop, NodeClock, RedisClock,
	}
}

// possible are the kinds that can be drawn, and why the others cannot.
func possible(wanted []Kind, cluster, clock, namespaces bool) (kinds []Kind, missing map[Kind]string) {
	missing = map[Kind]string{}
	for _, k := range Kinds() {
		switch {
		case len(wanted) > 0 && !slices.Contains(wanted, k):
		case !cluster && (k == CutPeers || k == CutBoth || k == NodeClock):
			missing[k] = "the node has no setting CLUSTER_BIND"
		case namespaces && (k == Loss || k == SlowRedis):
			missing[k] = "a link of a namespace is cut or whole"
		case !clock && k == RedisClock:
			missing[k] = "the store's clock cannot be moved here"
		default:
			kinds = append(kinds, k)
		}
	}
	return kinds, missing
}

// deck draws the faults of a seed: every kind once, in random order, then again. The
// same seed and kinds give the same faults.
type deck struct {
	seed   uint64
	kinds  []Kind
	random *rand.Rand
	left   []Kind
	drawn  uint64
}

func newDeck(seed uint64, kinds []Kind) *deck {
	return &deck{seed: seed, kinds: kinds, random: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // to be had again
}

// draw gives the next fault, and the chance that decides the rest of it.
func (d *deck) draw() (Kind, chance) {
	if len(d.left) == 0 {
		d.left = slices.Clone(d.kinds)
		d.random.Shuffle(len(d.left), func(i, j int) { d.left[i], d.left[j] = d.left[j], d.left[i] })
	}
	k := d.left[0]
	d.left = d.left[1:]
	d.drawn++
	return k, chance{rand.New(rand.NewPCG(d.seed, d.drawn))} //nolint:gosec // to be had again
}

// chance is the randomness of one fault.
type chance struct{ *rand.Rand }

// between is a time in [from, to].
func (c chance) between(from, to time.Duration) time.Duration {
	if to <= from {
		return from
	}
	return from + time.Duration(c.Int64N(int64(to-from)+1))
}
