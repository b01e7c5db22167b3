package export

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzFields holds the scan against encoding/json's decoder.
func FuzzFields(f *testing.F) {
	for _, s := range []string{`{}`, ` {"a" : 1 , "b":[{"c":"]}"}],"d\u0041":"\\\"" }`, `{"a":-1.5e3}`, `{"":{}}`, `{"a":"` + "\xff" + `"}`, `[]`, `{"a":1}}`, `{"a":null,"b":true,"c":false}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, item []byte) {
		got, err := appendFields(nil, item)
		want, ok := decodeFields(item)
		require.Equal(t, ok, err == nil)
		if !ok {
			return
		}
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, string(want[i].name), string(got[i].name))
			require.Equal(t, string(want[i].raw), string(got[i].raw))
			_ = cellText(got[i].raw)
		}
	})
}

func decodeFields(item []byte) ([]field, bool) {
	dec := json.NewDecoder(bytes.NewReader(item))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var fields []field
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, false
		}
		text, ok := name.(string)
		var raw json.RawMessage
		if !ok || dec.Decode(&raw) != nil {
			return nil, false
		}
		fields = append(fields, field{[]byte(text), bytes.Clone(raw)})
	}
	if _, err := dec.Token(); err != nil {
		return nil, false
	}
	_, err := dec.Token()
	return fields, err == io.EOF //nolint:errorlint // Token gives it bare
}
