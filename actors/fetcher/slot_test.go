package fetcher_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/actors/fetcher"
	"orbweaver/core/crawl"
)

const hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

func TestKeepAlive(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		answer  string
		headers []crawl.Header
		conns   int32 // for three fetches
	}{
		{name: "kept", answer: hello, conns: 1},
		{name: "chunked", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", conns: 1},
		{name: "no content", answer: "HTTP/1.1 204 No\r\n\r\n", conns: 1},
		{name: "gzip", answer: coded("gzip", gzipped(t, "hello")), conns: 1},
		{name: "long header", answer: "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", 40<<10) + "\r\nContent-Length: 5\r\n\r\nhello", conns: 1},
		{name: "server closes", answer: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", conns: 3},
		{name: "HTTP/1.0", answer: "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", conns: 3},
		{name: "HTTP/1.0 kept", answer: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", conns: 1},
		{name: "request closes", answer: hello, headers: []crawl.Header{{Name: "Connection", Value: "close"}}, conns: 3},
		{name: "more than announced", answer: hello + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison", conns: 3},
		{name: "too large", answer: "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", conns: 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := answering(t, tt.answer, true)
			slot := newSlot(t, func(c *fetcher.Config) { c.MaxSize = 1000 })
			for range 3 {
				resp := slot.Do(context.Background(), &crawl.Request{URL: s.url(), Headers: tt.headers}, fetcher.Permit{}, nil)
				require.NotContains(t, string(resp.Body), "poison")
			}
			require.Equal(t, tt.conns, s.conns.Load())
			require.Equal(t, int32(3), s.requests.Load())
		})
	}
}

func TestStale(t *testing.T) {
	t.Parallel()
	// The server answers one request of each connection and closes it when the
	// next one has come: the close cannot be seen beforehand.
	s := newSite(t, func(_ *site, c net.Conn, next func() bool) {
		next()
		_, _ = c.Write([]byte(hello))
		next()
	})
	slot := newSlot(t)
	requireCause(t, crawl.CauseNone, get(t, slot, s.url()))
	resp := get(t, slot, s.url())
	requireCause(t, crawl.CauseStale, resp)
	require.False(t, resp.SentAt.IsZero(), "it was sent: the delay counts")
	require.Equal(t, int32(2), s.requests.Load(), "not sent again by itself")
	requireCause(t, crawl.CauseNone, get(t, slot, s.url()))
	require.Equal(t, int32(2), s.conns.Load())
}

func TestClosedWhileIdle(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	s := newSite(t, func(_ *site, c net.Conn, next func() bool) {
		if next() {
			_, _ = c.Write([]byte(hello))
			c.Close()
			closed <- struct{}{}
		}
	})
	slot := newSlot(t)
	for range 5 {
		resp := get(t, slot, s.url())
		<-closed
		requireCause(t, crawl.CauseNone, resp)
	}
	require.Equal(t, int32(5), s.conns.Load())
}

func TestConnectionsAtMostConcurrency(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	serve := func(_ *site, c net.Conn, next func() bool) {
		for next() {
			<-release
			_, _ = c.Write([]byte(hello))
		}
	}
	one, two := newSite(t, serve), newSite(t, serve)
	slot := newSlot(t)
	round := func(s *site, n int) {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() { get(t, slot, s.url()) })
		}
		for range n {
			release <- struct{}{}
		}
		wg.Wait()
	}
	round(one, 3)
	require.Equal(t, 3, slot.Kept())
	round(two, 2) // two of the first host's make room
	require.Equal(t, 3, slot.Kept())
	round(one, 1)
	require.Equal(t, int32(3), one.conns.Load())
	slot.CloseIdle()
	require.Equal(t, 0, slot.Kept())
}

func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	s := newSite(t, func(_ *site, c net.Conn, next func() bool) {
		for next() {
			_, _ = c.Write([]byte(hello))
		}
		close(gone)
	})
	slot := newSlot(t, func(c *fetcher.Config) { c.IdleTimeout = 50 * time.Millisecond })
	requireCause(t, crawl.CauseNone, get(t, slot, s.url()))
	<-gone
	require.Equal(t, 0, slot.Kept())
}

func TestMaxIdle(t *testing.T) {
	t.Parallel()
	s := answering(t, hello, true)
	client := newClient(t, func(c *fetcher.Config) { c.MaxIdle = 1 })
	a, b := client.Slot(), client.Slot()
	defer a.Close()
	defer b.Close()
	requireCause(t, crawl.CauseNone, get(t, a, s.url()))
	requireCause(t, crawl.CauseNone, get(t, b, s.url()))
	require.Equal(t, []int{1, 0}, []int{a.Kept(), b.Kept()})
	a.Close()
	requireCause(t, crawl.CauseNone, get(t, b, s.url()))
	require.Equal(t, 1, b.Kept())
}

