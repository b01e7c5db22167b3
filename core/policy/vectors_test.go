package policy_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/policy"
	testvectors "orbweaver/internal/vectors"
)

// vector is one case of policy.json; the file's header has the schema.
type vector struct {
	ID       string
	Kind     string
	Settings map[string]json.RawMessage
	Spider   struct {
		Codes []int `json:"handle_httpstatus_list"`
	}
	Request  vectorRequest
	Response struct {
		Status  int
		Headers [][2]string
		Body    string
	}
	Events []struct {
		Status    int
		Exception string
	}
	Found        []vectorRequest
	Expect       answer
	ExpectNewest *answer `json:"expect_newest"`
}

type vectorRequest struct {
	URL        string
	Method     string
	Body       string
	BodyB64    string `json:"body_b64"`
	Headers    [][2]string
	Priority   int32
	DontFilter bool            `json:"dont_filter"`
	Meta       json.RawMessage `json:"meta"`
}

type answer struct {
	Action     string
	Error      string
	Request    vectorRequest
	ToCallback bool `json:"to_callback"`
	Steps      []struct {
		Action  string
		Request vectorRequest
	}
	Kept []vectorRequest
}

func (v *vector) want() answer {
	if v.ExpectNewest != nil {
		return *v.ExpectNewest
	}
	return v.Expect
}

// counters are the keys of meta that are fields of a crawl.Request here.
type counters struct {
	RedirectTimes int32 `json:"redirect_times"`
	RetryTimes    int32 `json:"retry_times"`
	Depth         int32 `json:"depth"`
}

func (r vectorRequest) counters(t *testing.T) (c counters) {
	t.Helper()
	if len(r.Meta) > 0 {
		require.NoError(t, json.Unmarshal(r.Meta, &c))
	}
	return c
}

func (r vectorRequest) request(t *testing.T) *crawl.Request {
	t.Helper()
	c := r.counters(t)
	req := &crawl.Request{
		ID: crawl.NewID("vector"), URL: r.URL, Method: r.Method, Priority: r.Priority, DontFilter: r.DontFilter,
		Meta: r.Meta, Redirects: c.RedirectTimes, Attempts: c.RetryTimes, Depth: c.Depth,
	}
	if r.Body != "" {
		req.Body = []byte(r.Body)
	}
	for _, h := range r.Headers {
		req.Headers = append(req.Headers, crawl.Header{Name: h[0], Value: h[1]})
	}
	return req
}

func vectors(t *testing.T, kinds string) []vector {
	t.Helper()
	raw := testvectors.Read(t, "policy.json")
	var file struct{ Cases []json.RawMessage }
	require.NoError(t, json.Unmarshal(raw, &file))
	var out []vector
	for _, c := range file.Cases {
		var head struct{ Kind string }
		require.NoError(t, json.Unmarshal(c, &head))
		if !strings.HasPrefix(head.Kind, kinds) {
			continue
		}
		var v vector
		require.NoError(t, json.Unmarshal(c, &v))
		out = append(out, v)
	}
	require.NotEmpty(t, out)
	return out
}

