package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
	"orbweaver/internal/webtest"
)

// GHSA-jm3v-qxmh-hxwv: each request takes the proxy of its own scheme, also after a
// redirect, and a proxy's password is sent to that proxy alone.
func TestAdvisoryProxyAfterSchemeChange(t *testing.T) {
	t.Parallel()
	var v visitors
	var there map[string]string
	site := v.scripted(t, "site", 1, func(_ int, path string) *webtest.Answer {
		if to, ok := strings.CutPrefix(path, "/to/"); ok {
			return moved(there["https"] + "/end/" + to)
		}
		return page("end")
	})
	tls := v.secure(t, "tls", "127.1.0.1", func(w http.ResponseWriter, r *http.Request) {
		if to, ok := strings.CutPrefix(r.URL.Path, "/to/"); ok {
			http.Redirect(w, r, there["http"]+"/end/"+to, http.StatusFound)
			return
		}
		http.NotFound(w, r)
	})
	there = map[string]string{"http": fmt.Sprintf("http://a.test:%d", site.Port()), "https": "https://a.test:" + tls}
	plain, secure, own := v.proxy(t, "http"), v.proxy(t, "https"), v.proxy(t, "meta")
	seeds := []string{there["https"] + "/to/plain"}
	for name, meta := range map[string]string{
		"header": `"orbweaver": {"headers": {"Proxy-Authorization": "Basic own"}}`,
		"meta":   `"proxy": "http://m:m@` + own + `"`,
	} {
		for scheme, at := range there {
			seeds = append(seeds, fmt.Sprintf(`{"url": "%s/to/%s-%s", "meta": {%s}}`, at, name, scheme, meta))
		}
	}
	args := crawl([]string{there["http"] + "/to/secure"}, seeded(t, seeds...), names(t, map[string]string{"a.test": "127.1.0.1"}), []string{"-s", "DOWNLOAD_VERIFY_CERTIFICATES=false"})
	v.ready()
	n := startWith(t, []string{"http_proxy=http://p:p@" + plain, "https_proxy=http://s:s@" + secure}, args...)
	n.finish()
	v.to(t, "tls", "/end/secure")
	v.to(t, "site0", "/end/plain")
	want := map[string]string{"http": basic("p:p"), "https": basic("s:s"), "meta": basic("m:m")}
	direct, forwarded := 0, 0
	for _, c := range v.all() {
		require.Equal(t, want[c.at], c.header.Get("Proxy-Authorization"), "%s %s", c.at, c.path)
		switch method, to, _ := strings.Cut(c.path, " "); {
		case c.at == "site0":
			direct++
		case c.at == "https":
			require.Equal(t, "CONNECT a.test:"+tls, c.path)
			require.NotContains(t, c.path, "meta")
		case c.at == "http":
			require.NotContains(t, to, "meta")
			fallthrough
		case method == http.MethodGet && c.at == "meta":
			require.True(t, strings.HasPrefix(to, there["http"]), c.path)
			forwarded++
		}
	}
	require.Equal(t, direct, forwarded, "nothing went to the site but by a proxy")
	v.to(t, "meta", "CONNECT a.test:"+tls)
}

