package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"orbweaver/actors/supervise"
	"orbweaver/core/crawl"
	"orbweaver/core/policy"
	"orbweaver/core/rqueue"
	"orbweaver/core/spider"
	"orbweaver/core/weburl"
	"orbweaver/internal/actortest"
	"orbweaver/internal/redistest"
	"orbweaver/messages"
)

// parse is a spider that is a function.
type parse func(p *spider.Page, out *spider.Result) error

func (f parse) Parse(p *spider.Page, out *spider.Result) error { return f(p, out) }

// stage is a Stage that is a function.
type stage func(item []byte) ([]byte, error)

func (f stage) Process(_ *spider.Page, item []byte) ([]byte, error) { return f(item) }

// parser is a worker with a job.
type parser struct {
	*testing.T
	worker   *worker
	job      *Job
	counters *Counters
	logs     *logtest.Hook
}

// openCrawl gives a crawl of a real frontier: links ask it what it knows.
func openCrawl(t *testing.T) *rqueue.Crawl {
	t.Helper()
	f, err := rqueue.Open(t.Context(), redistest.NewMini(t).Client(), rqueue.Config{Node: "n1", Exclusive: true})
	require.NoError(t, err)
	c, err := f.OpenCrawl(t.Context(), rqueue.Spec{Name: "c"}, false)
	require.NoError(t, err)
	return c
}

func newJob(t *testing.T, c *rqueue.Crawl) *Job {
	t.Helper()
	scope, err := weburl.NewScope("seeds", []string{"a.test"})
	require.NoError(t, err)
	p, err := policy.New(policy.Default())
	require.NoError(t, err)
	return &Job{Crawl: c, Spider: spider.Default{}, Scope: scope, Policy: p, Fingerprint: &weburl.Fingerprinter{}}
}

func newParser(t *testing.T) *parser {
	t.Helper()
	log, hook := logtest.NewNullLogger()
	p := &parser{T: t, job: newJob(t, openCrawl(t)), counters: &Counters{}, logs: hook}
	p.worker = newWorker(Deps{Counters: p.counters, Log: log, Release: func(*crawl.Response) {}}, nil)
	return p
}

// fetched is a page of http://a.test/ as a fetcher gives it.
func (p *parser) fetched(resp crawl.Response, change ...func(r *crawl.Request)) *messages.Page {
	req := &crawl.Request{ID: crawl.NewID("r"), URL: "http://a.test/"}
	for _, f := range change {
		f(req)
	}
	resp.URL = req.URL
	return &messages.Page{Slot: "a.test", Response: &resp, Lease: rqueue.Leased{Crawl: p.job.Crawl, Host: "a.test", Request: req, Token: "tok"}}
}

func (p *parser) judge(resp crawl.Response, change ...func(r *crawl.Request)) *outcome {
	return p.worker.judge(p.job, p.fetched(resp, change...))
}

// stat is a statistic of an outcome.
func stat(o *outcome, name string) (n int64) {
	for _, s := range o.stats {
		if s.name == name {
			n += s.n
		}
	}
	return n
}

func html(body string) crawl.Response {
	return crawl.Response{Status: 200, Body: []byte(body), Headers: []crawl.Header{{Name: "Content-Type", Value: "text/html"}}, Wire: 100}
}

func linkURLs(o *outcome) (urls []string) {
	for _, l := range o.page.Links {
		urls = append(urls, l.Request.URL)
	}
	return urls
}

func TestWorkerParses(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	o := p.judge(html(`<title>T</title><a href="/1">1</a><a href="http://b.test/">b</a><a href="/2">2</a>`), func(r *crawl.Request) { r.Depth = 2 })
	require.Equal(t, rqueue.EndDone, o.page.End)
	require.True(t, o.isDoc)
	require.Equal(t, &rqueue.Page{Crawl: p.job.Crawl, Host: "a.test", ID: crawl.NewID("r"), Token: "tok", Links: o.page.Links, Items: o.page.Items}, o.page)
	require.Equal(t, []string{"http://a.test/1", "http://a.test/2"}, linkURLs(o))
	require.EqualValues(t, 3, o.page.Links[0].Request.Depth)
	require.Equal(t, "http://a.test/", o.page.Links[0].Request.Referer)
	require.NotEqual(t, crawl.Fingerprint{}, o.page.Links[1].Request.Fingerprint)
	require.Len(t, o.page.Items, 1)
	require.Equal(t, crawl.NewID("r").String()+"/0", o.page.Items[0].ID)
	require.True(t, json.Valid(o.page.Items[0].JSON))
	for name, n := range map[string]int64{
		policy.StatOffsiteFiltered: 1, policy.StatItemScraped: 1, policy.StatResponseReceived: 1,
		policy.StatRequestDepthCount + "2": 1, "downloader/response_bytes": 100, "downloader/request_count": 1,
	} {
		require.Equal(t, n, stat(o, name), name)
	}
	again := p.judge(html(`<a href="/1">1</a>`))
	require.Equal(t, o.page.Links[0].Request.ID, again.page.Links[0].Request.ID, "the same page gives the same ids")
}

