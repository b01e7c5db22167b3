package policy_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/policy"
	"orbweaver/core/weburl"
)

func newPolicy(t *testing.T, change func(*policy.Config)) *policy.Policy {
	t.Helper()
	cfg := policy.Default()
	if change != nil {
		change(&cfg)
	}
	p, err := policy.New(cfg)
	require.NoError(t, err)
	return p
}

func request() *crawl.Request {
	return &crawl.Request{ID: crawl.NewID("r"), URL: "http://a.example/x", Depth: 2}
}

func TestDecideKinds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		resp crawl.Response
		want policy.Kind
	}{
		{"200", crawl.Response{Status: 200}, policy.Parse},
		{"204", crawl.Response{Status: 204}, policy.Parse},
		{"299", crawl.Response{Status: 299}, policy.Parse},
		{"199", crawl.Response{Status: 199}, policy.Ignore},
		{"304", crawl.Response{Status: 304}, policy.Ignore},
		{"404", crawl.Response{Status: 404}, policy.Ignore},
		{"999", crawl.Response{Status: 999}, policy.Ignore},
		{"no status at all", crawl.Response{}, policy.Ignore},
		{"status out of range", crawl.Response{Status: 70000}, policy.Ignore},
		{"negative status", crawl.Response{Status: -5}, policy.Ignore},
		{"500", crawl.Response{Status: 500}, policy.Retry},
		{"429", crawl.Response{Status: 429}, policy.Retry},
		{"redirect", crawl.Response{Status: 301, Headers: []crawl.Header{{Name: "location", Value: "/y"}}}, policy.Redirect},
		{"redirect to nowhere", crawl.Response{Status: 301}, policy.Ignore},
		{"redirect out of the web", crawl.Response{Status: 301, Headers: []crawl.Header{{Name: "location", Value: "gopher://x/"}}}, policy.Ignore},
		{"dns", crawl.Response{Cause: crawl.CauseDNS}, policy.Retry},
		{"refused", crawl.Response{Cause: crawl.CauseRefused}, policy.Retry},
		{"proxy", crawl.Response{Cause: crawl.CauseProxy}, policy.Retry},
		{"tls", crawl.Response{Cause: crawl.CauseTLS}, policy.Retry},
		{"timeout", crawl.Response{Cause: crawl.CauseTimeout}, policy.Retry},
		{"reset", crawl.Response{Cause: crawl.CauseReset}, policy.Retry},
		{"malformed", crawl.Response{Cause: crawl.CauseMalformed}, policy.Retry},
		{"panic", crawl.Response{Cause: crawl.CausePanic}, policy.Retry},
		{"robots", crawl.Response{Cause: crawl.CauseRobots}, policy.Retry},
		{"too large", crawl.Response{Cause: crawl.CauseTooLarge}, policy.Dead},
		{"forbidden", crawl.Response{Cause: crawl.CauseForbidden}, policy.Dead},
		{"bad URL", crawl.Response{Cause: crawl.CauseBadURL}, policy.Dead},
		{"encoding", crawl.Response{Cause: crawl.CauseEncoding}, policy.Dead},
		{"unknown cause", crawl.Response{Cause: "tomorrow"}, policy.Dead},
		{"cancelled", crawl.Response{Cause: crawl.CauseCancelled}, policy.Giveback},
		{"too late", crawl.Response{Cause: crawl.CauseTooLate}, policy.Giveback},
	}
	p := newPolicy(t, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := p.Decide(request(), &tt.resp, nil)
			require.Equal(t, tt.want, got.Kind, "%s", got.Kind)
			switch got.Kind {
			case policy.Retry, policy.Dead, policy.Giveback:
				require.NotEmpty(t, got.Cause)
				require.NotEmpty(t, got.Reason)
			}
		})
	}
}

