package resolver_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"orbweaver/resolver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a name server that answers from a zone in zone-file syntax.
type server struct {
	addr netip.AddrPort

	mu     sync.Mutex
	zone   map[string][]string                 // name -> records; guarded by mu
	asked  map[string]int                      // "name TYPE" -> queries; guarded by mu
	answer func(q *dns.Msg, tcp bool) *dns.Msg // in place of the zone, unless nil; guarded by mu
	hold   chan struct{}                       // unless nil, answers wait for it; guarded by mu
}

func newServer(t *testing.T, zone map[string][]string) *server {
	t.Helper()
	s := &server{zone: zone, asked: map[string]int{}}
	pc, l := bothPorts(t)
	s.addr = netip.MustParseAddrPort(pc.LocalAddr().String())
	var wg sync.WaitGroup
	for _, srv := range []*dns.Server{{PacketConn: pc}, {Listener: l}} {
		started := make(chan struct{})
		srv.NotifyStartedFunc = func() { close(started) }
		srv.Handler = dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
			if reply := s.reply(q, srv.Listener != nil); reply != nil {
				_ = w.WriteMsg(reply)
			}
		})
		wg.Go(func() { _ = srv.ActivateAndServe() })
		<-started
		t.Cleanup(func() { _ = srv.Shutdown() })
	}
	return s
}

// bothPorts listens by UDP and TCP on one port.
func bothPorts(t *testing.T) (net.PacketConn, net.Listener) {
	t.Helper()
	for range 50 { // the port may be taken in TCP
		pc, err := net.ListenPacket("udp4", "127.0.0.1:0")
		require.NoError(t, err)
		l, err := net.Listen("tcp4", pc.LocalAddr().String())
		if err == nil {
			return pc, l
		}
		require.NoError(t, pc.Close())
	}
	require.Fail(t, "no port that is free in UDP and TCP")
	return nil, nil
}

func (s *server) reply(q *dns.Msg, tcp bool) *dns.Msg {
	name, qtype := q.Question[0].Name, q.Question[0].Qtype
	s.mu.Lock()
	s.asked[name+" "+dns.TypeToString[qtype]]++
	hold, answer := s.hold, s.answer
	records, ok := s.zone[name]
	s.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if answer != nil {
		return answer(q, tcp)
	}
	reply := new(dns.Msg)
	reply.SetReply(q)
	if !ok {
		reply.Rcode = dns.RcodeNameError
	}
	for _, text := range records {
		rr, err := dns.NewRR(text)
		if err != nil {
			panic(err)
		}
		switch {
		case rr.Header().Rrtype == dns.TypeSOA:
			reply.Ns = append(reply.Ns, rr)
		case rr.Header().Rrtype == qtype || rr.Header().Rrtype == dns.TypeCNAME:
			reply.Answer = append(reply.Answer, rr)
		}
	}
	if !ok {
		if soa := s.zone["."]; len(soa) > 0 {
			rr, err := dns.NewRR(soa[0])
			if err != nil {
				panic(err)
			}
			reply.Ns = append(reply.Ns, rr)
		}
	}
	if !tcp {
		reply.Truncate(1232)
	}
	return reply
}

// behave sets what the server answers in place of its zone, and what it waits for.
func (s *server) behave(answer func(q *dns.Msg, tcp bool) *dns.Msg, hold chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer, s.hold = answer, hold
}

func (s *server) count(question string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[question]
}