func TestWorkerEnds(t *testing.T) {
	t.Parallel()
	retry := func(r *crawl.Request) { r.Attempts = int32(policy.Default().RetryTimes) } //nolint:gosec // small
	tests := []struct {
		name   string
		resp   crawl.Response
		change func(r *crawl.Request)
		end    rqueue.End
		cause  string
		doc    bool
		links  []string
		errors int64
	}{
		{"not found", crawl.Response{Status: 404}, nil, rqueue.EndDone, "", false, nil, 0},
		{"redirect", crawl.Response{Status: 302, Headers: []crawl.Header{{Name: "Location", Value: "/x"}}}, nil, rqueue.EndDone, "", false, []string{"http://a.test/x"}, 0},
		{"redirect off site", crawl.Response{Status: 302, Headers: []crawl.Header{{Name: "Location", Value: "http://b.test/x"}}}, nil, rqueue.EndDone, "", false, nil, 0},
		{"seed redirected off site", crawl.Response{Status: 302, Headers: []crawl.Header{{Name: "Location", Value: "http://c.test/x"}}}, func(r *crawl.Request) { r.Seed = true }, rqueue.EndDone, "", false, []string{"http://c.test/x"}, 0},
		{"unavailable", crawl.Response{Status: 503}, nil, rqueue.EndRetry, "503 Service Unavailable", false, nil, 0},
		{"timeout", crawl.Response{Cause: crawl.CauseTimeout, Err: "i/o"}, nil, rqueue.EndRetry, "timeout", false, nil, 0},
		{"timeout for good", crawl.Response{Cause: crawl.CauseTimeout, Err: "i/o"}, retry, rqueue.EndDead, "timeout: i/o", false, nil, 1},
		{"too large", crawl.Response{Cause: crawl.CauseTooLarge}, nil, rqueue.EndDead, "too_large", false, nil, 1},
		{"broken off", crawl.Response{Cause: crawl.CauseCancelled}, nil, rqueue.EndRetry, "cancelled", false, nil, 0},
		{"empty", crawl.Response{Status: 200}, nil, rqueue.EndDone, "", true, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newParser(t)
			if tt.change == nil {
				tt.change = func(*crawl.Request) {}
			}
			o := p.judge(tt.resp, tt.change)
			require.Equal(t, tt.end, o.page.End)
			require.Equal(t, tt.cause, o.page.Cause)
			require.Equal(t, tt.doc, o.isDoc)
			require.Equal(t, tt.links, linkURLs(o))
			require.Equal(t, tt.errors, p.counters.Errors.Load())
			if tt.end == rqueue.EndRetry {
				require.NotNil(t, o.page.Retry)
				require.Equal(t, crawl.NewID("r"), o.page.Retry.ID)
			}
			if tt.name == "seed redirected off site" {
				require.Equal(t, "c.test", o.seedHost)
				require.True(t, p.job.Scope.Allows("c.test"))
				require.True(t, o.page.Links[0].Request.Seed)
			}
		})
	}
}

func TestWorkerRobots(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	m := p.fetched(crawl.Response{})
	m.Disallowed = true
	o := p.worker.judge(p.job, m)
	require.Equal(t, rqueue.EndDone, o.page.End)
	require.False(t, o.isDoc)
	require.Equal(t, []count{{policy.StatRobotsForbidden, 1}}, o.stats)

	m = p.fetched(crawl.Response{Cause: crawl.CauseRobots, Status: 503, Err: "status 503"})
	m.RetryIn = time.Hour
	o = p.worker.judge(p.job, m)
	require.Equal(t, rqueue.EndRetry, o.page.End)
	require.Equal(t, time.Hour, o.page.RetryIn, "not before robots.txt is asked for again")
}

