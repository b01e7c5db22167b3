package fetcher_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
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

// relay is a proxy of HTTP or SOCKS5 that connects to one address whatever it is
// asked for.
type relay struct {
	addr  string
	to    string        // where it connects
	conns atomic.Int32  // accepted
	user  string        // asked for; "" asks for none
	pass  string        //
	code  atomic.Int32  // answer in place of a connection: a status, or a SOCKS code; 0 connects
	asked chan string   // targets, the newest 64
	heads chan []string // fields of forwarded requests, or of CONNECT
}

func (r *relay) url(scheme string) string { return scheme + "://" + r.addr }

func (r *relay) note(target string, head []string) {
	select {
	case r.asked <- target:
		r.heads <- head
	default:
	}
}

func newRelay(t *testing.T, to string, serve func(*relay, net.Conn)) *relay {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	return serveRelay(t, l, to, serve)
}

func serveRelay(t *testing.T, l net.Listener, to string, serve func(*relay, net.Conn)) *relay {
	t.Helper()
	r := &relay{addr: l.Addr().String(), to: to, asked: make(chan string, 64), heads: make(chan []string, 64)}
	var wg sync.WaitGroup
	var open sync.Map
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.conns.Add(1)
			open.Store(c, true)
			wg.Go(func() {
				defer open.Delete(c)
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(20 * time.Second))
				serve(r, c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		open.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
		wg.Wait()
	})
	return r
}

// join copies between two connections until one ends.
func join(a, b net.Conn) {
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(a, b); a.Close() })
	_, _ = io.Copy(b, a)
	b.Close()
	wg.Wait()
}

func httpRelay(r *relay, c net.Conn) {
	br := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		var head []string
		for name, values := range req.Header {
			head = append(head, name+": "+strings.Join(values, ","))
		}
		r.note(req.Method+" "+req.RequestURI, head)
		want := "Basic " + base64.StdEncoding.EncodeToString([]byte(r.user+":"+r.pass))
		code := int(r.code.Load())
		if r.user != "" && req.Header.Get("Proxy-Authorization") != want {
			code = 407
		}
		if code != 0 {
			_, _ = io.WriteString(c, "HTTP/1.1 "+strconv.Itoa(code)+" No\r\nContent-Length: 0\r\n\r\n")
			continue
		}
		up, err := net.Dial("tcp", r.to)
		if err != nil {
			return
		}
		if req.Method == http.MethodConnect {
			_, _ = io.WriteString(c, "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")
			join(c, up)
			return
		}
		req.Header.Del("Proxy-Authorization")
		_ = req.Write(up)
		resp, err := http.ReadResponse(bufio.NewReader(up), req)
		if err != nil {
			up.Close()
			return
		}
		_ = resp.Write(c)
		resp.Body.Close()
		up.Close()
	}
}

func socksRelay(r *relay, c net.Conn) {
	read := func(n int) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(c, b); err != nil {
			return make([]byte, n)
		}
		return b
	}
	hello := read(2)
	methods := read(int(hello[1]))
	if r.user == "" {
		_, _ = c.Write([]byte{5, 0})
	} else {
		if !strings.Contains(string(methods), "\x02") {
			_, _ = c.Write([]byte{5, 0xff})
			return
		}
		_, _ = c.Write([]byte{5, 2})
		user := string(read(int(read(2)[1])))
		pass := string(read(int(read(1)[0])))
		if user != r.user || pass != r.pass {
			_, _ = c.Write([]byte{1, 1})
			return
		}
		_, _ = c.Write([]byte{1, 0})
	}
	host := ""
	switch read(4)[3] {
	case 1:
		host = netip.AddrFrom4([4]byte(read(4))).String()
	case 3:
		host = string(read(int(read(1)[0])))
	case 4:
		host = netip.AddrFrom16([16]byte(read(16))).String()
	}
	port := read(2)
	r.note(net.JoinHostPort(host, strconv.Itoa(int(port[0])<<8|int(port[1]))), nil)
	if code := byte(r.code.Load()); code != 0 {
		_, _ = c.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	up, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	_, _ = c.Write([]byte("\x05\x00\x00\x03\x04name\x00\x50"))
	join(c, up)
}

