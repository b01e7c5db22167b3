package fetcher_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"orbweaver/actors/fetcher"
	"orbweaver/core/crawl"
	"orbweaver/core/netguard"
	"orbweaver/core/weburl"
)

// twins are two servers on one port: good on 127.0.0.2, and a trap on 127.0.0.1 and
// ::1, to which the system connects whoever asks for 0.0.0.0 or ::. With
// AllowPrivate the first is allowed, and the addresses of the second's are not.
type twins struct {
	port             string
	good, trap       atomic.Int32 // connections accepted
	goodURL, trapURL string
}

// newTwins answers each good request with answer and closes.
func newTwins(t *testing.T, answer string) *twins {
	t.Helper()
	w := new(twins)
	var wg sync.WaitGroup
	serve := func(l net.Listener, count *atomic.Int32) {
		t.Cleanup(func() { l.Close() })
		wg.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				count.Add(1)
				wg.Go(func() {
					defer c.Close()
					_ = c.SetDeadline(time.Now().Add(10 * time.Second))
					if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
						_, _ = c.Write([]byte(answer))
					}
				})
			}
		})
	}
	t.Cleanup(wg.Wait) // after the listeners' clean-up, which runs first
	for range 20 {     // the port may be taken on the second address
		trap, err := net.Listen("tcp4", "127.0.0.1:0")
		require.NoError(t, err)
		_, port, _ := net.SplitHostPort(trap.Addr().String())
		good, err := net.Listen("tcp4", "127.0.0.2:"+port)
		if err != nil {
			trap.Close()
			continue
		}
		w.port, w.goodURL, w.trapURL = port, "http://127.0.0.2:"+port+"/", "http://0.0.0.0:"+port+"/"
		serve(trap, &w.trap)
		serve(good, &w.good)
		if six, err := net.Listen("tcp6", "[::1]:"+port); err == nil {
			serve(six, &w.trap)
		}
		return w
	}
	require.Fail(t, "no port that is free on both addresses")
	return nil
}

const closing = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"

// answers gives the addresses of the nth look-up of a name, with its alias.
type answers func(nth int) (cname string, addrs []string)

// dnsServer answers A and AAAA with TTL 0, as a hostile zone would, to Go's own
// resolver.
type dnsServer struct {
	mu      sync.Mutex
	zone    map[string]answers
	lookups map[string]int // of A records; guarded by mu
}

func newDNS(t *testing.T, zone map[string]answers) (*dnsServer, *net.Resolver) {
	t.Helper()
	pc, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	d := &dnsServer{zone: zone, lookups: map[string]int{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := d.reply(buf[:n]); reply != nil {
				_, _ = pc.WriteTo(reply, from)
			}
		}
	})
	t.Cleanup(func() {
		require.NoError(t, pc.Close())
		wg.Wait()
	})
	return d, &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "udp4", pc.LocalAddr().String())
	}}
}

func (d *dnsServer) reply(query []byte) []byte {
	var msg dnsmessage.Message
	if msg.Unpack(query) != nil || len(msg.Questions) != 1 {
		return nil
	}
	q := msg.Questions[0]
	out := dnsmessage.Message{Header: dnsmessage.Header{ID: msg.ID, Response: true, RecursionAvailable: true}, Questions: msg.Questions}
	name := strings.TrimSuffix(q.Name.String(), ".")
	d.mu.Lock()
	defer d.mu.Unlock()
	records, ok := d.zone[name]
	if !ok {
		out.RCode = dnsmessage.RCodeNameError
	} else {
		if q.Type == dnsmessage.TypeA {
			d.lookups[name]++
		}
		cname, addrs := records(d.lookups[name])
		owner := q.Name
		add := func(body dnsmessage.ResourceBody) {
			out.Answers = append(out.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: owner, Class: dnsmessage.ClassINET}, Body: body})
		}
		if cname != "" {
			alias := dnsmessage.MustNewName(cname + ".")
			add(&dnsmessage.CNAMEResource{CNAME: alias})
			owner = alias
		}
		for _, a := range addrs {
			switch addr := netip.MustParseAddr(a); {
			case addr.Is4() && q.Type == dnsmessage.TypeA:
				add(&dnsmessage.AResource{A: addr.As4()})
			case addr.Is6() && q.Type == dnsmessage.TypeAAAA:
				add(&dnsmessage.AAAAResource{AAAA: addr.As16()})
			}
		}
	}
	packed, err := out.Pack()
	if err != nil {
		return nil
	}
	return packed
}

func always(addrs ...string) answers { return func(int) (string, []string) { return "", addrs } }