func TestLatePermit(t *testing.T) {
	t.Parallel()
	s := answering(t, hello, true)
	slot := newSlot(t)
	late := func() *crawl.Response {
		return slot.Do(context.Background(), &crawl.Request{URL: s.url()}, fetcher.Permit{NotAfter: time.Now()}, func(time.Time) {
			require.Fail(t, "sent")
		})
	}
	requireCause(t, crawl.CauseTooLate, late())
	require.Zero(t, s.conns.Load(), "not even connected")
	requireCause(t, crawl.CauseNone, get(t, slot, s.url()))
	requireCause(t, crawl.CauseTooLate, late())
	require.Equal(t, int32(1), s.requests.Load())
}

// TestPermitEndsWhileConnecting lets the permit run out during the TLS
// handshake, with the connection made and nothing sent.
func TestPermitEndsWhileConnecting(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached the server") }))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	roots := x509.NewCertPool()
	permit := fetcher.Permit{NotAfter: time.Now().Add(150 * time.Millisecond)}
	srv.Listener = slowListener{srv.Listener, permit.NotAfter.Add(20 * time.Millisecond)}
	srv.StartTLS()
	defer srv.Close()
	roots.AddCert(srv.Certificate())
	slot := newSlot(t, func(c *fetcher.Config) { c.Roots = roots })
	resp := slot.Do(context.Background(), &crawl.Request{URL: srv.URL}, permit, nil)
	requireCause(t, crawl.CauseTooLate, resp)
	require.True(t, resp.SentAt.IsZero())
}

// slowListener hands connections over when a time has come.
type slowListener struct {
	net.Listener
	until time.Time
}

func (l slowListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	<-time.After(time.Until(l.until))
	return c, err
}

func TestCancel(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		stop func(slot *fetcher.Slot, cancel func())
	}{
		{"slot closed", func(s *fetcher.Slot, _ func()) { s.Close() }},
		{"context cancelled", func(_ *fetcher.Slot, cancel func()) { cancel() }},
	}
	starts := map[string]string{
		"before an answer": "",
		"in the header":    "HTTP/1.1 200 OK\r\n",
		"in the body":      "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhell",
		"until close":      "HTTP/1.1 200 OK\r\n\r\nhell",
	}
	for _, tt := range tests {
		for where, start := range starts {
			t.Run(tt.name+" "+where, func(t *testing.T) {
				t.Parallel()
				reached := make(chan struct{})
				s := newSite(t, func(_ *site, c net.Conn, next func() bool) {
					next()
					_, _ = c.Write([]byte(start))
					close(reached)
					next() // until the client closes
				})
				slot := newSlot(t)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				done := make(chan *crawl.Response)
				go func() { done <- slot.Do(ctx, &crawl.Request{URL: s.url()}, fetcher.Permit{}, nil) }()
				<-reached
				tt.stop(slot, cancel)
				requireCause(t, crawl.CauseCancelled, <-done)
				require.Equal(t, 0, slot.Kept())
				if tt.name == "slot closed" {
					requireCause(t, crawl.CauseCancelled, get(t, slot, s.url()))
				}
			})
		}
	}
}

func TestContextDeadline(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(_ *site, _ net.Conn, next func() bool) { next(); next() })
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	resp := newSlot(t).Do(ctx, &crawl.Request{URL: s.url()}, fetcher.Permit{}, nil)
	require.Contains(t, []crawl.Cause{crawl.CauseTimeout, crawl.CauseCancelled}, resp.Cause, resp.Err)
}

// names is a resolver with a fixed answer.
type names map[string][]netip.Addr

func (n names) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	if host == "slow.test" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if addrs, ok := n[host]; ok {
		return addrs, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, Server: "192.0.2.53:53", IsNotFound: true}
}

