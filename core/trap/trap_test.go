package trap

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Many workers use one detector at once.
func TestDetectorIsShared(t *testing.T) {
	t.Parallel()
	d := newDetector(t, func(c *Config) { c.MemoryBytes = 1 << 20 })
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			r := &Reader{}
			for i := range 500 {
				name := fmt.Sprintf("h%d.test", (i+w)%50)
				url := fmt.Sprintf("http://%s/%s?page=%d", name, strings.TrimSpace(words(1, i)), i)
				d.Link(name, url, present())
				if d.Visit(name, url, present()) != WantNothing {
					d.Page(name, url, r.Sum([]byte(words(20, i)), "t"), present())
				}
			}
		})
	}
	all.Wait()
}

// What is remembered keeps to the limit, however many hosts and patterns there are;
// a host that was forgotten is learned anew.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	d := newDetector(t, func(c *Config) { c.MemoryBytes = 1 << 20 })
	r := &Reader{}
	visitAll := func(name string, pages int) {
		for i := range pages {
			url := fmt.Sprintf("http://%s/%s/x?%s=1", name, strings.ReplaceAll(words(2, i), " ", ""), strings.TrimSpace(words(1, i)))
			d.Link(name, url, present())
			d.Visit(name, url, present())
			d.Page(name, url, r.Sum([]byte(words(9, name, i)), ""), present())
		}
	}
	for h := range 3000 {
		visitAll(fmt.Sprintf("h%d.test", h), 10)
	}
	visitAll("big.test", 3000)
	used, hosts := int64(0), 0
	for i := range d.shards {
		s := &d.shards[i]
		used += s.used
		hosts += len(s.hosts)
		sum, n := int64(0), 0
		for h := s.first; h != nil; h = h.next {
			sum += h.counted
			n++
			require.LessOrEqual(t, len(h.cells), maxCells)
			require.LessOrEqual(t, len(h.combined), maxFamilies)
		}
		require.Equal(t, s.used, sum)
		require.Equal(t, len(s.hosts), n)
		require.True(t, s.used <= s.limit || n == 1)
	}
	require.Less(t, hosts, 1000)
	require.Less(t, used, int64(3<<20))
}

// A pattern that brought new content for long is closed when it stops to, and other
// patterns of the host are not.
func TestPatternThatTurns(t *testing.T) {
	t.Parallel()
	s := func(path string) *page {
		var n int
		if _, err := fmt.Sscanf(path, "/list?page=%d", &n); err == nil {
			p := &page{title: "List", text: words(100, n), links: []string{fmt.Sprintf("/list?page=%d", n+1)}}
			if n > 2000 {
				p.text = "no more"
			}
			return p
		}
		var k int
		if _, err := fmt.Sscanf(path, "/post/%d", &k); path == "/" || err == nil {
			p := &page{title: "Post", text: words(100, "post", k)}
			if k < 3000 {
				p.links = []string{fmt.Sprintf("/post/%d", k+1)}
			}
			if path == "/" {
				p.links = append(p.links, "/list?page=1")
			}
			return p
		}
		return nil
	}
	got := visit(newDetector(t), "h", s, 20_000)
	require.Equal(t, map[Kind]int{Pattern: 1}, got.dropped)
	require.Equal(t, 3000, got.byPrefix["post"])
	require.Greater(t, got.byPrefix["list"], 2000)
	require.Less(t, got.byPrefix["list"], 2000+blockPages*maxStride*2+100)
}

// TRAP_WINDOW 0 closes nothing.
func TestWithoutWindow(t *testing.T) {
	t.Parallel()
	d := newDetector(t, func(c *Config) { c.Window = 0 })
	n := 0
	got := visit(d, "h", func(string) *page {
		n++
		return &page{title: "x", text: "the same", links: []string{fmt.Sprintf("/p/%d", n), fmt.Sprintf("/9999/%d", n%12+1)}}
	}, 1000)
	require.True(t, got.stopped)
	require.Empty(t, got.closed)
}

func TestSum(t *testing.T) { //nolint:paralleltest // counts allocations
	r := &Reader{}
	sum := func(html string) Signature { return r.Sum([]byte(html), "") }
	require.Equal(t, sum("<p>one two three</p>"), sum("<div class='x y'>THREE</div> two <!-- four <b> --> one one<script>var five = '<six'</script>"))
	require.Equal(t, sum("one"), sum("one<style>p { color: red }</style>"))
	require.NotEqual(t, sum("1 2 3"), sum("3 2 1"), "tables of numbers")
	require.Equal(t, r.Sum(nil, "Page 7 of 9"), r.Sum(nil, "page 12 of 31"))
	require.NotEqual(t, r.Sum(nil, "Red shoes"), r.Sum(nil, "Blue shoes"))
	require.Equal(t, r.SumDateless([]byte("Mon 3 May 2031, nothing"), "May 2031"), r.SumDateless([]byte("Tue 14 June 2044, nothing"), "June 2044"))
	require.Equal(t, Signature{}, sum("<"))
	long := words(900, "long")
	require.True(t, sum(long+"one").near(sum(long+"two")))
	require.False(t, sum(long).near(sum(words(900, "other"))))
	require.Zero(t, testing.AllocsPerRun(10, func() { r.Sum([]byte("one two"), "three") }))
}

func FuzzSum(f *testing.F) {
	for _, s := range []string{"", "<", "<!--", "<!-->x", "<script>", "<script", "</", "a<b>c", "<style></style>x", "\xff\xfe<"} {
		f.Add([]byte(s), s)
	}
	r, other := &Reader{}, &Reader{}
	f.Fuzz(func(t *testing.T, html []byte, title string) {
		got := r.Sum(html, title)
		*other = Reader{}
		require.Equal(t, other.Sum(html, title), got, "nothing is left of the page before")
		r.SumDateless(html, title)
	})
}

func FuzzLink(f *testing.F) {
	for _, u := range ordinaryURLs()[:100] {
		f.Add("http://" + u)
	}
	f.Add("http://h/?&;=#%")
	f.Add("")
	f.Add("http://h//////////;jsessionid=?PHPSESSID")
	cfg := Default()
	cfg.MemoryBytes = 1 << 20
	d, err := New(cfg)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, url string) {
		d.Link("h", url, present())
		d.Visit("h", url, present())
		d.Page("h", url, Signature{Words: uint64(len(url))}, present())
		s := shapeOf(url)
		require.LessOrEqual(t, len(s.example()), 2*exampleLimitBytes)
		bare, found := WithoutSession(url)
		require.Equal(t, !found, bare == url)
		if twice, more := WithoutSession(bare); found {
			require.LessOrEqual(t, len(twice), len(bare))
			_ = more
		}
	})
}
