package pipeline

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"orbweaver/core/blocked"
	"orbweaver/core/crawl"
	"orbweaver/core/extract"
	"orbweaver/core/policy"
	"orbweaver/core/rqueue"
	"orbweaver/core/spider"
	"orbweaver/core/trap"
	"orbweaver/core/weburl"
	"orbweaver/messages"
)

// ErrDrop is how a Stage drops an item.
var ErrDrop = errors.New("item dropped")

// statSpiderException counts pages that spiders, stages or the parser failed on;
// Scrapy has the exception's class in place of the cause.
const statSpiderException = "spider_exceptions/" + string(crawl.CausePanic)

// worker parses one page at a time.
type worker struct {
	deps      Deps
	committer *actor.PID
	log       logrus.FieldLogger
	extractor *extract.Extractor
	result    spider.Result
	stats     []policy.Stat
	probe     crawl.Request // a link while it is looked at
	reader    trap.Reader
	now       time.Time             // when the page came here
	host      string                // of the page
	sent      time.Time             // when it was asked for; of a cached one, when it came here
	referrers policy.ReferrerPolicy // of the page that is looked at
}

func newWorker(deps Deps, committer *actor.PID) *worker {
	return &worker{deps: deps, committer: committer, log: deps.Log.WithField("actor", "parser"), extractor: extract.New()}
}

// Receive implements actor.Actor.
func (w *worker) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *messages.Page:
		w.onPage(ctx, msg)
	case *messages.RobotsFetched:
		w.onRobotsFetched(ctx, msg)
	case *messages.Drain:
		ctx.Send(w.committer, workerDrained{})
	case *actor.Started, *actor.Stopping, *actor.Stopped, *actor.Restarting:
	default:
		w.log.WithField("type", fmt.Sprintf("%T", msg)).Warn("unexpected message")
	}
}

func (w *worker) onPage(ctx actor.Context, msg *messages.Page) {
	job := w.deps.Jobs(msg.Lease.Crawl)
	if job == nil { // the crawl is gone: its leases went with it
		w.deps.Release(msg.Response)
		ctx.Send(w.deps.Domains, &messages.Settled{Pages: []messages.SettledPage{{Crawl: msg.Lease.Crawl, Slot: msg.Slot, ID: msg.Lease.Request.ID}}})
		return
	}
	if msg.Response.Cause != crawl.CauseParked {
		w.deps.Counters.Requests.Add(1)
	}
	w.deps.Counters.Bytes.Add(msg.Response.Wire)
	w.now = time.Now()
	out := w.judge(job, msg)
	w.deps.Release(msg.Response)
	if out.page.Park != "" { // the domain must know before the mark is stored
		ctx.Send(w.deps.Domains, &messages.Parked{Crawl: out.page.Crawl, Slot: out.slot, Reason: out.page.Park})
	}
	ctx.Send(w.committer, out)
}

// onRobotsFetched counts a robots.txt fetch as Scrapy does: as any fetch, and apart.
func (w *worker) onRobotsFetched(ctx actor.Context, msg *messages.RobotsFetched) {
	job := w.deps.Jobs(msg.Crawl)
	if job == nil {
		return
	}
	w.deps.Counters.Bytes.Add(msg.Response.Wire)
	req := &crawl.Request{URL: msg.Response.URL}
	w.stats = job.Policy.AppendStats(w.stats[:0], req, msg.Response, requestBytes(req), policy.Action{Kind: policy.Parse})
	w.stats = policy.AppendRobotsStats(w.stats, msg.Response)
	t := &tallied{crawl: msg.Crawl}
	for _, s := range w.stats {
		t.stats = append(t.stats, count{s.Name, s.N})
	}
	ctx.Send(w.committer, t)
}

// judge decides what becomes of a page. A panic in it, the spider's included, is
// the page's failure.
func (w *worker) judge(job *Job, msg *messages.Page) *outcome {
	out, err := w.try(job, msg)
	if err != nil {
		return w.failed(job, msg, err.Error())
	}
	return out
}