// What the guard refuses, no redirect, name or file of a site opens: literal addresses
// in any form, names, names that change their address, robots.txt and sitemaps.
func TestAdvisoryGuardBypass(t *testing.T) {
	t.Parallel()
	var v visitors
	var targets []string
	bare := func(body string) *webtest.Answer {
		return &webtest.Answer{Header: http.Header{"Connection": {"close"}}, Body: body}
	}
	site := v.scripted(t, "site", 3, func(host int, path string) *webtest.Answer {
		var n int
		switch {
		case path == "/robots.txt" && host == 2:
			return moved(targets[0])
		case path == "/robots.txt":
			return bare("Sitemap: " + strings.Join(targets, "\nSitemap: "))
		case strings.HasPrefix(path, "/moved/"):
			_, _ = fmt.Sscanf(path, "/moved/%d", &n)
			return moved(targets[n])
		case strings.HasPrefix(path, "/refresh/"):
			_, _ = fmt.Sscanf(path, "/refresh/%d", &n)
			return bare(`<meta http-equiv="refresh" content="0; url=` + targets[n] + `">`)
		case path == "/":
			return bare(`<a href="` + strings.Join(targets, `">x</a><a href="`) + `">x</a>`)
		}
		return bare("page")
	})
	for _, host := range []string{
		"127.1.0.2", "127.1.2", "2130771970", "0x7f010002", "0177.1.0.2", "127.1.0.2.", "%31%32%37.1.0.2", "[::ffff:127.1.0.2]", "[::ffff:7f01:2]",
		"[64:ff9b::7f01:2]", "[2002:7f01:2::]", "localhost", "0.0.0.0", "[::]", "[::1]", "127.0.0.1", "private.test", "rebinding.test", "user@127.1.0.2", "127。1。0。2",
	} {
		targets = append(targets, fmt.Sprintf("http://%s:%d/secret", host, site.Port()))
	}
	targets = append(targets, "http://169.254.169.254/latest/meta-data/", "http://metadata.test/latest/", "http://[fd00:ec2::254]/latest/")
	seeds := []string{site.URL(0, "/"), site.URL(2, "/"), fmt.Sprintf("http://rebinding.test:%d/one", site.Port()), fmt.Sprintf("http://rebinding.test:%d/two", site.Port())}
	for i := range targets {
		seeds = append(seeds, site.URL(0, fmt.Sprint("/moved/", i)), site.URL(0, fmt.Sprint("/refresh/", i)))
	}
	server := nameServer(t, func(name string, n int) string {
		switch {
		case name == "private.test", name == "rebinding.test" && n > 1:
			return "127.1.0.2"
		case name == "rebinding.test":
			return "127.1.0.1"
		case name == "metadata.test":
			return "169.254.169.254"
		}
		return ""
	})
	args := append([]string{"crawl", "--admin", "off", "-s", "ADDRESS_ALLOW=127.1.0.1,127.1.0.3", "-s", "SITEMAP=robots", "-s", "SCOPE=any"}, seeds...)
	v.ready()
	n := run(t, append(append(args, server...), quick(t)...)...).finish()
	require.Contains(t, n.err.String(), "downloader/exception_type_count/forbidden: ")
	require.GreaterOrEqual(t, strings.Count(n.err.String(), "connect 127.1.0.2: address is loopback"), 20)
	for _, c := range v.all() {
		require.NotEqual(t, "site1", c.at, "%s was asked for %s", c.at, c.path)
		require.NotEqual(t, "/secret", c.path)
	}
	v.to(t, "site0", fmt.Sprint("/moved/", len(targets)-1))

	// Metadata stays shut where private addresses are open.
	v.ready()
	n = run(t, crawl([]string{site.URL(0, fmt.Sprint("/moved/", len(targets)-3)), site.URL(0, fmt.Sprint("/moved/", len(targets)-2))}, quick(t), server)...)
	require.Equal(t, 1, n.wait(), "nothing could be fetched")
	require.Equal(t, 2, strings.Count(n.err.String(), "request given up"), "with the cause forbidden")
	require.Contains(t, n.err.String(), "forbidden")
}

