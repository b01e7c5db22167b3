// Package webtest is a scripted website for tests of a crawler. A Site has many
// hosts, each an address of its own in 127.1.0.0/16 behind one listener, with a
// tree of pages, robots.txt, and answers that a script may replace by anything: a
// status, Retry-After, a redirect, a slow or endless body, a dropped connection,
// raw bytes. Every request is recorded with its times, so that a crawl is judged
// by what the site saw of it; the questions to ask are in check.go.
//
// It never speaks to anybody but the loopback.
package webtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const hostsPerOctet = 250 // host i is 127.1.(i/250).(i%250+1)

// Config says what a site is like.
type Config struct {
	Hosts int // default 1, at most 64,000
	Pages int // of each host; default 1
	// Latency of every page; robots.txt is answered at once.
	Latency time.Duration
	// Robots is the text of every robots.txt; empty: RobotsDisallow alone.
	Robots string
	// Cross links the root of host h to the roots of hosts 8h+1 to 8h+8.
	Cross bool
	// Links are more links on a page, as they are written in it; nil: none.
	Links func(host, page int) []string
	// Script may replace the answer to a request; nil, or a nil answer: the page.
	// It is called from many goroutines.
	Script func(Visit) *Answer
}

// RobotsDisallow is the rule that every robots.txt of a Config without Robots has.
const RobotsDisallow = "/private/"

// Site is a running website. Its methods are safe for concurrent use.
type Site struct {
	cfg    Config
	port   int
	server *http.Server
	record record
}

// New starts a site that ends with the test.
func New(t testing.TB, cfg Config) *Site {
	t.Helper()
	cfg.Hosts, cfg.Pages = max(cfg.Hosts, 1), max(cfg.Pages, 1)
	if cfg.Robots == "" {
		cfg.Robots = "User-agent: *\nDisallow: " + RobotsDisallow + "\n"
	}
	// All of 127.0.0.0/8 reaches a listener on every address, no other does.
	config := net.ListenConfig{Control: askStamps}
	l, err := config.Listen(t.Context(), "tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatalf("webtest: listen: %v", err)
	}
	s := &Site{cfg: cfg, port: l.Addr().(*net.TCPAddr).Port}
	s.record.init()
	s.server = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ReadHeaderTimeout: time.Minute,
		MaxHeaderBytes:    4 << 20,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.server.Serve(stampedListener{l}) // ends with ErrServerClosed
	}()
	t.Cleanup(func() {
		_ = s.server.Close()
		<-done
	})
	return s
}

// Hosts and Pages are the numbers of hosts, and of pages of each host.
func (s *Site) Hosts() int { return s.cfg.Hosts }

// Pages is the number of pages of each host.
func (s *Site) Pages() int { return s.cfg.Pages }

// Port is where every host listens.
func (s *Site) Port() int { return s.port }

// Host is the address of host i.
func (s *Site) Host(i int) string {
	return fmt.Sprintf("127.1.%d.%d", i/hostsPerOctet, i%hostsPerOctet+1)
}

// URL is the address of a path of host i.
func (s *Site) URL(i int, path string) string {
	return "http://" + s.Host(i) + ":" + strconv.Itoa(s.port) + path
}

// PageURL is the address of a page of host i; page 0 is its root.
func (s *Site) PageURL(i, page int) string { return s.URL(i, PagePath(page)) }

// Roots are the addresses of the roots of the hosts from to, to excluded.
func (s *Site) Roots(from, to int) []string {
	out := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		out = append(out, s.PageURL(i, 0))
	}
	return out
}

// PageURLs are the addresses of all pages of all hosts.
func (s *Site) PageURLs() []string {
	out := make([]string, 0, s.cfg.Hosts*s.cfg.Pages)
	for h := range s.cfg.Hosts {
		for p := range s.cfg.Pages {
			out = append(out, s.PageURL(h, p))
		}
	}
	return out
}

// PagePath is the path of a page.
func PagePath(page int) string {
	if page == 0 {
		return "/"
	}
	return "/p/" + strconv.Itoa(page)
}

// pageOf is the page of a path, -1 when it is none of this site.
func (s *Site) pageOf(path string) int {
	if path == "/" {
		return 0
	}
	rest, ok := strings.CutPrefix(path, "/p/")
	n, err := strconv.Atoi(rest)
	if !ok || err != nil || n < 1 || n >= s.cfg.Pages || PagePath(n) != path {
		return -1
	}
	return n
}

// hostOf is the number of the host that a connection came to, -1 when it is none.
func (s *Site) hostOf(addr net.Addr) int {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return -1
	}
	ip := tcp.IP.To4()
	if ip == nil || ip[0] != 127 || ip[1] != 1 || ip[3] == 0 || int(ip[3]) > hostsPerOctet {
		return -1
	}
	i := int(ip[2])*hostsPerOctet + int(ip[3]) - 1
	if i >= s.cfg.Hosts {
		return -1
	}
	return i
}

// stampedListener gives connections that know when they last received something:
// that is when a request came, its handler may start later.
type stampedListener struct{ net.Listener }

func (l stampedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
			sc := &stampedConn{Conn: c}
			sc.reader.open(c)
			return sc, nil
		}
		_ = c.Close()
	}
}

type connKey struct{}

type stampedConn struct {
	net.Conn
	reader stampedReader
	read   atomic.Pointer[time.Time]
}

func (c *stampedConn) Read(b []byte) (int, error) {
	n, at, err := c.reader.read(c.Conn, b)
	if n > 0 {
		c.read.Store(&at)
	}
	return n, err
}