// sites are a plain and a TLS server that tell what they were sent.
type sites struct {
	plain, secure *httptest.Server
	roots         *x509.CertPool
	requests      atomic.Int32
	leaked        atomic.Int32 // requests with a field for proxies
}

func newSites(t *testing.T) *sites {
	t.Helper()
	s := new(sites)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if r.Header.Get("Proxy-Authorization") != "" {
			s.leaked.Add(1)
		}
		_, _ = io.WriteString(w, r.Host+r.RequestURI)
	})
	s.plain, s.secure = httptest.NewServer(h), httptest.NewTLSServer(h)
	t.Cleanup(s.plain.Close)
	t.Cleanup(s.secure.Close)
	s.roots = x509.NewCertPool()
	s.roots.AddCert(s.secure.Certificate())
	return s
}

func (s *sites) to(secure bool) string {
	if secure {
		return s.secure.Listener.Addr().String()
	}
	return s.plain.Listener.Addr().String()
}

func proxyMeta(url string) []byte {
	b, err := json.Marshal(map[string]any{"proxy": url})
	if err != nil {
		panic(err)
	}
	return b
}

func TestProxies(t *testing.T) {
	t.Parallel()
	s := newSites(t)
	for _, secure := range []bool{false, true} {
		for _, scheme := range []string{"http", "https", "socks5", "socks5h"} {
			for _, user := range []string{"", "me:p%40ss"} {
				name := scheme + " to http"
				target := "http://example.com/a?b"
				if secure {
					name, target = scheme+" to https", "https://example.com/a?b"
				}
				t.Run(name+" "+user, func(t *testing.T) {
					t.Parallel()
					serve := httpRelay
					if strings.HasPrefix(scheme, "socks") {
						serve = socksRelay
					}
					l, err := net.Listen("tcp4", "127.0.0.1:0")
					require.NoError(t, err)
					if scheme == "https" {
						l = tls.NewListener(l, &tls.Config{Certificates: s.secure.TLS.Certificates})
					}
					r := serveRelay(t, l, s.to(secure), serve)
					url := scheme + "://" + r.addr
					if user != "" {
						r.user, r.pass = "me", "p@ss"
						url = scheme + "://" + user + "@" + r.addr
					}
					slot := newSlot(t, func(c *fetcher.Config) {
						c.Guard = netguard.Policy{} // the proxy is at a private address, and trusted
						c.Roots = s.roots
						c.Proxy.HTTP, c.Proxy.HTTPS = url, url
						c.Resolver = names{"example.com": {netip.MustParseAddr("93.184.215.14")}}
					})
					for range 3 {
						req := &crawl.Request{URL: target, Headers: []crawl.Header{{Name: "proxy-authorization", Value: "Basic mine"}}}
						resp := slot.Do(context.Background(), req, fetcher.Permit{}, nil)
						requireCause(t, crawl.CauseNone, resp)
						require.Equal(t, "example.com/a?b", string(resp.Body))
						require.Equal(t, 1, slot.Kept())
					}
					require.EqualValues(t, 1, r.conns.Load(), "the connection is kept")
					want := map[string]string{
						"http": "GET http://example.com/a?b", "https": "GET http://example.com/a?b",
						"socks5": "93.184.215.14:80", "socks5h": "example.com:80",
					}[scheme]
					if secure {
						want = map[string]string{
							"http": "CONNECT example.com:443", "https": "CONNECT example.com:443",
							"socks5": "93.184.215.14:443", "socks5h": "example.com:443",
						}[scheme]
					}
					require.Equal(t, want, <-r.asked)
					if head := <-r.heads; secure && head != nil {
						require.LessOrEqual(t, len(head), 1, "a CONNECT tells nothing but the credentials")
					}
				})
			}
		}
	}
	t.Cleanup(func() { require.Zero(t, s.leaked.Load(), "credentials of a proxy reached the site") })
}

