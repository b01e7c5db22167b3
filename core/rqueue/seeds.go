package rqueue

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"orbweaver/core/crawl"
)

// Seed is one claimed start message.
type Seed struct {
	// ID names the claim, and the message in it: the request's id derives from it.
	// It is unique for the start key, also when the store forgot claims and counts
	// on from an earlier one.
	ID      string
	Payload []byte // the message as it was pushed
}

// ClaimSeeds takes up to n (1 to 1000) start messages for this node, in the
// orders of scrapy-redis: a list from its head, a set at random, a sorted set
// from the highest score, ties in reverse byte order. They stay in the store
// until their requests are enqueued (Session.EnqueueSeeds) or they are rejected.
func (c *Crawl) ClaimSeeds(ctx context.Context, n int) ([]Seed, error) {
	r, err := c.f.call(ctx, c.f.scripts.seedClaim, func(a *args) {
		a.key(c.startURLs)
		a.key(c.taken)
		a.key(c.claims)
		a.key(c.keys.state)
		c.f.clock(a)
		a.str(c.f.cfg.Node)
		a.int(int64(min(max(n, 1), 1000)))
		a.str(c.runText())
	})
	if err != nil {
		return nil, err
	}
	n = r.array()
	kind := r.string()
	seeds, err := readSeeds(&r, n-1)
	if err != nil {
		return nil, err
	}
	want := c.spec.StartURLsType
	switch {
	case kind == "stale":
		return nil, ErrStaleRun
	case kind == "none", kind == want:
	case want == "" && (kind == "list" || kind == "set" || kind == "zset"):
	case len(seeds) > 0: // of another type than said, and readable all the same
	default:
		return nil, fmt.Errorf("rqueue: claim seeds: %s is a %s: want a list, a set or a zset", c.startURLs, kind)
	}
	return seeds, nil
}

func readSeeds(r *reply, n int) ([]Seed, error) {
	var seeds []Seed
	for i := 0; i+1 < n && r.err == nil; i += 2 {
		claim := r.string()
		payload := append([]byte{}, r.bytes()...)
		sum := crawl.NewID(string(payload))
		seeds = append(seeds, Seed{ID: claim + "." + sum.String(), Payload: payload})
	}
	return seeds, r.ok("read seeds")
}

// RetakeSeeds takes over up to n claims that have waited for age or longer
// (rule 2: 30 s), under their old ids, so that what was enqueued of them already
// stays one request. Alone with the store (Config.Exclusive), claims of an
// earlier process are taken at any age.
func (c *Crawl) RetakeSeeds(ctx context.Context, age time.Duration, n int) ([]Seed, error) {
	r, err := c.f.call(ctx, c.f.scripts.seedRetake, func(a *args) {
		a.key(c.taken)
		a.key(c.keys.state)
		c.f.clock(a)
		a.str(c.f.cfg.Node)
		a.int(max(ms(age), 0))
		a.flag(c.f.cfg.Exclusive)
		a.int(int64(min(max(n, 1), 1000)))
		a.str(c.runText())
	})
	if err != nil {
		return nil, err
	}
	n = r.array()
	if r.string() == "stale" && r.err == nil {
		return nil, ErrStaleRun
	}
	return readSeeds(&r, n-1)
}

// AckSeeds drops claims that need no request. For those that do, use
// Session.EnqueueSeeds: their acknowledgement must follow the enqueue on one connection.
func (c *Crawl) AckSeeds(ctx context.Context, seeds []Seed) error {
	return c.ackSeeds(ctx, c.f.rdb, seeds, nil)
}

func (c *Crawl) ackSeeds(ctx context.Context, p processor, seeds []Seed, reject []byte) error {
	if len(seeds) == 0 {
		return nil
	}
	a := newArgs()
	defer a.free()
	a.key(c.taken)
	a.key(c.rejected)
	a.str(c.f.cfg.Node)
	a.bytes(reject)
	for i := range seeds {
		claim, _, _ := strings.Cut(seeds[i].ID, ".")
		a.str(claim)
	}
	r, err := c.f.eval(ctx, p, c.f.scripts.seedAck, a)
	if err != nil {
		return err
	}
	r.int()
	return r.ok("ack seeds")
}

// rejectedSeed is how a start message that cannot be read is kept.
type rejectedSeed struct {
	Payload string `json:"payload"`
	Base64  bool   `json:"base64,omitempty"` // payload is base64: it was not UTF-8
	Reason  string `json:"reason"`
	At      string `json:"at"` // RFC 3339, the node's clock
}

// RejectSeed moves a claimed message to <start_urls>:rejected with the reason, as JSON.
func (c *Crawl) RejectSeed(ctx context.Context, seed Seed, reason string) error {
	rej := rejectedSeed{Payload: string(seed.Payload), Reason: reason, At: c.f.now().UTC().Format(time.RFC3339)}
	if !utf8.Valid(seed.Payload) {
		rej.Payload, rej.Base64 = base64.StdEncoding.EncodeToString(seed.Payload), true
	}
	text, err := json.Marshal(rej)
	if err != nil {
		return fmt.Errorf("rqueue: reject seed: %w", err)
	}
	return c.ackSeeds(ctx, c.f.rdb, []Seed{seed}, text)
}
