package fetcher

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"orbweaver/core/crawl"
	"orbweaver/core/httpcache"
	"orbweaver/core/robots"
	"orbweaver/messages"
)

// Deps is what a fetcher actor needs. All but Cache are required.
type Deps struct {
	Client   *Client
	Cache    *httpcache.Cache // nil: none
	Pipeline *actor.PID       // gets a Page for each fetch that the site ended
	Log      logrus.FieldLogger
}

// Actor is the worker of one concurrency slot of a domain, its parent. It does
// one fetch at a time, inside Receive, and keeps nothing between two of them.
//
//	in   Fetch                        from the domain
//	out  Sent, then FetchDone         to the domain
//	     Page, before the FetchDone   to the pipeline
//
// Every Fetch is answered by one FetchDone, also when fetching panics. There is
// no Page for a robots.txt fetch, nor for one that ended by our own doing:
// cancelled, too late, or stale. The Actor stops with its parent; a fetch is cut
// short by closing the connections that the Fetch carries.
type Actor struct {
	deps Deps
}

// Props makes the props of a domain's fetchers.
func Props(deps Deps) *actor.Props {
	if deps.Client == nil || deps.Pipeline == nil || deps.Log == nil {
		panic("fetcher: Deps has a nil field")
	}
	return actor.PropsFromProducer(func() actor.Actor { return &Actor{deps: deps} })
}

// Conns is a new Slot as what a domain knows of it.
func (c *Client) Conns() messages.Conns { return c.Slot() }

// Receive handles one message.
func (a *Actor) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *messages.Fetch:
		a.onFetch(ctx, msg)
	case *actor.Started, *actor.Stopping, *actor.Stopped, *actor.Restarting:
	default:
		a.log(ctx).WithField("type", fmt.Sprintf("%T", msg)).Warn("unexpected message")
	}
}

func (a *Actor) onFetch(ctx actor.Context, msg *messages.Fetch) {
	resp, out := a.fetch(ctx, msg)
	done := &messages.FetchDone{
		ID:       msg.Lease.Request.ID,
		Fetcher:  ctx.Self(),
		Outcome:  out,
		PageSent: !msg.Robots && endedBySite(resp.Cause),
	}
	if msg.Robots {
		done.Robots = resp
	}
	if msg.Cookies != nil {
		done.Outcome.Cookies = keepCookies(msg, resp)
	}
	if warn := a.deps.Client.optionsOf(msg.Lease.Request).warnSize; warn > 0 && max(int64(len(resp.Body)), resp.Wire) > warn {
		a.log(ctx).WithFields(logrus.Fields{"url": resp.URL, "bytes": len(resp.Body), "wire": resp.Wire}).Warn("response is larger than DOWNLOAD_WARNSIZE")
	}
	if done.PageSent {
		ctx.Send(a.deps.Pipeline, &messages.Page{Lease: msg.Lease, Slot: msg.Slot, Response: resp})
	}
	ctx.Send(ctx.Sender(), done)
}

// fetch does the work. A panic fails this request, or the domain would wait for
// its end for ever.
func (a *Actor) fetch(ctx actor.Context, msg *messages.Fetch) (resp *crawl.Response, out messages.Outcome) {
	req := msg.Lease.Request
	defer func() {
		if reason := recover(); reason != nil {
			resp = &crawl.Response{URL: req.URL, Cause: crawl.CausePanic, Err: errText(fmt.Sprint(reason))}
			out = outcome(resp)
			a.log(ctx).WithFields(logrus.Fields{"url": req.URL, "err": resp.Err, "stack": string(debug.Stack())}).Error("fetch panicked")
		}
	}()
	slot, ok := msg.Conns.(*Slot)
	if !ok {
		panic(fmt.Sprintf("fetcher: connections are a %T", msg.Conns))
	}
	if msg.Cookie != "" {
		req = withCookie(req, msg.Cookie)
	}
	permit := Permit{NotAfter: msg.NotAfter}
	if msg.Robots {
		permit.Head = robots.LimitBytes + 1 // one more tells that a line is cut
	}
	send := func(req *crawl.Request) *crawl.Response {
		return slot.Do(context.Background(), req, permit, func(at time.Time) {
			ctx.Send(ctx.Sender(), &messages.Sent{ID: req.ID, At: at})
		})
	}
	if a.deps.Cache == nil {
		resp = send(req)
		return resp, outcome(resp)
	}
	return a.throughCache(ctx, msg, req, send)
}

// throughCache fetches what the cache does not answer. The outcome is the site's: what
// the cache makes of it is the page's.
func (a *Actor) throughCache(ctx actor.Context, msg *messages.Fetch, req *crawl.Request, send func(*crawl.Request) *crawl.Response) (*crawl.Response, messages.Outcome) {
	name := "robots"
	if msg.Lease.Crawl != nil {
		name = "crawl-" + msg.Lease.Crawl.Name()
	}
	look, err := a.deps.Cache.Look(name, req)
	if err != nil {
		a.log(ctx).WithFields(logrus.Fields{"url": req.URL, "err": err}).Warn("stored answer cannot be read: asking the site")
	}
	if look.Response != nil {
		return look.Response, outcome(look.Response)
	}
	asked := req
	if len(look.Fields) > 0 {
		asking := *req
		asking.Headers = slices.Concat(req.Headers, look.Fields)
		asked = &asking
	}
	fetched := send(asked)
	out := outcome(fetched)
	resp, err := a.deps.Cache.Done(name, req, &look, fetched)
	if err != nil {
		a.log(ctx).WithFields(logrus.Fields{"url": req.URL, "err": err}).Warn("answer not stored")
	}
	if msg.Robots {
		out.Status, out.Cause, out.Err = resp.Status, resp.Cause, resp.Err
	}
	return resp, out
}

func (a *Actor) log(ctx actor.Context) logrus.FieldLogger {
	return a.deps.Log.WithField("actor", ctx.Self().Id)
}

// endedBySite reports whether a fetch's end is for the pipeline to judge.
func endedBySite(cause crawl.Cause) bool {
	return cause != crawl.CauseCancelled && cause != crawl.CauseTooLate && cause != crawl.CauseStale
}

// outcome is what the domain and its throttle learn from a response.
func outcome(resp *crawl.Response) messages.Outcome {
	o := messages.Outcome{
		Status:  resp.Status,
		Cause:   resp.Cause,
		Err:     resp.Err,
		Latency: resp.Latency,
		SentAt:  resp.SentAt,
		Stale:   resp.Cause == crawl.CauseStale,
		Cached:  resp.Cached,
		Bytes:   resp.Wire,
	}
	if resp.Status >= 300 {
		o.RetryAfter = resp.Header("Retry-After")
	}
	o.RateLimit = rateLimit(resp.Headers)
	return o
}
