package policy_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/policy"
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
	raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "vectors", "policy.json"))
	require.NoError(t, err)
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
		"URLLENGTH_LIMIT": &cfg.URLLengthLimit,
	}
	for name, raw := range v.Settings {
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
				require.Equal(t, policy.Redirect, got.Kind, got.Reason)
				next := got.Request
				// A browser's URL has a path where Python's may have none.
				require.Equal(t, strings.TrimSuffix(want.Request.URL, "/"), strings.TrimSuffix(next.URL, "/"))
				require.Equal(t, want.Request.Method, next.MethodOrGet())
				require.Equal(t, want.Request.Priority, next.Priority)
				require.Equal(t, want.Request.DontFilter, next.DontFilter)
				body, err := base64.StdEncoding.DecodeString(want.Request.BodyB64)
				require.NoError(t, err)
				require.Equal(t, string(body), string(next.Body))
				wantHeaders := map[string]string{}
				for _, h := range want.Request.Headers {
					wantHeaders[h[0]] = h[1]
				}
				require.Equal(t, wantHeaders, sent(next))
				c := want.Request.counters(t)
				require.Equal(t, c.RedirectTimes, next.Redirects)
				require.Equal(t, c.Depth, next.Depth)
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
		if v.want().Error == "NotConfigured" {
			continue // URLLENGTH_LIMIT 0 turns Scrapy's middleware off; TestFollow has it
		}
		t.Run(v.Kind+"/"+v.ID, func(t *testing.T) {
			t.Parallel()
			p := scrapyPolicy(t, &v)
			parent := v.Request.request(t)
			var kept []vectorRequest
			for i := range v.Found {
				found := v.Found[i].request(t)
				if p.Follow(parent, uint32(i), found) != policy.Followed {
					continue
				}
				require.Equal(t, crawl.DeriveID(parent.ID, uint32(i)), found.ID)
				kept = append(kept, vectorRequest{URL: found.URL, Priority: found.Priority})
				if want := v.want().Kept; v.Kind == "depth_found" {
					require.Equal(t, want[len(kept)-1].counters(t).Depth, found.Depth)
				}
			}
			var want []vectorRequest
			for _, k := range v.want().Kept {
				want = append(want, vectorRequest{URL: k.URL, Priority: k.Priority})
			}
			require.Equal(t, want, kept)
		})
	}
}
