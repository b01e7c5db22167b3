package trap

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A host that was put aside is judged anew when a page was sent later, for then
// somebody released it.
func TestReleasedHostIsJudgedAnew(t *testing.T) {
	t.Parallel()
	d, err := New(Default())
	require.NoError(t, err)
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	var reader Reader
	text := reader.Sum([]byte("the same"), "News")
	url := func(n int) string {
		return "http://h/" + strings.NewReplacer("0", "news/", "1", "sport/").Replace(strconv.FormatInt(int64(n), 2))
	}
	closed := false
	for n := 1; n < 20_000 && !closed; n++ {
		if d.Link("h", url(n), now) == None && d.Visit("h", url(n), now) == WantText {
			closed = d.Page("h", url(n), text, now).Kind == Host
		}
	}
	require.True(t, closed)
	require.False(t, d.Released("h", now.Add(time.Second)), "it was under way")
	require.False(t, d.Released("other", now.Add(time.Hour)))
	require.Equal(t, Host, d.Link("h", "http://h/y", now.Add(time.Hour)), "a page of another host says nothing")
	require.True(t, d.Released("h", now.Add(11*time.Second)))
	require.Equal(t, None, d.Link("h", "http://h/y", now.Add(11*time.Second)))
	require.False(t, d.Released("h", now.Add(time.Hour)), "it is open")
}