func TestProxyFailures(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	refused := l.Addr().String()
	l.Close()
	say := func(text string) func(*relay, net.Conn) {
		return func(_ *relay, c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
			_, _ = io.WriteString(c, text)
		}
	}
	code := func(n int32, serve func(*relay, net.Conn)) func(*relay, net.Conn) {
		return func(r *relay, c net.Conn) { r.code.Store(n); serve(r, c) }
	}
	locked := func(serve func(*relay, net.Conn)) func(*relay, net.Conn) {
		return func(r *relay, c net.Conn) { serve(&relay{to: r.to, user: "x", asked: r.asked, heads: r.heads}, c) }
	}
	long := "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 100<<10)
	tests := []struct {
		name   string
		scheme string
		serve  func(*relay, net.Conn) // nil: nobody is there
		target string
		cause  crawl.Cause
	}{
		{"nobody there", "http", nil, "http://example.com/", crawl.CauseProxy},
		{"nobody there", "http", nil, "https://example.com/", crawl.CauseProxy},
		{"nobody there", "socks5", nil, "http://example.com/", crawl.CauseProxy},
		{"no TLS", "https", say("no"), "http://example.com/", crawl.CauseProxy},
		{"credentials", "http", locked(httpRelay), "http://example.com/", crawl.CauseProxy},
		{"credentials", "http", locked(httpRelay), "https://example.com/", crawl.CauseProxy},
		{"credentials", "socks5", locked(socksRelay), "http://example.com/", crawl.CauseProxy},
		{"forbidden", "http", code(403, httpRelay), "https://example.com/", crawl.CauseProxy},
		{"site unreachable", "http", code(503, httpRelay), "https://example.com/", crawl.CauseRefused},
		{"gateway timeout", "http", code(504, httpRelay), "https://example.com/", crawl.CauseRefused},
		{"status of a page", "http", code(503, httpRelay), "http://example.com/", crawl.CauseNone},
		{"site refused", "socks5h", code(5, socksRelay), "https://example.com/", crawl.CauseRefused},
		{"not allowed", "socks5h", code(2, socksRelay), "https://example.com/", crawl.CauseProxy},
		{"no SOCKS", "socks5", say("HTTP/1.1 400 Bad\r\n\r\n"), "http://example.com/", crawl.CauseProxy},
		{"no HTTP", "http", say("\x05\x00"), "https://example.com/", crawl.CauseProxy},
		{"closes", "http", say(""), "https://example.com/", crawl.CauseProxy},
		{"closes", "socks5", say(""), "https://example.com/", crawl.CauseProxy},
		{"endless header", "http", say(long), "https://example.com/", crawl.CauseProxy},
		{"too much", "http", say("HTTP/1.1 200 OK\r\n\r\nmore"), "https://example.com/", crawl.CauseProxy},
		{"half a SOCKS answer", "socks5", say("\x05"), "http://example.com/", crawl.CauseProxy},
		{"site without TLS", "http", say("HTTP/1.1 200 OK\r\n\r\n"), "https://example.com/", crawl.CauseTLS},
	}
	for _, tt := range tests {
		t.Run(tt.scheme+" "+tt.target[:5]+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			at := refused
			if tt.serve != nil {
				at = newRelay(t, refused, tt.serve).addr
			}
			slot := newSlot(t, func(c *fetcher.Config) {
				c.Proxy.HTTP = tt.scheme + "://user:secret@" + at
				c.Proxy.HTTPS = c.Proxy.HTTP
				c.Resolver = names{"example.com": {netip.MustParseAddr("93.184.215.14")}}
			})
			resp := get(t, slot, tt.target)
			requireCause(t, tt.cause, resp)
			for _, secret := range []string{"secret", "user", base64.StdEncoding.EncodeToString([]byte("user:secret"))} {
				require.NotContains(t, resp.Err, secret)
			}
		})
	}
}

