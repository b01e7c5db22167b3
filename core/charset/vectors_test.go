package charset_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/charset"
	"orbweaver/internal/vectors"
)

// vector is one case of charset.json.
type vector struct {
	ID, Kind, Label string
	ContentType     string  `json:"content_type"`
	Body            string  `json:"body_b64"`
	Expect          columns `json:"expect"`
	ExpectNewest    columns `json:"expect_newest"`
}

// columns are the expected answers: null where the reference finds no encoding.
type columns map[string]*string

func readVectors(t *testing.T) []vector {
	t.Helper()
	data := vectors.Read(t, "charset.json")
	var file struct {
		Header struct{ Count int }
		Cases  []vector
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.NotEmpty(t, file.Cases)
	require.Len(t, file.Cases, file.Header.Count)
	return file.Cases
}

// beginning is the first 60 code points of text.
func beginning(text []byte) string {
	runes := []rune(string(text))
	return string(runes[:min(len(runes), 60)])
}

// name is what w3lib calls e: nil for none.
func name(e charset.Encoding, ok bool) *string {
	if !ok {
		return nil
	}
	s := e.String()
	return &s
}

func TestCharsetVectors(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors(t) {
		t.Run(v.Kind+"/"+v.ID, func(t *testing.T) {
			t.Parallel()
			want := maps.Clone(v.Expect)
			maps.Copy(want, v.ExpectNewest)
			if v.Kind == "alias" {
				require.Equal(t, want["resolved"], name(charset.Lookup(v.Label)), "%q", v.Label)
				return
			}
			body, err := base64.StdEncoding.DecodeString(v.Body)
			require.NoError(t, err)

			mark, n := charset.Mark(body)
			require.Equal(t, want["bom"], name(mark, n > 0))
			require.Equal(t, want["header"], name(charset.Header(v.ContentType)))
			require.Equal(t, want["declared"], name(charset.InBody(body)))

			e, n, ok := charset.Declared(v.ContentType, body)
			if got := name(e, ok); got != nil {
				require.Equal(t, *want["encoding"], *got)
			} else {
				require.Equal(t, "utf8", *want["encoding"], "w3lib's word for its default")
			}
			require.Equal(t, *want["text60"], beginning(e.Decode(body[n:])))

			e, n = charset.Of(v.ContentType, body)
			require.Equal(t, *want["response_encoding"], e.String())
			require.Equal(t, *want["response_text60"], beginning(e.Decode(body[n:])))
		})
	}
}