// clock is a time that a test moves.
type clock struct{ ns atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(0, c.ns.Load()+1e18) }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }
func addrs(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, s := range texts {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

func newResolver(t *testing.T, s *server, opts ...func(*resolver.Config)) (*resolver.Resolver, *clock) {
	t.Helper()
	c := new(clock)
	cfg := resolver.Config{Hosts: "/nonexistent", ResolvConf: "/nonexistent", Timeout: 10 * time.Second, Now: c.now}
	if s != nil {
		cfg.Servers = []netip.AddrPort{s.addr}
	}
	for _, o := range opts {
		o(&cfg)
	}
	r, err := resolver.New(cfg)
	require.NoError(t, err)
	return r, c
}

const soa = ". 60 IN SOA a. b. 1 2 3 4 20"

func TestAnswers(t *testing.T) {
	t.Parallel()
	zone := map[string][]string{
		".":              {soa},
		"four.test.":     {"four.test. 60 IN A 192.0.2.1", "four.test. 60 IN A 192.0.2.2"},
		"six.test.":      {"six.test. 60 IN AAAA 2001:db8::1"},
		"both.test.":     {"both.test. 60 IN AAAA 2001:db8::1", "both.test. 60 IN A 192.0.2.1"},
		"alias.test.":    {"alias.test. 60 IN CNAME Mid.test.", "mid.test. 60 IN CNAME end.test.", "end.test. 60 IN A 192.0.2.3"},
		"unsorted.test.": {"end.test. 60 IN A 192.0.2.3", "mid.test. 60 IN CNAME end.test.", "unsorted.test. 60 IN CNAME mid.test."},
		"loop.test.":     {"loop.test. 60 IN CNAME loop2.test.", "loop2.test. 60 IN CNAME loop.test."},
		"foreign.test.":  {"other.test. 60 IN A 192.0.2.9"},
		"nothing.test.":  {soa},
		"mapped.test.":   {"mapped.test. 60 IN AAAA ::ffff:192.0.2.1"},
		"_under.test.":   {"_under.test. 60 IN A 192.0.2.1"},
	}
	for i := range 100 {
		zone["many.test."] = append(zone["many.test."], fmt.Sprintf("many.test. 60 IN A 192.0.2.%d", i))
	}
	s := newServer(t, zone)
	tests := []struct {
		host string
		want []netip.Addr // none: not found
		n    int          // how many, where they are not named
	}{
		{host: "four.test", want: addrs("192.0.2.1", "192.0.2.2")},
		{host: "FOUR.Test.", want: addrs("192.0.2.1", "192.0.2.2")},
		{host: "six.test", want: addrs("2001:db8::1")},
		{host: "both.test", want: addrs("192.0.2.1", "2001:db8::1")},
		{host: "alias.test", want: addrs("192.0.2.3")},
		{host: "unsorted.test", want: addrs("192.0.2.3")},
		{host: "mapped.test", want: addrs("192.0.2.1")},
		{host: "_under.test", want: addrs("192.0.2.1")},
		{host: "many.test", n: 32},
		{host: "localhost", want: addrs("127.0.0.1", "::1")},
		{host: "a.LOCALHOST.", want: addrs("127.0.0.1", "::1")},
		{host: "loop.test"},
		{host: "foreign.test"},
		{host: "nothing.test"},
		{host: "nowhere.test"},
		{host: ""},
		{host: "."},
		{host: "a..b"},
		{host: "127.1"},
		{host: "0x7f.0x1"},
		{host: "2130706433"},
		{host: "a b"},
		{host: "a\x00b"},
		{host: string(make([]byte, 300))},
	}
	for _, tt := range tests {
		t.Run(tt.host, func(t *testing.T) {
			t.Parallel()
			r, _ := newResolver(t, s)
			got, err := r.LookupNetIP(context.Background(), "ip", tt.host)
			if tt.n > 0 {
				require.Len(t, got, tt.n)
				return
			}
			require.Equal(t, tt.want, got)
			if tt.want == nil {
				var dnsErr *net.DNSError
				require.ErrorAs(t, err, &dnsErr)
				require.True(t, dnsErr.IsNotFound)
			}
		})
	}
}

func TestTTL(t *testing.T) {
	t.Parallel()
	s := newServer(t, map[string][]string{
		".":           {soa},
		"short.test.": {"short.test. 10 IN CNAME end.test.", "end.test. 300 IN A 192.0.2.1"},
		"long.test.":  {"long.test. 4000000 IN A 192.0.2.1"},
		"zero.test.":  {"zero.test. 0 IN A 192.0.2.1"},
		"bad.test.":   {"bad.test. 4294967295 IN A 192.0.2.1"},
	})
	tests := []struct {
		host  string
		fresh time.Duration // still known then; negative: never
		stale time.Duration // asked again then
	}{
		{"short.test", 9 * time.Second, 10 * time.Second},
		{"long.test", 59 * time.Minute, time.Hour},
		{"zero.test", -1, 0},
		{"bad.test", -1, 0},
		{"nowhere.test", 19 * time.Second, 20 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.host, func(t *testing.T) {
			t.Parallel()
			r, c := newResolver(t, s)
			look := func(want int) {
				t.Helper()
				_, _ = r.LookupNetIP(context.Background(), "ip", tt.host)
				require.Equal(t, want, s.count(tt.host+". A"))
			}
			look(1)
			if tt.fresh >= 0 {
				c.advance(tt.fresh)
				look(1)
			}
			c.advance(tt.stale - max(0, tt.fresh))
			look(2)
		})
	}
}

func TestFailuresAreForgottenSoon(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	s.behave(func(q *dns.Msg, _ bool) *dns.Msg { return new(dns.Msg).SetRcode(q, dns.RcodeServerFailure) }, nil)
	r, c := newResolver(t, s)
	look := func() {
		t.Helper()
		_, err := r.LookupNetIP(context.Background(), "ip", "a.test")
		require.ErrorContains(t, err, "SERVFAIL")
		require.NotContains(t, err.Error(), "127.0.0.1")
	}
	look()
	first := s.count("a.test. A")
	look()
	require.Equal(t, first, s.count("a.test. A"))
	c.advance(time.Second)
	look()
	require.Greater(t, s.count("a.test. A"), first)
}

func TestBounded(t *testing.T) {
	t.Parallel()
	zone := map[string][]string{}
	for i := range 5 {
		zone[fmt.Sprintf("n%d.test.", i)] = []string{fmt.Sprintf("n%d.test. 60 IN A 192.0.2.%d", i, i)}
	}
	s := newServer(t, zone)
	r, _ := newResolver(t, s, func(c *resolver.Config) { c.Size = 3 })
	for _, i := range []int{0, 1, 2, 0, 3, 0, 1} { // 3 puts 1 out, the one used longest ago
		_, err := r.LookupNetIP(context.Background(), "ip", fmt.Sprintf("n%d.test", i))
		require.NoError(t, err)
	}
	require.Equal(t, 1, s.count("n0.test. A"))
	require.Equal(t, 2, s.count("n1.test. A"))
	off, _ := newResolver(t, s, func(c *resolver.Config) { c.Size = -1 })
	for range 2 {
		_, err := off.LookupNetIP(context.Background(), "ip", "n4.test")
		require.NoError(t, err)
	}
	require.Equal(t, 2, s.count("n4.test. A"))
}

// TestOneLookUp: many callers, some of whom leave, are served by one look-up.
func TestOneLookUp(t *testing.T) {
	t.Parallel()
	s := newServer(t, map[string][]string{"a.test.": {"a.test. 60 IN A 192.0.2.1"}})
	hold := make(chan struct{})
	s.behave(nil, hold)
	r, _ := newResolver(t, s)
	leaving, leave := context.WithCancel(context.Background())
	var gone, served sync.WaitGroup
	for range 20 {
		gone.Go(func() {
			_, err := r.LookupNetIP(leaving, "ip", "a.test")
			if err != context.Canceled { //nolint:errorlint // as it is
				t.Error(err)
			}
		})
		served.Go(func() {
			got, err := r.LookupNetIP(context.Background(), "ip", "a.test")
			if err != nil || len(got) != 1 {
				t.Error(got, err)
			}
		})
	}
	require.Eventually(t, func() bool { return s.count("a.test. A") > 0 }, 10*time.Second, time.Millisecond)
	leave()
	gone.Wait()
	close(hold)
	served.Wait()
	require.Equal(t, 1, s.count("a.test. A"))
	require.LessOrEqual(t, s.count("a.test. AAAA"), 1)
}

// TestAllLeave: a look-up that nobody waits for ends, and the next caller begins
// one of its own.
func TestAllLeave(t *testing.T) {
	t.Parallel()
	s := newServer(t, map[string][]string{"a.test.": {"a.test. 60 IN A 192.0.2.1"}})
	hold := make(chan struct{})
	s.behave(nil, hold)
	r, _ := newResolver(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := r.LookupNetIP(ctx, "ip", "a.test")
		done <- err
	}()
	require.Eventually(t, func() bool { return s.count("a.test. A") > 0 }, 10*time.Second, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	close(hold)
	got, err := r.LookupNetIP(context.Background(), "ip", "a.test")
	require.NoError(t, err)
	require.Equal(t, addrs("192.0.2.1"), got)
}

func TestHostileServers(t *testing.T) {
	t.Parallel()
	good := func(q *dns.Msg) *dns.Msg {
		reply := new(dns.Msg)
		reply.SetReply(q)
		if q.Question[0].Qtype == dns.TypeA {
			rr, _ := dns.NewRR(q.Question[0].Name + " 60 IN A 192.0.2.1")
			reply.Answer = append(reply.Answer, rr)
		}
		return reply
	}
	tests := []struct {
		name   string
		answer func(q *dns.Msg, tcp bool) *dns.Msg
		ok     bool
	}{
		{"too long for UDP", func(q *dns.Msg, tcp bool) *dns.Msg {
			reply := good(q)
			if !tcp {
				reply.Truncated, reply.Answer = true, nil
			}
			return reply
		}, true},
		{"no EDNS", func(q *dns.Msg, _ bool) *dns.Msg {
			if q.IsEdns0() != nil {
				return new(dns.Msg).SetRcodeFormatError(q)
			}
			return good(q)
		}, true},
		{"silent about IPv6", func(q *dns.Msg, _ bool) *dns.Msg {
			if q.Question[0].Qtype == dns.TypeAAAA {
				return nil
			}
			return good(q)
		}, true},
		{"another question", func(q *dns.Msg, _ bool) *dns.Msg {
			reply := good(q)
			reply.Question[0].Name = "evil.test."
			return reply
		}, false},
		{"a question back", func(q *dns.Msg, _ bool) *dns.Msg {
			reply := good(q)
			reply.Response = false
			return reply
		}, false},
		{"refused", func(q *dns.Msg, _ bool) *dns.Msg { return new(dns.Msg).SetRcode(q, dns.RcodeRefused) }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, nil)
			s.behave(tt.answer, nil)
			r, _ := newResolver(t, s)
			got, err := r.LookupNetIP(context.Background(), "ip", "a.test")
			if tt.ok {
				require.NoError(t, err)
				require.Equal(t, addrs("192.0.2.1"), got)
				return
			}
			var dnsErr *net.DNSError
			require.ErrorAs(t, err, &dnsErr)
			require.False(t, dnsErr.IsNotFound)
		})
	}
}

func TestSecondServer(t *testing.T) {
	t.Parallel()
	bad := newServer(t, nil)
	bad.behave(func(q *dns.Msg, _ bool) *dns.Msg { return new(dns.Msg).SetRcode(q, dns.RcodeServerFailure) }, nil)
	s := newServer(t, map[string][]string{"a.test.": {"a.test. 60 IN A 192.0.2.1"}})
	r, _ := newResolver(t, s, func(c *resolver.Config) { c.Servers = []netip.AddrPort{bad.addr, s.addr} })
	got, err := r.LookupNetIP(context.Background(), "ip", "a.test")
	require.NoError(t, err)
	require.Equal(t, addrs("192.0.2.1"), got)
}

func TestHostsFile(t *testing.T) {
	t.Parallel()
	s := newServer(t, map[string][]string{"site.test.": {"site.test. 60 IN A 192.0.2.1"}})
	path := filepath.Join(t.TempDir(), "hosts")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write("# a comment\n10.0.0.1 Site.test alias # more\n::1 site.test\nnonsense\n10.0.0.2\n")
	r, c := newResolver(t, s, func(c *resolver.Config) { c.Hosts = path })
	look := func(host string) []netip.Addr {
		t.Helper()
		got, err := r.LookupNetIP(context.Background(), "ip", host)
		require.NoError(t, err)
		return got
	}
	require.Equal(t, addrs("10.0.0.1", "::1"), look("site.test"))
	require.Equal(t, addrs("10.0.0.1"), look("ALIAS."))
	require.Zero(t, s.count("site.test. A"))
	write("10.0.0.77 other.test\n")
	c.advance(5 * time.Second)
	require.Equal(t, addrs("192.0.2.1"), look("site.test"))
	require.Equal(t, addrs("10.0.0.77"), look("other.test"))
	require.NoError(t, os.Remove(path))
	c.advance(5 * time.Second)
	require.Equal(t, addrs("192.0.2.1"), look("site.test"))
}

// system is a resolver that knows one name.
type system struct{ asked atomic.Int32 }

func (s *system) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	s.asked.Add(1)
	if host == "site.test" {
		return addrs("::1", "10.0.0.1"), nil
	}
	return nil, &net.DNSError{Err: "no such host", IsNotFound: host == "nowhere.test"}
}

func TestWithoutNameServers(t *testing.T) {
	t.Parallel()
	sys := new(system)
	r, c := newResolver(t, nil, func(c *resolver.Config) { c.System, c.TTL = sys, 7*time.Second })
	for range 2 {
		got, err := r.LookupNetIP(context.Background(), "ip", "site.test")
		require.NoError(t, err)
		require.Equal(t, addrs("10.0.0.1", "::1"), got)
	}
	require.EqualValues(t, 1, sys.asked.Load())
	c.advance(7 * time.Second)
	_, err := r.LookupNetIP(context.Background(), "ip", "site.test")
	require.NoError(t, err)
	require.EqualValues(t, 2, sys.asked.Load())
	for range 2 {
		_, err = r.LookupNetIP(context.Background(), "ip", "nowhere.test")
		require.Error(t, err)
	}
	require.EqualValues(t, 3, sys.asked.Load())
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	_, err := resolver.New(resolver.Config{Timeout: -1, MaxTTL: -1, Servers: []netip.AddrPort{{}}})
	for _, want := range []string{"timeout", "max TTL", "server"} {
		require.ErrorContains(t, err, want)
	}
}
