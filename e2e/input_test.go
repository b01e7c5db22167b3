package e2e

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
	"orbweaver/internal/webtest"
)

// deadPort is an address where nobody listens.
func deadPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// quickRetries makes giving a request up a matter of a second.
func quickRetries() []string {
	return []string{"-s", "RETRY_TIMES=1", "-s", "RETRY_BACKOFF_BASE=0.05", "-s", "BACKOFF_BASE=0.05", "-s", "ROBOTSTXT_OBEY=false"}
}

// Bad usage is refused before anything is fetched, with exit code 2 and what is wrong.
func TestUsageErrors(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	require.NoError(t, os.WriteFile(bad, []byte("redis:\n  shards: many\nfetch:\n  colour: red\n"), 0o600))
	broken := filepath.Join(dir, "broken.yaml")
	require.NoError(t, os.WriteFile(broken, []byte("redis:\n  url: [1\nfetch: {}\n"), 0o600))
	seeds := filepath.Join(dir, "seeds.txt")
	require.NoError(t, os.WriteFile(seeds, []byte("# comment\nhttp://ok.example/\nnot a url\nftp://x.example/\n"), 0o600))
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"no seeds", []string{"crawl"}, []string{"no seeds"}},
		{"seeds that are none", []string{"crawl", "not a url", "mailto:a@b.example", "http://"}, []string{"not a url", "mailto:a@b.example", "http://"}},
		{"seeds file", []string{"crawl", "--seeds", seeds}, []string{seeds + ":3", seeds + ":4"}},
		{"seeds file missing", []string{"crawl", "--seeds", "none.txt"}, []string{"none.txt"}},
		{"private seeds", []string{"crawl", "http://127.0.0.1/", "http://10.1.2.3/"}, []string{"127.0.0.1", "10.1.2.3", "--allow-private"}},
		{"unknown setting", []string{"crawl", "http://a.example/", "-s", "DOWNLOAD_DELEY=1"}, []string{"DOWNLOAD_DELEY"}},
		{"bad value", []string{"crawl", "http://a.example/", "-s", "DOWNLOAD_DELAY=soon"}, []string{"DOWNLOAD_DELAY", "soon"}},
		{"no value", []string{"crawl", "http://a.example/", "-s", "DOWNLOAD_DELAY"}, []string{"NAME=VALUE"}},
		{"bad depth", []string{"crawl", "http://a.example/", "--depth", "-1"}, []string{"--depth"}},
		{"unknown flag", []string{"crawl", "http://a.example/", "--colour"}, []string{"--colour"}},
		{"unknown command", []string{"crowl"}, []string{"crowl"}},
		{"two outputs", []string{"crawl", "http://a.example/", "-o", "a.csv", "-O", "b.csv"}, []string{"-o", "-O"}},
		{"output format", []string{"crawl", "http://a.example/", "-o", "a.pdf"}, []string{"a.pdf"}},
		{"bad values in a file", []string{"crawl", "http://a.example/", "--config", bad}, []string{bad + ":2", "shards", bad + ":4", "colour"}},
		{"file that is no YAML", []string{"config", "--config", broken}, []string{broken + ":"}},
		{"missing file", []string{"start", "--config", "none.yaml"}, []string{"none.yaml"}},
		{"Redis URL", []string{"crawl", "http://a.example/", "--redis", "http://x/"}, []string{"--redis", `scheme "http"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := run(t, tt.args...)
			require.Equal(t, 2, n.code)
			for _, want := range tt.want {
				require.Contains(t, n.err.String(), want)
			}
			require.Empty(t, n.out.String())
			require.NotContains(t, n.err.String(), "goroutine ")
		})
	}
}

// A store that cannot be used ends the command with exit code 3 and the reason.
func TestStoreErrors(t *testing.T) {
	web := webtest.New(t, webtest.Config{})
	locked := redistest.New(t, redistest.WithTCP(), redistest.WithArgs("--requirepass", "secret"))
	locked.NewClient() // answers, if only with NOAUTH
	for _, tt := range []struct {
		name, url string
		want      string
	}{
		{"not a Redis", "redis://127.0.0.1:" + web.URL(0, "")[len("http://127.1.0.1:"):], "not"},
		{"password needed", locked.URL(), "password"},
		{"refused", "redis://" + deadPort(t), "refused"},
		{"no such socket", "unix:///nowhere/redis.sock", "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := run(t, crawl(web.Roots(0, 1), []string{"--redis", tt.url})...)
			require.Equal(t, 3, n.code)
			require.Contains(t, n.err.String(), tt.want)
			require.NotContains(t, n.err.String(), "goroutine ")
			require.Less(t, strings.Count(n.err.String(), "\n"), 6, "one clear line")
		})
	}
	require.Zero(t, web.PagesOf(0))
}

// Where nothing can be fetched the exit code is 1, and the summary counts why.
func TestNothingFetched(t *testing.T) {
	for _, tt := range []struct{ name, seed string }{
		{"refused", "http://" + deadPort(t) + "/"},
		{"unresolvable", "http://no-such-host.invalid/"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := run(t, crawl([]string{tt.seed}, unthrottled(), embedded(t.TempDir()), quickRetries(), []string{"-o", "-"})...)
			require.Equal(t, 1, n.code)
			require.Contains(t, n.err.String(), "nothing could be fetched")
			require.Contains(t, n.err.String(), "downloader/exception_count")
			require.Empty(t, n.out.String())
		})
	}
}

// A site that answers nonsense costs the crawl nothing but those answers: each is a
// counted outcome, and every other page is had.
func TestHostileAnswers(t *testing.T) {
	endless := func(head, part string) func(io.Writer) {
		return func(w io.Writer) {
			_, err := io.WriteString(w, head)
			for range 1 << 20 {
				if err != nil {
					return
				}
				_, err = io.WriteString(w, part)
			}
		}
	}
	many := strings.Builder{}
	for i := range 10_000 {
		many.WriteString(`<a href="/x/` + strings.Repeat("y", i%50) + `">x</a>`)
	}
	answers := map[string]*webtest.Answer{
		"/endless":  {Raw: endless("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", strings.Repeat("<a href=/>x</a>", 4000))},
		"/headers":  {Raw: endless("HTTP/1.1 200 OK\r\nX: ", strings.Repeat("h", 1<<16))},
		"/big":      {Header: map[string][]string{"X-Big": {strings.Repeat("h", 1<<20)}}, Body: "x"},
		"/lines":    {Raw: endless("HTTP/1.1 200 OK\r\n", strings.Repeat("X-Y: z\r\n", 8000))},
		"/zero":     {},
		"/binary":   {Body: strings.Repeat("\x00\xff\xfe<a href=\x01>", 5000)},
		"/nothttp":  {Raw: endless("", "SSH-2.0-OpenSSH_9.0\r\n")},
		"/closed":   {Drop: true},
		"/many":     {Body: many.String()},
		"/loop":     webtest.Redirect("/loop"),
		"/away":     webtest.Redirect("http://no-such-host.invalid/"),
		"/badloc":   webtest.Redirect("http://[::1"),
		"/badgzip":  {Header: map[string][]string{"Content-Encoding": {"gzip"}}, Body: "this is no gzip"},
		"/sloth":    {Page: true, Delay: time.Minute},
		"/nolength": {Raw: endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "zz\r\nnot a chunk\r\n")},
		"/image":    {Header: map[string][]string{"Content-Type": {"image/png"}}, Body: "\x89PNG\r\n<a href='/hidden'>x</a>"},
	}
	site := webtest.New(t, webtest.Config{
		Pages: 20,
		Links: func(_, page int) []string {
			if page != 0 {
				return nil
			}
			out := []string{
				"http://" + strings.Repeat("a", 100<<10) + ".example/", "/" + strings.Repeat("b", 100<<10),
				"javascript:void(0)", "http://[::1", "//", "\x00", "http://127.1.0.1:99999/", "data:text/html,x",
			}
			for path := range answers {
				out = append(out, path)
			}
			return out
		},
		Script: func(v webtest.Visit) *webtest.Answer { return answers[v.Path] },
	})
	file := filepath.Join(t.TempDir(), "items.jsonl")
	n := run(t, crawl(site.Roots(0, 1), unthrottled(), embedded(t.TempDir()), quickRetries(),
		[]string{"-o", file, "-s", "DOWNLOAD_TIMEOUT=5", "-s", "DOWNLOAD_MAXSIZE=1MiB", "-s", "REDIRECT_MAX_TIMES=3"})...).finish()
	require.Empty(t, site.Missing())
	got := urls(lines(t, readFile(t, file)))
	for _, u := range site.PageURLs() {
		require.Contains(t, got, u)
	}
	for path := range answers {
		require.NotEmpty(t, site.Under(path), "%s was not tried", path)
	}
	for _, path := range []string{"/zero", "/many"} {
		require.Contains(t, got, site.URL(0, path))
	}
	for _, path := range []string{"/endless", "/headers", "/nothttp", "/closed", "/loop", "/sloth"} {
		require.NotContains(t, got, site.URL(0, path))
	}
	require.Len(t, site.Under("/x/"), 50)
	require.Empty(t, site.Under("/hidden"))
	require.NotContains(t, n.err.String(), "panic")
	require.Contains(t, n.err.String(), "downloader/exception_count")
}

// Items that cannot be written are not lost: the crawl ends with exit code 4, and
// the same command with room for them writes them all.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Log("this system has no /dev/full: nothing to write to")
		return
	}
	site := webtest.New(t, webtest.Config{Pages: 30})
	dir := t.TempDir()
	args := crawl(site.Roots(0, 1), unthrottled(), embedded(dir))
	n := run(t, append(args, "-o", "/dev/full:jsonl")...)
	require.Equal(t, 4, n.code, n.err.String())
	require.Contains(t, n.err.String(), "no space left on device")
	file := filepath.Join(dir, "items.jsonl")
	run(t, append(args, "-o", file)...).finish()
	requireExact(t, site, lines(t, readFile(t, file)))
}
