package rqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzReply reads any bytes as a reply of nested values: no panic, and an end.
func FuzzReply(f *testing.F) {
	for _, s := range []string{
		"*3\r\n:1\r\n$2\r\nab\r\n*0\r\n", "-ERR x\r\n", "!5\r\nERR x\r\n", "$-1\r\n", "_\r\n", "+OK\r\n",
		"*-1\r\n", "*9999999999\r\n", "$9999999999\r\n", ":x\r\n", "$3\r\nab", "*1\r\n*1\r\n*1\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newReply(b)
		turns := 0
		for len(r.b) > 0 && r.err == nil {
			turns++
			require.LessOrEqual(t, turns, len(b), "each turn reads something")
			switch r.b[0] {
			case '*':
				n := r.array()
				require.LessOrEqual(t, n, len(b))
			case ':':
				r.int()
			default:
				r.bytes()
			}
		}
	})
}

// FuzzStored reads any bytes as what the store keeps of requests and slots; what
// can be read is written again as it was.
func FuzzStored(f *testing.F) {
	entry := append([]byte("000000000100"), appendTail(nil, request("http://a.test/1"))...)
	f.Add(entry)
	f.Add(append([]byte("1700000000000 timeout\n"), entry...))
	f.Add([]byte("1700000000000 \n"))
	f.Add([]byte("0.5 0 1 2 0.1 retry-after"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, lost, err := parseEntry(b); err == nil {
			require.GreaterOrEqual(t, lost, 0)
			again, _, err := parseEntry(append(append([]byte{}, b[:entryTail]...), appendTail(nil, r)...))
			require.NoError(t, err)
			require.Equal(t, r.URL, again.URL)
		}
		_, _ = parseDead(b)
		var s, again SlotState
		s.parse(string(b))
		again.parse(string(s.append(nil)))
		require.Equal(t, s, again)
		require.GreaterOrEqual(t, s.gap(0), time.Duration(0))
		require.LessOrEqual(t, s.gap(0), maxGap)
	})
}
