package sitemap_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/sitemap"
	"orbweaver/core/weburl"
	"orbweaver/internal/vectors"
)

type vector struct {
	ID, Kind, URL string
	ContentType   *string `json:"content_type"`
	Body          *string
	BodyB64       string  `json:"body_b64"`
	BaseURL       *string `json:"base_url"`
	Expect        map[string]json.RawMessage
	ExpectNewest  map[string]json.RawMessage `json:"expect_newest"`
}

// readVectors decodes the cases, with the newest answers in Expect.
func readVectors(t *testing.T) []vector {
	t.Helper()
	data := vectors.Read(t, "sitemap.json")
	var file struct {
		Header struct{ Count int }
		Cases  []vector
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.NotEmpty(t, file.Cases)
	require.Len(t, file.Cases, file.Header.Count)
	for i := range file.Cases {
		maps.Copy(file.Cases[i].Expect, file.Cases[i].ExpectNewest)
	}
	return file.Cases
}

func (v *vector) body(t *testing.T) []byte {
	t.Helper()
	if v.Body != nil {
		return []byte(*v.Body)
	}
	b, err := base64.StdEncoding.DecodeString(v.BodyB64)
	require.NoError(t, err)
	return b
}

// read decodes one column of what is expected into out.
func (v *vector) read(t *testing.T, column string, out any) {
	t.Helper()
	require.Contains(t, v.Expect, column)
	require.NoError(t, json.Unmarshal(v.Expect[column], out))
}

func TestSitemapVectors(t *testing.T) {
	for _, v := range readVectors(t) {
		t.Run(v.Kind+"/"+v.ID, func(t *testing.T) {
			if v.Kind == "robots_sitemaps" {
				base := ""
				if v.BaseURL != nil {
					base = *v.BaseURL
				}
				want := []string{}
				v.read(t, "sitemaps", &want)
				require.Equal(t, want, append([]string{}, sitemap.RobotsSitemaps(string(v.body(t)), base)...))
				return
			}
			v.checkSitemap(t)
		})
	}
}

func (v *vector) checkSitemap(t *testing.T) {
	t.Helper()
	contentType := ""
	if v.ContentType != nil {
		contentType = *v.ContentType
	}
	var recognized, gunzipped bool
	v.read(t, "recognized", &recognized)
	r, gzipped, ok := sitemap.Open(v.URL, contentType, v.body(t))
	require.Equal(t, recognized, ok)
	if !ok {
		return
	}
	entries := []map[string]any{}
	locs, all := []string{}, []string{}
	requests, valid := [][]string{}, true
	kind, err := sitemap.Parse(r, sitemap.Limits{}, func(e *sitemap.Entry) bool {
		entry := map[string]any{}
		for _, f := range e.Fields {
			entry[f.Name] = f.Value
		}
		if len(e.Alternates) > 0 {
			alternates := []any{}
			for _, a := range e.Alternates {
				alternates = append(alternates, a)
			}
			entry["alternate"] = alternates
		}
		entries = append(entries, entry)
		if e.Loc() == "" {
			return true
		}
		locs = append(locs, e.Loc())
		all = append(append(all, e.Loc()), e.Alternates...)
		u, err := weburl.Clean(e.Loc())
		valid = valid && err == nil
		requests = append(requests, []string{u})
		return true
	})
	if _, fails := v.Expect["error"]; fails {
		require.ErrorIs(t, err, sitemap.ErrNoXML)
		return
	}
	require.NoError(t, err)
	v.read(t, "body_gunzipped", &gunzipped)
	require.Equal(t, gunzipped, gzipped)
	var wantKind string
	v.read(t, "type", &wantKind)
	require.Equal(t, wantKind, string(kind))
	var wantEntries []map[string]any
	v.read(t, "entries", &wantEntries)
	require.Equal(t, wantEntries, entries)
	var want []string
	v.read(t, "locs", &want)
	require.Equal(t, want, locs)
	v.read(t, "locs_with_alternates", &want)
	require.Equal(t, want, all)

	callback := map[sitemap.Kind]string{sitemap.Index: "_parse_sitemap", sitemap.URLSet: "parse"}[kind]
	if callback == "" {
		requests = [][]string{}
	}
	for i := range requests {
		requests[i] = append(requests[i], callback)
	}
	var wantRequests [][]string
	v.read(t, "spider_requests", &wantRequests)
	if wantRequests == nil { // Scrapy stops at a loc that is no absolute URL
		require.False(t, valid && len(locs) == len(entries))
		return
	}
	require.True(t, valid)
	require.Equal(t, wantRequests, requests)
}
