package e2e

// The classes of security advisories that Scrapy has published, and some of its
// neighbours, against a node of its own: a test each. docs/security.md lists them.

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
	"orbweaver/internal/webtest"
)

// quick are the settings of a crawl that has one try for each request and waits for
// nothing.
func quick(t *testing.T) []string {
	t.Helper()
	return append(embedded(t.TempDir()), "-s", "AUTOTHROTTLE_ENABLED=false", "-s", "RETRY_ENABLED=false", "-s", "SLOW_START_ENABLED=false", "-s", "BACKOFF_BASE=0.001", "-s", "BACKOFF_MAX=0.001", "-s", "CIRCUIT_FAILURES=10000")
}

// seeded are quick settings of a crawl that has more seeds in its Redis: URLs or JSON.
func seeded(t *testing.T, seeds ...string) []string {
	t.Helper()
	server := redistest.New(t)
	for _, s := range seeds {
		require.NoError(t, server.Client().RPush(within(t), "adv:start_urls", s).Err())
	}
	return append(append(quick(t)[2:], shortLeases()...), "--name", "adv", "--redis", server.URL())
}

// moved is a redirect whatever the method.
func moved(to string) *webtest.Answer {
	return &webtest.Answer{Status: http.StatusTemporaryRedirect, Header: http.Header{"Location": {to}}}
}

func page(body string) *webtest.Answer { return &webtest.Answer{Body: body} }

func basic(info string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(info)) }

// CVE-2024-3572, CVE-2025-6176, CVE-2017-14158: bodies that expand to a gigabyte, or
// never end, cost the cap in memory.
func TestAdvisoryDecompressionBomb(t *testing.T) {
	t.Parallel()
	const expanded, chunk = 1 << 30, 64 << 20
	zeros := make([]byte, 1<<20)
	pack := func(w io.WriteCloser, size int) {
		for range size / len(zeros) {
			_, err := w.Write(zeros)
			require.NoError(t, err)
		}
	}
	// repeated compresses a chunk once and says it as often as it takes.
	repeated := func(w func(io.Writer) io.WriteCloser) []byte {
		var one bytes.Buffer
		z := w(&one)
		pack(z, chunk)
		require.NoError(t, z.Close())
		return bytes.Repeat(one.Bytes(), expanded/chunk)
	}
	members := repeated(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
	frames := repeated(func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)); return z })
	raw := repeated(func(w io.Writer) io.WriteCloser { z, _ := flate.NewWriter(w, flate.BestSpeed); return unfinished{z} })
	var br, twice, sitemap bytes.Buffer
	b := brotli.NewWriterLevel(&br, 0)
	pack(b, expanded/4)
	require.NoError(t, b.Close())
	g := gzip.NewWriter(&twice)
	_, err := g.Write(members)
	require.NoError(t, err)
	require.NoError(t, g.Close())
	g.Reset(&sitemap)
	_, err = io.WriteString(g, "<urlset><url><loc>")
	require.NoError(t, err)
	require.NoError(t, g.Close())
	bombs := map[string]struct{ coding, body string }{
		"/gzip":    {"gzip", string(members)},
		"/deflate": {"deflate", string(raw) + "\x03\x00"},
		"/br":      {"br", br.String()},
		"/zstd":    {"zstd", string(frames)},
		"/twice":   {"gzip, gzip", twice.String()},
		"/sitemap": {"", sitemap.String() + string(members)}, // sitemaps are unpacked whatever their coding
	}
	hold := make(chan struct{})
	endless := func(w io.Writer) {
		_, err := io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
		for n := 0; err == nil && n < expanded; n += len(zeros) {
			_, err = w.Write(zeros)
		}
	}
	site := webtest.New(t, webtest.Config{Hosts: 4, Script: func(v webtest.Visit) *webtest.Answer {
		bomb, ok := bombs[strings.TrimSuffix(v.Path, ".xml.gz")]
		switch {
		case v.Host == 1 && v.Page == 0:
			return &webtest.Answer{Raw: func(w io.Writer) {
				<-hold
				_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			}}
		case v.Path == "/endless", v.Path == "/robots.txt" && v.Host == 2:
			return &webtest.Answer{Raw: endless}
		case v.Path == "/robots.txt" && v.Host == 3: // of which the first 500 KiB count
			return &webtest.Answer{Header: http.Header{"Content-Encoding": {"gzip"}}, Body: bombs["/gzip"].body}
		case ok && bomb.coding == "":
			return &webtest.Answer{Header: http.Header{"Content-Type": {"application/gzip"}}, Body: bomb.body}
		case ok:
			return &webtest.Answer{Header: http.Header{"Content-Encoding": {bomb.coding}}, Body: bomb.body}
		}
		return nil
	}})
	seeds := []string{site.PageURL(1, 0), site.PageURL(2, 0), site.PageURL(3, 0), site.URL(0, "/endless")}
	for path, bomb := range bombs {
		if bomb.coding != "" {
			seeds = append(seeds, site.URL(0, path))
		}
	}
	n := start(t, crawl(seeds, quick(t), []string{"-s", "DOWNLOAD_MAXSIZE=8MiB", "-s", "SITEMAP=" + site.URL(0, "/sitemap.xml.gz"), "-s", "DOWNLOAD_WARNSIZE=0"})...)
	eventually(t, func() bool {
		done := 0
		for _, a := range site.Arrivals(-1) {
			if !a.End.IsZero() && a.Host != 1 {
				done++
			}
		}
		return n.ended() || done >= len(bombs)+2+4 && strings.Count(n.err.String(), "too_large") >= len(bombs)
	}, "every bomb went off")
	peak := peakMemory(t, n.cmd.Process.Pid)
	close(hold)
	n.finish()
	t.Logf("peak %d MiB", peak>>20)
	limit := int64(160 << 20)
	if os.Getenv(raceVar) != "" { // the detector's own memory
		limit *= 4
	}
	require.Less(t, peak, limit)
	require.Contains(t, n.err.String(), "downloader/exception_type_count/too_large: "+fmt.Sprint(len(bombs)))
	require.Contains(t, n.err.String(), "sitemap/response_count: 1")
}