func TestProxyChoice(t *testing.T) {
	t.Parallel()
	s := newSites(t)
	plain := s.to(false)
	_, port, err := net.SplitHostPort(plain)
	require.NoError(t, err)
	env, own := newRelay(t, plain, httpRelay), newRelay(t, plain, httpRelay)
	tests := []struct {
		name    string
		host    string
		no      string
		meta    string
		https   bool // only https_proxy is set
		cause   crawl.Cause
		through *relay // nil: direct
	}{
		{name: "environment", host: "site.test", through: env},
		{name: "other scheme", host: "site.test", https: true},
		{name: "no_proxy", host: "site.test", no: "other.test, site.test"},
		{name: "no_proxy, parent", host: "www.site.test", no: ".SITE.test"},
		{name: "no_proxy, port", host: "site.test", no: "site.test:" + port},
		{name: "no_proxy, other port", host: "site.test", no: "site.test:1", through: env},
		{name: "no_proxy, part of a name", host: "asite.test", no: "site.test", through: env},
		{name: "no_proxy, all", host: "site.test", no: "*"},
		{name: "no_proxy, empty", host: "site.test", no: " ,, ", through: env},
		{name: "loopback", host: "127.0.0.1"},
		{name: "meta", host: "site.test", meta: `{"proxy": "` + own.url("http") + `"}`, through: own},
		{name: "meta without scheme", host: "site.test", meta: `{"proxy": "` + own.addr + `"}`, through: own},
		{name: "meta beats no_proxy", host: "site.test", no: "*", meta: `{"proxy": "` + own.url("http") + `"}`, through: own},
		{name: "meta null", host: "site.test", meta: `{"proxy": null}`},
		{name: "meta without proxy", host: "site.test", meta: `{"proxy_note": "x"}`, through: env},
		{name: "meta empty", host: "site.test", meta: `{"proxy": ""}`, cause: crawl.CauseBadURL},
		{name: "meta number", host: "site.test", meta: `{"proxy": 1}`, cause: crawl.CauseBadURL},
		{name: "meta, other scheme", host: "site.test", meta: `{"proxy": "ftp://u:secret@127.0.0.1"}`, cause: crawl.CauseBadURL},
		{name: "meta, bad port", host: "site.test", meta: `{"proxy": "http://u:secret@127.0.0.1:99999"}`, cause: crawl.CauseBadURL},
		{name: "meta, line break", host: "site.test", meta: `{"proxy": "http://127.0.0.1\r\nX: y"}`, cause: crawl.CauseBadURL},
		{name: "meta, bad escape", host: "site.test", meta: `{"proxy": "http://%zz:secret@127.0.0.1"}`, cause: crawl.CauseBadURL},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := map[*relay]int32{env: env.conns.Load(), own: own.conns.Load()}
			requests := s.requests.Load()
			loop := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
			slot := newSlot(t, func(c *fetcher.Config) {
				c.Resolver = names{"site.test": loop, "www.site.test": loop, "asite.test": loop}
				if c.Proxy.HTTPS = env.url("http"); !tt.https {
					c.Proxy.HTTP = env.url("http")
				}
				c.Proxy.No = tt.no
			})
			resp := slot.Do(context.Background(), &crawl.Request{URL: "http://" + tt.host + ":" + port + "/", Meta: []byte(tt.meta)}, fetcher.Permit{}, nil)
			requireCause(t, tt.cause, resp)
			require.NotContains(t, resp.Err, "secret")
			for r, n := range before {
				require.Equal(t, r == tt.through, r.conns.Load() == n+1)
			}
			require.Equal(t, tt.cause == crawl.CauseNone, s.requests.Load() == requests+1)
		})
	}
}