// What a spider or a stage does wrong is the page's failure: it is tried again, in
// the end it is dead, and the next page is read as if nothing had happened.
func TestWorkerFails(t *testing.T) {
	t.Parallel()
	good := func(p *spider.Page, out *spider.Result) error { return spider.Default{}.Parse(p, out) }
	tests := []struct {
		name   string
		spider parse
		stage  stage
		text   string
	}{
		{"spider panics", func(p *spider.Page, out *spider.Result) error {
			p.Doc.Title()
			out.Follow("http://a.test/lost")
			panic("oh no")
		}, nil, "panic: oh no"},
		{"spider panics with an error", func(*spider.Page, *spider.Result) error { panic(errors.New("oh no")) }, nil, "panic: oh no"},
		{"spider reads past an end", func(p *spider.Page, _ *spider.Result) error { _ = p.Request.URL[1000:]; return nil }, nil, "out of range"},
		{"spider fails", func(*spider.Page, *spider.Result) error { return errors.New("no price") }, nil, "spider: no price"},
		{"stage panics", good, func([]byte) ([]byte, error) { panic("stage") }, "panic: stage"},
		{"stage fails", good, func([]byte) ([]byte, error) { return nil, errors.New("no disk") }, "stage: no disk"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newParser(t)
			p.job.Spider = tt.spider
			if tt.stage != nil {
				p.job.Stages = []Stage{tt.stage}
			}
			o := p.judge(html(`<title>T</title>`))
			require.Equal(t, rqueue.EndRetry, o.page.End)
			require.Equal(t, "panic", o.page.Cause)
			require.EqualValues(t, 1, o.page.Retry.Attempts)
			require.Empty(t, o.page.Links)
			require.Empty(t, o.page.Items)
			require.False(t, o.isDoc)
			for _, name := range []string{statSpiderException, "retry/count", "downloader/response_count", "downloader/response_status_count/200"} {
				require.EqualValues(t, 1, stat(o, name), name)
			}
			require.Zero(t, stat(o, policy.StatItemScraped))

			o = p.judge(html(""), func(r *crawl.Request) { r.Attempts = 5 })
			require.Equal(t, rqueue.EndDead, o.page.End)
			require.Contains(t, o.page.Cause, tt.text)
			require.EqualValues(t, 1, p.counters.Errors.Load())

			p.job.Spider, p.job.Stages = spider.Default{}, nil
			o = p.judge(html(`<title>T</title><a href="/1">`))
			require.Equal(t, []string{"http://a.test/1"}, linkURLs(o))
			require.Len(t, o.page.Items, 1)
			require.Contains(t, string(o.page.Items[0].JSON), `"title": "T"`)
		})
	}
}

func TestWorkerStages(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	p.job.Spider = parse(func(_ *spider.Page, out *spider.Result) error {
		for i := range 4 {
			out.Items = append(out.Items, []byte(strconv.Itoa(i)))
		}
		return nil
	})
	p.job.Stages = []Stage{
		stage(func(item []byte) ([]byte, error) {
			if string(item) == "1" {
				return nil, fmt.Errorf("odd: %w", ErrDrop)
			}
			return append(slices.Clone(item), 'a'), nil
		}),
		stage(func(item []byte) ([]byte, error) { return append(item, 'b'), nil }),
	}
	o := p.judge(html(""))
	var items, ids []string
	for _, it := range o.page.Items {
		items, ids = append(items, string(it.JSON)), append(ids, it.ID[33:])
	}
	require.Equal(t, []string{"0ab", "2ab", "3ab"}, items)
	require.Equal(t, []string{"0", "2", "3"}, ids, "ids do not move when an item is dropped")
	require.EqualValues(t, 1, stat(o, "item_dropped_count"))
	require.EqualValues(t, 3, stat(o, policy.StatItemScraped))
}

func TestWorkerFollowsRequests(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	p.job.Policy, _ = policy.New(func() policy.Config { c := policy.Default(); c.DepthLimit = 1; return c }())
	p.job.Spider = parse(func(_ *spider.Page, out *spider.Result) error {
		out.Follow("http://a.test/1")
		out.Follow("not a url")
		out.Requests = append(out.Requests, crawl.Request{URL: "http://a.test/2", Method: "POST", Body: []byte("x"), Priority: 3},
			crawl.Request{URL: "http://b.test/"}, crawl.Request{})
		return nil
	})
	o := p.judge(html(""))
	require.Equal(t, []string{"http://a.test/1", "http://a.test/2"}, linkURLs(o))
	require.Equal(t, "POST", o.page.Links[1].Request.Method)
	require.Equal(t, crawl.DeriveID(crawl.NewID("r"), 2), o.page.Links[1].Request.ID, "requests are counted after the links")
	require.EqualValues(t, 3, stat(o, policy.StatOffsiteFiltered))
	o = p.judge(html(""), func(r *crawl.Request) { r.Depth = 1 })
	require.Empty(t, o.page.Links)
}