// unfinished is a deflate stream whose end is not said.
type unfinished struct{ *flate.Writer }

func (u unfinished) Close() error { return u.Flush() }

// CVE-2021-41125, CVE-2024-3574, CVE-2024-1968: credentials stay with the origin that
// they are for, whether they are the settings', the URL's or a seed's own field.
func TestAdvisoryAuthorizationOnRedirect(t *testing.T) {
	t.Parallel()
	var v visitors
	var there map[string]string
	script := func(_ int, path string) *webtest.Answer {
		way, ok := strings.CutPrefix(path, "/to/")
		switch {
		case path == "/lost":
			return &webtest.Answer{Drop: true}
		case !ok:
			return page("end")
		}
		to, way, _ := strings.Cut(way, "/")
		end := there[to] + "/end/" + to + "/" + way
		if strings.HasSuffix(way, "-refresh") {
			return page(`<meta http-equiv="refresh" content="0; url=` + end + `">`)
		}
		return moved(end)
	}
	site := v.scripted(t, "site", 2, script)
	other := v.scripted(t, "port", 1, script)
	tls := v.secure(t, "tls", "127.1.0.1", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "end") })
	there = map[string]string{"same": site.URL(0, ""), "host": site.URL(1, ""), "port": other.URL(0, ""), "scheme": "https://127.1.0.1:" + tls}
	seeds := []string{strings.Replace(site.URL(0, "/lost"), "://", "://in:fo@", 1)}
	for to := range there {
		for _, by := range []string{"", "-refresh"} {
			seeds = append(seeds,
				fmt.Sprintf(`{"url": %q, "meta": {"orbweaver": {"headers": {"Authorization": "Basic own"}}}}`, site.URL(0, "/to/"+to+"/own"+by)),
				strings.Replace(site.URL(0, "/to/"+to+"/info"+by), "://", "://in:fo@", 1),
				site.URL(0, "/to/"+to+"/settings"+by))
		}
	}
	v.ready()
	n := run(t, crawl(site.Roots(0, 1), seeded(t, seeds...), []string{
		"-s", "DOWNLOAD_VERIFY_CERTIFICATES=false",
		"-s", "HTTPAUTH_USER=set", "-s", "HTTPAUTH_PASS=word", "-s", "HTTPAUTH_DOMAIN=" + site.URL(0, ""),
	})...).finish()
	for _, way := range []string{"own", "info", "settings", "own-refresh", "info-refresh", "settings-refresh"} {
		kind, _, _ := strings.Cut(way, "-")
		want := map[string]string{"own": "Basic own", "info": basic("in:fo"), "settings": basic("set:word")}[kind]
		for to := range there {
			require.Equal(t, want, v.to(t, "site0", "/to/"+to+"/"+way)[0].header.Get("Authorization"))
		}
		if kind == "info" { // it is the URL's, and the target's URL has none
			want = basic("set:word")
		}
		require.Equal(t, want, v.to(t, "site0", "/end/same/"+way)[0].header.Get("Authorization"), way)
		for at, to := range map[string]string{"site1": "host", "port0": "port", "tls": "scheme"} {
			for _, c := range v.to(t, at, "/end/"+to+"/"+way) {
				require.Empty(t, c.header.Get("Authorization"), "%s to another %s", way, to)
				require.NotContains(t, fmt.Sprint(c.header), "fo@", "the Referer too")
			}
		}
	}
	for _, c := range v.all() {
		if c.path == "/robots.txt" && c.at != "site0" {
			require.Empty(t, c.header.Get("Authorization"))
		}
	}
	require.NotContains(t, n.err.String(), "in:fo")
	require.Contains(t, n.err.String(), "://***@127.1.0.1", "a URL that was given up")
	require.NotContains(t, n.err.String(), "Basic own")
}