func TestRetriesAreCountedApart(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, func(c *policy.Config) { c.RetryTimes, c.RetryBusyTimes = 2, 3 })
	tests := []struct {
		name    string
		resp    crawl.Response
		retries int
		counted bool
		cause   crawl.Cause
		reason  string
	}{
		{"500", crawl.Response{Status: 500}, 2, true, crawl.CauseStatus, "500 Internal Server Error"},
		{"503", crawl.Response{Status: 503}, 3, false, crawl.CauseStatus, "503 Service Unavailable"},
		{"429", crawl.Response{Status: 429}, 3, false, crawl.CauseStatus, "429 Unknown Status"},
		{"timeout", crawl.Response{Cause: crawl.CauseTimeout}, 2, true, crawl.CauseTimeout, "timeout"},
		{"proxy", crawl.Response{Cause: crawl.CauseProxy}, 3, false, crawl.CauseProxy, "proxy"},
		{"robots answered", crawl.Response{Cause: crawl.CauseRobots, Status: 503}, 3, false, crawl.CauseRobots, "robots"},
		{"robots unanswered", crawl.Response{Cause: crawl.CauseRobots}, 2, true, crawl.CauseRobots, "robots"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request()
			for n := range tt.retries {
				a := p.Decide(req, &tt.resp, nil)
				require.Equal(t, policy.Retry, a.Kind, "try %d", n)
				require.Equal(t, tt.counted, a.Counted)
				require.Equal(t, req.ID, a.Request.ID)
				require.Equal(t, int32(-n-1), a.Request.Priority)
				req = a.Request
			}
			a := p.Decide(req, &tt.resp, nil)
			require.Equal(t, policy.Dead, a.Kind)
			require.Equal(t, tt.cause, a.Cause)
			require.Equal(t, tt.reason, a.Reason)
			require.Nil(t, a.Request)
		})
	}
}

func TestBusyDoesNotUseUpAttempts(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, func(c *policy.Config) { c.RetryTimes, c.RetryBusyTimes = 1, 1 })
	req := request()
	for _, resp := range []crawl.Response{{Status: 503}, {Status: 500}} {
		a := p.Decide(req, &resp, nil)
		require.Equal(t, policy.Retry, a.Kind)
		req = a.Request
	}
	require.Equal(t, int32(1), req.Attempts)
	require.Equal(t, int32(1), req.Busy)
}

func TestDecideDoesNotChangeTheRequest(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, nil)
	req := request()
	req.Method, req.Body = "POST", []byte("a=1")
	req.Headers = []crawl.Header{{Name: "Content-Type", Value: "x"}, {Name: "Cookie", Value: "c"}, {Name: "X", Value: "y"}}
	before := *req
	before.Headers = append([]crawl.Header{}, req.Headers...)
	p.Decide(req, &crawl.Response{Status: 500}, nil)
	a := p.Decide(req, &crawl.Response{Status: 302, Headers: []crawl.Header{{Name: "Location", Value: "http://b.example/"}}}, nil)
	require.Equal(t, before, *req)
	require.Equal(t, []crawl.Header{{Name: "X", Value: "y"}}, a.Request.Headers)
	require.Equal(t, crawl.DeriveID(req.ID, 1<<31), a.Request.ID)
	require.Equal(t, int32(2), a.Request.Depth)
}

func TestRedirectStartsCountingAnew(t *testing.T) {
	t.Parallel()
	req := request()
	req.Attempts, req.Busy, req.Redirects, req.Priority = 3, 4, 5, math.MaxInt32
	req.Fingerprint = crawl.Fingerprint{1}
	a := newPolicy(t, nil).Decide(req, &crawl.Response{Status: 308, Headers: []crawl.Header{{Name: "Location", Value: "y"}}}, nil)
	require.Equal(t, policy.Redirect, a.Kind)
	require.Zero(t, a.Request.Attempts)
	require.Zero(t, a.Request.Busy)
	require.Equal(t, int32(6), a.Request.Redirects)
	require.Equal(t, int32(math.MaxInt32), a.Request.Priority)
	require.Zero(t, a.Request.Fingerprint)
}

