package crawl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
)

func TestIDs(t *testing.T) {
	t.Parallel()
	a := crawl.NewID("seed", "shop", "http://a/")
	require.Equal(t, a, crawl.NewID("seed", "shop", "http://a/"))
	require.NotEqual(t, crawl.NewID("ab", "c"), crawl.NewID("a", "bc"), "parts do not run together")
	require.NotEqual(t, crawl.DeriveID(a, 0), crawl.DeriveID(a, 1))
	require.Equal(t, "2275c2bd", crawl.DeriveID(a, 7).String()[:8], "ids are stored: they never change")

	got, err := crawl.ParseID(a.String())
	require.NoError(t, err)
	require.Equal(t, a, got)
	for _, bad := range []string{"", "00", a.String() + "00", "zz" + a.String()[2:]} {
		_, err := crawl.ParseID(bad)
		require.Error(t, err, bad)
	}
	require.True(t, crawl.ID{}.IsZero())
	require.False(t, a.IsZero())
	require.Equal(t, a.String()+"/2", crawl.ItemID(a, 2))
}

func TestMembersAreTheFirstEightBytes(t *testing.T) {
	t.Parallel()
	require.Equal(t, int64(-1), crawl.Fingerprint{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}.Member())
	require.Equal(t, int64(1), crawl.ID{7: 1, 8: 9}.Member())
}

func TestResponseHeaderIgnoresCase(t *testing.T) {
	t.Parallel()
	r := crawl.Response{Headers: []crawl.Header{{Name: "content-TYPE", Value: "text/html"}, {Name: "Content-Type", Value: "second"}, {Name: "X_A", Value: "1"}}}
	require.Equal(t, "text/html", r.Header("Content-Type"))
	require.Empty(t, r.Header("X\x7fA"), "only letters have case")
	require.Empty(t, r.Header("Retry-After"))
}

func TestSiteFault(t *testing.T) {
	t.Parallel()
	for _, c := range []crawl.Cause{crawl.CauseDNS, crawl.CauseRefused, crawl.CauseTLS, crawl.CauseTimeout, crawl.CauseReset} {
		require.True(t, c.SiteFault(), c)
	}
	for _, c := range []crawl.Cause{crawl.CauseNone, crawl.CauseCancelled, crawl.CauseTooLate, crawl.CauseForbidden, crawl.CauseStale, crawl.CauseTooLarge} {
		require.False(t, c.SiteFault(), c)
	}
}
