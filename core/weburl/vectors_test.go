package weburl_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/weburl"
	"orbweaver/internal/vectors"
)

// readVectors decodes the cases of one vector file.
func readVectors[T any](t *testing.T, name string) []T {
	t.Helper()
	data := vectors.Read(t, name+".json")
	var file struct {
		Header struct{ Count int }
		Cases  []T
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.NotEmpty(t, file.Cases)
	require.Len(t, file.Cases, file.Header.Count)
	return file.Cases
}

func TestURLVectors(t *testing.T) {
	type vector struct {
		ID, Kind, Input string
		Base            *string
		Expect          struct {
			Failure bool
			Href    string
		}
	}
	for _, v := range readVectors[vector](t, "urltest") {
		t.Run(v.Kind+"/"+v.ID, func(t *testing.T) {
			base := ""
			if v.Base != nil {
				base = *v.Base
			}
			got, err := weburl.Resolve(base, v.Input)
			if v.Expect.Failure {
				require.Error(t, err, "%q beside %q gave %q", v.Input, base, got)
				return
			}
			require.NoError(t, err, "%q beside %q", v.Input, base)
			require.Equal(t, v.Expect.Href, got, "%q beside %q", v.Input, base)
		})
	}
}

// columns are the expected answers: null means that the reference refuses.
type columns map[string]*string

// merge gives the answers with those of the newest versions laid over.
func (c columns) merge(newest columns) columns {
	out := columns{}
	maps.Copy(out, c)
	maps.Copy(out, newest)
	return out
}

func TestCanonicalVectors(t *testing.T) {
	type vector struct {
		ID, Kind, URL, Encoding string
		Flags                   struct {
			KeepBlank     *bool `json:"keep_blank_values"`
			KeepFragments bool  `json:"keep_fragments"`
		}
		Expect       columns
		ExpectNewest columns `json:"expect_newest"`
	}
	for _, v := range readVectors[vector](t, "canonicalize_url") {
		t.Run(v.Kind+"/"+v.ID, func(t *testing.T) {
			want := v.Expect.merge(v.ExpectNewest)
			check := func(column, got string, err error) {
				w, ok := want[column]
				if !ok {
					return
				}
				if w == nil {
					require.Error(t, err, "%s of %q gave %q", column, v.URL, got)
					return
				}
				require.NoError(t, err, "%s of %q", column, v.URL)
				require.Equal(t, *w, got, "%s of %q", column, v.URL)
			}
			safe, safeErr := weburl.SafeURL(v.URL, v.Encoding)
			check("safe_url_string", safe, safeErr)

			o := weburl.CanonicalOptions{Encoding: v.Encoding}
			got, err := weburl.Canonicalize(v.URL, o)
			check("canonicalize_url", got, err)

			o.DropBlank = v.Flags.KeepBlank != nil && !*v.Flags.KeepBlank
			o.KeepFragments = v.Flags.KeepFragments
			got, err = weburl.Canonicalize(v.URL, o)
			check("canonicalize_url_flags", got, err)

			if safeErr != nil {
				check("safe_then_canonical", "", safeErr)
				return
			}
			got, err = weburl.Canonicalize(safe, weburl.CanonicalOptions{}) // a clean URL is ASCII
			check("safe_then_canonical", got, err)
		})
	}
}

func TestFingerprintVectors(t *testing.T) {
	type vector struct {
		ID, Kind, URL, Method, Encoding string
		Body                            string      `json:"body_b64"`
		Headers                         [][2]string `json:"headers"`
		IncludeHeaders                  []string    `json:"include_headers"`
		Expect                          columns
		ExpectNewest                    columns `json:"expect_newest"`
	}
	for _, v := range readVectors[vector](t, "fingerprint") {
		t.Run(v.Kind+"/"+v.ID, func(t *testing.T) {
			want := v.Expect.merge(v.ExpectNewest)
			body, err := base64.StdEncoding.DecodeString(v.Body)
			require.NoError(t, err)
			req := crawl.Request{Method: strings.ToUpper(v.Method), Body: body}
			for _, h := range v.Headers {
				req.Headers = append(req.Headers, crawl.Header{Name: h[0], Value: h[1]})
			}
			if w := want["error"]; w != nil {
				_, err := weburl.Rule27.RequestURL(v.URL, v.Encoding)
				require.Error(t, err)
				return
			}
			checked := 0
			check := func(column string, got string) {
				if w, ok := want[column]; ok {
					require.NotNil(t, w)
					require.Equal(t, *w, got, "%s of %q", column, v.URL)
					checked++
				}
			}
			check("method", req.MethodOrGet())
			for rule, name := range map[weburl.Rule]string{
				weburl.Rule27: "sha1_27", weburl.Rule26: "sha1_26", weburl.RuleScrapyRedis: "sha1_scrapy_redis",
			} {
				req.URL, err = rule.RequestURL(v.URL, v.Encoding)
				require.NoError(t, err)
				if rule == weburl.Rule27 {
					check("request_url", req.URL)
					canonical, err := weburl.Canonicalize(req.URL, weburl.CanonicalOptions{})
					require.NoError(t, err)
					check("canonical_url", canonical)
				}
				sum := func(f weburl.Fingerprinter) string { return f.Fingerprint(&req).String() }
				check(name, sum(weburl.Fingerprinter{Rule: rule}))
				check(name+"_keep_fragments", sum(weburl.Fingerprinter{Rule: rule, KeepFragments: true}))
				check(name+"_include_headers", sum(weburl.Fingerprinter{Rule: rule, IncludeHeaders: v.IncludeHeaders}))
			}
			require.Equal(t, len(want), checked, "every column")
		})
	}
}