// scrapyPolicy is a policy with Scrapy's defaults and the case's settings. 429
// and 503 have a count of their own here: it is given the same limit.
func scrapyPolicy(t *testing.T, v *vector) *policy.Policy {
	t.Helper()
	cfg := policy.Default()
	cfg.RetryTimes, cfg.BackoffBase = 2, 0
	fields := map[string]any{
		"RETRY_TIMES": &cfg.RetryTimes, "RETRY_HTTP_CODES": &cfg.RetryHTTPCodes, "RETRY_PRIORITY_ADJUST": &cfg.RetryPriorityAdjust,
		"REDIRECT_MAX_TIMES": &cfg.RedirectMaxTimes, "HTTPERROR_ALLOWED_CODES": &cfg.HTTPErrorAllowedCodes,
		"HTTPERROR_ALLOW_ALL": &cfg.HTTPErrorAllowAll, "DEPTH_LIMIT": &cfg.DepthLimit, "DEPTH_PRIORITY": &cfg.DepthPriority,
		"URLLENGTH_LIMIT": &cfg.URLLengthLimit, "METAREFRESH_IGNORE_TAGS": &cfg.MetaRefreshIgnoreTags,
		"METAREFRESH_ENABLED": &cfg.MetaRefreshEnabled, "REDIRECT_ENABLED": &cfg.RedirectEnabled, "RETRY_ENABLED": &cfg.RetryEnabled,
		"REDIRECT_PRIORITY_ADJUST": &cfg.RedirectPriorityAdjust,
	}
	for name, raw := range v.Settings {
		if name == "METAREFRESH_MAXDELAY" {
			var seconds float64
			require.NoError(t, json.Unmarshal(raw, &seconds))
			cfg.MetaRefreshMaxDelay = time.Duration(seconds * float64(time.Second))
			continue
		}
		require.Contains(t, fields, name)
		require.NoError(t, json.Unmarshal(raw, fields[name]))
	}
	cfg.RetryBusyTimes = cfg.RetryTimes
	cfg.HTTPErrorAllowedCodes = append(cfg.HTTPErrorAllowedCodes, v.Spider.Codes...)
	p, err := policy.New(cfg)
	require.NoError(t, err)
	return p
}

func headers(in [][2]string) []crawl.Header {
	var out []crawl.Header
	for _, h := range in {
		out = append(out, crawl.Header{Name: h[0], Value: h[1]})
	}
	return out
}

// sent is the header map of a request as the vectors write it, Referer included.
func sent(req *crawl.Request) map[string]string {
	out := map[string]string{}
	for _, h := range req.Headers {
		out[strings.ToLower(h.Name)] = h.Value
	}
	if req.Referer != "" {
		out["referer"] = req.Referer
	}
	return out
}

// requireRequest wants a redirect to a request.
func requireRequest(t *testing.T, want *vectorRequest, got policy.Action) {
	t.Helper()
	require.Equal(t, policy.Redirect, got.Kind, got.Reason)
	next := got.Request
	// A browser's URL has a path where Python's may have none.
	require.Equal(t, strings.TrimSuffix(want.URL, "/"), strings.TrimSuffix(next.URL, "/"))
	require.Equal(t, want.Method, next.MethodOrGet())
	require.Equal(t, want.Priority, next.Priority)
	require.Equal(t, want.DontFilter, next.DontFilter)
	body, err := base64.StdEncoding.DecodeString(want.BodyB64)
	require.NoError(t, err)
	require.Equal(t, string(body), string(next.Body))
	wantHeaders := map[string]string{}
	for _, h := range want.Headers {
		wantHeaders[h[0]] = h[1]
	}
	require.Equal(t, wantHeaders, sent(next))
	c := want.counters(t)
	require.Equal(t, c.RedirectTimes, next.Redirects)
	require.Equal(t, c.Depth, next.Depth)
}

func TestRedirectVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t, "redirect_") {
		t.Run(v.Kind+"/"+v.ID, func(t *testing.T) {
			t.Parallel()
			want := v.want()
			req := v.Request.request(t)
			got := scrapyPolicy(t, &v).Decide(req, &crawl.Response{Status: v.Response.Status, Headers: headers(v.Response.Headers)}, nil)
			switch want.Action {
			case "request":
				requireRequest(t, &want.Request, got)
			case "response", "error":
				// A target that cannot be followed leaves the response, which
				// spiders do not get. Scrapy raises for some of them.
				require.Equal(t, policy.Ignore, got.Kind)
			case "drop":
				require.Equal(t, policy.Dead, got.Kind)
				require.Equal(t, crawl.CauseRedirects, got.Cause)
			default:
				t.Fatalf("unknown action %q", want.Action)
			}
		})
	}
}

func TestMetaRefreshVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t, "metarefresh_") {
		t.Run(v.Kind+"/"+v.ID, func(t *testing.T) {
			t.Parallel()
			want := v.want()
			req := v.Request.request(t)
			p := scrapyPolicy(t, &v)
			resp := &crawl.Response{Status: v.Response.Status, Headers: headers(v.Response.Headers)}
			require.Contains(t, []policy.Kind{policy.Parse, policy.Ignore}, p.Decide(req, resp, nil).Kind)
			got, ok := p.Refresh(req, resp, []byte(v.Response.Body))
			switch want.Action {
			case "request":
				require.True(t, ok)
				requireRequest(t, &want.Request, got)
			case "response":
				require.False(t, ok)
			case "drop":
				require.Equal(t, crawl.CauseRedirects, got.Cause)
			default:
				t.Fatalf("unknown action %q", want.Action)
			}
		})
	}
}