// CVE-2022-0577 and GHSA-mfjm-vh54-3f96: cookies stay in their domain, and secure ones
// with https.
func TestAdvisoryCookiesOnRedirect(t *testing.T) {
	t.Parallel()
	var v visitors
	var there map[string]string
	set := []string{"host=1", "suffix=1; Domain=co.uk", "suffix2=1; Domain=.co.uk", "top=1; Domain=uk", "foreign=1; Domain=shop.co.uk", "dot=1; Domain=."}
	site := v.scripted(t, "site", 2, func(_ int, path string) *webtest.Answer {
		if to, ok := strings.CutPrefix(path, "/to/"); ok {
			a := moved(there[to] + "/end/" + to)
			a.Header["Set-Cookie"] = set
			return a
		}
		return page("end")
	})
	tls := v.secure(t, "tls", "127.1.0.1", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Set-Cookie", "tls=1; Secure")
		http.Redirect(w, r, there["plain"]+"/end"+r.URL.Path, http.StatusFound)
	})
	at := func(host string) string { return fmt.Sprintf("http://%s:%d", host, site.Port()) }
	there = map[string]string{"shop": at("shop.co.uk"), "plain": at("evil.co.uk")}
	own := func(url string) string {
		return fmt.Sprintf(`{"url": %q, "meta": {"dont_merge_cookies": true, "orbweaver": {"headers": {"Cookie": "own=1"}}}}`, url)
	}
	seeds := []string{
		at("evil.co.uk") + "/to/shop", own(at("evil.co.uk") + "/to/shop?own"),
		"https://evil.co.uk:" + tls + "/jar", own("https://evil.co.uk:" + tls + "/own"),
	}
	there["shop?own"] = there["shop"]
	v.ready()
	run(t, crawl([]string{at("evil.co.uk")}, seeded(t, seeds...), names(t, map[string]string{"evil.co.uk": "127.1.0.1", "shop.co.uk": "127.1.0.2"}), []string{
		"-s", "DOWNLOAD_VERIFY_CERTIFICATES=false", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=1",
	})...).finish()
	require.Equal(t, "own=1", v.to(t, "site0", "/to/shop?own")[0].header.Get("Cookie"))
	require.Equal(t, "own=1", v.to(t, "tls", "/own")[0].header.Get("Cookie"))
	for _, path := range []string{"/end/shop", "/end/shop?own"} {
		require.Empty(t, v.to(t, "site1", path)[0].header.Get("Cookie"), path)
	}
	for _, path := range []string{"/end/jar", "/end/own"} {
		require.NotContains(t, v.to(t, "site0", path)[0].header.Get("Cookie"), "tls=")
		require.NotContains(t, v.to(t, "site0", path)[0].header.Get("Cookie"), "own=")
	}
}