func TestRedirectSecrets(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, from, to, want string }{
		{"same origin", "http://a.example/", "/y", "Authorization Cookie"},
		{"same origin, port written", "http://a.example/", "http://a.example:80/", "Authorization Cookie"},
		{"other port", "http://a.example/", "http://a.example:81/", "Cookie"},
		{"to https", "http://a.example/", "https://a.example/", "Cookie"},
		{"to http", "https://a.example/", "http://a.example/", ""},
		{"other host", "http://a.example/", "http://b.example/", ""},
		{"sub-host", "http://a.example/", "http://www.a.example/", ""},
	}
	p := newPolicy(t, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request()
			req.URL = tt.from
			req.Headers = []crawl.Header{{Name: "authorization", Value: "s"}, {Name: "COOKIE", Value: "s"}}
			a := p.Decide(req, &crawl.Response{Status: 307, Headers: []crawl.Header{{Name: "Location", Value: tt.to}}}, nil)
			require.Equal(t, policy.Redirect, a.Kind)
			var kept []string
			for _, h := range a.Request.Headers {
				kept = append(kept, strings.ToUpper(h.Name[:1])+strings.ToLower(h.Name[1:]))
			}
			require.Equal(t, tt.want, strings.Join(kept, " "))
		})
	}
}

func TestSwitches(t *testing.T) {
	t.Parallel()
	redirect := crawl.Response{Status: 302, Headers: []crawl.Header{{Name: "Location", Value: "/y"}}}
	tests := []struct {
		name   string
		change func(*policy.Config)
		meta   string
		resp   crawl.Response
		want   policy.Kind
	}{
		{"RETRY_ENABLED off, status", func(c *policy.Config) { c.RetryEnabled = false }, "", crawl.Response{Status: 503}, policy.Dead},
		{"RETRY_ENABLED off, cause", func(c *policy.Config) { c.RetryEnabled = false }, "", crawl.Response{Cause: crawl.CauseReset}, policy.Dead},
		{"RETRY_TIMES 0", func(c *policy.Config) { c.RetryTimes = 0 }, "", crawl.Response{Status: 500}, policy.Dead},
		{"retries used up, status allowed", func(c *policy.Config) { c.RetryTimes, c.HTTPErrorAllowedCodes = 0, []int{500} }, "", crawl.Response{Status: 500}, policy.Parse},
		{"2xx to be retried", func(c *policy.Config) { c.RetryHTTPCodes = []int{202} }, "", crawl.Response{Status: 202}, policy.Retry},
		{"REDIRECT_ENABLED off", func(c *policy.Config) { c.RedirectEnabled = false }, "", redirect, policy.Ignore},
		{"redirect allowed to the spider", func(c *policy.Config) { c.RedirectEnabled, c.HTTPErrorAllowAll = false, true }, "", redirect, policy.Parse},
		{"REDIRECT_MAX_TIMES 0", func(c *policy.Config) { c.RedirectMaxTimes = 0 }, "", redirect, policy.Dead},
		{"meta dont_redirect", nil, `{"dont_redirect": true}`, redirect, policy.Ignore},
		{"meta dont_retry, status", nil, `{"dont_retry": true}`, crawl.Response{Status: 500}, policy.Ignore},
		{"meta dont_retry, cause", nil, `{"dont_retry": true}`, crawl.Response{Cause: crawl.CauseDNS}, policy.Dead},
		{"meta handle_httpstatus_list", nil, `{"handle_httpstatus_list": [302]}`, redirect, policy.Parse},
		{"meta handle_httpstatus_all", nil, `{"handle_httpstatus_all": true}`, crawl.Response{Status: 404}, policy.Parse},
		{"meta with foreign types", nil, `{"dont_retry": "yes", "handle_httpstatus_list": [404]}`, crawl.Response{Status: 404}, policy.Parse},
		{"meta that is no JSON", nil, `{`, crawl.Response{Status: 404}, policy.Ignore},
		{"meta redirect_ttl used up", nil, `{"redirect_ttl": 0}`, redirect, policy.Dead},
		{"meta redirect_ttl cannot raise the limit", func(c *policy.Config) { c.RedirectMaxTimes = 0 }, `{"redirect_ttl": 9}`, redirect, policy.Dead},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request()
			req.Meta = []byte(tt.meta)
			got := newPolicy(t, tt.change).Decide(req, &tt.resp, nil)
			require.Equal(t, tt.want, got.Kind, "%s", got.Kind)
		})
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	tests := []struct {
		name       string
		attempts   int32
		retryAfter string
		jitter     float64
		want       time.Duration
	}{
		{"first", 0, "", 1, time.Second},
		{"doubles", 1, "", 1, 2 * time.Second},
		{"jitter halves at most", 2, "", 0, 2 * time.Second},
		{"jitter in between", 2, "", 0.5, 3 * time.Second},
		{"capped", 9, "", 1, time.Minute},
		{"capped for good", math.MaxInt32 - 1, "", 1, time.Minute},
		{"Retry-After longer", 0, "7", 1, 7 * time.Second},
		{"Retry-After shorter", 3, "1", 1, 8 * time.Second},
		{"Retry-After capped", 0, "86400", 1, 10 * time.Minute},
		{"Retry-After as a date", 0, "Mon, 30 Nov 2026 10:00:30 GMT", 1, 20 * time.Second},
		{"Retry-After in the past", 0, "Mon, 30 Nov 2026 09:00:00 GMT", 1, time.Second},
		{"Retry-After unreadable", 0, "soon", 1, time.Second},
	}
	p := newPolicy(t, func(c *policy.Config) {
		c.RetryTimes, c.BackoffBase, c.BackoffMax, c.RetryAfterMax = math.MaxInt32, time.Second, time.Minute, 10*time.Minute
	})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request()
			req.Attempts = tt.attempts
			resp := &crawl.Response{Status: 500, SentAt: at, Took: 10 * time.Second}
			if tt.retryAfter != "" {
				resp.Headers = []crawl.Header{{Name: "retry-after", Value: tt.retryAfter}}
			}
			require.Equal(t, tt.want, p.Decide(req, resp, func() float64 { return tt.jitter }).Delay)
		})
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, func(c *policy.Config) { c.URLLengthLimit, c.DepthLimit = 0, 3 })
	parent := request()
	parent.URL = "http://user:pass@a.example/x?y=a@b#f"
	found := crawl.Request{URL: "http://b.example/" + strings.Repeat("x", 5000), Priority: 7}
	require.Equal(t, policy.Followed, p.Follow(parent, policy.NoReferrerWhenDowngrade, 4, &found))
	require.Equal(t, crawl.DeriveID(parent.ID, 4), found.ID)
	require.Equal(t, int32(3), found.Depth)
	require.Equal(t, int32(7), found.Priority)
	require.Equal(t, "http://a.example/x?y=a@b", found.Referer)
	deeper := crawl.Request{URL: "http://b.example/"}
	require.Equal(t, policy.TooDeep, p.Follow(&found, policy.NoReferrerWhenDowngrade, 0, &deeper))
	require.Equal(t, crawl.Request{URL: "http://b.example/"}, deeper)
}

