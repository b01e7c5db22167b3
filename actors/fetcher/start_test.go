package fetcher_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/actors/fetcher"
	"orbweaver/core/crawl"
	"orbweaver/core/robots"
	"orbweaver/core/rqueue"
	"orbweaver/messages"
)

// A permit for the head of a body takes that and no more, whatever follows and
// whatever the size limit; a connection with a rest still to come is not used again.
func TestPermitForTheHead(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("Disallow: /a\n", 10_000)
	const most = 50_000
	plain := func(s string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(s), s)
	}
	tests := []struct {
		name, answer, want string
		kept               bool
	}{
		{"shorter", plain(text[:most-1]), text[:most-1], true},
		{"exact", plain(text[:most]), text[:most], true},
		{"longer", plain(text), text[:most], false},
		{"far longer than the limit, and never sent", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n" + text, text[:most], false},
		{"one chunk", fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s", len(text), text), text[:most], false},
		{"until the end", "HTTP/1.1 200 OK\r\n\r\n" + text, text[:most], false},
		{"gzip", coded("gzip", gzipped(t, text)), text[:most], true},
		{"gzip, shorter", coded("gzip", gzipped(t, text[:most-1])), text[:most-1], true},
		{"twice", coded("gzip, br", brotlied(t, gzipped(t, text))), text[:most], true},
		{"zstd", coded("zstd", zstded(t, text)), text[:most], true},
		{"deflate", coded("deflate", deflated(t, text)), text[:most], true},
		{"no gzip at all", coded("gzip", text[:60_000]), text[:most], false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			slot := newSlot(t, func(c *fetcher.Config) { c.MaxSize = 1000 })
			s := answering(t, tt.answer, true)
			for range 2 {
				resp := slot.Do(context.Background(), &crawl.Request{URL: s.url()}, fetcher.Permit{Head: most}, nil)
				requireCause(t, crawl.CauseNone, resp)
				require.Equal(t, tt.want, string(resp.Body))
			}
			if tt.kept {
				require.EqualValues(t, 1, s.conns.Load())
			} else {
				require.EqualValues(t, 2, s.conns.Load())
			}
			requireCause(t, crawl.CauseTooLarge, get(t, slot, s.url()))
		})
	}
}

// An endless robots.txt gives what is read of one.
func TestEndlessRobots(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(_ *site, c net.Conn, next func() bool) {
		next()
		_, err := c.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
		for err == nil {
			_, err = c.Write([]byte(strings.Repeat("Disallow: /a\n", 1000)))
		}
	})
	client := newClient(t, func(c *fetcher.Config) { c.MaxSize = 1000 })
	b := newActor(t, client)
	conns := client.Conns()
	defer conns.Close()
	b.send(&messages.Fetch{
		Lease: rqueue.Leased{Host: "h", Request: &crawl.Request{ID: crawl.NewID("a"), URL: s.url()}}, Slot: "slot", Conns: conns, Robots: true,
	})
	expect[*messages.Sent](t, b.domain)
	done := expect[*messages.FetchDone](t, b.domain)
	require.Equal(t, 200, done.Robots.Status)
	require.Len(t, done.Robots.Body, robots.LimitBytes+1)
}
