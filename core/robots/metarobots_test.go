package robots_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/robots"
)

func TestXRobotsTag(t *testing.T) {
	t.Parallel()
	none, index, follow, both := robots.Directives{}, robots.Directives{Noindex: true}, robots.Directives{Nofollow: true}, robots.Directives{Noindex: true, Nofollow: true}
	tests := []struct {
		name   string
		values []string
		want   robots.Directives
	}{
		{"nothing", nil, none},
		{"empty", []string{""}, none},
		{"noindex", []string{"noindex"}, index},
		{"any case and blanks", []string{" \tNoIndex ,NOFOLLOW "}, both},
		{"none is both", []string{"none"}, both},
		{"allowing words", []string{"all, index, follow"}, none},
		{"nothing is taken back", []string{"noindex, index", "follow"}, index},
		{"words of others", []string{"noarchive, nosnippet, noimageindex, notranslate"}, none},
		{"two fields", []string{"noindex", "nofollow"}, both},
		{"another crawler", []string{"googlebot: noindex"}, none},
		{"our name", []string{"OrbWeaver: noindex"}, index},
		{"our name with version", []string{"orbweaver/1.0: noindex"}, index},
		{"name with ours in it", []string{"orbweaver-news: noindex"}, none},
		{"every crawler by name", []string{"*: noindex"}, index},
		{"name holds for the rest", []string{"otherbot: noindex, nofollow"}, none},
		{"until the next name", []string{"otherbot: noindex, orbweaver: nofollow"}, follow},
		{"before a name it is for all", []string{"noindex, otherbot: nofollow"}, index},
		{"a field of its own is for all again", []string{"otherbot: noindex", "nofollow"}, follow},
		{"date", []string{"unavailable_after: 25 Jun 2010 15:00:00 PST"}, none},
		{"date with comma", []string{"unavailable_after: Friday, 25-Jun-10 15:00:00 PST, noindex"}, index},
		{"another crawler's date", []string{"otherbot: unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"}, none},
		{"values", []string{"max-snippet:-1, max-image-preview: none, max-video-preview:0"}, none},
		{"commas forgotten", []string{"noindex nofollow", "x;y"}, both},
		{"part of a word", []string{"xnoindex, nofollowed, no index"}, none},
		{"colons only", []string{":::,:,: noindex"}, index},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var d robots.Directives
			for _, v := range tt.values {
				d.AddHeader(v, "orbweaver")
			}
			require.Equal(t, tt.want, d)
		})
	}
}

func TestXRobotsTagOfACrawlerWithoutName(t *testing.T) {
	t.Parallel()
	var d robots.Directives
	d.AddHeader("noindex, /: nofollow", "")
	d.AddMeta("", "nofollow", "")
	require.Equal(t, robots.Directives{Noindex: true}, d)
}

func TestMetaRobots(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, content string
		want          robots.Directives
	}{
		{"robots", "noindex,nofollow", robots.Directives{Noindex: true, Nofollow: true}},
		{" ROBOTS ", "NONE", robots.Directives{Noindex: true, Nofollow: true}},
		{"orbweaver", "nofollow", robots.Directives{Nofollow: true}},
		{"googlebot", "noindex", robots.Directives{}},
		{"description", "noindex", robots.Directives{}},
		{"robots", "index, follow", robots.Directives{}},
		{"robots", "max-image-preview: none, noindex", robots.Directives{Noindex: true}},
		{"robots", "unavailable_after: Friday, 25-Jun-10 15:00:00 PST, nofollow", robots.Directives{Nofollow: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+tt.content, func(t *testing.T) {
			t.Parallel()
			var d robots.Directives
			d.AddMeta(tt.name, tt.content, "orbweaver")
			require.Equal(t, tt.want, d)
		})
	}
}

// FuzzDirectives: whatever a site sends, directives only add up, and what holds
// for every crawler holds for each.
func FuzzDirectives(f *testing.F) {
	f.Add("noindex, otherbot: nofollow", "robots", "none")
	f.Add("unavailable_after: Friday, 25-Jun-10 15:00:00 PST", "orbweaver", "max-snippet:-1")
	f.Add(":::,*:none;noindex", "", "\x00")
	f.Fuzz(func(t *testing.T, header, name, content string) {
		var nobody, ours robots.Directives
		nobody.AddHeader(header, "")
		ours.AddHeader(header, "orbweaver")
		require.True(t, ours.Noindex || !nobody.Noindex)
		require.True(t, ours.Nofollow || !nobody.Nofollow)
		before := ours
		ours.AddMeta(name, content, "orbweaver")
		require.True(t, ours.Noindex || !before.Noindex)
		require.True(t, ours.Nofollow || !before.Nofollow)
		all := robots.Directives{Noindex: true, Nofollow: true}
		all.AddHeader(header, "orbweaver")
		require.Equal(t, robots.Directives{Noindex: true, Nofollow: true}, all)
	})
}
