package throttle

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(1994, 11, 6, 8, 49, 0, 0, time.UTC)
	longest := time.Duration(math.MaxInt64).Truncate(time.Second)
	for _, tc := range []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"120", 2 * time.Minute, true},
		{" 120\t", 2 * time.Minute, true},
		{"0", 0, true},
		{"-30", 0, true},
		{"1.5", 2 * time.Second, true},
		{"1.0", time.Second, true},
		{"99999999999999999999999999", longest, true},
		{"9223372036.9", longest, true},
		{"Sun, 06 Nov 1994 08:49:37 GMT", 37 * time.Second, true},
		{"Sunday, 06-Nov-94 08:49:37 GMT", 37 * time.Second, true},
		{"Sun Nov  6 08:49:37 1994", 37 * time.Second, true},
		{"Sun, 06 Nov 1994 08:48:00 GMT", 0, true},
		{"Thu, 01 Jan 1970 00:00:00 GMT", 0, true},
		{"Fri, 31 Dec 9999 23:59:59 GMT", math.MaxInt64, true},
		{"Tuesday, 06-Nov-40 08:49:00 GMT", 46 * 365 * 24 * time.Hour, true}, // less its leap days, below
		{"Tuesday, 06-Nov-45 08:49:00 GMT", 0, true},                         // 51 years ahead: 1945
		{"", 0, false},
		{"soon", 0, false},
		{"-", 0, false},
		{".5", 0, false},
		{"1.", 0, false},
		{"1e3", 0, false},
		{"1.x", 0, false},
		{"12 seconds", 0, false},
		{"120, 60", 0, false},
		{"Sun, 06 Nov 1994", 0, false},
		{"00000000000000000000000000000000000000000000000000000000000000000001", 0, false},
	} {
		t.Run(tc.value, func(t *testing.T) {
			t.Parallel()
			got, ok := RetryAfter(tc.value, now)
			require.Equal(t, tc.ok, ok)
			if tc.want > 40*365*24*time.Hour && tc.want < longest {
				tc.want += 12 * 24 * time.Hour // 1996, 2000, ..., 2040
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{
		"120", "-1", "1.5", "99999999999999999999", "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
		"Sun Nov  6 08:49:37 1994", "", "\x00", "Monday, 29-Feb-00 00:00:00 GMT",
	} {
		f.Add(seed, int64(784111740))
	}
	f.Fuzz(func(t *testing.T, value string, unix int64) {
		now := time.Unix(unix%(1<<36), 0).UTC()
		d, ok := RetryAfter(value, now)
		if d < 0 || (!ok && d != 0) {
			t.Fatalf("%q: %v, %v", value, d, ok)
		}
		if again, same := RetryAfter("\t"+value+" ", now); ok && len(value) < 60 && (!same || again != d) {
			t.Fatalf("%q: white space changes %v to %v", value, d, again)
		}
	})
}
