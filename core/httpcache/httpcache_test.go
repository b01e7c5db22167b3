package httpcache_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/httpcache"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant

// bench is a cache with a clock.
type bench struct {
	*httpcache.Cache
	t   *testing.T
	dir string
	now time.Time
}

func newBench(t *testing.T, change func(*httpcache.Config)) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), now: noon}
	cfg := httpcache.Config{Dir: b.dir, Policy: httpcache.RFC9111, MaxSize: 1 << 20}
	if change != nil {
		change(&cfg)
	}
	require.NoError(t, cfg.Validate())
	b.Cache = httpcache.New(cfg, func() time.Time { return b.now })
	return b
}

func request(url string, fields ...crawl.Header) *crawl.Request {
	return &crawl.Request{URL: url, Headers: fields}
}

func field(name, value string) crawl.Header { return crawl.Header{Name: name, Value: value} }

func response(status int, body string, fields ...crawl.Header) *crawl.Response {
	return &crawl.Response{Status: status, Headers: fields, Body: []byte(body)}
}

// fetch asks the cache, and the site when that is to be asked; it gives the answer,
// what the site was asked with, and whether it was asked.
func (b *bench) fetch(req *crawl.Request, site *crawl.Response) (*crawl.Response, []crawl.Header, bool) {
	b.t.Helper()
	look, err := b.Look("shop", req)
	require.NoError(b.t, err)
	if look.Response != nil {
		return look.Response, nil, false
	}
	got, err := b.Done("shop", req, &look, site)
	require.NoError(b.t, err)
	return got, look.Fields, true
}

func TestWhatIsStoredAndForHowLong(t *testing.T) {
	t.Parallel()
	date := field("Date", noon.Format("Mon, 02 Jan 2006 15:04:05 GMT"))
	tests := []struct {
		name   string
		first  *crawl.Response
		stored bool
		fresh  time.Duration // 0: asked again at once
	}{
		{"max-age", response(200, "x", date, field("Cache-Control", "max-age=60")), true, time.Minute},
		{"max-age beats Expires", response(200, "x", date, field("Cache-Control", `public, max-age="60"`), field("Expires", "0")), true, time.Minute},
		{"Age counts", response(200, "x", date, field("Cache-Control", "max-age=60"), field("Age", "50")), true, 10 * time.Second},
		{"Expires", response(200, "x", date, field("Expires", noon.Add(time.Hour).Format("Mon, 02 Jan 2006 15:04:05 GMT"))), true, time.Hour},
		{"Expires of no date", response(200, "x", date, field("Expires", "-1")), true, 0},
		{"a tenth of the age", response(200, "x", date, field("Last-Modified", noon.Add(-10*time.Hour).Format("Mon, 02 Jan 2006 15:04:05 GMT"))), true, time.Hour},
		{"ETag alone", response(200, "x", date, field("ETag", `"1"`)), true, 0},
		{"no-cache", response(200, "x", date, field("Cache-Control", "no-cache, max-age=60")), true, 0},
		{"no-store", response(200, "x", date, field("Cache-Control", "max-age=60, NO-STORE")), false, 0},
		{"nothing said", response(200, "x", date), false, 0},
		{"permanent", response(301, "", date, field("Location", "/y")), true, 300 * 24 * time.Hour},
		{"an error", response(500, "x", date), false, 0},
		{"an error that says how long", response(404, "x", date, field("Cache-Control", "max-age=60")), true, time.Minute},
		{"a part", response(206, "x", date, field("Cache-Control", "max-age=60")), false, 0},
		{"Vary: *", response(200, "x", date, field("Cache-Control", "max-age=60"), field("Vary", "*")), false, 0},
		{"a number that is none", response(200, "x", date, field("Cache-Control", "max-age=soon"), field("ETag", `"1"`)), true, 0},
		{"a number too large", response(200, "x", date, field("Cache-Control", "max-age=99999999999999999999")), true, 24 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			req := request("http://a.example/")
			got, _, _ := b.fetch(req, tt.first)
			if !tt.stored {
				require.Equal(t, []string{"httpcache/miss", "httpcache/firsthand", "httpcache/uncacheable"}, got.Counted)
				return
			}
			require.Equal(t, []string{"httpcache/miss", "httpcache/firsthand", "httpcache/store"}, got.Counted)
			if tt.fresh > 0 {
				b.now = noon.Add(tt.fresh - time.Second)
				again, _, asked := b.fetch(req, response(500, ""))
				require.False(t, asked)
				require.True(t, again.Cached)
				require.Equal(t, []string{"httpcache/hit"}, again.Counted)
				require.Equal(t, tt.first.Body, again.Body)
				require.Equal(t, tt.first.Headers, again.Headers)
			}
			b.now = noon.Add(max(tt.fresh, time.Second) + 80*365*24*time.Hour)
			_, _, asked := b.fetch(req, response(200, "new"))
			require.True(t, asked)
		})
	}
}

