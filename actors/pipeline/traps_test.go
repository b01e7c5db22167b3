package pipeline

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/core/crawl"
	"orbweaver/core/policy"
	"orbweaver/core/trap"
)

// withTraps makes the parser look for traps.
func withTraps(t *testing.T) *parser {
	t.Helper()
	p := newParser(t)
	p.worker.now = time.Now()
	var err error
	p.job.Traps, err = trap.New(trap.Default())
	require.NoError(t, err)
	return p
}

func TestWorkerDropsLinksIntoTraps(t *testing.T) {
	t.Parallel()
	p := withTraps(t)
	page := html(`<a href="/x/y/x/y/x/y">1</a><a href="/aa/aa/aa/aa/b">2</a><a href="/ok">3</a><a href="/calendar/2026/05">4</a>`)
	o := p.judge(page)
	require.Equal(t, []string{"http://a.test/ok", "http://a.test/calendar/2026/05"}, linkURLs(o))
	require.EqualValues(t, 2, stat(o, "trap/repeated_segments"))
	p.job.Traps = nil
	require.Len(t, p.judge(page).page.Links, 4)
}

// A page under several session ids has one fingerprint, and is fetched as written.
func TestWorkerIgnoresSessionIDs(t *testing.T) {
	t.Parallel()
	p := withTraps(t)
	const one, two = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
	o := p.judge(html(`<a href="/x?PHPSESSID=` + one + `">1</a><a href="/x?PHPSESSID=` + two + `">2</a><a href="/x">3</a>`))
	require.Equal(t, []string{"http://a.test/x?PHPSESSID=" + one, "http://a.test/x?PHPSESSID=" + two, "http://a.test/x"}, linkURLs(o))
	require.EqualValues(t, 2, stat(o, "trap/session_id"))
	for _, l := range o.page.Links {
		require.Equal(t, o.page.Links[2].Request.Fingerprint, l.Request.Fingerprint)
	}
}

// A list that goes on without new content ends, with a word about it.
func TestWorkerClosesPatterns(t *testing.T) {
	t.Parallel()
	p := withTraps(t)
	pages, closed := 0, int64(0)
	for links := 1; links > 0 && pages < 1000; pages++ {
		o := p.judge(html(fmt.Sprintf(`<title>List</title><p>nothing to see here</p><a href="/list?page=%d">next</a>`, pages+1)), func(r *crawl.Request) {
			r.URL = fmt.Sprintf("http://a.test/list?page=%d", pages)
		})
		links = len(o.page.Links)
		closed += stat(o, "trap/closed/pattern")
		if links == 0 {
			require.EqualValues(t, 1, stat(o, "trap/pattern"))
		}
	}
	require.Less(t, pages, 150)
	require.EqualValues(t, 1, closed)
	require.Contains(t, p.logs.LastEntry().Data["reason"], "trap: ever new URLs like /list?page")
}

// Scrapy counts links that are too long, and none that are too deep.
func TestWorkerCountsRefusals(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	cfg := policy.Default()
	cfg.DepthLimit, cfg.URLLengthLimit = 2, 20
	var err error
	p.job.Policy, err = policy.New(cfg)
	require.NoError(t, err)
	page := html(`<a href="/1">1</a><a href="/quite-a-long-link">2</a>`)
	require.EqualValues(t, 1, stat(p.judge(page), policy.StatURLLengthIgnored))
	deep := p.judge(page, func(r *crawl.Request) { r.Depth = 2 })
	require.Empty(t, deep.page.Links)
	require.Zero(t, stat(deep, policy.StatURLLengthIgnored))
}

// A host that was closed and then released is judged anew from the first page on that
// was sent after it was closed: that page's links are followed.
func TestWorkerLearnsOfARelease(t *testing.T) {
	t.Parallel()
	p := withTraps(t)
	closed := ""
	for n := 0; n < 20_000 && closed == ""; n++ {
		word := strings.NewReplacer("0", "news/", "1", "sport/").Replace(strconv.FormatInt(int64(n), 2))
		o := p.judge(html(`<title>News</title><p>nothing to see here</p><a href="/`+word+`a">1</a><a href="/`+word+`b">2</a>`), func(r *crawl.Request) {
			r.URL = "http://a.test/" + word
		})
		closed = o.page.Park
	}
	require.Equal(t, "trap: ever new URLs bring no new content", closed)
	page := html(`<a href="/later">1</a>`)
	page.SentAt = p.worker.now.Add(time.Second)
	require.Empty(t, p.judge(page).page.Links, "it was under way")
	page.SentAt = p.worker.now.Add(time.Minute)
	require.Len(t, p.judge(page).page.Links, 1)
}