func TestConnecting(t *testing.T) {
	t.Parallel()
	s := answering(t, hello, true)
	_, port, err := net.SplitHostPort(s.addr)
	require.NoError(t, err)
	plain := newSite(t, func(_ *site, c net.Conn, next func() bool) {
		_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"))
		next()
	})
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	refused := l.Addr().String()
	l.Close()
	resolver := names{
		"good.test":    {netip.MustParseAddr("127.0.0.1")},
		"second.test":  {netip.MustParseAddr("127.9.9.9"), netip.MustParseAddr("127.0.0.1")},
		"both.test":    {netip.MustParseAddr("::1"), netip.MustParseAddr("127.0.0.1")},
		"mapped.test":  {netip.MustParseAddr("::ffff:127.0.0.1")},
		"zero.test":    {netip.MustParseAddr("0.0.0.0")},
		"mixed.test":   {netip.MustParseAddr("224.0.0.1"), netip.MustParseAddr("127.0.0.1")},
		"empty.test":   {},
		"private.test": {netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("::ffff:127.0.0.1")},
	}
	tests := []struct {
		name   string
		url    string
		strict bool // without AllowPrivate
		cause  crawl.Cause
	}{
		{name: "name", url: "http://good.test:" + port + "/"},
		{name: "second address", url: "http://second.test:" + port + "/"},
		{name: "second family", url: "http://both.test:" + port + "/"},
		{name: "mapped address", url: "http://mapped.test:" + port + "/"},
		{name: "one address allowed", url: "http://mixed.test:" + port + "/"},
		{name: "refused", url: "http://" + refused + "/", cause: crawl.CauseRefused},
		{name: "unknown name", url: "http://nowhere.test/", cause: crawl.CauseDNS},
		{name: "no addresses", url: "http://empty.test/", cause: crawl.CauseDNS},
		{name: "slow name server", url: "http://slow.test/", cause: crawl.CauseDNS},
		{name: "guard: literal", url: s.url(), strict: true, cause: crawl.CauseForbidden},
		{name: "guard: name", url: "http://good.test:" + port + "/", strict: true, cause: crawl.CauseForbidden},
		{name: "guard: all addresses", url: "http://private.test/", strict: true, cause: crawl.CauseForbidden},
		{name: "guard: unspecified is never allowed", url: "http://zero.test:" + port + "/", cause: crawl.CauseForbidden},
		{name: "guard: IPv6 literal", url: "http://[::ffff:7f00:1]:" + port + "/", strict: true, cause: crawl.CauseForbidden},
		{name: "TLS to a plain server", url: "https://" + plain.addr + "/", cause: crawl.CauseTLS},
		{name: "no URL", url: "", cause: crawl.CauseBadURL},
		{name: "other scheme", url: "ftp://good.test/", cause: crawl.CauseBadURL},
		{name: "no host", url: "http:///a", cause: crawl.CauseBadURL},
		{name: "port 0", url: "http://good.test:0/", cause: crawl.CauseBadURL},
		{name: "port 70000", url: "http://good.test:70000/", cause: crawl.CauseBadURL},
		{name: "space", url: "http://good.test/a b", cause: crawl.CauseBadURL},
		{name: "line break", url: "http://good.test/a\r\nX: y", cause: crawl.CauseBadURL},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			slot := newSlot(t, func(c *fetcher.Config) {
				c.Resolver = resolver
				c.Guard.AllowPrivate = !tt.strict
				c.ConnectTimeout = 500 * time.Millisecond
			})
			resp := get(t, slot, tt.url)
			requireCause(t, tt.cause, resp)
			require.Equal(t, tt.cause == "", !resp.SentAt.IsZero())
			require.NotContains(t, resp.Err, "192.0.2.53")
			if tt.cause == "" {
				require.Equal(t, "hello", string(resp.Body))
			}
		})
	}
}

func TestCancelWhileLookingUp(t *testing.T) {
	t.Parallel()
	done := make(chan *crawl.Response)
	r := waiting{make(chan struct{})}
	slot := newSlot(t, func(c *fetcher.Config) { c.Resolver = r })
	go func() { done <- get(t, slot, "http://a.test/") }()
	<-r.asked
	slot.Close()
	requireCause(t, crawl.CauseCancelled, <-done)
}

// waiting is a resolver that answers only when it is cancelled.
type waiting struct{ asked chan struct{} }

