package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/policy"
)

func TestReferrer(t *testing.T) {
	t.Parallel()
	tests := []struct{ from, to, want string }{
		{"http://a.example/x", "http://b.example/", "http://a.example/x"},
		{"https://a.example/x", "http://a.example/", ""},
		{"https://a.example/x", "https://b.example/", "https://a.example/x"},
		{"http://u:p@a.example?q=@#f", "https://b.example/", "http://a.example?q=@"},
		{"http://a.example/@b", "http://b.example/", "http://a.example/@b"},
		{"nonsense", "http://b.example/", ""},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, policy.NoReferrerWhenDowngrade.Referrer(tt.from, tt.to), tt.from)
	}
}

func TestReferrerPolicies(t *testing.T) {
	t.Parallel()
	const (
		from  = "https://u:p@a.example/x?q#f"
		whole = "https://a.example/x?q"
		alone = "https://a.example/"
	)
	tests := []struct {
		policy                 policy.ReferrerPolicy
		same, cross, downgrade string // to the same origin, to another, to http
	}{
		{policy.NoReferrerWhenDowngrade, whole, whole, ""},
		{policy.NoReferrer, "", "", ""},
		{policy.SameOrigin, whole, "", ""},
		{policy.Origin, alone, alone, alone},
		{policy.StrictOrigin, alone, alone, ""},
		{policy.OriginWhenCrossOrigin, whole, alone, alone},
		{policy.StrictOriginWhenCrossOrigin, whole, alone, ""},
		{policy.UnsafeURL, whole, whole, whole},
	}
	for _, tt := range tests {
		t.Run(tt.policy.String(), func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.same, tt.policy.Referrer(from, "https://a.example/y"))
			require.Equal(t, tt.cross, tt.policy.Referrer(from, "https://b.example/"))
			require.Equal(t, tt.downgrade, tt.policy.Referrer(from, "http://a.example/"))
			got, ok := policy.ParseReferrerPolicy(tt.policy.String())
			require.True(t, ok)
			require.Equal(t, tt.policy, got)
		})
	}
}

func TestParseReferrerPolicy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		names string
		want  policy.ReferrerPolicy
		ok    bool
	}{
		{"", policy.NoReferrerWhenDowngrade, true},
		{"scrapy-default", policy.NoReferrerWhenDowngrade, true},
		{" Same-Origin ", policy.SameOrigin, true},
		{"no-referrer, strict-origin-when-cross-origin", policy.StrictOriginWhenCrossOrigin, true},
		{"no-referrer, tomorrows", policy.NoReferrer, true},
		{"tomorrows", policy.NoReferrerWhenDowngrade, false},
	}
	for _, tt := range tests {
		got, ok := policy.ParseReferrerPolicy(tt.names)
		require.Equal(t, tt.want, got, tt.names)
		require.Equal(t, tt.ok, ok, tt.names)
	}
}

// The page's field goes before the setting, the request's meta before both, and
// without REFERER_ENABLED nothing is said.
func TestWhoseReferrerPolicy(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, func(c *policy.Config) { c.ReferrerPolicy = policy.Origin })
	parent := &crawl.Request{ID: crawl.NewID("r"), URL: "http://a.example/x"}
	follow := func(resp *crawl.Response, meta string) string {
		found := crawl.Request{URL: "http://b.example/", Meta: []byte(meta)}
		require.Equal(t, policy.Followed, p.Follow(parent, p.Referrers(resp), 0, &found))
		return found.Referer
	}
	says := func(v string) *crawl.Response {
		return &crawl.Response{Headers: []crawl.Header{{Name: "referrer-policy", Value: v}}}
	}
	require.Equal(t, "http://a.example/", follow(&crawl.Response{}, ""))
	require.Equal(t, "http://a.example/x", follow(says("unsafe-url"), ""))
	require.Equal(t, "http://a.example/", follow(says("tomorrows"), ""))
	require.Empty(t, follow(says("unsafe-url"), `{"referrer_policy": "no-referrer"}`))
	p = newPolicy(t, func(c *policy.Config) { c.RefererEnabled = false })
	require.Empty(t, follow(says("unsafe-url"), ""))
}
