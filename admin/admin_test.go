package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"orbweaver/admin"
)

// backend is a node with fixed answers that notes the seeds it got.
type backend struct {
	mu     sync.Mutex
	seeds  []string                        // guarded by mu
	err    error                           // given by every method, when set
	refuse string                          // payloads that hold it are refused
	block  bool                            // wait for the context
	panics bool                            // panic
	health func(ctx context.Context) error // nil: well
}

func (b *backend) wait(ctx context.Context) error {
	if b.panics {
		panic("out of cheese")
	}
	if b.block {
		<-ctx.Done()
		return ctx.Err()
	}
	return b.err
}

func (b *backend) Actors(ctx context.Context) ([]admin.Actor, error) {
	return []admin.Actor{
		{ID: "node", Kind: "node", State: "running"},
		{ID: "node/domains", Kind: "domains", Parent: "node", State: "running", Mailbox: 3, Restarts: 1},
		{ID: "node/domains/a.example", Kind: "domain", Parent: "node/domains", State: "delay"},
		{ID: "orphan", Kind: "domain", Parent: "gone", State: "running"},
	}, b.wait(ctx)
}

func domains() []admin.Domain {
	soon := admin.Seconds(1500 * time.Millisecond)
	return []admin.Domain{
		{Slot: "c.example", Delay: admin.Seconds(time.Second), Queue: 5, Crawls: []string{"x"}},
		{Slot: "a.example", Delay: admin.Seconds(5 * time.Second), Concurrency: 8, SlotsInUse: 2, NextFetchIn: &soon, Reason: "delay", Queue: 7, LastStatus: 200, Crawls: []string{"x", "y"}},
		{Slot: "b.example", Delay: admin.Seconds(time.Second), Queue: 5, LastError: "timeout", Crawls: []string{"y"}},
	}
}

func (b *backend) Domains(ctx context.Context, q admin.DomainQuery) (admin.DomainPage, error) {
	return admin.Paginate(domains(), q), b.wait(ctx)
}

func (b *backend) Domain(ctx context.Context, slot string) (admin.Domain, error) {
	for _, d := range domains() {
		if d.Slot == slot {
			return d, b.wait(ctx)
		}
	}
	return admin.Domain{}, fmt.Errorf("domain %q: %w", slot, admin.ErrNotFound)
}

func (b *backend) Crawls(ctx context.Context) ([]admin.Crawl, error) {
	return []admin.Crawl{{Name: "x", State: "running", Waiting: 4, Done: 2, Stats: map[string]int64{"item_scraped_count": 2}}}, b.wait(ctx)
}

func (b *backend) Seed(ctx context.Context, crawl string, payloads [][]byte) ([]error, error) {
	if crawl != "x" {
		return nil, fmt.Errorf("crawl %q: %w", crawl, admin.ErrNotFound)
	}
	if err := b.wait(ctx); err != nil {
		return nil, err
	}
	refused := make([]error, len(payloads))
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, p := range payloads {
		if b.refuse != "" && strings.Contains(string(p), b.refuse) {
			refused[i] = errors.New("private address")
			continue
		}
		b.seeds = append(b.seeds, string(p))
	}
	return refused, nil
}

func (b *backend) Nodes(context.Context) ([]admin.Node, error) {
	return []admin.Node{{ID: "n1", Self: true, Address: "10.0.0.1:7080", Admin: "http://10.0.0.1:6080", Version: "1", Weight: 2, Share: 0.5, Age: admin.Seconds(time.Second)}}, nil
}

func newServer(t *testing.T, b *backend, cfg admin.Config) *admin.Server {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	reg := prometheus.NewRegistry()
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "orbweaver_test_total", Help: "Tests."})
	reg.MustRegister(c)
	c.Inc()
	if cfg.Address == "" {
		cfg.Address = "127.0.0.1:0"
	}
	s, err := admin.New(cfg, admin.Deps{Inspector: b, Crawler: b, Cluster: b, Metrics: reg, Log: log, Health: b.health})
	require.NoError(t, err)
	return s
}

