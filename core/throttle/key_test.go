package throttle

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSlotKey(t *testing.T) {
	t.Parallel()
	lookup := func(host string) (string, bool) { return "192.0.2.1", host == "a.example" }
	for _, tc := range []struct {
		authority, named string
		lookup           func(string) (string, bool)
		want             string
	}{
		{"a.example", "", nil, "a.example"},
		{"A.Example:8080", "", nil, "a.example"},
		{"user:p@ss@A.example:8080", "", nil, "a.example"},
		{"[::1]", "", nil, "::1"},
		{"[2001:DB8::1]:443", "", nil, "2001:db8::1"},
		{"[::1", "", nil, "::1"},
		{"10.0.0.1:80", "", nil, "10.0.0.1"},
		{"a.example", "group", lookup, "group"},
		{"A.example:1", "", lookup, "192.0.2.1"},
		{"c.example", "", lookup, "c.example"},
		{"", "", nil, ""},
	} {
		require.Equal(t, tc.want, SlotKey(tc.authority, tc.named, tc.lookup), "%+v", tc)
	}
}