func alias(cname string, addrs ...string) answers {
	return func(int) (string, []string) { return cname, addrs }
}

func TestGuardTrapIsArmed(t *testing.T) {
	t.Parallel()
	w := newTwins(t, closing)
	for _, addr := range []string{"0.0.0.0:" + w.port, "127.0.0.1:" + w.port} {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		_, err = c.Write([]byte("GET / HTTP/1.1\r\nHost: trap\r\n\r\n"))
		require.NoError(t, err)
		_, err = c.Read(make([]byte, 1))
		require.NoError(t, err)
		c.Close()
	}
	require.EqualValues(t, 2, w.trap.Load())
	require.Zero(t, w.good.Load())
}

func TestGuardAgainstResolvers(t *testing.T) {
	t.Parallel()
	// forbidden are what leads into the trap, or would by a gateway.
	forbidden := []string{"0.0.0.0", "::", "64:ff9b::", "2002::1", "::ffff:0:0:0", "2606:4700::5efe:0:0", "0.0.0.1", "168.63.129.16", "255.255.255.255", "ff02::1"}
	mixed := func(addrs ...string) []string { return append(append([]string{}, forbidden...), addrs...) }
	tests := []struct {
		name   string
		zone   answers
		strict bool
		cause  crawl.Cause
	}{
		{name: "good", zone: always("127.0.0.2")},
		{name: "forbidden only", zone: always(forbidden...), cause: crawl.CauseForbidden},
		{name: "forbidden first", zone: always(mixed("127.0.0.2")...)},
		{name: "forbidden last", zone: always(append([]string{"127.0.0.2"}, forbidden...)...)},
		{name: "dead, then forbidden", zone: always("127.0.0.3", "0.0.0.0", "::"), cause: crawl.CauseRefused},
		{name: "alias of good", zone: alias("cdn.example", "127.0.0.2")},
		{name: "alias of forbidden", zone: alias("metadata.internal", "0.0.0.0"), cause: crawl.CauseForbidden},
		{name: "alias of localhost", zone: alias("localhost", "0.0.0.0", "::"), cause: crawl.CauseForbidden},
		{name: "alias of mixed", zone: alias("cdn.example", mixed("127.0.0.2")...)},
		{name: "strict: loopback", zone: always("127.0.0.1"), strict: true, cause: crawl.CauseForbidden},
		{name: "strict: alias of loopback", zone: alias("localhost", "127.0.0.1", "::1"), strict: true, cause: crawl.CauseForbidden},
		{name: "strict: many", zone: always("127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1", "64:ff9b::7f00:1"), strict: true, cause: crawl.CauseForbidden},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newTwins(t, closing)
			_, resolver := newDNS(t, map[string]answers{"site.test": tt.zone})
			slot := newSlot(t, func(c *fetcher.Config) { c.Resolver, c.Guard.AllowPrivate = resolver, !tt.strict })
			for range 3 {
				requireCause(t, tt.cause, get(t, slot, "http://site.test:"+w.port+"/"))
			}
			require.Zero(t, w.trap.Load())
			require.Equal(t, tt.cause == crawl.CauseNone, w.good.Load() == 3)
		})
	}
}

// TestGuardAgainstRebinding: the name's owner changes its address at every look-up,
// also between the two that a checking client might make.
func TestGuardAgainstRebinding(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		zone answers
	}{
		{"good, then forbidden", func(nth int) (string, []string) {
			if nth <= 1 {
				return "", []string{"127.0.0.2"}
			}
			return "", []string{"0.0.0.0"}
		}},
		{"alternating", func(nth int) (string, []string) {
			return "", []string{[]string{"0.0.0.0", "127.0.0.2"}[nth%2]}
		}},
		{"alternating order", func(nth int) (string, []string) {
			both := []string{"0.0.0.0", "127.0.0.2", "0.0.0.0"}
			return "", both[nth%2 : nth%2+2]
		}},
		{"alternating alias", func(nth int) (string, []string) {
			return []string{"inside.test", "outside.test"}[nth%2], []string{[]string{"0.0.0.0", "127.0.0.2"}[nth%2]}
		}},
		{"alternating families", func(nth int) (string, []string) {
			return "", [][]string{{"::", "64:ff9b::"}, {"127.0.0.2"}}[nth%2]
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const fetches = 12
			w := newTwins(t, closing)
			d, resolver := newDNS(t, map[string]answers{"site.test": tt.zone})
			slot := newSlot(t, func(c *fetcher.Config) { c.Resolver = resolver })
			served := int32(0)
			for range fetches {
				resp := get(t, slot, "http://site.test:"+w.port+"/")
				if resp.Cause == crawl.CauseNone {
					served++
					continue
				}
				// Of two families asked for at once, both answers may be empty.
				require.Contains(t, []crawl.Cause{crawl.CauseForbidden, crawl.CauseDNS}, resp.Cause, resp.Err)
			}
			require.Zero(t, w.trap.Load())
			require.Positive(t, served)
			require.Equal(t, served, w.good.Load())
			d.mu.Lock()
			defer d.mu.Unlock()
			require.LessOrEqual(t, d.lookups["site.test"], fetches, "one look-up is judged and another connected to")
		})
	}
}