func TestStats(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, func(c *policy.Config) { c.RetryTimes = 1 })
	sent := time.Unix(1, 0)
	last := request()
	last.Attempts = 1
	post := request()
	post.Method = "POST"
	location := []crawl.Header{{Name: "Location", Value: "/y"}}
	tests := []struct {
		name string
		req  *crawl.Request
		resp crawl.Response
		want string
	}{
		{"page", request(), crawl.Response{Status: 200, Wire: 900}, "downloader/request_count=1 downloader/request_method_count/GET=1 downloader/request_bytes=70 " +
			"downloader/response_count=1 downloader/response_status_count/200=1 downloader/response_bytes=900 response_received_count=1"},
		{"ignored", post, crawl.Response{Status: 404}, "downloader/request_count=1 downloader/request_method_count/POST=1 downloader/request_bytes=70 " +
			"downloader/response_count=1 downloader/response_status_count/404=1 downloader/response_bytes=0 response_received_count=1 " +
			"httperror/response_ignored_count=1 httperror/response_ignored_status_count/404=1"},
		{"redirected", request(), crawl.Response{Status: 302, Headers: location}, "downloader/request_count=1 downloader/request_method_count/GET=1 downloader/request_bytes=70 " +
			"downloader/response_count=1 downloader/response_status_count/302=1 downloader/response_bytes=0"},
		{"tried again", request(), crawl.Response{Status: 504}, "downloader/request_count=1 downloader/request_method_count/GET=1 downloader/request_bytes=70 " +
			"downloader/response_count=1 downloader/response_status_count/504=1 downloader/response_bytes=0 retry/count=1 retry/reason_count/504 Gateway Time-out=1"},
		{"given up", last, crawl.Response{Status: 500}, "downloader/request_count=1 downloader/request_method_count/GET=1 downloader/request_bytes=70 " +
			"downloader/response_count=1 downloader/response_status_count/500=1 downloader/response_bytes=0 response_received_count=1 retry/max_reached=1 " +
			"httperror/response_ignored_count=1 httperror/response_ignored_status_count/500=1"},
		{"no answer", request(), crawl.Response{Cause: crawl.CauseTimeout, SentAt: sent}, "downloader/request_count=1 downloader/request_method_count/GET=1 downloader/request_bytes=70 " +
			"downloader/exception_count=1 downloader/exception_type_count/timeout=1 retry/count=1 retry/reason_count/timeout=1"},
		{"never sent", request(), crawl.Response{Cause: crawl.CauseForbidden}, "downloader/exception_count=1 downloader/exception_type_count/forbidden=1"},
		{"given back", request(), crawl.Response{Cause: crawl.CauseTooLate}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, s := range p.AppendStats(nil, tt.req, &tt.resp, 70, p.Decide(tt.req, &tt.resp, nil)) {
				got = append(got, fmt.Sprintf("%s=%d", s.Name, s.N))
			}
			require.Equal(t, tt.want, strings.Join(got, " "))
		})
	}
}