// try is judge for pages that our own code can read; a panic is its error.
func (w *worker) try(job *Job, msg *messages.Page) (out *outcome, err error) {
	defer func() {
		reason := recover()
		if reason == nil {
			return
		}
		err = fmt.Errorf("panic: %v", reason)
		w.log.WithFields(logrus.Fields{"url": msg.Lease.Request.URL, "err": err, "stack": string(debug.Stack())}).Error("parsing panicked")
		w.extractor = extract.New()
		w.result.Reset()
	}()
	out = newOutcome(msg)
	w.host, w.sent = msg.Lease.Host, msg.Response.SentAt
	if w.sent.IsZero() {
		w.sent = w.now
	}
	if msg.Disallowed {
		out.stats = append(out.stats, count{policy.StatRobotsForbidden, 1})
		return out, nil
	}
	if msg.Response.Cause == crawl.CauseParked {
		out.page.End, out.page.Cause = rqueue.EndParked, msg.Response.Err
		return out, nil
	}
	action := job.Policy.Decide(msg.Lease.Request, msg.Response, rand.Float64)
	leads, refreshed := w.refresh(job, msg, action.Kind)
	if (action.Kind != policy.Parse || refreshed) && w.refused(job, msg, blocked.UnknownLinks, out) {
		w.count(job, msg, policy.Action{Kind: policy.Ignore}, out)
		return out, nil
	}
	if refreshed {
		action = leads
	}
	if err := w.apply(job, msg, action, out); err != nil {
		return nil, err
	}
	w.count(job, msg, action, out)
	return out, nil
}

// refresh is where the meta refresh of a page leads that was decided to be parsed or
// ignored. A page that loads itself again is read: its target would be a duplicate.
func (w *worker) refresh(job *Job, msg *messages.Page, decided policy.Kind) (a policy.Action, ok bool) {
	req, resp := msg.Lease.Request, msg.Response
	if decided != policy.Parse && decided != policy.Ignore || !policy.MayRefresh(resp.Body) {
		return a, false
	}
	page := w.extractor.Page(req, resp)
	defer w.extractor.Release()
	if !page.Doc.HTML() {
		return a, false
	}
	a, ok = job.Policy.Refresh(req, resp, page.Doc.Text())
	if ok && a.Kind == policy.Redirect && job.Fingerprint.Fingerprint(a.Request) == job.Fingerprint.Fingerprint(req) {
		return a, false
	}
	return a, ok
}

func newOutcome(msg *messages.Page) *outcome {
	lease := &msg.Lease
	return &outcome{slot: msg.Slot, page: &rqueue.Page{Crawl: lease.Crawl, Host: lease.Host, ID: lease.Request.ID, Token: lease.Token}}
}

// apply carries a decision out; an error is the spider's or a stage's.
func (w *worker) apply(job *Job, msg *messages.Page, action policy.Action, out *outcome) error {
	req, resp := msg.Lease.Request, msg.Response
	switch action.Kind {
	case policy.Parse:
		w.robotsSitemaps(job, req, out)
		if w.sitemap(job, msg, out) {
			return nil
		}
		out.isDoc = true
		return w.parse(job, msg, out)
	case policy.Ignore:
		w.robotsSitemaps(job, req, out)
		w.log.WithFields(logrus.Fields{"url": req.URL, "status": resp.Status}).Debug("response ignored")
	case policy.Redirect:
		w.redirect(job, msg, action.Request, out)
	case policy.Retry, policy.Giveback:
		out.page.End = rqueue.EndRetry
		out.page.Retry, out.page.Cause, out.page.RetryIn = action.Request, action.Reason, max(action.Delay, msg.RetryIn)
		if out.page.Retry == nil {
			out.page.Retry = req
		}
		w.log.WithFields(logrus.Fields{"url": req.URL, "err": action.Reason, "detail": resp.Err, "retry_in": out.page.RetryIn}).Debug("request is tried again")
	case policy.Dead:
		out.page.End, out.page.Cause = rqueue.EndDead, action.Reason
		if resp.Err != "" {
			out.page.Cause += ": " + resp.Err
		}
		w.deps.Counters.Errors.Add(1)
		w.log.WithFields(logrus.Fields{"url": req.URL, "err": out.page.Cause}).Warn("request given up")
	}
	return nil
}