func TestAsksWhetherItIsStillGood(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	req := request("http://a.example/")
	b.fetch(req, response(200, "one", field("ETag", `"1"`), field("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"), field("Cache-Control", "max-age=1"), field("X-Old", "1")))
	b.now = noon.Add(time.Minute)

	got, fields, _ := b.fetch(req, response(304, "", field("ETag", `"1"`), field("Cache-Control", "max-age=60"), field("X-Old", "2")))
	require.Equal(t, []crawl.Header{field("If-None-Match", `"1"`), field("If-Modified-Since", "Thu, 01 Jan 2026 00:00:00 GMT")}, fields)
	require.Equal(t, 200, got.Status)
	require.Equal(t, "one", string(got.Body))
	require.Equal(t, []string{"httpcache/revalidate"}, got.Counted)
	require.False(t, got.Cached, "the site was asked")

	b.now = b.now.Add(59 * time.Second)
	got, _, asked := b.fetch(req, nil)
	require.False(t, asked, "the 304 made it fresh again")
	require.Equal(t, "2", got.Header("X-Old"))

	b.now = b.now.Add(time.Hour)
	got, _, _ = b.fetch(req, response(200, "two", field("ETag", `"2"`)))
	require.Equal(t, "two", string(got.Body))
	require.Equal(t, []string{"httpcache/invalidate", "httpcache/store"}, got.Counted)
}

func TestStandsInForAFailure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		control string
		site    *crawl.Response
		body    string
		counted []string
	}{
		{"reset", "max-age=1", &crawl.Response{Cause: crawl.CauseReset}, "kept", []string{"httpcache/errorrecovery"}},
		{"status 502", "max-age=1", response(502, "bad"), "kept", []string{"httpcache/revalidate"}},
		{"reset, must-revalidate", "max-age=1, must-revalidate", &crawl.Response{Cause: crawl.CauseReset}, "", nil},
		{"status 502, must-revalidate", "max-age=1, must-revalidate", response(502, "bad"), "bad", []string{"httpcache/invalidate", "httpcache/uncacheable"}},
		{"cancelled by us", "max-age=1", &crawl.Response{Cause: crawl.CauseCancelled}, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			req := request("http://a.example/")
			b.fetch(req, response(200, "kept", field("Cache-Control", tt.control)))
			b.now = noon.Add(time.Hour)
			got, _, _ := b.fetch(req, tt.site)
			require.Equal(t, tt.body, string(got.Body))
			require.Equal(t, tt.counted, got.Counted)
		})
	}
}

func TestRequestsDecideToo(t *testing.T) {
	t.Parallel()
	kept := func(fields ...crawl.Header) *crawl.Response {
		return response(200, "kept", append(fields, field("Cache-Control", "max-age=60"))...)
	}
	for _, tt := range []struct {
		name   string
		stored *crawl.Response
		first  *crawl.Request
		second *crawl.Request
		asked  bool
	}{
		{"the same", kept(), request("http://a.example/"), request("http://a.example/"), false},
		{"another URL", kept(), request("http://a.example/"), request("http://a.example/2"), true},
		{"no-cache", kept(), request("http://a.example/"), request("http://a.example/", field("Cache-Control", "no-cache")), true},
		{"Pragma", kept(), request("http://a.example/"), request("http://a.example/", field("Pragma", "no-cache")), true},
		{"max-age=0", kept(), request("http://a.example/"), request("http://a.example/", field("Cache-Control", "max-age=0")), true},
		{"min-fresh", kept(), request("http://a.example/"), request("http://a.example/", field("Cache-Control", "min-fresh=120")), true},
		{"other language", kept(field("Vary", "Accept-Language")), request("http://a.example/", field("Accept-Language", "de")), request("http://a.example/", field("Accept-Language", "fr")), true},
		{"same language", kept(field("Vary", "Accept-Language")), request("http://a.example/", field("Accept-Language", "de")), request("http://a.example/", field("accept-language", "de")), false},
		{"somebody's page", kept(), request("http://a.example/", field("Authorization", "Basic YTpi")), request("http://a.example/"), true},
		{"never stored", kept(), request("http://a.example/", field("Cache-Control", "no-store")), request("http://a.example/"), true},
		{"a form", kept(), &crawl.Request{URL: "http://a.example/", Method: "POST"}, request("http://a.example/"), true},
		{"dont_cache", kept(), &crawl.Request{URL: "http://a.example/", Meta: []byte(`{"dont_cache":true}`)}, request("http://a.example/"), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			b.fetch(tt.first, tt.stored)
			_, _, asked := b.fetch(tt.second, response(200, "new"))
			require.Equal(t, tt.asked, asked)
		})
	}
}

func TestDummyKeepsEverything(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *httpcache.Config) {
		c.Policy, c.IgnoreCodes, c.Expiration, c.Gzip = httpcache.Dummy, []int{500}, time.Hour, true
	})
	req := request("http://a.example/")
	got, _, _ := b.fetch(req, response(500, "bad"))
	require.Contains(t, got.Counted, "httpcache/uncacheable")
	b.fetch(req, response(404, "gone \xff", field("Cache-Control", "no-store"), field("X-Bytes", "\xe9\x00")))
	got, _, asked := b.fetch(req, nil)
	require.False(t, asked)
	require.Equal(t, "gone \xff", string(got.Body))
	require.Equal(t, "\xe9\x00", got.Header("X-Bytes"), "fields keep their bytes")
	b.now = noon.Add(2 * time.Hour)
	_, _, asked = b.fetch(req, response(200, ""))
	require.True(t, asked, "expired")
}

func TestIgnoreMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *httpcache.Config) { c.IgnoreMissing = true })
	got, _, asked := b.fetch(request("http://a.example/"), nil)
	require.False(t, asked)
	require.Equal(t, crawl.CauseMissing, got.Cause)
	require.Equal(t, []string{"httpcache/miss", "httpcache/ignore"}, got.Counted)
}

// Files that something else wrote, or that were cut, are a miss with a reason.
func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "\n", "{", "{}", `{"status":"x"}` + "\n", `{"gzip":true}` + "\nplain"} {
		b := newBench(t, nil)
		req := request("http://a.example/")
		b.fetch(req, response(200, "x", field("Cache-Control", "max-age=60")))
		files, err := filepath.Glob(filepath.Join(b.dir, "shop", "*", "*"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		require.NoError(t, os.WriteFile(files[0], []byte(content), 0o600))
		look, err := b.Look("shop", req)
		require.Error(t, err, content)
		require.Nil(t, look.Response)
		got, err := b.Done("shop", req, &look, response(200, "new", field("Cache-Control", "max-age=60")))
		require.NoError(t, err)
		require.Equal(t, []string{"httpcache/miss", "httpcache/firsthand", "httpcache/store"}, got.Counted)
		_, _, asked := b.fetch(req, nil)
		require.False(t, asked)
	}
}

// A crawl's name cannot lead out of the folder.
func TestNamesStayInside(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"..", ".", "../../x", "a/b", ""} {
		b := newBench(t, nil)
		look, err := b.Look(name, request("http://a.example/"))
		require.NoError(t, err)
		_, err = b.Done(name, request("http://a.example/"), &look, response(200, "x", field("Cache-Control", "max-age=60")))
		require.NoError(t, err)
		inside, err := filepath.Glob(filepath.Join(b.dir, "*", "*", "*"))
		require.NoError(t, err)
		require.Len(t, inside, 1, name)
	}
}

func TestTooLargeIsNotStored(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *httpcache.Config) { c.MaxSize = 3 })
	got, _, _ := b.fetch(request("http://a.example/"), response(200, "1234", field("Cache-Control", "max-age=60")))
	require.Contains(t, got.Counted, "httpcache/uncacheable")
}

func TestValidate(t *testing.T) {
	t.Parallel()
	err := httpcache.Config{Policy: "LRU"}.Validate()
	require.ErrorContains(t, err, "HTTPCACHE_POLICY")
	require.ErrorContains(t, err, "HTTPCACHE_DIR")
}

func FuzzCacheControl(f *testing.F) {
	f.Add(`public, max-age="60", no-cache="a,b"`, `"Wed, 21 Oct 2015 07:28:00 GMT"`)
	f.Fuzz(func(t *testing.T, control, expires string) {
		b := newBench(t, nil)
		req := request("http://a.example/", field("Cache-Control", control))
		_, _, _ = b.fetch(req, response(200, "x", field("Cache-Control", control), field("Expires", expires), field("Age", control), field("Vary", expires)))
		_, _, _ = b.fetch(req, response(200, "y"))
	})
}

// A challenge is neither stored nor given, and no stored page hides it.
func TestRefusalsAreNotKept(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{httpcache.RFC9111, httpcache.Dummy} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			known := false
			b := newBench(t, func(c *httpcache.Config) {
				c.Policy = policy
				c.Refused = func(r *crawl.Response) bool { return known && string(r.Body) == "wall" }
			})
			req, keep := request("http://a.test/"), field("Cache-Control", "max-age=60")
			known = true
			got, _, asked := b.fetch(req, response(200, "wall", keep))
			require.True(t, asked)
			require.Equal(t, []string{"httpcache/miss", "httpcache/uncacheable"}, got.Counted)
			got, _, asked = b.fetch(req, response(200, "page", keep))
			require.True(t, asked)
			require.Equal(t, "page", string(got.Body))
			_, _, asked = b.fetch(req, nil)
			require.False(t, asked)

			known = false // as an older version stored it
			old := request("http://a.test/old")
			b.fetch(old, response(200, "wall", keep))
			known = true
			got, _, asked = b.fetch(old, response(200, "page", keep))
			require.True(t, asked)
			require.Equal(t, "page", string(got.Body))
		})
	}
	b := newBench(t, func(c *httpcache.Config) {
		c.Refused = func(r *crawl.Response) bool { return string(r.Body) == "wall" }
	})
	req := request("http://a.test/")
	b.fetch(req, response(200, "page", field("ETag", `"1"`)))
	got, fields, _ := b.fetch(req, response(503, "wall"))
	require.Equal(t, []crawl.Header{field("If-None-Match", `"1"`)}, fields)
	require.Equal(t, 503, got.Status, "the host is to be left alone")
	got, _, _ = b.fetch(req, response(304, ""))
	require.Equal(t, "page", string(got.Body), "the page is still kept")
}