// call sends one request to a server over b; change may alter it.
func call(t *testing.T, b *backend, method, target, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:6080"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	newServer(t, b, admin.Config{SeedLimitBytes: 4096, Timeout: 50 * time.Millisecond}).Handler().ServeHTTP(w, r)
	return w
}

func errorCode(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var body struct {
		Error struct{ Code, Message string }
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body), w.Body.String())
	require.NotEmpty(t, body.Error.Message)
	require.Equal(t, "application/json; charset=utf-8", w.Header().Get("Content-Type"))
	return body.Error.Code
}

func TestActors(t *testing.T) {
	t.Parallel()
	w := call(t, &backend{}, "GET", "/api/v1/actors", "", nil)
	require.Equal(t, 200, w.Code)
	require.JSONEq(t, `{"actors": [
		{"id": "node", "kind": "node", "state": "running", "mailbox": 0, "restarts": 0, "children": ["node/domains"]},
		{"id": "node/domains", "kind": "domains", "parent": "node", "state": "running", "mailbox": 3, "restarts": 1, "children": ["node/domains/a.example"]},
		{"id": "node/domains/a.example", "kind": "domain", "parent": "node/domains", "state": "delay", "mailbox": 0, "restarts": 0, "children": []},
		{"id": "orphan", "kind": "domain", "parent": "gone", "state": "running", "mailbox": 0, "restarts": 0, "children": []}
	]}`, w.Body.String())
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
}

func TestDomain(t *testing.T) {
	t.Parallel()
	w := call(t, &backend{}, "GET", "/api/v1/domains/a.example", "", nil)
	require.Equal(t, 200, w.Code)
	require.JSONEq(t, `{"slot": "a.example", "delay_s": 5, "concurrency": 8, "slots_in_use": 2, "next_fetch_in_s": 1.5,
		"reason": "delay", "queue": 7, "last_status": 200, "crawls": ["x", "y"]}`, w.Body.String())
	w = call(t, &backend{}, "GET", "/api/v1/domains/%5B%3A%3A1%5D", "", nil)
	require.Equal(t, 404, w.Code)
	require.Equal(t, "not_found", errorCode(t, w))
	require.Contains(t, w.Body.String(), "[::1]")
}

func TestDomainsAndCrawls(t *testing.T) {
	t.Parallel()
	w := call(t, &backend{}, "GET", "/api/v1/domains?limit=2&sort=-queue", "", nil)
	require.Equal(t, 200, w.Code)
	var page admin.DomainPage
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &page))
	require.Equal(t, 3, page.Total)
	require.Equal(t, []string{"a.example", "c.example"}, slots(page))
	require.Equal(t, "5,c.example", page.Next)
	for _, query := range []string{"limit=0", "limit=x", "limit=1001", "sort=color", "sort=--slot", "sort=queue&after=x", "sort=queue&after=x,y"} {
		w = call(t, &backend{}, "GET", "/api/v1/domains?"+query, "", nil)
		require.Equal(t, 400, w.Code, query)
		require.Equal(t, "query", errorCode(t, w))
	}
	w = call(t, &backend{}, "GET", "/api/v1/crawls", "", nil)
	require.JSONEq(t, `{"crawls": [{"name": "x", "state": "running", "waiting": 4, "delayed": 0, "leased": 0, "done": 2, "dead": 0, "items": 0,
		"stats": {"item_scraped_count": 2}}]}`, w.Body.String())
}

func slots(p admin.DomainPage) []string {
	out := []string{}
	for _, d := range p.Domains {
		out = append(out, d.Slot)
	}
	return out
}

