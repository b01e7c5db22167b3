package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"orbweaver/actors/fetcher"
	"orbweaver/config"
	"orbweaver/core/crawl"
)

// TestNetworkSettings: a client made of settings looks names up at DNS_SERVERS and
// remembers them for their TTL, and no rebinding passes its guard.
func TestNetworkSettings(t *testing.T) {
	t.Parallel()
	var served, asked atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	}))
	t.Cleanup(site.Close)
	_, port, err := net.SplitHostPort(site.Listener.Addr().String())
	require.NoError(t, err)
	pc, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	zone := func(name string, n int32) string {
		switch {
		case name == "kept.test.":
			return "60 IN A 127.0.0.1"
		case n == 1: // and rebinding.test. moves at once
			return "0 IN A 127.0.0.1"
		default:
			return "0 IN A 169.254.169.254"
		}
	}
	srv := &dns.Server{PacketConn: pc, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		reply := new(dns.Msg)
		reply.SetReply(q)
		if name := q.Question[0].Name; q.Question[0].Qtype == dns.TypeA {
			rr, err := dns.NewRR(name + " " + zone(name, asked.Add(1)))
			if err != nil {
				panic(err)
			}
			reply.Answer = append(reply.Answer, rr)
		}
		_ = w.WriteMsg(reply)
	})}
	done := make(chan error, 1)
	go func() { done <- srv.ActivateAndServe() }()
	t.Cleanup(func() {
		require.NoError(t, pc.Close())
		require.Error(t, <-done) // its socket was closed
	})
	client := func(flags map[string]string) *fetcher.Slot {
		flags["DNS_SERVERS"] = pc.LocalAddr().String()
		flags["HTTPPROXY_ENABLED"] = "false" // the machine's
		cfg, err := config.Load(config.Sources{Flags: flags})
		require.NoError(t, err)
		c, err := newClient(cfg)
		require.NoError(t, err)
		slot := c.Slot()
		t.Cleanup(slot.Close)
		return slot
	}
	get := func(slot *fetcher.Slot, host, port string) *crawl.Response {
		slot.CloseIdle()
		return slot.Do(context.Background(), &crawl.Request{URL: "http://" + host + ":" + port + "/"}, fetcher.Permit{}, nil)
	}

	open := client(map[string]string{
		"ALLOW_PRIVATE": "true", "HTTPAUTH_USER": "me", "HTTPAUTH_PASS": "word", "HTTPAUTH_DOMAIN": "rebinding.test",
	})
	first := get(open, "rebinding.test", port)
	require.Equal(t, "Basic bWU6d29yZA==", string(first.Body), first.Err)
	for range 3 {
		require.Equal(t, crawl.CauseForbidden, get(open, "rebinding.test", port).Cause, "metadata stays shut with ALLOW_PRIVATE")
	}
	require.EqualValues(t, 4, asked.Load(), "a TTL of 0 is asked each time")
	for range 3 {
		require.Empty(t, get(open, "kept.test", port).Body)
	}
	require.EqualValues(t, 5, asked.Load())
	require.EqualValues(t, 4, served.Load())

	for name, slot := range map[string]*fetcher.Slot{
		"strict":      client(map[string]string{}),
		"denied":      client(map[string]string{"ALLOW_PRIVATE": "true", "ADDRESS_DENY": "127.0.0.0/8"}),
		"other ports": client(map[string]string{"ALLOW_PRIVATE": "true", "ALLOWED_PORTS": "80,443"}),
	} {
		require.Equal(t, crawl.CauseForbidden, get(slot, "kept.test", port).Cause, name)
		require.Equal(t, crawl.CauseForbidden, get(slot, "127.0.0.1", port).Cause, name)
	}
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	narrow := client(map[string]string{"ADDRESS_ALLOW": "127.0.0.1", "ALLOWED_PORTS": strconv.Itoa(n)})
	require.Equal(t, 200, get(narrow, "kept.test", port).Status)
	require.EqualValues(t, 5, served.Load())
}