func TestWorkerCountsWhatPagesAskOfCrawlers(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	o := p.judge(html(`<meta name=robots content=nofollow><a href="/1">1</a>`))
	require.Empty(t, o.page.Links)
	require.Len(t, o.page.Items, 1)
	require.EqualValues(t, 1, stat(o, policy.StatMetaNofollow))
	require.Zero(t, stat(o, policy.StatMetaNoindex))

	resp := html(`<a href="/1">1</a>`)
	resp.Headers = append(resp.Headers, crawl.Header{Name: "X-Robots-Tag", Value: "noindex"})
	o = p.judge(resp)
	require.Len(t, o.page.Links, 1)
	require.Empty(t, o.page.Items)
	require.EqualValues(t, 1, stat(o, policy.StatMetaNoindex))
	require.Zero(t, stat(o, policy.StatMetaNofollow)+stat(o, policy.StatItemScraped))
	require.EqualValues(t, 1, stat(o, policy.StatResponseReceived))
	require.True(t, o.isDoc)

	o = p.judge(html(`<a href="/1">1</a>`))
	require.Zero(t, stat(o, policy.StatMetaNoindex)+stat(o, policy.StatMetaNofollow), "what one page asks is forgotten with it")
}

// The whole pipeline: pages in, settled pages out; bodies are given back; a drain
// waits for everything.
func TestPipeline(t *testing.T) {
	c := openCrawl(t)
	job := newJob(t, c)
	bad := "http://a.test/bad"
	job.Spider = parse(func(p *spider.Page, out *spider.Result) error {
		if p.Request.URL == bad {
			panic("bad page")
		}
		return spider.Default{}.Parse(p, out)
	})
	synctest.Test(t, func(t *testing.T) {
		log, _ := logtest.NewNullLogger()
		sys := actortest.NewSystem()
		domains := actortest.NewProbe(t, sys)
		v := &vault{stats: map[string]int64{}, refuse: map[int]error{}, gone: map[int]bool{}, times: map[int]int{}, took: 20 * time.Millisecond}
		released := make(chan *crawl.Response, 1000)
		gone := new(rqueue.Crawl)
		registry := supervise.NewRegistry()
		deps := Deps{
			Session: v, Domains: domains.PID, Counters: &Counters{}, Registry: registry, Log: log,
			Release:  func(r *crawl.Response) { released <- r },
			Exporter: func(*rqueue.Crawl) *actor.PID { return nil },
			Jobs: func(of *rqueue.Crawl) *Job {
				if of == c {
					return job
				}
				return nil
			},
		}
		pid := sys.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return New(Config{Workers: 3, Batch: 8}.WithDefaults(), deps) }))
		p := &parser{T: t, job: job}
		const pages = 100
		for n := range pages {
			m := p.fetched(html("<title>T</title>"), func(r *crawl.Request) { r.ID = crawl.NewID(strconv.Itoa(n)) })
			m.Lease.Token = strconv.Itoa(n)
			if n%10 == 0 {
				m.Lease.Request.URL = bad
			}
			sys.Root.Send(pid, m)
		}
		m := p.fetched(html(""))
		m.Lease.Crawl = gone
		sys.Root.Send(pid, m)
		sys.Root.Send(pid, &messages.RobotsFetched{Crawl: c, Response: &crawl.Response{URL: "http://a.test/robots.txt", Status: 200}})
		sys.Root.Send(pid, &messages.RobotsFetched{Crawl: gone, Response: &crawl.Response{}})
		actortest.Ask[*messages.Drained](t, sys, pid, &messages.Drain{})
		synctest.Wait()
		settled := map[*rqueue.Crawl]int{}
		for len(domains.C) > 0 {
			for _, s := range actortest.Expect[*messages.Settled](t, domains).Pages {
				settled[s.Crawl]++
			}
		}
		require.Equal(t, []int{pages, 1}, []int{settled[c], settled[gone]})
		require.Len(t, released, pages+1)
		require.EqualValues(t, pages, deps.Counters.Requests.Load())
		require.EqualValues(t, pages*9/10, deps.Counters.Items.Load())
		require.EqualValues(t, pages*9/10, v.stats[policy.StatItemScraped])
		require.EqualValues(t, pages/10, v.stats[statSpiderException])
		require.EqualValues(t, 1, v.stats["robotstxt/request_count"])
		require.Less(t, len(v.batches), 30, "in batches")
		snap := actortest.Ask[*Snapshot](t, sys, pid, &messages.Inspect{})
		require.Equal(t, 3, snap.Workers)
		require.EqualValues(t, pages, snap.Committed)
		kinds := map[string]int{}
		for _, e := range registry.List(sys) {
			kinds[e.Kind]++
		}
		require.Equal(t, map[string]int{"committer": 1, "parser": 3}, kinds)
		actortest.Stop(t, sys, pid)
		domains.Stop(t)
		<-time.After(time.Minute)
	})
}

func TestConfig(t *testing.T) {
	t.Parallel()
	require.NoError(t, Config{}.WithDefaults().Validate())
	err := Config{Workers: -1, Batch: 5000}.WithDefaults().Validate()
	require.ErrorContains(t, err, "PARSE_WORKERS")
	require.ErrorContains(t, err, "COMMIT_BATCH")
	require.Panics(t, func() { New(Config{}, Deps{}) })
}