func TestPaginateGoesThroughAll(t *testing.T) {
	t.Parallel()
	for _, sort := range admin.DomainSorts() {
		for _, down := range []bool{false, true} {
			for limit := 1; limit <= 4; limit++ {
				q := admin.DomainQuery{Limit: limit, Sort: sort, Down: down}
				var got []string
				for range 5 {
					page := admin.Paginate(domains(), q)
					got = append(got, slots(page)...)
					if q.After = page.Next; q.After == "" {
						break
					}
				}
				require.ElementsMatch(t, []string{"a.example", "b.example", "c.example"}, got, "%s %v %d", sort, down, limit)
			}
		}
	}
	gone := admin.Paginate(domains(), admin.DomainQuery{Limit: 9, Sort: "slot", After: "a.examplf"})
	require.Equal(t, []string{"b.example", "c.example"}, slots(gone), "the domain that the page ended with is gone")
	require.Equal(t, admin.DomainPage{Domains: []admin.Domain{}}, admin.Paginate(nil, admin.DomainQuery{}))
}

func TestNodes(t *testing.T) {
	t.Parallel()
	w := call(t, &backend{}, "GET", "/api/v1/nodes", "", nil)
	require.Equal(t, 200, w.Code)
	require.JSONEq(t, `{"nodes": [{"id": "n1", "self": true, "address": "10.0.0.1:7080", "admin": "http://10.0.0.1:6080",
		"version": "1", "weight": 2, "share": 0.5, "age_s": 1}]}`, w.Body.String())
}

// A node that is not well is alive: nobody should restart it for it.
func TestLiveness(t *testing.T) {
	t.Parallel()
	sick := &backend{health: func(context.Context) error { return errors.New("redis is gone") }}
	require.Equal(t, 200, call(t, sick, "GET", "/livez", "", nil).Code)
	require.Equal(t, 503, call(t, sick, "GET", "/readyz", "", nil).Code)
	require.Equal(t, 200, call(t, &backend{}, "GET", "/readyz", "", nil).Code)
}

func TestHealthAndMetrics(t *testing.T) {
	t.Parallel()
	w := call(t, &backend{}, "GET", "/healthz", "", nil)
	require.Equal(t, 200, w.Code)
	require.JSONEq(t, `{"status": "ok"}`, w.Body.String())
	w = call(t, &backend{health: func(context.Context) error { return errors.New("redis is gone") }}, "GET", "/healthz", "", nil)
	require.Equal(t, 503, w.Code)
	require.Equal(t, "unhealthy", errorCode(t, w))
	w = call(t, &backend{}, "GET", "/metrics", "", nil)
	require.Equal(t, 200, w.Code)
	require.Contains(t, w.Body.String(), "orbweaver_test_total 1")
}

func TestErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		backend        *backend
		method, target string
		status         int
		code           string
	}{
		{"no such path", &backend{}, "GET", "/api/v2/x", 404, "not_found"},
		{"wrong method", &backend{}, "POST", "/api/v1/actors", 405, "method"},
		{"wrong method for seeds", &backend{}, "GET", "/api/v1/crawls/x/seeds", 405, "method"},
		{"backend fails", &backend{err: errors.New("boom")}, "GET", "/api/v1/actors", 500, "internal"},
		{"store is away", &backend{err: fmt.Errorf("redis: %w", admin.ErrUnavailable)}, "GET", "/api/v1/crawls", 503, "unavailable"},
		{"node is stuck", &backend{block: true}, "GET", "/api/v1/domains", 504, "timeout"},
		{"backend panics", &backend{panics: true}, "GET", "/api/v1/domains/a.example", 500, "internal"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := call(t, tt.backend, tt.method, tt.target, "[]", nil)
			require.Equal(t, tt.status, w.Code, w.Body.String())
			require.Equal(t, tt.code, errorCode(t, w))
		})
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	require.Equal(t, 200, call(t, &backend{}, "HEAD", "/healthz", "", nil).Code)
}