func (w *worker) parse(job *Job, msg *messages.Page, out *outcome) error {
	w.result.Reset()
	page := w.extractor.Page(msg.Lease.Request, msg.Response)
	defer w.extractor.Release()
	if err := job.Spider.Parse(page, &w.result); err != nil {
		return fmt.Errorf("spider: %w", err)
	}
	if w.refused(job, msg, len(w.result.Links)+len(w.result.Requests), out) {
		out.isDoc = false
		return nil
	}
	w.countAsked(out)
	if err := w.items(job, page, out); err != nil {
		return err
	}
	w.referrers = job.Policy.Referrers(msg.Response)
	w.links(job, msg.Lease.Request, out)
	if reason := w.watch(job, msg, page, out); reason != "" {
		w.park(msg, reason, true, out)
	}
	return nil
}

func (w *worker) items(job *Job, page *spider.Page, out *outcome) error {
	for i, json := range w.result.Items {
		var err error
		for _, stage := range job.Stages {
			if json, err = stage.Process(page, json); err != nil {
				break
			}
		}
		switch {
		case errors.Is(err, ErrDrop):
			out.stats = append(out.stats, count{"item_dropped_count", 1})
		case err != nil:
			return fmt.Errorf("stage: %w", err)
		default:
			out.page.Items = append(out.page.Items, crawl.Item{ID: crawl.ItemID(page.Request.ID, i), JSON: json})
		}
	}
	return nil
}

// links adds the links that are in scope and not known as seen.
func (w *worker) links(job *Job, parent *crawl.Request, out *outcome) {
	var t tally
	for i, url := range w.result.Links {
		w.probe.URL = url
		if host, ok := w.wanted(job, &w.probe, &t); ok {
			found := &crawl.Request{URL: url, Fingerprint: w.probe.Fingerprint}
			w.follow(job, parent, found, host, uint32(i), out, &t) //nolint:gosec // links of one page
		}
	}
	for i := range w.result.Requests {
		found := w.result.Requests[i]
		if host, ok := w.wanted(job, &found, &t); ok {
			w.follow(job, parent, &found, host, uint32(len(w.result.Links)+i), out, &t) //nolint:gosec // links of one page
		}
	}
	t.add(out)
}

// countAsked counts what the page asked of crawlers and the spider obeyed.
func (w *worker) countAsked(out *outcome) {
	if w.result.Asked.Noindex {
		out.stats = append(out.stats, count{policy.StatMetaNoindex, 1})
	}
	if w.result.Asked.Nofollow {
		out.stats = append(out.stats, count{policy.StatMetaNofollow, 1})
	}
}

// tally counts the links of a page that are not followed.
type tally struct{ offsite, seen, refused, sessions int64 }

func (t tally) add(out *outcome) {
	for _, c := range []count{{policy.StatOffsiteFiltered, t.offsite}, {policy.StatDupeFiltered, t.seen}, {policy.StatURLLengthIgnored, t.refused}, {statTrapSession, t.sessions}} {
		if c.n > 0 {
			out.stats = append(out.stats, c)
		}
	}
}

// wanted fingerprints a link and says whether it may be new, and of which host it is.
func (w *worker) wanted(job *Job, found *crawl.Request, t *tally) (string, bool) {
	host := weburl.Host(found.URL)
	if host == "" || !job.Scope.Allows(host) {
		t.offsite++
		return "", false
	}
	w.fingerprint(job, found, t)
	if !found.DontFilter && job.Crawl.Known(found.Fingerprint.Member()) {
		t.seen++
		return "", false
	}
	return host, true
}

