package webtest

import (
	"compress/gzip"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Visit is one request as a script sees it.
type Visit struct {
	Site    *Site
	Host    int
	Path    string // with the query
	Page    int    // -1: not a page
	Attempt int    // 1 for the first request of this path at this host
	Header  http.Header
}

// Answer is what a script answers. The zero value is an empty 200.
type Answer struct {
	Status int           // 0 is 200
	Header http.Header   // Content-Type is text/html unless set
	Body   string        //
	Page   bool          // the body is the page itself, Body is ignored
	Gzip   bool          // the body is compressed
	Delay  time.Duration // before the first byte of the answer
	Drip   time.Duration // the body is spread over this time
	Drop   bool          // the connection is closed without an answer
	// Raw takes over the connection, which is closed when it returns. What it
	// writes should end when a write fails. A Raw answer is recorded with Status.
	Raw func(w io.Writer)
}

// RetryAfter is an answer with that header, in whole seconds.
func RetryAfter(status, seconds int) *Answer {
	return &Answer{Status: status, Header: http.Header{"Retry-After": {strconv.Itoa(seconds)}}, Body: "later"}
}

// Redirect is a 302 to a location.
func Redirect(location string) *Answer {
	return &Answer{Status: http.StatusFound, Header: http.Header{"Location": {location}}}
}

// dripSteps is in how many pieces a dripped body leaves.
const dripSteps = 10

func (s *Site) serve(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	conn, _ := r.Context().Value(connKey{}).(*stampedConn)
	host := -1
	if conn != nil {
		if at := conn.read.Load(); at != nil {
			start = *at
		}
		host = s.hostOf(conn.LocalAddr())
	}
	v := Visit{Site: s, Host: host, Path: r.URL.RequestURI(), Page: s.pageOf(r.URL.RequestURI()), Header: r.Header}
	if host < 0 {
		v.Page = -1
	}
	a := s.record.begin(&v, start)
	answer := s.answer(v)
	if answer.Delay > 0 && !pause(r, answer.Delay) {
		s.record.end(a, 0, 0)
		return
	}
	switch {
	case answer.Drop:
		s.record.end(a, 0, 0)
		hijack(w, func(io.Writer) {})
	case answer.Raw != nil:
		s.record.end(a, answer.Status, 0)
		hijack(w, answer.Raw)
	default:
		s.write(w, r, v, answer, a)
	}
}

// answer decides what a request gets.
func (s *Site) answer(v Visit) *Answer {
	if s.cfg.Script != nil {
		if a := s.cfg.Script(v); a != nil {
			return a
		}
	}
	switch {
	case v.Path == "/robots.txt":
		return &Answer{Header: http.Header{"Content-Type": {"text/plain"}}, Body: s.cfg.Robots}
	case v.Page >= 0:
		return &Answer{Page: true, Delay: s.cfg.Latency}
	default:
		return &Answer{Status: http.StatusNotFound, Body: "not found"}
	}
}

// write sends an ordinary answer. A request ends, for the record, just before the
// last of its answer leaves: nobody can know earlier that it has ended.
func (s *Site) write(w http.ResponseWriter, r *http.Request, v Visit, answer *Answer, a *arrival) {
	body := []byte(answer.Body)
	if answer.Page {
		body = s.appendPage(nil, max(v.Host, 0), max(v.Page, 0))
	}
	h := w.Header()
	h["Content-Type"] = []string{"text/html; charset=utf-8"}
	maps.Copy(h, answer.Header)
	if answer.Gzip {
		h.Set("Content-Encoding", "gzip")
		body = compress(body)
	}
	status := answer.Status
	if status == 0 {
		status = http.StatusOK
	}
	hold, _ := strconv.Atoi(h.Get("Retry-After"))
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if answer.Drip > 0 {
		if body = drip(w, r, body, answer.Drip); body == nil {
			s.record.end(a, 0, 0)
			return
		}
	}
	s.record.end(a, status, time.Duration(hold)*time.Second)
	_, _ = w.Write(body)
}

// drip writes a body over the given time but for its last piece, which it
// returns; nil when the client has gone.
func drip(w http.ResponseWriter, r *http.Request, body []byte, over time.Duration) []byte {
	for left := dripSteps; left > 1; left-- {
		n := len(body) / left
		if _, err := w.Write(body[:n]); err != nil || http.NewResponseController(w).Flush() != nil || !pause(r, over/dripSteps) {
			return nil
		}
		body = body[n:]
	}
	return body
}

// pause waits; false when the client has gone or the site is closed.
func pause(r *http.Request, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

func hijack(w http.ResponseWriter, raw func(io.Writer)) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	raw(c)
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}

func compress(body []byte) []byte {
	var out writer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(body)
	_ = z.Close()
	return out
}

type writer []byte

func (w *writer) Write(b []byte) (int, error) {
	*w = append(*w, b...)
	return len(b), nil
}