func TestSeeds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, contentType, body string
		status                  int
		want                    string
		seeds                   []string
	}{
		{
			"array", "application/json", `["http://a.example/", {"url": "http://b.example/", "method": "POST", "x": "1"}, "nonsense", 5, "http://private/", {"url": 5}]`, 200,
			`{"accepted": 2, "refused": 4, "rejected": [
				{"position": 2, "seed": "nonsense", "reason": "seeds: read \"nonsense\": url is not absolute: it begins with neither http:// nor https://"},
				{"position": 3, "seed": "5", "reason": "a seed is a string or an object"},
				{"position": 4, "seed": "http://private/", "reason": "private address"},
				{"position": 5, "seed": "{\"url\": 5}", "reason": "seeds: read \"{\\\"url\\\": 5}\": url is not a string"}]}`,
			[]string{"http://a.example/", `{"url": "http://b.example/", "method": "POST", "x": "1"}`},
		},
		{
			"text", "text/plain; charset=utf-8", "# two\nhttp://a.example/\n\n{\"url\": \"http://b.example/\"}\nx\n", 200,
			`{"accepted": 2, "refused": 1, "rejected": [{"position": 5, "seed": "x", "reason": "seeds: read \"x\": url is not absolute: it begins with neither http:// nor https://"}]}`,
			[]string{"http://a.example/", `{"url": "http://b.example/"}`},
		},
		{"none", "application/json", `[]`, 422, `{"error": {"code": "no_seeds", "message": "no seed was accepted"}, "accepted": 0, "refused": 0, "rejected": []}`, nil},
		{"all refused", "text/plain", "http://private/", 422, `{"error": {"code": "no_seeds", "message": "no seed was accepted"}, "accepted": 0, "refused": 1, "rejected": [{"position": 1, "seed": "http://private/", "reason": "private address"}]}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := &backend{refuse: "private"}
			w := call(t, b, "POST", "/api/v1/crawls/x/seeds", tt.body, func(r *http.Request) { r.Header.Set("Content-Type", tt.contentType) })
			require.Equal(t, tt.status, w.Code, w.Body.String())
			require.JSONEq(t, tt.want, w.Body.String())
			require.Equal(t, tt.seeds, b.seeds)
		})
	}
}

func TestSeedsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, target, contentType, body string
		status                          int
		code                            string
	}{
		{"form", "/api/v1/crawls/x/seeds", "application/x-www-form-urlencoded", `["http://a.example/"]`, 415, "content_type"},
		{"no type", "/api/v1/crawls/x/seeds", "", `["http://a.example/"]`, 415, "content_type"},
		{"object", "/api/v1/crawls/x/seeds", "application/json", `{"url": "http://a.example/"}`, 400, "body"},
		{"broken", "/api/v1/crawls/x/seeds", "application/json", `["http://a.example/"`, 400, "body"},
		{"empty", "/api/v1/crawls/x/seeds", "application/json", ``, 400, "body"},
		{"more behind", "/api/v1/crawls/x/seeds", "application/json", `["http://a.example/"] []`, 400, "body"},
		{"too large", "/api/v1/crawls/x/seeds", "application/json", `["` + strings.Repeat("x", 5000) + `"]`, 413, "too_large"},
		{"too large text", "/api/v1/crawls/x/seeds", "text/plain", strings.Repeat("http://a.example/\n", 500), 413, "too_large"},
		{"unknown crawl", "/api/v1/crawls/y/seeds", "application/json", `["http://a.example/"]`, 404, "not_found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := &backend{}
			w := call(t, b, "POST", tt.target, tt.body, func(r *http.Request) { r.Header.Set("Content-Type", tt.contentType) })
			require.Equal(t, tt.status, w.Code, w.Body.String())
			require.Equal(t, tt.code, errorCode(t, w))
			require.Empty(t, b.seeds)
		})
	}
}

func TestTheListOfRejectsIsBounded(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "/api/v1/crawls/x/seeds", strings.NewReader(strings.Repeat("x\n", 5000)))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "text/plain")
	w := httptest.NewRecorder()
	newServer(t, &backend{}, admin.Config{}).Handler().ServeHTTP(w, r)
	var got struct {
		Refused  int
		Rejected []any
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.Equal(t, 5000, got.Refused)
	require.Len(t, got.Rejected, 1000)
}

func TestHosts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		host string
		want int
	}{
		{"localhost", 200},
		{"localhost:6080", 200},
		{"LocalHost.:1", 200},
		{"node.localhost", 200},
		{"127.0.0.1", 200},
		{"127.8.9.10:99", 200},
		{"[::1]:6080", 200},
		{"::1", 200},
		{"[::ffff:127.0.0.1]", 200},
		{"evil.example", 421},
		{"evil.example:6080", 421},
		{"localhost.evil.example", 421},
		{"127.0.0.1.evil.example", 421},
		{"10.0.0.1", 421},
		{"2130706433", 421},
		{"", 421},
	}
	for _, tt := range tests {
		t.Run(tt.host, func(t *testing.T) {
			t.Parallel()
			w := call(t, &backend{}, "GET", "/healthz", "", func(r *http.Request) { r.Host = tt.host })
			require.Equal(t, tt.want, w.Code)
			if tt.want != 200 {
				require.Equal(t, "host", errorCode(t, w))
			}
		})
	}
}

func TestHostsOfTheAddressListenedOn(t *testing.T) {
	t.Parallel()
	h := newServer(t, &backend{}, admin.Config{Address: "Node1.example:6080"}).Handler()
	get := func(host string, local net.Addr) int {
		r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
		r.Host = host
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	local := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: 6080}
	require.Equal(t, 200, get("node1.EXAMPLE:6080", local))
	require.Equal(t, 200, get("10.0.0.5:6080", local))
	require.Equal(t, 421, get("10.0.0.6:6080", local))
	require.Equal(t, 421, get("node2.example", local))
}

func TestCrossOriginWritesAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, header, value string
		want                int
	}{
		{"a program", "X", "y", 200},
		{"own page", "Origin", "http://127.0.0.1:6080", 200},
		{"own page by fetch metadata", "Sec-Fetch-Site", "same-origin", 200},
		{"another page", "Origin", "http://evil.example", 403},
		{"another port", "Origin", "http://127.0.0.1:8000", 403},
		{"a sandboxed page", "Origin", "null", 403},
		{"another site", "Sec-Fetch-Site", "cross-site", 403},
		{"a sister site", "Sec-Fetch-Site", "same-site", 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := &backend{}
			w := call(t, b, "POST", "/api/v1/crawls/x/seeds", `["http://a.example/"]`, func(r *http.Request) { r.Header.Set(tt.header, tt.value) })
			require.Equal(t, tt.want, w.Code)
			if tt.want == 403 {
				require.Equal(t, "cross_origin", errorCode(t, w))
				require.Empty(t, b.seeds)
			}
		})
	}
}

func TestListenAndShutdown(t *testing.T) {
	t.Parallel()
	s := newServer(t, &backend{}, admin.Config{})
	require.Empty(t, s.Addr())
	require.NoError(t, s.Listen(t.Context()))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	get := func(addr string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/healthz", nil)
		require.NoError(t, err)
		return client.Do(req)
	}
	resp, err := get(s.Addr())
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 200, resp.StatusCode)
	taken := newServer(t, &backend{}, admin.Config{Address: s.Addr()})
	require.ErrorContains(t, taken.Listen(t.Context()), "admin: listen: ")
	require.NoError(t, s.Shutdown(t.Context()))
	resp, err = get(s.Addr())
	if err == nil {
		require.NoError(t, resp.Body.Close())
	}
	require.Error(t, err)
	require.NoError(t, s.Shutdown(t.Context()), "a second time")
}

func TestShutdownBreaksOffWhatIsStuck(t *testing.T) {
	t.Parallel()
	s := newServer(t, &backend{block: true}, admin.Config{Timeout: time.Minute})
	require.NoError(t, s.Listen(t.Context()))
	conn, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /api/v1/actors HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	// Whether the request had been read by then or not, the end comes in time.
	if err := s.Shutdown(ctx); err != nil {
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	err := admin.Config{Address: "6080", Timeout: -1, SeedLimitBytes: -1}.Validate()
	require.ErrorContains(t, err, `admin: address "6080"`)
	require.ErrorContains(t, err, "timeout")
	require.ErrorContains(t, err, "seed limit")
	require.Panics(t, func() { _, _ = admin.New(admin.Config{Address: ":0"}, admin.Deps{}) })
}
