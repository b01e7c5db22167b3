package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
)

func TestRegistry(t *testing.T) {
	t.Parallel()

	t.Run("EveryFieldHasOneSetting", func(t *testing.T) {
		t.Parallel()
		c := &Config{}
		bound := map[uintptr]string{}
		for _, s := range registry(c) {
			p := reflect.ValueOf(s.value).FieldByName("p").Pointer()
			require.Empty(t, bound[p], "%s is bound to the field of %s", s.Name, bound[p])
			bound[p] = s.Name
		}
		groups := reflect.ValueOf(c).Elem()
		fields := 0
		for i := range groups.NumField() {
			if !groups.Type().Field(i).IsExported() {
				continue
			}
			group := groups.Field(i)
			for j := range group.NumField() {
				fields++
				require.NotEmpty(t, bound[group.Field(j).Addr().Pointer()],
					"no setting for %s.%s", groups.Type().Field(i).Name, group.Type().Field(j).Name)
			}
		}
		require.Len(t, bound, fields)
	})

	t.Run("NamesAndPathsAreUniqueAndWellFormed", func(t *testing.T) {
		t.Parallel()
		seen := map[string]bool{}
		var names []string
		for _, s := range sections() {
			names = append(names, s.name)
		}
		for _, s := range Settings() {
			require.Regexp(t, `^[A-Z][A-Z0-9_]*[A-Z0-9]$`, s.Name)
			require.Regexp(t, `^[a-z]+\.[a-z0-9_]+$`, s.Path)
			require.True(t, slices.Contains(names, strings.Split(s.Path, ".")[0]), s.Path)
			for _, key := range []string{s.Name, s.Path, s.Flag, s.alias} {
				require.False(t, key != "" && seen[key], "%s is there twice", key)
				seen[key] = true
			}
			require.True(t, strings.HasSuffix(s.Doc, "."), "%s: the text ends without a full stop", s.Name)
			require.NotEmpty(t, s.Type())
			if s.Why != "" {
				require.NotEmpty(t, s.Scrapy, "%s explains a difference to nothing", s.Name)
			}
			_, isForeign := foreignAdvice(s.Name)
			require.False(t, isForeign, "%s is supported and listed as not", s.Name)
		}
	})

	t.Run("TextReadsBack", func(t *testing.T) {
		t.Parallel()
		want := Default()
		got := &Config{}
		rows := registry(want)
		for i, s := range registry(got) {
			require.NoError(t, s.value.set(textInput(rows[i].value.text())), s.Name)
		}
		require.Equal(t, want, got)
	})
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, err := Load(Sources{})
	require.NoError(t, err)
	require.True(t, c.Throttle.Enabled)
	require.Equal(t, 5*time.Second, c.Throttle.StartDelay)
	require.Equal(t, 256, c.Fetch.ConcurrentRequests)
	require.Equal(t, int64(32<<20), c.Fetch.DownloadMaxSize)
	require.Equal(t, 1500*time.Millisecond, c.Scheduler.SlotMargin)
	require.Equal(t, []int{408, 429, 500, 502, 503, 504, 522, 524}, c.Retry.HTTPCodes)
	require.Equal(t, "127.0.0.1:6080", c.Admin.Listen)
	require.Equal(t, "default", c.Source("DOWNLOAD_DELAY"))
	require.Empty(t, c.Source("NO_SUCH"))
	require.Equal(t, []crawl.Header{
		{Name: "Accept", Value: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
		{Name: "Accept-Language", Value: "en"},
	}, c.Fetch.DefaultHeaders)
}

func TestAgent(t *testing.T) {
	t.Parallel()
	f := Default().Fetch
	require.Equal(t, "orbweaver/1.2", f.Agent("1.2"))
	f.UserAgentContact = "https://example.org/bot"
	require.Equal(t, "orbweaver/1.2 (+https://example.org/bot)", f.Agent("1.2"))
	f.UserAgent = "mine"
	require.Equal(t, "mine", f.Agent("1.2"))
}

func TestKey(t *testing.T) {
	t.Parallel()
	require.Equal(t, "docs:start_urls", Key("%(name)s:start_urls", "docs"))
	require.Equal(t, "docs:items", Key("%(spider)s:items", "docs"))
	require.Equal(t, "seeds", Key("seeds", "docs"))
}
