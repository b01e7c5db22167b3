package cookies_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/cookies"
	"orbweaver/core/weburl"
	"orbweaver/internal/vectors"
)

// vector is one case of policy.json whose kind begins with "cookies_".
type vector struct {
	ID, Kind string
	Steps    []step
	Expect   answer
	Newest   *answer `json:"expect_newest"`
}

type step struct {
	Request struct {
		URL  string
		Meta json.RawMessage
	}
	SetCookie []string `json:"set_cookie"`
}

type answer struct {
	Headers [][]string `json:"cookie_headers"`
}

// vectorsAt is when the vectors were made: two-digit years depend on it.
var vectorsAt = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

// hostOnly is the deviation of docs/conformance.md: what a step expects of a cookie
// that another host set without a Domain, or with a public suffix for one.
func (v *vector) hostOnly(i int) bool {
	host := weburl.Host(v.Steps[i].Request.URL)
	for _, s := range v.Steps[:i] {
		setter := weburl.Host(s.Request.URL)
		for _, line := range s.SetCookie {
			_, domain, named := strings.Cut(strings.ToLower(line), "domain=")
			domain, _, _ = strings.Cut(domain, ";")
			if strings.HasSuffix(host, "."+setter) && (!named || domain == setter && weburl.RegistrableDomain("x."+setter) == "x."+setter) {
				return true
			}
		}
	}
	return false
}

func TestCookieVectors(t *testing.T) {
	t.Parallel()
	raw := vectors.Read(t, "policy.json")
	var file struct{ Cases []json.RawMessage }
	require.NoError(t, json.Unmarshal(raw, &file))
	for _, c := range file.Cases {
		var head struct{ Kind string }
		require.NoError(t, json.Unmarshal(c, &head))
		if !strings.HasPrefix(head.Kind, "cookies_") {
			continue
		}
		var v vector
		require.NoError(t, json.Unmarshal(c, &v))
		t.Run(v.Kind+"/"+v.ID, func(t *testing.T) {
			t.Parallel()
			checkVector(t, &v)
		})
	}
}

func checkVector(t *testing.T, v *vector) {
	t.Helper()
	want := v.Expect
	if v.Newest != nil {
		want = *v.Newest
	}
	jars, err := cookies.New(cookies.Default())
	require.NoError(t, err)
	for i, s := range v.Steps {
		url, err := weburl.Clean(s.Request.URL)
		if err != nil { // 1.127.0.0.1 is no host to us
			require.Empty(t, want.Headers[i])
			continue
		}
		key, kept := cookies.Key(s.Request.Meta)
		require.True(t, kept)
		got := jars.Header(key, url, vectorsAt)
		if v.hostOnly(i) {
			require.Empty(t, got, "step %d: %s", i, url)
		} else {
			require.Equal(t, strings.Join(want.Headers[i], "|"), latin1(got), "step %d: %s", i, url)
		}
		jars.Set(key, url, s.SetCookie, vectorsAt)
	}
}

// latin1 writes bytes as the vectors do: one character each.
func latin1(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}