func TestRobotsStats(t *testing.T) {
	t.Parallel()
	require.Equal(t, []policy.Stat{{Name: "robotstxt/request_count", N: 1}, {Name: "robotstxt/response_count", N: 1}, {Name: "robotstxt/response_status_count/404", N: 1}},
		policy.AppendRobotsStats(nil, &crawl.Response{Status: 404}))
	require.Equal(t, []policy.Stat{{Name: "robotstxt/request_count", N: 1}, {Name: "robotstxt/exception_count/dns", N: 1}},
		policy.AppendRobotsStats(nil, &crawl.Response{Cause: crawl.CauseDNS}))
}

func TestThePlainPageCostsNothing(t *testing.T) {
	p := newPolicy(t, nil)
	req, resp := request(), &crawl.Response{Status: 200, Wire: 1}
	stats := make([]policy.Stat, 0, 16)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		stats = p.AppendStats(stats[:0], req, resp, 1, p.Decide(req, resp, nil))
	}))
}

func TestValidate(t *testing.T) {
	t.Parallel()
	require.NoError(t, policy.Default().Validate())
	cfg := policy.Default()
	cfg.RetryTimes, cfg.BackoffBase, cfg.RetryHTTPCodes = -1, time.Hour, []int{500, 1000}
	err := cfg.Validate()
	require.ErrorContains(t, err, "RETRY_TIMES is -1")
	require.ErrorContains(t, err, "RETRY_BACKOFF_BASE is 1h0m0s, more than RETRY_BACKOFF_MAX, 10m0s")
	require.ErrorContains(t, err, "RETRY_HTTP_CODES holds 1000")
	_, err = policy.New(cfg)
	require.ErrorContains(t, err, "RETRY_TIMES")
}

func FuzzRedirect(f *testing.F) {
	f.Add("http://a.example/x#f", "/y", 302)
	f.Add("https://a.example/", "//b.example:1/\\x", 303)
	f.Add("http://a.example/", "http:new", 307)
	cfg := policy.Default()
	p, err := policy.New(cfg)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, from, location string, status int) {
		from, err := weburl.Clean(from)
		if err != nil {
			return
		}
		a := p.Decide(&crawl.Request{URL: from}, &crawl.Response{Status: status, Headers: []crawl.Header{{Name: "Location", Value: location}}}, nil)
		if a.Kind == policy.Redirect {
			u := a.Request.URL
			require.True(t, strings.HasPrefix(u, "http://") || strings.HasPrefix(u, "https://"), "%q", u)
			again, err := weburl.Clean(u)
			require.NoError(t, err)
			require.Equal(t, again, u)
		}
	})
}
