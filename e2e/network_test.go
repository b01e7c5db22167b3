package e2e

import (
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"orbweaver/internal/webtest"
)

// nameServer starts a name server for the node and gives the setting that names it.
// address says the address of a name, "" that there is none; n counts the questions
// for that name, from 1. No answer may be kept.
func nameServer(t *testing.T, address func(name string, n int) string) []string {
	t.Helper()
	pc, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	var mu sync.Mutex
	asked := map[string]int{}
	srv := &dns.Server{PacketConn: pc, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		reply := new(dns.Msg)
		reply.SetReply(q)
		name := strings.ToLower(strings.TrimSuffix(q.Question[0].Name, "."))
		if q.Question[0].Qtype == dns.TypeA {
			mu.Lock()
			asked[name]++
			a := address(name, asked[name])
			mu.Unlock()
			if ip := net.ParseIP(a); ip != nil {
				reply.Answer = append(reply.Answer, &dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: ip})
			}
		}
		_ = w.WriteMsg(reply)
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.ActivateAndServe() // ends when its socket is closed
	}()
	t.Cleanup(func() {
		_ = pc.Close()
		<-done
	})
	return []string{"-s", "DNS_SERVERS=" + pc.LocalAddr().String()}
}

// names is a name server that knows these.
func names(t *testing.T, known map[string]string) []string {
	t.Helper()
	return nameServer(t, func(name string, _ int) string { return known[name] })
}

// visitors is what a site of the test was sent.
type visitors struct {
	mu   sync.Mutex
	came []caller // guarded by mu
}

// caller is one request.
type caller struct {
	at     string // which site
	path   string
	header http.Header
}

func (v *visitors) add(at, path string, h http.Header) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.came = append(v.came, caller{at, path, h.Clone()})
}

// to are the requests of one path at one site; at least one.
func (v *visitors) to(t *testing.T, at, path string) []caller {
	t.Helper()
	all := v.all()
	found := slices.DeleteFunc(slices.Clone(all), func(c caller) bool { return c.at != at || c.path != path })
	require.NotEmpty(t, found, "%s was not sent %s: %v", at, path, all)
	return found
}

// ready lets the handlers, which all begin with add, see what the test has written
// up to here.
func (v *visitors) ready() {
	v.mu.Lock()
	defer v.mu.Unlock()
}

func (v *visitors) all() []caller {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.came)
}

// scripted is a webtest site that notes what comes to each of its hosts as at + its
// number, and answers by script. It has no robots.txt.
func (v *visitors) scripted(t *testing.T, at string, hosts int, script func(host int, path string) *webtest.Answer) *webtest.Site {
	t.Helper()
	return webtest.New(t, webtest.Config{Hosts: hosts, Script: func(visit webtest.Visit) *webtest.Answer {
		v.add(at+strconv.Itoa(visit.Host), visit.Path, visit.Header)
		if a := script(visit.Host, visit.Path); a != nil {
			return a
		}
		return &webtest.Answer{Status: http.StatusNotFound, Body: "nothing"}
	}})
}

// secure is a site of https at an address of the loopback, noted as at, with a
// certificate that nobody knows. It gives its port.
func (v *visitors) secure(t *testing.T, at, address string, handle http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp4", address+":0") //nolint:noctx // nothing to wait for
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.add(at, r.URL.RequestURI(), r.Header)
		handle(w, r)
	}))
	_ = s.Listener.Close()
	s.Listener = l
	s.StartTLS()
	t.Cleanup(s.Close)
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port) //nolint:forcetypeassert // tcp4
}

// proxy is an http proxy, noted as at, that sends everything to 127.1.0.1 at the port
// that is asked for. It gives its address.
func (v *visitors) proxy(t *testing.T, at string) string {
	t.Helper()
	dialer := net.Dialer{}
	transport := &http.Transport{DisableKeepAlives: true}
	toSite := func(r *http.Request) (net.Conn, error) {
		return dialer.DialContext(r.Context(), "tcp4", net.JoinHostPort("127.1.0.1", port(r.Host)))
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.add(at, r.Method+" "+r.RequestURI, r.Header)
		if r.Method != http.MethodConnect {
			out := r.Clone(r.Context())
			out.RequestURI, out.URL.Host = "", net.JoinHostPort("127.1.0.1", port(r.Host))
			out.Header.Del("Proxy-Authorization") // as a proxy must
			resp, err := transport.RoundTrip(out)
			if err != nil {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			defer resp.Body.Close()
			maps.Copy(w.Header(), resp.Header)
			w.WriteHeader(resp.StatusCode)
			_, _ = io.Copy(w, resp.Body)
			return
		}
		site, err := toSite(r)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer site.Close()
		conn, sent, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(site, sent); _ = site.Close() }() // the server may have read ahead
		_, _ = io.Copy(conn, site)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func port(host string) string {
	if _, p, err := net.SplitHostPort(host); err == nil {
		return p
	}
	return "80"
}

// peakMemory is VmHWM of a process that runs, in bytes.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(status), "VmHWM:")
	require.True(t, found)
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	require.NoError(t, err)
	return kib << 10
}