// causes are ours for Twisted's exceptions.
func cause(t *testing.T, exception string) crawl.Cause {
	t.Helper()
	names := map[string]crawl.Cause{
		"TimeoutError(reactor)": crawl.CauseTimeout, "DNSLookupError": crawl.CauseDNS, "ConnectionDone": crawl.CauseReset,
		"ConnectError": crawl.CauseRefused, "ConnectionLost": crawl.CauseReset, "SSLError": crawl.CauseTLS,
		"EOFError": crawl.CauseEncoding, // how damaged compressed data ends in Python
	}
	require.Contains(t, names, exception)
	return names[exception]
}

func TestRetryVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t, "retry_") {
		t.Run(v.Kind+"/"+v.ID, func(t *testing.T) {
			t.Parallel()
			want := v.want()
			p := scrapyPolicy(t, &v)
			req := v.Request.request(t)
			for i, step := range want.Steps {
				resp := &crawl.Response{Status: v.Events[i].Status}
				if v.Events[i].Exception != "" {
					resp.Cause = cause(t, v.Events[i].Exception)
				}
				got := p.Decide(req, resp, nil)
				switch step.Action {
				case "request":
					require.Equal(t, policy.Retry, got.Kind)
					require.Equal(t, step.Request.Priority, got.Request.Priority)
					require.Equal(t, step.Request.counters(t).RetryTimes, got.Request.Attempts+got.Request.Busy)
					require.Equal(t, step.Request.URL, got.Request.URL)
					req = got.Request
				case "response":
					// The response is passed on; the last of a row of retries is
					// kept as a dead letter instead.
					require.Contains(t, []policy.Kind{policy.Parse, policy.Ignore, policy.Dead}, got.Kind)
				case "give_up_or_not_retried":
					require.Equal(t, policy.Dead, got.Kind)
				default:
					t.Fatalf("unknown action %q", step.Action)
				}
			}
		})
	}
}

func TestHTTPErrorVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t, "httperror_") {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			// Scrapy's HttpError middleware alone: 500 is not tried again.
			v.Settings["RETRY_HTTP_CODES"] = json.RawMessage(`[]`)
			got := scrapyPolicy(t, &v).Decide(v.Request.request(t), &crawl.Response{Status: v.Response.Status}, nil)
			require.Equal(t, v.want().ToCallback, got.Kind == policy.Parse)
		})
	}
}

func TestFollowVectors(t *testing.T) {
	t.Parallel()
	for _, v := range append(vectors(t, "depth_"), vectors(t, "urllength_")...) {
		t.Run(v.Kind+"/"+v.ID, func(t *testing.T) {
			t.Parallel()
			p := scrapyPolicy(t, &v)
			parent := v.Request.request(t)
			var kept []vectorRequest
			for i := range v.Found {
				found := v.Found[i].request(t)
				if p.Follow(parent, policy.NoReferrerWhenDowngrade, uint32(i), found) != policy.Followed {
					continue
				}
				require.Equal(t, crawl.DeriveID(parent.ID, uint32(i)), found.ID)
				kept = append(kept, vectorRequest{URL: found.URL, Priority: found.Priority})
				if want := v.want().Kept; v.Kind == "depth_found" {
					require.Equal(t, want[len(kept)-1].counters(t).Depth, found.Depth)
				}
			}
			var want []vectorRequest
			unlimited := v.want().Kept
			if v.want().Error == "NotConfigured" { // limit 0: Scrapy's middleware is off
				unlimited = v.Found
			}
			for _, k := range unlimited {
				want = append(want, vectorRequest{URL: k.URL, Priority: k.Priority})
			}
			require.Equal(t, want, kept)
		})
	}
}