// GHSA-23j4-mw76-5v7h: nothing but http and https is ever opened, whoever asks.
func TestAdvisoryRedirectToOtherSchemes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	canary := filepath.Join(dir, "canary")
	require.NoError(t, os.WriteFile(canary, []byte("<title>canary-4711</title>"), 0o600))
	l, err := net.Listen("tcp4", "127.1.0.1:0") //nolint:noctx // nothing to wait for
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	opened := make(chan string, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			opened <- c.RemoteAddr().String()
			_ = c.Close()
		}
	}()
	targets := []string{
		"file://" + canary, "FILE:" + canary, "file://127.1.0.1" + canary, "\tfile://" + canary, "view-source:file://" + canary,
		"data:text/html,<title>canary-4711</title>", "javascript:document.title='canary-4711'", "about:blank", "blob:x", "s3://bucket/key",
		"ftp://" + l.Addr().String() + "/x", "gopher://" + l.Addr().String() + "/_x", "ws://" + l.Addr().String() + "/", "dict://" + l.Addr().String() + "/",
	}
	var v visitors
	site := v.scripted(t, "site", 2, func(host int, path string) *webtest.Answer {
		var n int
		switch _, _ = fmt.Sscanf(path[strings.LastIndexByte(path, '/')+1:], "%d", &n); {
		case path == "/robots.txt" && host == 1:
			return &webtest.Answer{Status: 301, Header: http.Header{"Location": targets[:1]}}
		case path == "/robots.txt":
			return &webtest.Answer{Header: http.Header{"Content-Type": {"text/plain"}}, Body: "Sitemap: file://" + canary + "\n"}
		case strings.HasPrefix(path, "/moved/"):
			return &webtest.Answer{Status: 302, Header: http.Header{"Location": {targets[n]}}, Body: "gone"}
		case strings.HasPrefix(path, "/refresh/"):
			return page(`<title>refresh</title><meta http-equiv="refresh" content="0; url=` + strings.ReplaceAll(targets[n], "<", "&lt;") + `">`)
		case path == "/links":
			return page(`<title>links</title><a href="` + strings.Join(targets, `">x</a><a href="`) + `">x</a>`)
		case path == "/base":
			return page(`<title>base</title><base href="file:///"><a href="` + strings.TrimPrefix(canary, "/") + `">x</a>`)
		case path == "/sitemap.xml":
			return &webtest.Answer{Header: http.Header{"Content-Type": {"application/xml"}}, Body: `<!DOCTYPE u [<!ENTITY x SYSTEM "file://` + canary + `">]>` +
				`<urlset><url><loc>file://` + canary + `</loc></url><url><loc>&x;</loc></url></urlset>`}
		}
		return page("<title>page</title>")
	})
	seeds := []string{site.URL(0, "/links"), site.URL(0, "/base"), site.URL(0, "/sitemap.xml"), site.URL(1, "/")}
	for i := range targets {
		seeds = append(seeds, site.URL(0, fmt.Sprintf("/moved/%d", i)), site.URL(0, fmt.Sprintf("/refresh/%d", i)))
	}
	out := filepath.Join(dir, "items.jsonl")
	v.ready()
	n := run(t, crawl(seeds, quick(t), []string{"-o", out, "-s", "SITEMAP=robots"})...).finish()
	require.NotContains(t, readFile(t, out), "canary-4711")
	require.Contains(t, n.err.String(), fmt.Sprintf("downloader/response_status_count/302: %d", len(targets)))
	require.Contains(t, n.err.String(), fmt.Sprintf("httperror/response_ignored_count: %d", len(targets)+1), "one robots.txt is read for sitemaps")
	require.Empty(t, opened)
	for _, scheme := range []string{"file:///etc/passwd", "data:,x", "ftp://127.1.0.1/", "gopher://127.1.0.1/"} {
		v.ready()
		require.Equal(t, 2, run(t, crawl([]string{scheme}, quick(t))...).wait(), "as a seed: %s", scheme)
	}
}

