package blocked_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/core/blocked"
	"orbweaver/core/crawl"
)

func TestWatch(t *testing.T) {
	t.Parallel()
	good := answer(200, page("News", "", prose(500)))
	challenge := answer(403, "", "cf-mitigated: challenge")
	block := answer(403, "<html><body>Request unsuccessful. Incapsula incident ID: 1</body></html>")
	login := answer(302, "", "Location: /login?next=1")
	elsewhere := answer(302, "", "Location: /users/login")
	auth := answer(401, "", "WWW-Authenticate: Basic")
	missing := answer(404, "")
	times := func(n int, r *crawl.Response) (out []*crawl.Response) {
		for range n {
			out = append(out, r)
		}
		return out
	}
	after := func(parts ...[]*crawl.Response) (out []*crawl.Response) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	loginPage := answer(200, page("Log in", "", "<form><input name=u></form>"))
	loginPage.URL = "https://shop.example/login?next=%2F7"
	tests := []struct {
		name    string
		seed    bool
		answers []*crawl.Response
		parkAt  int // which answer parks first, from 1; 0: none
	}{
		{"pages", false, times(100, good), 0},
		{"challenge at once", false, after(times(20, good), times(1, challenge)), 21},
		{"payment at once", false, after(times(20, good), times(1, answer(402, ""))), 21},
		{"two blocks", false, after(times(1, good), times(2, block), times(1, good), times(2, block)), 0},
		{"three blocks", false, after(times(1, good), times(3, block)), 4},
		{"three blocks around a 404", false, after(times(1, good), times(2, block), times(3, missing), times(1, block)), 7},
		{"a seed that is blocked", true, times(1, block), 1},
		{"a seed that asks for a login", true, times(1, login), 1},
		{"a seed that asks for credentials", true, times(1, auth), 1},
		{"a seed after pages", true, after(times(1, good), times(1, auth)), 0},
		{"some private pages", false, after(times(5, good), times(20, auth), times(1, good), times(40, login), times(1, good)), 0},
		{"logins only", false, after(times(5, good), times(50, login)), 55},
		{"logins whose pages are fetched", false, after(times(5, good), times(30, login), times(30, loginPage), times(20, login)), 85},
		{"two logins", false, after(times(40, login), times(40, elsewhere)), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := blocked.NewWatch()
			req := &crawl.Request{URL: "https://shop.example/a", Seed: tt.seed}
			at := 0
			for i, r := range tt.answers {
				v := w.Answer("shop.example", req, r, 0)
				if v.Park && at == 0 {
					at = i + 1
					require.True(t, v.First)
					require.False(t, w.Answer("shop.example", req, r, 0).First, "told once")
					break
				}
			}
			require.Equal(t, tt.parkAt, at)
		})
	}
}

func TestWatchTellsAgainAfterAPage(t *testing.T) {
	t.Parallel()
	w := blocked.NewWatch()
	req := &crawl.Request{}
	challenge, good := answer(403, "", "cf-mitigated: challenge"), answer(200, page("News", "", prose(500)))
	require.True(t, w.Answer("a", req, challenge, 0).First)
	require.False(t, w.Answer("a", req, challenge, 0).First)
	require.True(t, w.Answer("b", req, challenge, 0).First, "another host")
	w.Answer("a", req, good, 9)
	require.True(t, w.Answer("a", req, challenge, 0).First)
}

func TestWatchIsBounded(t *testing.T) {
	t.Parallel()
	w := blocked.NewWatch()
	req := &crawl.Request{}
	block := answer(403, "<html><body>Request unsuccessful. Incapsula incident ID: 1</body></html>")
	for i := range 10_000 {
		require.False(t, w.Answer(fmt.Sprint(i), req, block, 0).Park)
	}
}
