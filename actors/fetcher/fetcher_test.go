package fetcher_test

import (
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"orbweaver/actors/fetcher"
	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

// inbox collects what an actor is sent.
type inbox chan any

func (in inbox) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started, *actor.Stopping, *actor.Stopped:
	default:
		in <- msg
	}
}

func expect[T any](t *testing.T, in inbox) T {
	t.Helper()
	select {
	case msg := <-in:
		want, ok := msg.(T)
		require.True(t, ok, "got %T", msg)
		return want
	case <-time.After(10 * time.Second):
		require.Fail(t, "nothing came")
		panic("unreachable")
	}
}

type actorBundle struct {
	sys              *actor.ActorSystem
	domain, pipeline inbox
	domainPID        *actor.PID
	fetcher          *actor.PID
	logs             *logtest.Hook
}

func (b *actorBundle) send(msg any) { b.sys.Root.RequestWithCustomSender(b.fetcher, msg, b.domainPID) }

func newActor(t *testing.T, client *fetcher.Client) *actorBundle {
	t.Helper()
	log, hook := logtest.NewNullLogger()
	sys := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.DiscardHandler)
	}))
	b := &actorBundle{sys: sys, domain: make(inbox, 16), pipeline: make(inbox, 16), logs: hook}
	b.domainPID = sys.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return b.domain }))
	pipeline := sys.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return b.pipeline }))
	b.fetcher = sys.Root.Spawn(fetcher.Props(fetcher.Deps{Client: client, Pipeline: pipeline, Log: log}))
	t.Cleanup(func() {
		for _, pid := range []*actor.PID{b.fetcher, b.domainPID, pipeline} {
			require.NoError(t, sys.Root.StopFuture(pid).Wait())
		}
		sys.Shutdown()
	})
	return b
}

func TestActor(t *testing.T) {
	tests := []struct {
		name   string
		answer string
		late   bool
		robots bool
		closed bool
		want   messages.Outcome // without times
		sent   bool
		page   bool
	}{
		{name: "page", answer: hello, sent: true, page: true, want: messages.Outcome{Status: 200, Bytes: int64(len(hello))}},
		{
			name: "busy", answer: "HTTP/1.1 503 Busy\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n", sent: true, page: true,
			want: messages.Outcome{Status: 503, RetryAfter: "120", Bytes: 58},
		},
		{name: "failure", answer: "", sent: true, page: true, want: messages.Outcome{Cause: crawl.CauseReset}},
		{name: "robots", answer: hello, robots: true, sent: true, want: messages.Outcome{Status: 200, Bytes: int64(len(hello))}},
		{name: "robots failure", answer: "", robots: true, sent: true, want: messages.Outcome{Cause: crawl.CauseReset}},
		{name: "late", answer: hello, late: true, want: messages.Outcome{Cause: crawl.CauseTooLate}},
		{name: "slot closed", answer: hello, closed: true, want: messages.Outcome{Cause: crawl.CauseCancelled}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := answering(t, tt.answer, tt.answer != "")
			client := newClient(t)
			b := newActor(t, client)
			conns := client.Conns()
			defer conns.Close()
			if tt.closed {
				conns.Close()
			}
			fetch := &messages.Fetch{
				Lease: rqueue.Leased{Host: "h", Request: &crawl.Request{ID: crawl.NewID("a"), URL: s.url()}},
				Slot:  "slot", Conns: conns, Robots: tt.robots,
			}
			if tt.late {
				fetch.NotAfter = time.Now()
			}
			b.send(fetch)
			if tt.sent {
				sent := expect[*messages.Sent](t, b.domain)
				require.Equal(t, crawl.NewID("a"), sent.ID)
				require.WithinDuration(t, time.Now(), sent.At, time.Minute)
			}
			done := expect[*messages.FetchDone](t, b.domain)
			require.Equal(t, crawl.NewID("a"), done.ID)
			require.True(t, b.fetcher.Equal(done.Fetcher))
			require.Equal(t, tt.page, done.PageSent)
			require.Equal(t, tt.robots, done.Robots != nil)
			require.Equal(t, tt.sent, !done.Outcome.SentAt.IsZero())
			require.Equal(t, tt.want.Status != 0, done.Outcome.Latency > 0)
			require.Equal(t, tt.want.Cause != "", done.Outcome.Err != "")
			done.Outcome.SentAt, done.Outcome.Latency, done.Outcome.Err = time.Time{}, 0, ""
			require.Equal(t, tt.want, done.Outcome)
			if tt.page {
				page := expect[*messages.Page](t, b.pipeline)
				require.Equal(t, "slot", page.Slot)
				require.Same(t, fetch.Lease.Request, page.Lease.Request)
				require.Equal(t, tt.want.Status, page.Response.Status)
			}
			require.Empty(t, b.pipeline)
		})
	}
}

func TestActorStale(t *testing.T) {
	s := newSite(t, func(_ *site, c net.Conn, next func() bool) {
		next()
		_, _ = c.Write([]byte(hello))
		next()
	})
	client := newClient(t)
	b := newActor(t, client)
	conns := client.Conns()
	defer conns.Close()
	fetch := &messages.Fetch{Lease: rqueue.Leased{Request: &crawl.Request{URL: s.url()}}, Conns: conns}
	for _, stale := range []bool{false, true, false} {
		b.send(fetch)
		expect[*messages.Sent](t, b.domain)
		done := expect[*messages.FetchDone](t, b.domain)
		require.Equal(t, stale, done.Outcome.Stale)
		require.Equal(t, !stale, done.PageSent)
	}
}

// foreign is no Slot.
type foreign struct{}

func (foreign) Close() {}

func TestActorPanic(t *testing.T) {
	client := newClient(t)
	b := newActor(t, client)
	b.send(&messages.Fetch{Lease: rqueue.Leased{Request: &crawl.Request{URL: "http://a.test/"}}, Conns: foreign{}})
	done := expect[*messages.FetchDone](t, b.domain)
	require.Equal(t, crawl.CausePanic, done.Outcome.Cause)
	require.True(t, done.PageSent)
	require.Equal(t, crawl.CausePanic, expect[*messages.Page](t, b.pipeline).Response.Cause)
	require.Equal(t, logrus.ErrorLevel, b.logs.LastEntry().Level)
}

func TestActorWarnsOfLargeBodies(t *testing.T) {
	s := answering(t, hello, true)
	client := newClient(t, func(c *fetcher.Config) { c.WarnSize = 4 })
	b := newActor(t, client)
	conns := client.Conns()
	defer conns.Close()
	b.send(&messages.Fetch{Lease: rqueue.Leased{Request: &crawl.Request{URL: s.url()}}, Conns: conns})
	expect[*messages.Page](t, b.pipeline)
	require.Equal(t, logrus.WarnLevel, b.logs.LastEntry().Level)
}
