package fetcher

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/throttle"
)

func TestRateLimitFields(t *testing.T) {
	long := strings.Repeat("x", 600)
	for _, tc := range []struct {
		name    string
		headers []crawl.Header
		want    *throttle.RateLimitFields
	}{
		{"none", []crawl.Header{{Name: "Server", Value: "a"}, {Name: "X-Request-Id", Value: "1"}, {Name: "Referrer-Policy", Value: "b"}, {}}, nil},
		{"current", []crawl.Header{{Name: "RateLimit", Value: `"a";r=1;t=2`}, {Name: "ratelimit-policy", Value: `"a";q=9;w=2`}}, &throttle.RateLimitFields{RateLimit: `"a";r=1;t=2`, Policy: `"a";q=9;w=2`}},
		{"two lines", []crawl.Header{{Name: "RateLimit", Value: "a;r=1"}, {Name: "RateLimit", Value: "b;r=2"}}, &throttle.RateLimitFields{RateLimit: "a;r=1, b;r=2"}},
		{"lines without end", []crawl.Header{{Name: "RateLimit", Value: long}, {Name: "RateLimit", Value: long}}, &throttle.RateLimitFields{RateLimit: long}},
		{"older", []crawl.Header{{Name: "RateLimit-Limit", Value: "10"}, {Name: "RateLimit-Remaining", Value: "1"}, {Name: "RateLimit-Reset", Value: "2"}}, &throttle.RateLimitFields{Limit: "10", Remaining: "1", Reset: "2"}},
		{"with X", []crawl.Header{{Name: "x-ratelimit-limit", Value: "10"}, {Name: "X-RateLimit-Remaining", Value: "1"}, {Name: "X-Ratelimit-Reset", Value: "2"}, {Name: "X-RateLimit-Used", Value: "9"}}, &throttle.RateLimitFields{Limit: "10", Remaining: "1", Reset: "2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, rateLimit(tc.headers))
		})
	}
	ordinary := []crawl.Header{{Name: "Server", Value: "a"}, {Name: "X-Cache", Value: "1"}, {Name: "Content-Type", Value: "b"}}
	require.Zero(t, testing.AllocsPerRun(10, func() { _ = rateLimit(ordinary) }))
}