// CVE-2024-1892 and its like: no text takes more than its length in work. Each is a
// megabyte, or as long as a header may be: a scan that begins anew at each byte would
// not end before the test gives up.
func TestAdvisoryPatternBlowUp(t *testing.T) {
	t.Parallel()
	const large, header = 1 << 20, 60 << 10
	fill := func(piece string, size int) string { return strings.Repeat(piece, size/len(piece)) }
	bodies := []string{
		"<", "</", "<!--", "<![CDATA[", "<!", "<?", "<a ", `<a href="`, "<a href='", "<a href=x ", "<a href=x", "<a>", "<a><b><i>", "<table><a>", "<script>", "<script><!--<script>",
		"<title>", "<textarea><", "<style><", "<noscript>", "<template>", "<svg><a>", "<base href=", "<meta charset=", "<meta http-equiv=refresh content='0;url=",
		"&", "&#", "&#1", "&ampx", "%", "http://", "..", "./../", "\x00<", "\x1b$B", "http-equiv ", "g-recaptcha ", "_cf_chl_opt ", "Just a moment...", "\r", "\t",
		"<url><loc>", "<urlset>", "<sitemap>", "<loc><![CDATA[",
	}
	fields := map[string]string{
		"Content-Type": `text/html; a="\"; charset="`, "Content-Encoding": "identity,", "Set-Cookie": "a=1; Expires=1 ", "Retry-After": "1", "Cache-Control": `a="\",`,
		"Ratelimit": `"a";r=1,`, "Ratelimit-Policy": `"a";q=1;w=1,`, "X-Robots-Tag": "a:noindex,", "Location": "../a/", "Link": "<a>;", "Referrer-Policy": "a,",
		"Vary": "a,", "Date": "Mon, ", "Age": "9", "Www-Authenticate": `Basic realm="`, "X-Ratelimit-Reset": "1", "Content-Disposition": "a;",
	}
	names := slices.Sorted(maps.Keys(fields))
	stars := "Disallow: /" + fill("*a", 20_000) + "b$\n"
	site := webtest.New(t, webtest.Config{Hosts: 4, Script: func(v webtest.Visit) *webtest.Answer {
		at := v.Path[strings.LastIndexByte(v.Path, '/')+1:]
		n, err := strconv.Atoi(strings.TrimSuffix(at, ".xml"))
		switch {
		case v.Path == "/robots.txt" && v.Host == 0:
			return &webtest.Answer{Body: "User-agent: *\n" + fill(stars, 480<<10)}
		case v.Path == "/robots.txt" && v.Host == 1:
			return &webtest.Answer{Body: fill("User-agent: *\nUser-agent: a\nAllow: /*/*/*$\nCrawl-delay: 0.001\nSitemap: x\n", 480<<10)}
		case v.Host == 0, v.Path == "/robots.txt":
			return page("page")
		case err != nil:
			return nil
		case v.Host == 1 || v.Host == 2:
			a := page(fill(bodies[n%len(bodies)], large))
			if n >= len(bodies) { // inside of a page
				a.Body = "<html><head><title>t</title><meta http-equiv='refresh' content='0" + fill(" ", large) + ";url=" + a.Body
			}
			if strings.HasSuffix(at, ".xml") {
				a.Body = "<urlset>" + a.Body
				a.Header = http.Header{"Content-Type": {"application/xml"}}
			}
			return a
		}
		name := names[n%len(names)]
		a := &webtest.Answer{Header: http.Header{name: {fill(fields[name], header)}}, Status: []int{200, 302, 401, 429}[n/len(names)], Body: "x"}
		return a
	}})
	var seeds []string
	for range 3 {
		seeds = append(seeds, site.URL(0, "/"+strings.Repeat("a", 1500+len(seeds))))
	}
	for n := range 2 * len(bodies) {
		seeds = append(seeds, site.URL(1, fmt.Sprintf("/%d", n)), site.URL(2, fmt.Sprintf("/%d.xml", n)))
	}
	for n := range 4 * len(names) {
		seeds = append(seeds, site.URL(3, fmt.Sprintf("/%d", n)))
	}
	n := run(t, crawl(seeds, quick(t), []string{"-s", "SITEMAP=robots", "-s", "DEPTH_LIMIT=1", "-s", "RETRY_AFTER_MAX=0.001", "-s", "QUOTA_MEMORY=0", "-s", "ERROR_SHARE=0", "-s", "BLOCKED_PARK=false"})...).finish()
	require.Contains(t, n.err.String(), "finish_reason: finished")
	for _, s := range seeds {
		path := s[strings.LastIndexByte(s, '/'):]
		require.True(t, slices.ContainsFunc(site.Arrivals(-1), func(a webtest.Arrival) bool { return a.Path == path && a.Status > 0 }), path)
	}
}