// TestProxyAuthStaysHome: the credentials of one proxy go to no other.
func TestProxyAuthStaysHome(t *testing.T) {
	t.Parallel()
	s := newSites(t)
	first, second := newRelay(t, s.to(false), httpRelay), newRelay(t, s.to(false), httpRelay)
	slot := newSlot(t, func(c *fetcher.Config) {
		c.Resolver = names{"site.test": {netip.MustParseAddr("127.0.0.1")}}
		c.DefaultHeaders = []crawl.Header{{Name: "Proxy-Authorization", Value: "Basic default"}}
	})
	_, port, err := net.SplitHostPort(s.to(false))
	require.NoError(t, err)
	do := func(proxy string) {
		t.Helper()
		req := &crawl.Request{URL: "http://site.test:" + port + "/", Meta: proxyMeta(proxy), Headers: []crawl.Header{{Name: "Proxy-Authorization", Value: "Basic own"}}}
		requireCause(t, crawl.CauseNone, slot.Do(context.Background(), req, fetcher.Permit{}, nil))
	}
	do("http://a:b@" + first.addr)
	do("http://" + second.addr)
	do("http://" + first.addr)
	do("http://c:d@" + first.addr)
	auth := func(r *relay) string {
		<-r.asked
		for _, f := range <-r.heads {
			if value, ok := strings.CutPrefix(f, "Proxy-Authorization: "); ok {
				return value
			}
		}
		return ""
	}
	require.Equal(t, "Basic YTpi", auth(first))
	require.Empty(t, auth(second))
	require.Empty(t, auth(first))
	require.Equal(t, "Basic Yzpk", auth(first))
	require.EqualValues(t, 3, first.conns.Load(), "other credentials, other connection")
	require.Zero(t, s.leaked.Load())
}

func TestProxyList(t *testing.T) {
	t.Parallel()
	s := newSites(t)
	a, b := newRelay(t, s.to(false), httpRelay), newRelay(t, s.to(false), httpRelay)
	list := func(c *fetcher.Config) {
		c.Resolver = names{"site.test": {netip.MustParseAddr("127.0.0.1")}}
		c.Proxy.List, c.Proxy.No = []string{a.url("http"), b.url("http")}, "*"
		c.Proxy.BackoffBase, c.Proxy.BackoffMax = time.Hour, time.Hour
	}
	url := "http://site.test:" + strconv.Itoa(s.plain.Listener.Addr().(*net.TCPAddr).Port) + "/"
	t.Run("turns", func(t *testing.T) {
		slot := newSlot(t, list)
		for range 4 {
			requireCause(t, crawl.CauseNone, get(t, slot, url))
		}
		require.Len(t, a.asked, 2)
		require.Len(t, b.asked, 2)
	})
	t.Run("one out, then all", func(t *testing.T) {
		a.code.Store(407)
		before := s.requests.Load()
		slot := newSlot(t, list)
		requireCause(t, crawl.CauseProxy, get(t, slot, url))
		for range 4 {
			requireCause(t, crawl.CauseNone, get(t, slot, url))
		}
		b.code.Store(407)
		for range 3 {
			requireCause(t, crawl.CauseProxy, get(t, slot, url))
		}
		require.Equal(t, before+4, s.requests.Load(), "never directly")
	})
}

