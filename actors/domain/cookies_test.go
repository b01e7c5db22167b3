package domain

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/cookies"
	"orbweaver/core/crawl"
	"orbweaver/core/rqueue"
)

func newJars(t *testing.T) *cookies.Jars {
	t.Helper()
	j, err := cookies.New(cookies.Default())
	require.NoError(t, err)
	return j
}

// cookiesSent are the Cookie fields that a host saw, in order.
func (w *world) cookiesSent() (fields []string) {
	for _, a := range w.site.seen() {
		fields = append(fields, a.cookie)
	}
	return fields
}

// setting makes the sites set a cookie with every answer whose number is in lines.
func (w *world) setting(lines map[int]string) {
	w.site.behave = func(_ string, n int) answer {
		return answer{latency: 10 * time.Millisecond, status: 200, setCookie: lines[n]}
	}
}

func TestCookiesGoAlong(t *testing.T) {
	inBubble(t, exact(time.Second, 2), func(w *world) {
		w.jars = newJars(t)
		w.setting(map[int]string{0: "a=1", 2: "a=; Max-Age=0"})
		w.seed(newCrawl(), "a.test", 4)
		w.allDone()
		require.Equal(t, []string{"", "a=1", "a=1", ""}, w.cookiesSent())
		require.Zero(t, w.store.count((*rqueue.CookiesPut)(nil)))
		require.Zero(t, w.store.count((*rqueue.CookiesGet)(nil)))
	})
}

// What a host sets for its domain, the other hosts of the domain are sent, and no one else.
func TestCookiesOfADomain(t *testing.T) {
	inBubble(t, exact(time.Second, 1), func(w *world) {
		w.jars = newJars(t)
		w.setting(map[int]string{0: "a=1; Domain=shop.example"})
		c := newCrawl()
		w.seed(c, "www.shop.example", 1)
		w.allDone()
		w.seed(c, "img.shop.example", 1)
		w.allDone()
		w.seed(c, "other.example", 1)
		w.allDone()
		require.Equal(t, []string{"", "a=1", ""}, w.cookiesSent())
	})
}

func TestWhoseCookies(t *testing.T) {
	t.Parallel()
	d := &Domain{}
	w := &work{jar: jar{jars: newJars(t)}}
	now := time.Now()
	w.jar.jars.Set("", "http://a.test/", []string{"a=1"}, now)
	w.jar.jars.Set("7", "http://a.test/", []string{"a=7"}, now)
	tests := []struct {
		name string
		req  crawl.Request
		want string
	}{
		{"plain", crawl.Request{}, "a=1"},
		{"its jar", crawl.Request{Meta: []byte(`{"cookiejar": 7}`)}, "a=7"},
		{"an empty jar", crawl.Request{Meta: []byte(`{"cookiejar": "7"}`)}, ""},
		{"not merged", crawl.Request{Meta: []byte(`{"dont_merge_cookies": true}`)}, ""},
		{"its own", crawl.Request{Headers: []crawl.Header{{Name: "cOOkie", Value: "x=1"}}}, ""},
		{"other fields", crawl.Request{Headers: []crawl.Header{{Name: "Cooki\x05", Value: "x=1"}}}, "a=1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.req.URL = "http://a.test/x"
			require.Equal(t, tt.want, d.cookie(w, &tt.req))
		})
	}
	require.Empty(t, d.cookie(&work{}, &crawl.Request{URL: "http://a.test/"}), "none are kept")
}

// With COOKIES_PERSIST nothing is sent before the stored ones are known, and what is
// set is stored.
func TestCookiesAreKept(t *testing.T) {
	inBubble(t, exact(time.Second, 1), func(w *world) {
		w.jars, w.persist = newJars(t), true
		elsewhere := newJars(t)
		for _, c := range elsewhere.Set("", "http://www.shop.example/", []string{"a=1", "b=2; Domain=shop.example"}, time.Now()) {
			w.store.cookies = append(w.store.cookies, rqueue.Cookie{Domain: c.Domain, ID: c.ID, Line: c.Line})
		}
		failed, unsaved := 0, 0
		w.store.before = func(op rqueue.Op) error {
			switch op.(type) {
			case *rqueue.CookiesGet:
				if failed++; failed <= 2 {
					return errors.New("down")
				}
			case *rqueue.CookiesPut:
				if unsaved++; unsaved <= 2 {
					return errors.New("down")
				}
			}
			return nil
		}
		w.setting(map[int]string{1: "c=3"})
		w.seed(newCrawl(), "www.shop.example", 3)
		w.allDone()
		require.Equal(t, []string{"a=1; b=2", "a=1; b=2", "a=1; c=3; b=2"}, w.cookiesSent())
		require.Equal(t, 3, failed)
		require.Equal(t, 3, unsaved, "until it is stored")
		last := w.store.cookies[len(w.store.cookies)-1]
		require.Equal(t, "www.shop.example", last.Domain)
		require.Contains(t, last.Line, "c")
	})
}

// COOKIES_DEBUG says what is sent and received.
func TestCookiesAreLogged(t *testing.T) {
	cfg := exact(time.Second, 1)
	cfg.CookiesDebug = true
	inBubble(t, cfg, func(w *world) {
		w.jars = newJars(t)
		w.setting(map[int]string{0: "a=1"})
		w.seed(newCrawl(), "a.test", 2)
		w.allDone()
		require.Equal(t, "a=1", w.logs.AllEntries()[indexOf(w, "cookies sent")].Data["cookie"])
		require.Equal(t, "a.test", w.logs.AllEntries()[indexOf(w, "cookie received")].Data["cookie_domain"])
	})
}