// TestGuardAgainstRedirects follows each Location as the crawl does.
func TestGuardAgainstRedirects(t *testing.T) {
	t.Parallel()
	for _, location := range []string{
		"http://0.0.0.0:PORT/", "//0.0.0.0:PORT/", "http://0:PORT/", "http://0x0:PORT/", "http://00.0x0.0:PORT/", "http://%30.0:PORT/", "http://０。０:PORT/",
		"http://[::]:PORT/", "http://[::ffff:0:0]:PORT/", "http://[::ffff:0.0.0.0]:PORT/", "http://127.0.0.2@0.0.0.0:PORT/", "http://0.0.0.0.:PORT/",
		"http://inside.test:PORT/", "http:\\\\0.0.0.0:PORT/", "http://[64:ff9b::]:PORT/", "http://u:p@[2002::]:PORT/",
		"file:///etc/passwd", "gopher://0.0.0.0:PORT/", "ftp://0.0.0.0:PORT/",
	} {
		t.Run(location, func(t *testing.T) {
			t.Parallel()
			w := newTwins(t, "HTTP/1.1 302 Found\r\nLocation: "+location+"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			_, resolver := newDNS(t, map[string]answers{"inside.test": always("0.0.0.0", "::")})
			slot := newSlot(t, func(c *fetcher.Config) { c.Resolver = numeric{resolver} })
			resp := get(t, slot, w.goodURL)
			requireCause(t, crawl.CauseNone, resp)
			require.Equal(t, 302, resp.Status, "a redirect is the caller's to follow")
			target := strings.ReplaceAll(location, "PORT", w.port)
			if joined, err := weburl.Resolve(w.goodURL, target); err == nil {
				requireRefused(t, get(t, slot, joined))
			}
			requireRefused(t, get(t, slot, target)) // nor as it was written
			require.Zero(t, w.trap.Load())
			require.EqualValues(t, 1, w.good.Load())
		})
	}
}

// requireRefused accepts each way of not connecting: not a URL that can be
// requested, or one that must not be.
func requireRefused(t *testing.T, resp *crawl.Response) {
	t.Helper()
	require.Contains(t, []crawl.Cause{crawl.CauseForbidden, crawl.CauseBadURL}, resp.Cause, "%s: %s", resp.URL, resp.Err)
}

// TestGuardLists: the configured lists and ports have their say over the table.
func TestGuardLists(t *testing.T) {
	t.Parallel()
	s := answering(t, closing, false)
	_, text, err := net.SplitHostPort(s.addr)
	require.NoError(t, err)
	n, err := strconv.ParseUint(text, 10, 16)
	require.NoError(t, err)
	port := uint16(n)
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	tests := []struct {
		name   string
		policy netguard.Policy
		cause  crawl.Cause
	}{
		{"nothing said", netguard.Policy{}, crawl.CauseForbidden},
		{"allowed", netguard.Policy{Allow: loopback}, crawl.CauseNone},
		{"allowed and denied", netguard.Policy{Allow: loopback, Deny: loopback}, crawl.CauseForbidden},
		{"private and denied", netguard.Policy{AllowPrivate: true, Deny: loopback}, crawl.CauseForbidden},
		{"port", netguard.Policy{Allow: loopback, Ports: []netguard.PortRange{{First: port, Last: port}}}, crawl.CauseNone},
		{"other port", netguard.Policy{Allow: loopback, Ports: []netguard.PortRange{{First: 80, Last: 80}}}, crawl.CauseForbidden},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := s.conns.Load()
			slot := newSlot(t, func(c *fetcher.Config) {
				c.Guard, c.Resolver = tt.policy, names{"site.test": {netip.MustParseAddr("127.0.0.1")}}
			})
			requireCause(t, tt.cause, get(t, slot, s.url()))
			requireCause(t, tt.cause, get(t, slot, "http://site.test:"+text+"/"))
			if tt.cause != crawl.CauseNone {
				require.Equal(t, before, s.conns.Load())
			}
		})
	}
	t.Run("ports of other protocols", func(t *testing.T) {
		slot := newSlot(t)
		for _, bad := range []string{"22", "25", "6667"} {
			requireCause(t, crawl.CauseForbidden, get(t, slot, "http://127.0.0.1:"+bad+"/"))
		}
	})
	t.Run("bad lists", func(t *testing.T) {
		_, err := fetcher.New(fetcher.Config{Guard: netguard.Policy{NAT64: loopback}})
		require.ErrorContains(t, err, "NAT64")
	})
}