// CVE-2017-14158's neighbour, the telnet console: what steers a node answers to this
// machine alone, not to a name that was rebound to it, nor to pages of other origins,
// nor to the node's own crawl.
func TestAdvisoryConsoleExposure(t *testing.T) {
	t.Parallel()
	var admin string
	site := webtest.New(t, webtest.Config{Script: func(v webtest.Visit) *webtest.Answer {
		if v.Page == 0 {
			return moved(admin + "/api/v1/actors")
		}
		return nil
	}})
	server := redistest.New(t)
	n := start(t, "start", "--redis", server.URL(), "--name", "shop", "-s", "SLOT_TTL=2", "-s", "SLOT_RENEW=0.5", "-s", "SLOT_MARGIN=0.5", "-s", "ADDRESS_ALLOW=127.1.0.1", "-s", "RETRY_ENABLED=false")
	admin = adminOf(t, n)
	u, err := url.Parse(admin)
	require.NoError(t, err)
	require.True(t, net.ParseIP(u.Hostname()).IsLoopback(), admin)
	addrs, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addrs {
		ip, ok := a.(*net.IPNet)
		if !ok || ip.IP.IsLoopback() || ip.IP.IsLinkLocalUnicast() {
			continue
		}
		c, err := (&net.Dialer{}).DialContext(within(t), "tcp", net.JoinHostPort(ip.IP.String(), u.Port()))
		if err == nil {
			_ = c.Close()
		}
		require.Error(t, err, "reached by %s", ip.IP)
	}
	for _, tt := range []struct {
		name, method, host, origin, site string
		want                             int
	}{
		{"own name", "GET", u.Host, "", "", 200},
		{"localhost", "GET", "localhost:" + u.Port(), "", "", 200},
		{"rebound name", "GET", "rebound.test:" + u.Port(), "", "", 421},
		{"rebound name, write", "POST", "rebound.test", "http://rebound.test", "", 421},
		{"name like ours", "GET", "localhost.rebound.test", "", "", 421},
		{"address of others", "GET", "192.0.2.1", "", "", 421},
		{"other origin, write", "POST", u.Host, "http://evil.test", "", 403},
		{"other site, write", "POST", u.Host, "", "cross-site", 403},
		{"no origin", "POST", u.Host, "null", "", 403},
	} {
		path := "/api/v1/crawls"
		if tt.method == "POST" {
			path += "/shop/seeds"
		}
		req, err := http.NewRequestWithContext(within(t), tt.method, admin+path, strings.NewReader(site.PageURL(0, 0)))
		require.NoError(t, err)
		req.Host = tt.host
		req.Header.Set("Content-Type", "text/plain")
		if tt.origin != "" {
			req.Header.Set("Origin", tt.origin)
		}
		if tt.site != "" {
			req.Header.Set("Sec-Fetch-Site", tt.site)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		require.Equal(t, tt.want, resp.StatusCode, tt.name)
		require.Empty(t, resp.Header.Get("Access-Control-Allow-Origin"))
	}
	require.Zero(t, site.Count(), "no refused seed was taken")
	require.NoError(t, server.Client().RPush(within(t), "shop:start_urls", site.PageURL(0, 0)).Err())
	n.say("forbidden")
}

// A site writes no line of a request: not by a Location, a link, a cookie or a field.
func TestAdvisoryRequestSplitting(t *testing.T) {
	t.Parallel()
	var v visitors
	const inject = "x\r\nX-Injected: 1\r\n\r\nGET /injected HTTP/1.1\r\nHost: x\r\n\r\n"
	escaped := strings.NewReplacer("\r", "&#13;", "\n", "&#10;", " ", "&#32;").Replace(inject)
	bare := strings.ReplaceAll(inject, "\r\n", "\r") // what a header's value may still hold
	site := v.scripted(t, "site", 1, func(_ int, path string) *webtest.Answer {
		switch path {
		case "/robots.txt":
			return page("Sitemap: /" + bare)
		case "/":
			return page(`<title>` + escaped + `</title><base href="/b` + escaped + `/"><a href="/a` + escaped + `">x</a><a href="b` + escaped + `">x</a><a href="?` + escaped + `">x</a>`)
		case "/refresh":
			return page(`<meta http-equiv="refresh" content="0; url=/r` + escaped + `">`)
		case "/moved", "/lines", "/cookie":
			field := map[string]string{"/moved": "Location: /m" + bare, "/lines": "Location: /l%0d%0aX-Injected:%201", "/cookie": "Location: /c\r\nSet-Cookie: a=" + bare + "; Path=/" + bare}[path]
			return &webtest.Answer{Status: 302, Raw: func(w io.Writer) {
				_, _ = io.WriteString(w, "HTTP/1.1 302 Found\r\n"+field+"\r\nContent-Length: 0\r\n\r\n")
			}}
		}
		return page("page")
	})
	seeds := []string{site.URL(0, "/"), site.URL(0, "/refresh"), site.URL(0, "/moved"), site.URL(0, "/lines"), site.URL(0, "/cookie"), site.URL(0, "/last")}
	v.ready()
	run(t, crawl(seeds, quick(t), []string{"-s", "SITEMAP=robots"})...).finish()
	for _, c := range v.all() {
		require.Empty(t, c.header.Get("X-Injected"), c.path)
		require.NotEqual(t, "/injected", c.path)
	}
	v.to(t, "site0", "/l%0d%0aX-Injected:%201")
	v.to(t, "site0", "/c")
}
