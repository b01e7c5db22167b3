package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/core/seeds"
	"orbweaver/core/weburl"
	"orbweaver/messages"
)

// SeedReader turns one start_urls entry into a request. Safe for concurrent use.
type SeedReader struct {
	Encoding    string // of the entries (REDIS_ENCODING); "" is UTF-8
	Fingerprint *weburl.Fingerprinter
	Scope       *weburl.Scope          // learns the seeds' hosts
	Check       func(url string) error // refuses a URL that may not be fetched; nil: all may
}

// Read gives the request of one entry; id is unique to the entry.
func (r *SeedReader) Read(payload []byte, id crawl.ID) (*crawl.Request, string, error) {
	req, err := seeds.Parse(payload, r.Encoding)
	if err != nil {
		return nil, "", err
	}
	host := weburl.Host(req.URL)
	if r.Check != nil {
		if err := r.Check(req.URL); err != nil {
			return nil, "", err
		}
	}
	req.ID, req.Seed, req.DontFilter = id, true, true
	req.Fingerprint = r.Fingerprint.Fingerprint(req)
	r.Scope.AddSeed(host)
	return req, host, nil
}

// takeSeeds claims a batch of start_urls, enqueues it and acknowledges it. An entry
// that cannot be read goes to start_urls:rejected; the others go on.
func (a *Actor) takeSeeds(ctx context.Context, c *crawlState, out *polled) (int, error) {
	claimed, err := c.Crawl.RetakeSeeds(ctx, a.cfg.SeedAge, a.cfg.SeedBatch)
	if err != nil {
		return 0, err
	}
	if left := a.cfg.SeedBatch - len(claimed); left > 0 {
		fresh, err := c.Crawl.ClaimSeeds(ctx, left)
		if err != nil {
			return 0, err
		}
		claimed = append(claimed, fresh...)
	}
	if len(claimed) == 0 {
		return 0, nil
	}
	var links []rqueue.Link
	var hosts []string
	var good []rqueue.Seed
	bad := map[int]error{} // by their place among the claimed
	for i, s := range claimed {
		req, host, err := c.Seeds.Read(s.Payload, crawl.NewID("start_urls", c.Crawl.Name(), s.ID))
		if err != nil {
			bad[i] = err
			continue
		}
		links = append(links, rqueue.Link{Crawl: c.Crawl, Host: host, Request: req})
		hosts, good = append(hosts, host), append(good, s)
	}
	if err := c.Crawl.AddSeedHosts(ctx, hosts); err != nil {
		return 0, err
	}
	woken, _, err := c.session.EnqueueSeeds(ctx, c.Crawl, links, good)
	out.wake = append(out.wake, woken...)
	if err != nil {
		return 0, err
	}
	return len(claimed), a.reject(ctx, c, claimed, bad)
}

// reject puts aside what cannot be read, after the others are safe: a rejected list
// that cannot be written keeps no good seed waiting.
func (a *Actor) reject(ctx context.Context, c *crawlState, claimed []rqueue.Seed, bad map[int]error) error {
	var errs []error
	for i, err := range bad {
		a.log.WithFields(logrus.Fields{"crawl": c.Crawl.Name(), "err": err}).Warn("start_urls entry rejected")
		errs = append(errs, c.Crawl.RejectSeed(ctx, claimed[i], err.Error()))
	}
	return errors.Join(errs...)
}

// onSeed starts requests that another actor, perhaps of another node, asks for.
func (a *Actor) onSeed(ctx actor.Context, msg *messages.Seed) {
	to := ctx.Sender()
	var c *crawlState
	for _, x := range a.crawls {
		if x.Crawl.Name() == msg.GetCrawl() {
			c = x
		}
	}
	if c == nil {
		ctx.Send(ctx.Self(), &seeded{to: to, resp: &messages.SeedResult{Version: 1, Error: fmt.Sprintf("crawl %q is not served here", msg.GetCrawl())}})
		return
	}
	session := a.deps.Frontier.NewSession()
	root, self := ctx.ActorSystem().Root, ctx.Self()
	go func() {
		resp, woken := a.seed(c.Crawl, c.Seeds, session, msg)
		if err := session.Close(); err != nil {
			resp.Error = err.Error()
		}
		root.Send(self, &seeded{to: to, resp: resp, wake: woken})
	}()
}

func (a *Actor) seed(c *rqueue.Crawl, reader *SeedReader, session *rqueue.Session, msg *messages.Seed) (*messages.SeedResult, []rqueue.HostRef) {
	ctx, cancel := context.WithTimeout(context.Background(), a.cfg.Timeout)
	defer cancel()
	resp := &messages.SeedResult{Version: 1}
	batch := strconv.FormatInt(time.Now().UnixNano(), 36)
	var links []rqueue.Link
	var hosts []string
	for i, payload := range msg.GetPayloads() {
		req, host, err := reader.Read(payload, crawl.NewID("seed", c.Name(), batch, strconv.Itoa(i)))
		if err != nil {
			resp.Rejected = append(resp.Rejected, &messages.Rejected{Payload: payload, Reason: err.Error()})
			continue
		}
		links = append(links, rqueue.Link{Crawl: c, Host: host, Request: req})
		hosts = append(hosts, host)
	}
	if err := c.AddSeedHosts(ctx, hosts); err != nil {
		resp.Error = err.Error()
		return resp, nil
	}
	woken, _, err := session.Enqueue(ctx, links)
	if err != nil {
		resp.Error = err.Error()
		return resp, nil
	}
	resp.Accepted = uint32(len(links)) //nolint:gosec // bounded by a message's size
	return resp, woken
}

func (a *Actor) onSeeded(ctx actor.Context, msg *seeded) {
	if len(msg.wake) > 0 {
		ctx.Send(a.deps.Domains, &messages.Wake{Refs: msg.wake})
	}
	if msg.to != nil {
		ctx.Send(msg.to, msg.resp)
	}
}