// numeric resolves as getaddrinfo does: numbers of all bases are addresses.
type numeric struct{ names fetcher.Resolver }

func (n numeric) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if clean, err := weburl.Clean("http://" + host + "/"); err == nil {
		if addr, err := netip.ParseAddr(weburl.Host(clean)); err == nil {
			return []netip.Addr{addr}, nil
		}
	}
	return n.names.LookupNetIP(ctx, network, host)
}

// TestGuardBlocksAndForms asks a strict client for every special-purpose block in
// every form, written in the URL and answered by a resolver, alone and first of two.
func TestGuardBlocksAndForms(t *testing.T) {
	t.Parallel()
	trap := answering(t, closing, false)
	_, port, err := net.SplitHostPort(trap.addr)
	require.NoError(t, err)
	table := names{}
	slot := newSlot(t, func(c *fetcher.Config) { c.Resolver, c.Guard.AllowPrivate = numeric{table}, false })
	combinations := 0
	try := func(host string) {
		combinations++
		requireRefused(t, get(t, slot, "http://"+host+":"+port+"/"))
	}
	answered := func(addrs ...netip.Addr) {
		table["name.test"] = addrs
		try("name.test")
	}
	for s := range strings.FieldsSeq(`0.0.0.0 0.255.255.255 10.0.0.1 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1 127.255.255.255
		169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.0 192.0.0.8 192.0.0.9 192.0.0.10 192.0.0.170 192.0.0.171 192.0.0.255 192.0.2.1
		192.31.196.1 192.52.193.1 192.88.99.1 192.88.99.2 192.168.0.1 192.168.255.255 192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.1
		203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 168.63.129.16`) {
		addr := netip.MustParseAddr(s)
		b := addr.As4()
		hi, lo := uint16(b[0])<<8|uint16(b[1]), uint16(b[2])<<8|uint16(b[3])
		n := uint32(hi)<<16 | uint32(lo)
		for _, format := range []string{"%d.%d.%d.%d", "0%o.0%o.0%o.0%o", "0x%x.0x%x.0x%x.0x%x", "%d.%d.%d.%d.", "user:word@%d.%d.%d.%d", "[%d.%d.%d.%d]", "[::ffff:%d.%d.%d.%d]"} {
			try(fmt.Sprintf(format, b[0], b[1], b[2], b[3]))
		}
		for _, format := range []string{"%d", "0%o", "0x%x"} {
			try(fmt.Sprintf(format, n))
		}
		answered(addr)
		answered(addr, netip.MustParseAddr("0.0.0.0"))
		for _, form := range []string{
			"::ffff:%x:%x", "::%x:%x", "64:ff9b::%x:%x", "64:ff9b:1::%x:%x", "2002:%x:%x::1", "2001:0:%x:%x::fefe:fefe",
			"2606:4700::5efe:%x:%x", "2606:4700::200:5efe:%x:%x", "fe80::%x:%x", "::ffff:0:%x:%x",
		} {
			wrapped := fmt.Sprintf(form, hi, lo)
			try("[" + wrapped + "]")
			answered(netip.MustParseAddr(wrapped))
		}
		answered(netip.MustParseAddr(fmt.Sprintf("2001:0:101:101::%x:%x", ^hi, ^lo)))
	}
	for s := range strings.FieldsSeq(`:: ::1 64:ff9b:1::1 100::1 100:0:0:1::1 2001:1::1 2001:1::2 2001:1::3 2001:2::1 2001:3::1 2001:4:112::1
		2001:10::1 2001:20::1 2001:30::1 2001:1ff::1 2001:db8::1 2620:4f:8000::1 3fff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1`) {
		addr := netip.MustParseAddr(s)
		try("[" + s + "]")
		try("[" + addr.StringExpanded() + "]")
		try("[" + s + "%25lo]")
		try("user:word@[" + s + "]")
		answered(addr)
		answered(addr.WithZone("lo"))
	}
	require.Greater(t, combinations, 500)
	require.Zero(t, trap.conns.Load())
	t.Logf("%d combinations, 0 connections", combinations)
}
