package webtest

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// get gives status and body; status 0 and the error when there is no answer.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(body)
}

func TestSite(t *testing.T) {
	s := New(t, Config{Hosts: 300, Pages: 10, Cross: true, Links: func(int, int) []string { return []string{"/more?a=1&b=2"} }})
	require.Equal(t, "127.1.1.50", s.Host(299))

	status, body := get(t, s.PageURL(299, 1))
	require.Equal(t, 200, status)
	require.Contains(t, body, "<title>Page 1 of 127.1.1.50</title>")
	for _, link := range []string{"/p/5", "/p/8", "/private/1", "/more?a=1&amp;b=2"} {
		require.Contains(t, body, `href="`+link+`"`)
	}
	_, body = get(t, s.PageURL(1, 0))
	require.Contains(t, body, s.PageURL(9, 0))
	_, body = get(t, s.URL(1, "/robots.txt"))
	require.Contains(t, body, "Disallow: /private/")
	status, _ = get(t, s.URL(0, "/p/10"))
	require.Equal(t, 404, status)

	require.Len(t, s.Missing(), 3000-2)
	require.Equal(t, 4, s.Count())
	require.Equal(t, 1, s.PagesOf(1))
	require.Len(t, s.Under("/robots"), 1)
	s.Forget()
	require.Zero(t, s.Count())
}

func TestScript(t *testing.T) {
	s := New(t, Config{Hosts: 2, Pages: 5, Script: func(v Visit) *Answer {
		switch {
		case v.Page == 1 && v.Attempt == 1:
			return RetryAfter(503, 30)
		case v.Page == 2:
			return &Answer{Drop: true}
		case v.Page == 3:
			return &Answer{Page: true, Gzip: true, Drip: 50 * time.Millisecond}
		case v.Path == "/raw":
			return &Answer{Raw: func(w io.Writer) { _, _ = io.WriteString(w, "HTTP/1.1 299 odd\r\nContent-Length: 1\r\n\r\nx") }}
		}
		return nil
	}})
	status, _ := get(t, s.PageURL(0, 1))
	require.Equal(t, 503, status)
	status, _ = get(t, s.PageURL(0, 1))
	require.Equal(t, 200, status)
	require.Len(t, s.InsideRetryAfter(), 1)
	status, _ = get(t, s.PageURL(0, 2))
	require.Equal(t, 0, status)
	start := time.Now()
	status, body := get(t, s.PageURL(0, 3))
	require.Equal(t, 200, status)
	require.Equal(t, s.PageHTML(0, 3), body)
	require.Greater(t, time.Since(start), 40*time.Millisecond)
	status, body = get(t, s.URL(0, "/raw"))
	require.Equal(t, 299, status)
	require.Equal(t, "x", body)
	_, _ = get(t, s.PageURL(0, 3))
	require.Equal(t, 1, s.Refetched())
}

func TestInFlightAndGaps(t *testing.T) {
	release := make(chan struct{})
	s := New(t, Config{Hosts: 2, Pages: 9, Script: func(v Visit) *Answer {
		if v.Page > 0 {
			<-release
		}
		return nil
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, _ = get(t, s.PageURL(0, 0))
	done := make(chan int, 3)
	for p := 1; p <= 3; p++ {
		go func() {
			status, _ := get(t, s.PageURL(0, p))
			done <- status
		}()
	}
	require.NoError(t, s.WaitCount(ctx, 4))
	require.NoError(t, s.WaitPath(ctx, 0, "/p/2"))
	require.Equal(t, 3, s.MaxInFlight(0))
	require.Zero(t, s.MaxInFlight(1))
	close(release)
	for range 3 {
		require.Equal(t, 200, <-done)
	}
	require.Equal(t, 3, s.MaxInFlight(0))
	require.GreaterOrEqual(t, s.MinGap(0), time.Duration(0))
	require.Equal(t, time.Duration(-1), s.MinGap(1))

	cancel()
	require.Error(t, s.WaitCount(ctx, 100))
}
