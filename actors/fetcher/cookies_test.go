package fetcher_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/cookies"
	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

// What an answer sets is in the jar before the page is sent, and the request that is
// passed on is as it was.
func TestActorKeepsCookies(t *testing.T) {
	t.Parallel()
	s := answering(t, "HTTP/1.1 200 OK\r\nset-cookie: a=1\r\nSet-Cookie: b=2; Path=/x\r\nContent-Length: 0\r\n\r\n", true)
	client := newClient(t)
	b := newActor(t, client)
	conns := client.Conns()
	defer conns.Close()
	jars, err := cookies.New(cookies.Default())
	require.NoError(t, err)
	req := &crawl.Request{ID: crawl.NewID("a"), URL: s.url(), Headers: []crawl.Header{{Name: "X", Value: "1"}}}
	b.send(&messages.Fetch{Lease: rqueue.Leased{Host: "h", Request: req}, Slot: "slot", Conns: conns, Cookie: "c=3; d=4", Cookies: jars})
	page := expect[*messages.Page](t, b.pipeline)
	require.Equal(t, "a=1", jars.Header("", s.url(), time.Now()), "the path of the second is not the request's")
	require.Equal(t, []crawl.Header{{Name: "X", Value: "1"}}, page.Lease.Request.Headers)
	expect[*messages.Sent](t, b.domain)
	done := expect[*messages.FetchDone](t, b.domain)
	require.Len(t, done.Outcome.Cookies, 1)
	require.Contains(t, strings.Split(<-s.heads, "\r\n"), "Cookie: c=3; d=4")

	// A request whose cookies are not merged changes none.
	req = &crawl.Request{ID: crawl.NewID("b"), URL: s.url(), Meta: []byte(`{"dont_merge_cookies": true}`)}
	other, err := cookies.New(cookies.Default())
	require.NoError(t, err)
	b.send(&messages.Fetch{Lease: rqueue.Leased{Host: "h", Request: req}, Slot: "slot", Conns: conns, Cookies: other})
	expect[*messages.Page](t, b.pipeline)
	require.True(t, other.Empty())
}
