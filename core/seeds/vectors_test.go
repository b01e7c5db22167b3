package seeds_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/seeds"
)

// vector is one start message of scrapy_redis_wire.json.
type vector struct {
	ID         string
	Kind       string
	MessageB64 string `json:"message_b64"`
	Settings   struct {
		Encoding string `json:"REDIS_ENCODING"`
	}
	Commands [][]string
	Expect   struct {
		Requests []struct {
			URL        string
			RawHeaders map[string]json.RawMessage `json:"headers"`
			Method     string
			Body       struct {
				B64 string `json:"$b64"`
			}
			Meta       json.RawMessage
			Priority   int32
			DontFilter bool `json:"dont_filter"`
		}
		Error   string
		Batches [][]string
	}
}

func vectors(t *testing.T, kinds ...string) []vector {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "vectors", "scrapy_redis_wire.json"))
	require.NoError(t, err)
	var file struct{ Cases []json.RawMessage }
	require.NoError(t, json.Unmarshal(raw, &file))
	var out []vector
	for _, c := range file.Cases {
		var head struct{ Kind string }
		require.NoError(t, json.Unmarshal(c, &head))
		for _, k := range kinds {
			if head.Kind == k {
				var v vector
				require.NoError(t, json.Unmarshal(c, &v))
				out = append(out, v)
			}
		}
	}
	require.NotEmpty(t, out)
	return out
}

func TestMessageVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t, "start_message", "start_message_latin1") {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			payload, err := base64.StdEncoding.DecodeString(v.MessageB64)
			require.NoError(t, err)
			got, err := seeds.Parse(payload, v.Settings.Encoding)
			if len(v.Expect.Requests) == 0 { // raised, or nothing to request
				require.Error(t, err)
				require.Nil(t, got)
				return
			}
			require.NoError(t, err)
			want := v.Expect.Requests[0]
			require.Equal(t, want.URL, got.URL)
			require.Equal(t, want.Method, got.Method)
			require.Equal(t, want.Priority, got.Priority)
			require.Equal(t, want.DontFilter, got.DontFilter)
			body, err := base64.StdEncoding.DecodeString(want.Body.B64)
			require.NoError(t, err)
			require.Equal(t, string(body), string(got.Body))
			meta := got.Meta
			if meta == nil {
				meta = []byte("{}")
			}
			require.JSONEq(t, string(want.Meta), string(meta))
			require.Equal(t, wantHeaders(t, want.RawHeaders), got.Headers)
			require.True(t, got.Seed)
			require.True(t, got.ID.IsZero())
		})
	}
}

// wantHeaders reads headers as the vectors write them: "$key:" and the name in
// base64, and a list of base64 values.
func wantHeaders(t *testing.T, raw map[string]json.RawMessage) []crawl.Header {
	t.Helper()
	var out []crawl.Header
	for key, list := range raw {
		name, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, "$key:"))
		require.NoError(t, err)
		var values []struct {
			B64 string `json:"$b64"`
		}
		require.NoError(t, json.Unmarshal(list, &values))
		for _, v := range values {
			value, err := base64.StdEncoding.DecodeString(v.B64)
			require.NoError(t, err)
			out = append(out, crawl.Header{Name: string(name), Value: string(value)})
		}
	}
	return out
}

// Where scrapy-redis loses the rest of a batch to a bad message, here each
// message stands for itself.
func TestBatchVectorsGoOnAfterABadMessage(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t, "start_bad_message_in_batch") {
		bad := 0
		for _, c := range v.Commands {
			for _, message := range c[2:] {
				if _, err := seeds.Parse([]byte(message), ""); err != nil {
					bad++
				}
			}
		}
		require.Equal(t, 1, bad)
	}
}

// The messages of the list, set and sorted set cases are all seeds.
func TestKeyVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t, "start_zset", "start_set", "start_multi_key") {
		for _, batch := range v.Expect.Batches {
			for _, message := range batch {
				got, err := seeds.Parse([]byte(message), "")
				require.NoError(t, err)
				require.Equal(t, message, got.URL)
			}
		}
	}
}
