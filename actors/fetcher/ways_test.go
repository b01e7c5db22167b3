package fetcher_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/actors/fetcher"
	"orbweaver/core/crawl"
	"orbweaver/core/netguard"
	"orbweaver/core/policy"
)

// specials is an address of every block of IANA's special-purpose registries, and
// of those that clouds keep for themselves.
func specials() []netip.Addr {
	var out []netip.Addr
	for s := range strings.FieldsSeq(`0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.100.100.200 127.0.0.1 127.1.2.3 168.63.129.16 169.254.169.254 169.254.170.2
		169.254.1.1 172.16.0.1 192.0.0.1 192.0.0.8 192.0.0.9 192.0.0.10 192.0.0.170 192.0.0.171 192.0.0.200 192.0.2.1 192.31.196.1 192.52.193.1
		192.88.99.1 192.168.1.1 192.175.48.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255
		:: ::1 ::7f00:1 ::ffff:7f00:1 64:ff9b::7f00:1 64:ff9b:1::7f00:1 100::1 100:0:0:1::1 2001:0:7f00:1::1 2001::80ff:fffe 2001:1::1 2001:1::2
		2001:1::3 2001:2::1 2001:3::1 2001:4:112::1 2001:10::1 2001:20::1 2001:30::1 2001:db8::1 2002:7f00:1::1 2620:4f:8000::1 3fff::1 5f00::1
		fc00::1 fd00:ec2::254 fd20:ce::254 fe80::1 fec0::1 ff02::1`) {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

// literals are the ways to write an address in a URL.
func literals(a netip.Addr) []string {
	if a.Is6() {
		return []string{"[" + a.String() + "]", "[" + a.StringExpanded() + "]", "user:word@[" + a.String() + "]", "[" + strings.ToUpper(a.String()) + "]"}
	}
	b := a.As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	hi, lo := n>>16, n&0xffff
	return []string{
		a.String(), a.String() + ".", "user:word@" + a.String(), fmt.Sprint(n), fmt.Sprintf("0%o", n), fmt.Sprintf("0x%x", n),
		fmt.Sprintf("0%o.0%o.0%o.0%o", b[0], b[1], b[2], b[3]), fmt.Sprintf("0x%x.0x%x.0x%x.0x%x", b[0], b[1], b[2], b[3]), fmt.Sprintf("%d.%d", b[0], n&0xffffff),
		"[::ffff:" + a.String() + "]", fmt.Sprintf("[::%x:%x]", hi, lo), fmt.Sprintf("[64:ff9b::%x:%x]", hi, lo), fmt.Sprintf("[2002:%x:%x::1]", hi, lo),
		fmt.Sprintf("[2001::%x:%x]", ^hi&0xffff, ^lo&0xffff),
	}
}

// TestGuardEveryWay leads a client that may connect to 127.0.0.2 alone to every
// special address by every way: written, redirected to, resolved, by an alias,
// beside a good address, after a good one, and each through proxies. A trap waits
// on the addresses of this machine; for the others the cause tells that nobody
// dialled.
func TestGuardEveryWay(t *testing.T) {
	t.Parallel()
	good := netip.MustParseAddr("127.0.0.2")
	trap := answering(t, closing, false)
	_, trapPort, err := net.SplitHostPort(trap.addr)
	require.NoError(t, err)
	var served atomic.Int32
	l, err := net.Listen("tcp4", "127.0.0.2:0")
	require.NoError(t, err)
	site := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // a test's
		served.Add(1)
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}
	})}}
	site.Start()
	t.Cleanup(site.Close)
	_, sitePort, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)

	zone := map[string]answers{}
	all := specials()
	for i, a := range all {
		bad := a.String()
		name := func(way string) string { return fmt.Sprintf("%s%d.test", way, i) }
		zone[name("plain")] = always(bad)
		zone[name("alias")] = alias("inside.example", bad)
		zone[name("mixed")] = always(bad, "127.0.0.2")
		zone[name("moves")] = func(nth int) (string, []string) {
			if nth <= 1 {
				return "", []string{"127.0.0.2"}
			}
			return "", []string{bad}
		}
	}
	_, resolver := newDNS(t, zone)
	h, s5 := newRelay(t, trap.addr, httpRelay), newRelay(t, trap.addr, socksRelay)
	client := func(proxy string, resolves bool) *fetcher.Slot {
		return newSlot(t, func(c *fetcher.Config) {
			c.Guard = netguard.Policy{Allow: []netip.Prefix{netip.PrefixFrom(good, 32)}}
			c.Resolver = numeric{resolver}
			c.Proxy.HTTP, c.Proxy.HTTPS, c.Proxy.Resolves = proxy, proxy, resolves
			if proxy != "" {
				c.Proxy.HTTP, c.Proxy.HTTPS, c.Proxy.List = "", "", []string{proxy} // loopback hosts too
			}
		})
	}
	direct := client("", false)
	through := []*fetcher.Slot{client(h.url("http"), false), client(h.url("http"), true), client(s5.url("socks5"), false), client(s5.url("socks5h"), true)}
	rules, err := policy.New(policy.Default())
	require.NoError(t, err)

	combinations := 0
	refuse := func(slot *fetcher.Slot, to string) {
		combinations++
		requireRefused(t, get(t, slot, to))
	}
	for i, a := range all {
		for _, host := range literals(a) {
			to := "http://" + host + ":" + trapPort + "/"
			refuse(direct, to)
			for _, slot := range through {
				refuse(slot, to)
			}
			refuse(direct, "https://"+host+":"+trapPort+"/")
			refuse(through[1], "https://"+host+":"+trapPort+"/")

			req := &crawl.Request{URL: "http://127.0.0.2:" + sitePort + "/?to=" + url.QueryEscape(to)}
			resp := direct.Do(context.Background(), req, fetcher.Permit{}, nil)
			requireCause(t, crawl.CauseNone, resp)
			if next := rules.Decide(req, resp, nil); next.Kind == policy.Redirect {
				refuse(direct, next.Request.URL)
			}
		}
		for _, way := range []string{"plain", "alias"} {
			to := fmt.Sprintf("http://%s%d.test:%s/", way, i, trapPort)
			for _, slot := range []*fetcher.Slot{direct, through[0], through[2]} {
				refuse(slot, to)
			}
		}
		// Beside a good address only that one is connected to, or none by a proxy
		// that would choose itself.
		combinations++
		requireCause(t, crawl.CauseNone, get(t, direct, fmt.Sprintf("http://mixed%d.test:%s/", i, sitePort)))
		refuse(through[0], fmt.Sprintf("http://mixed%d.test:%s/", i, sitePort))
		// The first look-up is good, the next is not.
		requireCause(t, crawl.CauseNone, get(t, direct, fmt.Sprintf("http://moves%d.test:%s/", i, sitePort)))
		direct.CloseIdle()
		combinations++
		resp := get(t, direct, fmt.Sprintf("http://moves%d.test:%s/", i, sitePort))
		// Of two families asked for at once, both answers may be empty.
		require.Contains(t, []crawl.Cause{crawl.CauseForbidden, crawl.CauseDNS}, resp.Cause, resp.Err)
	}
	require.Zero(t, trap.conns.Load())
	require.Zero(t, h.conns.Load())
	require.Zero(t, s5.conns.Load())
	require.Greater(t, combinations, 3000)
	t.Logf("%d combinations, 0 connections; %d good fetches", combinations, served.Load())
}