func (w waiting) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	close(w.asked)
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestTLS(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("secret"))
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	t.Run("unknown authority", func(t *testing.T) {
		resp := get(t, newSlot(t), srv.URL)
		requireCause(t, crawl.CauseTLS, resp)
		require.True(t, resp.SentAt.IsZero())
	})
	t.Run("known authority, kept", func(t *testing.T) {
		roots := x509.NewCertPool()
		roots.AddCert(srv.Certificate())
		slot := newSlot(t, func(c *fetcher.Config) { c.Roots = roots })
		for range 3 {
			resp := get(t, slot, srv.URL)
			requireCause(t, crawl.CauseNone, resp)
			require.Equal(t, "secret", string(resp.Body))
			require.Equal(t, 1, slot.Kept())
		}
	})
	t.Run("unverified", func(t *testing.T) {
		slot := newSlot(t, func(c *fetcher.Config) { c.SkipVerify = true })
		requireCause(t, crawl.CauseNone, get(t, slot, srv.URL))
	})
	t.Run("unverified for a domain", func(t *testing.T) {
		_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
		require.NoError(t, err)
		loop := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
		slot := newSlot(t, func(c *fetcher.Config) {
			c.SkipVerifyFor = []string{"Own.test"}
			c.Resolver = names{"a.own.test": loop, "own.test": loop, "notown.test": loop}
		})
		requireCause(t, crawl.CauseNone, get(t, slot, "https://own.test:"+port+"/"))
		requireCause(t, crawl.CauseNone, get(t, slot, "https://a.own.test:"+port+"/"))
		requireCause(t, crawl.CauseTLS, get(t, slot, "https://notown.test:"+port+"/"))
	})
	t.Run("versions", func(t *testing.T) {
		old := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		old.Config.ErrorLog = log.New(io.Discard, "", 0)
		old.TLS = &tls.Config{MinVersion: tls.VersionTLS11, MaxVersion: tls.VersionTLS11} //nolint:gosec // as a site may have it
		old.StartTLS()
		t.Cleanup(old.Close)
		requireCause(t, crawl.CauseTLS, get(t, newSlot(t, func(c *fetcher.Config) { c.SkipVerify = true }), old.URL))
		requireCause(t, crawl.CauseNone, get(t, newSlot(t, func(c *fetcher.Config) { c.SkipVerify, c.MinTLS = true, tls.VersionTLS10 }), old.URL))
		requireCause(t, crawl.CauseTLS, get(t, newSlot(t, func(c *fetcher.Config) { c.MinTLS = tls.VersionTLS13 }), old.URL))
		_, err := fetcher.New(fetcher.Config{MinTLS: tls.VersionTLS13, MaxTLS: tls.VersionTLS12})
		require.ErrorContains(t, err, "TLS from TLS 1.3 to TLS 1.2")
	})
	t.Run("wrong name", func(t *testing.T) {
		roots := x509.NewCertPool()
		roots.AddCert(srv.Certificate())
		slot := newSlot(t, func(c *fetcher.Config) {
			c.Roots = roots
			c.Resolver = names{"other.test": {netip.MustParseAddr("127.0.0.1")}}
		})
		_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
		require.NoError(t, err)
		requireCause(t, crawl.CauseTLS, get(t, slot, "https://other.test:"+port+"/"))
	})
}

// TestSlotChurn closes slots while fetches start and run: each fetch ends, and
// nothing is left behind.
func TestSlotChurn(t *testing.T) {
	t.Parallel()
	s := answering(t, hello, true)
	client := newClient(t)
	for range 50 {
		slot := client.Slot()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 5 {
					ctx, cancel := context.WithCancel(context.Background())
					resp := slot.Do(ctx, &crawl.Request{URL: s.url()}, fetcher.Permit{}, func(time.Time) {
						if s.requests.Load()%7 == 0 {
							cancel()
						}
					})
					if resp.Cause != crawl.CauseNone && resp.Cause != crawl.CauseCancelled {
						t.Error(resp.Cause, resp.Err)
					}
					client.Release(resp)
					cancel()
				}
			})
		}
		slot.Close()
		wg.Wait()
		require.Equal(t, 0, slot.Kept())
	}
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	_, err := fetcher.New(fetcher.Config{
		Timeout:        -1,
		MaxHeaderBytes: 1,
		UserAgent:      "a\nb",
		DefaultHeaders: []crawl.Header{{Name: "a b", Value: "c"}},
	})
	for _, want := range []string{"timeout", "max header bytes", "user agent", "default header"} {
		require.ErrorContains(t, err, want)
	}
	var joined interface{ Unwrap() []error }
	require.ErrorAs(t, err, &joined)
}

// TestManyWaiting has more fetches in flight than may hold a read buffer.
func TestManyWaiting(t *testing.T) {
	const n = 600
	arrived, release := make(chan struct{}, n), make(chan struct{})
	s := newSite(t, func(_ *site, c net.Conn, next func() bool) {
		for next() {
			arrived <- struct{}{}
			<-release
			_, _ = c.Write([]byte(hello))
		}
	})
	client := newClient(t)
	slots := make([]*fetcher.Slot, n)
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var wg sync.WaitGroup
	for i := range slots {
		slots[i] = client.Slot()
		wg.Go(func() {
			resp := get(t, slots[i], s.url())
			if string(resp.Body) != "hello" {
				t.Error(resp.Cause, resp.Err)
			}
			client.Release(resp)
		})
	}
	for range n {
		<-arrived
	}
	runtime.GC()
	runtime.ReadMemStats(&during)
	close(release)
	wg.Wait()
	for _, slot := range slots {
		require.Equal(t, 1, slot.Kept())
		slot.Close()
	}
	// 600 readers would be 9.6 MB; the test's own server needs 4 KiB for each.
	require.Less(t, int64(during.HeapAlloc)-int64(before.HeapAlloc), int64(9<<20))
	t.Logf("heap grew by %d bytes a fetch, the server's half included", (int64(during.HeapAlloc)-int64(before.HeapAlloc))/n)
}