func (w *worker) follow(job *Job, parent, found *crawl.Request, host string, index uint32, out *outcome, t *tally) {
	switch job.Policy.Follow(parent, w.referrers, index, found) {
	case policy.Followed:
	case policy.TooLong:
		t.refused++
		return
	case policy.TooDeep: // Scrapy counts none
		return
	}
	if !found.DontFilter && w.trapped(job, host, found.URL, out) {
		return
	}
	out.page.Links = append(out.page.Links, rqueue.Link{Crawl: job.Crawl, Host: host, Request: found})
}

// redirect enqueues the target at its own slot. A seed's redirect shows where the
// site lives: its host joins the scope of the seeds.
func (w *worker) redirect(job *Job, msg *messages.Page, target *crawl.Request, out *outcome) {
	host := weburl.Host(target.URL)
	if msg.Lease.Request.Seed {
		job.Scope.AddSeed(host)
		target.Seed = true
		out.seedHost = host
	}
	if !job.Scope.Allows(host) {
		out.stats = append(out.stats, count{policy.StatOffsiteFiltered, 1})
		return
	}
	if !target.Seed && w.trapped(job, host, target.URL, out) {
		return
	}
	target.Fingerprint = job.Fingerprint.Fingerprint(target)
	if job.Cookies && msg.Response.Header("Set-Cookie") != "" && target.Fingerprint == job.Fingerprint.Fingerprint(msg.Lease.Request) {
		target.DontFilter = true // the same URL, now with a cookie: sites ask whether one is kept
	}
	out.page.Links = append(out.page.Links, rqueue.Link{Crawl: job.Crawl, Host: host, Request: target})
}

// failed is the outcome of a page that our own code failed on. It was fetched all
// the same, and counts as that.
func (w *worker) failed(job *Job, msg *messages.Page, text string) *outcome {
	resp := &crawl.Response{URL: msg.Response.URL, Cause: crawl.CausePanic, Err: text, SentAt: msg.Response.SentAt}
	out := newOutcome(msg)
	out.stats = append(out.stats, count{statSpiderException, 1})
	action := job.Policy.Decide(msg.Lease.Request, resp, rand.Float64)
	m := *msg
	m.Response = resp
	if err := w.apply(job, &m, action, out); err != nil { // neither retry nor dead can fail
		out.page.End, out.page.Cause = rqueue.EndDead, err.Error()
	}
	w.count(job, msg, action, out)
	return out
}

// count adds what the fetch adds to the crawl's statistics.
func (w *worker) count(job *Job, msg *messages.Page, action policy.Action, out *outcome) {
	req := msg.Lease.Request
	w.stats = job.Policy.AppendStats(w.stats[:0], req, msg.Response, requestBytes(req), action)
	for _, s := range w.stats {
		out.stats = append(out.stats, count{s.Name, s.N})
	}
	if n := len(out.page.Items); n > 0 {
		out.stats = append(out.stats, count{policy.StatItemScraped, int64(n)})
	}
	if out.isDoc {
		out.stats = append(out.stats, count{depthName(req.Depth), 1})
	}
}

// requestBytes is about how much was written for a request.
func requestBytes(r *crawl.Request) int64 {
	n := len(r.MethodOrGet()) + len(r.URL) + len(r.Body) + 200
	for _, h := range r.Headers {
		n += len(h.Name) + len(h.Value) + 4
	}
	return int64(n)
}

// depthNames are the counters of the depths that most pages have.
var depthNames = firstDepthNames() //nolint:gochecknoglobals // constant table

func firstDepthNames() (names [32]string) {
	for i := range names {
		names[i] = policy.StatRequestDepthCount + strconv.Itoa(i)
	}
	return names
}

func depthName(depth int32) string {
	if depth >= 0 && int(depth) < len(depthNames) {
		return depthNames[depth]
	}
	return policy.StatRequestDepthCount + strconv.Itoa(int(depth))
}