// TestProxyGuard: what the guard refuses is refused through a proxy too, and a
// proxy that only a request knows has to pass it itself.
func TestProxyGuard(t *testing.T) {
	t.Parallel()
	s := newSites(t)
	table := names{
		"public.test":  {netip.MustParseAddr("93.184.215.14")},
		"private.test": {netip.MustParseAddr("10.0.0.1")},
		"mixed.test":   {netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("169.254.169.254")},
		"proxy.test":   {netip.MustParseAddr("127.0.0.1")},
	}
	for _, scheme := range []string{"http", "https", "socks5", "socks5h"} {
		for _, resolves := range []bool{false, true} {
			name := scheme
			if resolves {
				name += ", the proxy resolves"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				serve := httpRelay
				if strings.HasPrefix(scheme, "socks") {
					serve = socksRelay
				}
				r := newRelay(t, s.to(false), serve)
				slot := newSlot(t, func(c *fetcher.Config) {
					c.Guard = netguard.Policy{}
					c.Proxy.HTTP, c.Proxy.HTTPS = r.url(scheme), r.url(scheme)
					c.Proxy.No = "nothing.test"
					c.Proxy.Resolves = resolves
					c.Resolver = table
				})
				hosts := []string{"10.0.0.1", "169.254.169.254", "0x0a000001", "167772161", "012.1", "[::ffff:10.0.0.1]", "[64:ff9b::a00:1]", "10.0.0.1.", "[fd00:ec2::254]", "u:p@10.0.0.1"}
				if !resolves || scheme == "socks5" {
					hosts = append(hosts, "private.test")
				}
				if !resolves && scheme != "socks5" {
					hosts = append(hosts, "mixed.test")
				}
				for _, host := range hosts {
					for _, of := range []string{"http://", "https://"} {
						resp := get(t, slot, of+host+"/")
						requireCause(t, crawl.CauseForbidden, resp)
					}
				}
				requireCause(t, crawl.CauseForbidden, get(t, slot, "http://public.test:25/"))
				require.Zero(t, r.conns.Load())
			})
		}
		t.Run(scheme+" of a request", func(t *testing.T) {
			t.Parallel()
			r := newRelay(t, s.to(false), httpRelay)
			_, port, err := net.SplitHostPort(r.addr)
			require.NoError(t, err)
			slot := newSlot(t, func(c *fetcher.Config) { c.Guard, c.Resolver = netguard.Policy{}, table })
			for _, host := range []string{"127.0.0.1", "proxy.test", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"} {
				req := &crawl.Request{URL: "http://public.test/", Meta: proxyMeta(scheme + "://" + host + ":" + port)}
				requireCause(t, crawl.CauseForbidden, slot.Do(context.Background(), req, fetcher.Permit{}, nil))
			}
			require.Zero(t, r.conns.Load())
		})
	}
	t.Run("metadata stays shut with AllowPrivate", func(t *testing.T) {
		r := newRelay(t, s.to(false), httpRelay)
		slot := newSlot(t, func(c *fetcher.Config) { c.Proxy.HTTP, c.Resolver = r.url("http"), table })
		requireCause(t, crawl.CauseForbidden, get(t, slot, "http://169.254.169.254/"))
		requireCause(t, crawl.CauseForbidden, get(t, slot, "http://mixed.test/"))
		require.Zero(t, r.conns.Load())
	})
}

// TestProxyRebinding: a kept connection to a proxy is no way around the guard.
func TestProxyRebinding(t *testing.T) {
	t.Parallel()
	s := newSites(t)
	r := newRelay(t, s.to(false), httpRelay)
	table := names{"site.test": {netip.MustParseAddr("93.184.215.14")}}
	slot := newSlot(t, func(c *fetcher.Config) { c.Guard, c.Proxy.HTTP, c.Resolver = netguard.Policy{}, r.url("http"), table })
	requireCause(t, crawl.CauseNone, get(t, slot, "http://site.test/"))
	table["site.test"] = []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	requireCause(t, crawl.CauseForbidden, get(t, slot, "http://site.test/"))
	require.EqualValues(t, 1, s.requests.Load())
}

func TestProxyConfig(t *testing.T) {
	t.Parallel()
	_, err := fetcher.New(fetcher.Config{Proxy: fetcher.ProxyConfig{HTTP: "ftp://u:secret@h", HTTPS: "http://u:secret@", List: []string{"http://fine", "://secret"}}})
	for _, want := range []string{"http proxy", "https proxy", "proxy 2 of the list"} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "secret")
}

// FuzzProxyAnswers: whatever a proxy says, a fetch ends without a page.
func FuzzProxyAnswers(f *testing.F) {
	for _, seed := range []string{"", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 407 N\r\n\r\n", "HTTP/1.1 200", "\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00", "\x05\x02\x01\x00\x05\x05\x00\x03\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		r := newRelay(t, "", func(_ *relay, c net.Conn) {
			_, _ = c.Read(make([]byte, 1024))
			_, _ = c.Write(answer)
		})
		for _, scheme := range []string{"http", "socks5", "socks5h"} {
			slot := newSlot(t, func(c *fetcher.Config) {
				c.Proxy.HTTPS, c.Timeout = scheme+"://u:p@"+r.addr, time.Second
				c.Resolver = names{"site.test": {netip.MustParseAddr("93.184.215.14")}}
			})
			resp := get(t, slot, "https://site.test/")
			require.NotEmpty(t, resp.Cause)
			require.Zero(t, resp.Status)
		}
	})
}
