package fetcher_test

import (
	"bufio"
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/actors/fetcher"
	"orbweaver/core/crawl"
	"orbweaver/core/netguard"
)

// site is a TCP server whose answers a test writes byte by byte.
type site struct {
	addr     string
	conns    atomic.Int32 // connections accepted
	requests atomic.Int32 // whole requests read
	heads    chan string  // header block of each request, the newest 64
}

// newSite serves each connection with serve, which reads requests by next and
// may return at any time; the connection is closed then.
func newSite(t *testing.T, serve func(s *site, c net.Conn, next func() bool)) *site {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	s := &site{addr: l.Addr().String(), heads: make(chan string, 64)}
	var open sync.Map
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			open.Store(c, true)
			wg.Go(func() {
				defer open.Delete(c)
				defer c.Close()
				br := bufio.NewReader(c)
				serve(s, c, func() bool { return s.readHead(br) })
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		open.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
		wg.Wait()
	})
	return s
}

func (s *site) readHead(br *bufio.Reader) bool {
	var head strings.Builder
	for {
		line, err := br.ReadString('\n')
		if err != nil {
			return false
		}
		head.WriteString(line)
		if line == "\r\n" {
			break
		}
	}
	s.requests.Add(1)
	select {
	case s.heads <- head.String():
	default:
	}
	return true
}

// answering gives every request the same bytes; keep leaves the connection open.
func answering(t *testing.T, answer string, keep bool) *site {
	return newSite(t, func(_ *site, c net.Conn, next func() bool) {
		for next() {
			if _, err := c.Write([]byte(answer)); err != nil || !keep {
				return
			}
		}
	})
}

func (s *site) url() string { return "http://" + s.addr + "/" }

// newClient allows the loopback and is impatient; opts change the rest.
func newClient(t *testing.T, opts ...func(*fetcher.Config)) *fetcher.Client {
	t.Helper()
	cfg := fetcher.Config{Guard: netguard.Policy{AllowPrivate: true}, Timeout: 10 * time.Second}
	for _, o := range opts {
		o(&cfg)
	}
	c, err := fetcher.New(cfg)
	require.NoError(t, err)
	return c
}

func newSlot(t *testing.T, opts ...func(*fetcher.Config)) *fetcher.Slot {
	t.Helper()
	s := newClient(t, opts...).Slot()
	t.Cleanup(s.Close)
	return s
}

func get(t *testing.T, s *fetcher.Slot, url string) *crawl.Response {
	t.Helper()
	return s.Do(context.Background(), &crawl.Request{URL: url}, fetcher.Permit{}, nil)
}

func requireCause(t *testing.T, want crawl.Cause, resp *crawl.Response) {
	t.Helper()
	require.Equal(t, want, resp.Cause, resp.Err)
	if want != crawl.CauseNone {
		require.Zero(t, resp.Status)
		require.Nil(t, resp.Body)
		require.NotEmpty(t, resp.Err)
		require.LessOrEqual(t, len(resp.Err), 160)
		require.NotContains(t, resp.Err, "\n")
	}
}
