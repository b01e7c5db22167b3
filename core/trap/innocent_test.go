package trap

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// index is a site that has the pages numbered from 0 under a base, each linked from
// the one at a quarter of its number.
func index(pages int, path func(n int) string, show func(n int) *page) site {
	numbers := map[string]int{"/": 0}
	for n := 1; n < pages; n++ {
		numbers[path(n)] = n
	}
	return func(at string) *page {
		n, ok := numbers[at]
		if !ok {
			return nil
		}
		p := show(n)
		for c := 4*n + 1; c <= 4*n+4 && c < pages; c++ {
			p.links = append(p.links, path(c))
		}
		return p
	}
}

// chain is a site of pages each of which is linked from the one before.
func chain(pages int, path func(n int) string, show func(n int) *page) site {
	numbers := map[string]int{"/": 0}
	for n := 1; n < pages; n++ {
		numbers[path(n)] = n
	}
	return func(at string) *page {
		n, ok := numbers[at]
		if !ok {
			return nil
		}
		p := show(n)
		if n+1 < pages {
			p.links = append(p.links, path(n+1))
		}
		return p
	}
}

func TestInnocentSitesPassWhole(t *testing.T) {
	t.Parallel()
	long := words(400, "footer") // boilerplate that dwarfs what is new
	tests := []struct {
		name  string
		pages int
		site  site
	}{
		{"benchmark shop", 3000, index(3000, func(n int) string { return fmt.Sprintf("/p/%d", n) }, func(n int) *page {
			p := &page{title: fmt.Sprintf("Item %d of shop 1", n)}
			p.text = fmt.Sprintf("Item %d $%d.%d", n, mix(uint64(n))%1000, mix(uint64(n+9))%90+10) //nolint:gosec // small
			for i := range 20 {
				p.text += fmt.Sprintf(" Item %d", mix(uint64(n*100+i))%3000) //nolint:gosec // small
			}
			return p
		})},
		{"shop of thin products", 3000, chain(3000, func(n int) string { return "/product/" + strconv.Itoa(n) }, func(n int) *page {
			name := words(2, "product", n)
			return &page{title: name + "| The Shop", text: name + long}
		})},
		{"dictionary", 4000, chain(4000, func(n int) string {
			return "/word/" + strings.ReplaceAll(strings.TrimSpace(words(2, "w", n)), " ", "") + strconv.Itoa(n)
		}, func(n int) *page {
			return &page{title: words(1, "w", n), text: words(12, "definition", n)}
		})},
		{"pagination", 2001, chain(2001, func(n int) string { return "/news?page=" + strconv.Itoa(n) }, func(n int) *page {
			return &page{title: "News, page " + strconv.Itoa(n), text: words(120, "headlines", n)}
		})},
		{"archive by month", 15 * 12 * 20, chain(15*12*20, func(n int) string {
			return fmt.Sprintf("/%d/%02d/%02d/", 2026-n/240, 12-n/20%12, n%20+1)
		}, func(n int) *page {
			return &page{title: "Archive", text: words(80, "posts", n)}
		})},
		{"old newspaper", 150 * 12, chain(150*12, func(n int) string { return fmt.Sprintf("/archive/%d-%02d", 2026-n/12, 12-n%12) }, func(n int) *page {
			return &page{title: "Archive", text: words(80, "posts", n)}
		})},
		{"weather by day", 12 * 365, chain(12*365, func(n int) string { return fmt.Sprintf("/weather/%d-%02d-%02d", 2025-n/365, n%365/31+1, n%31+1) }, func(n int) *page {
			p := &page{title: "Weather"}
			for h := range 24 {
				p.text += fmt.Sprintf(" %d:00 %d.%d °C", h, mix(uint64(n*24+h))%30, mix(uint64(n*24+h+1))%10) //nolint:gosec // small
			}
			return p
		})},
		{"git host", 3000, index(3000, func(n int) string {
			return fmt.Sprintf("/org/repo/blob/main/src/main/java/org/repo/module%d/internal/impl/v%d/%sImpl.java", n%17, n%5, strings.ReplaceAll(words(2, n), " ", "")+strconv.Itoa(n))
		}, func(n int) *page {
			return &page{title: "Impl.java at main - org/repo", text: words(150, "code", n)}
		})},
		{"wiki", 4000, index(4000, func(n int) string {
			return "/wiki/" + strings.TrimSpace(strings.ReplaceAll(words(2, "t", n), " ", "_")) + strconv.Itoa(n)
		}, func(n int) *page {
			return &page{title: words(2, "t", n), text: words(300, "article", n)}
		})},
		{"forum", 4000, index(4000, func(n int) string { return fmt.Sprintf("/viewtopic.php?f=%d&t=%d&start=%d", n%9, n/4, n%4*15) }, func(n int) *page {
			return &page{title: words(4, "topic", n/4), text: words(150, "posts", n)}
		})},
		{"sold out, all from one index", 3000, func(at string) *page {
			if at != "/" {
				return &page{title: "Sold out", text: "This product is sold out."}
			}
			p := &page{title: "All products", text: words(500, "names")}
			for n := range 2999 {
				p.links = append(p.links, "/sold/"+strconv.Itoa(n))
			}
			return p
		}},
		{"shop with facets", 2400, index(2400, func(n int) string {
			return fmt.Sprintf("/shop/%s?color=%d&size=%d&page=%d", []string{"shoes", "shirts", "hats", "bags"}[n%4], n/4%10, n/40%10, n/400)
		}, func(n int) *page {
			return &page{title: "Shop", text: words(100, "products", n)}
		})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := visit(newDetector(t), "h", tt.site, 20_000)
			require.Empty(t, got.dropped)
			require.Empty(t, got.closed)
			require.Equal(t, tt.pages, got.fetched)
		})
	}
}

// TestOrdinaryURLsPass holds the rules against URLs as sites have them.
func TestOrdinaryURLsPass(t *testing.T) {
	t.Parallel()
	d := newDetector(t)
	urls := ordinaryURLs()
	require.Greater(t, len(urls), 400)
	for _, url := range urls {
		require.Equal(t, None, d.Link(url[:strings.IndexByte(url, '/')], "https://"+url, present()), url)
		_, session := WithoutSession("https://" + url)
		require.False(t, session, url)
	}
}

// ordinaryURLs are URLs in the forms that well-known kinds of sites use.
func ordinaryURLs() []string {
	urls := strings.Fields(`
docs.test/en/latest/api/reference/index.html docs.test/en/stable/api/reference/index.html docs.test/3/library/os.path.html
docs.test/3.12/library/concurrent.futures.html docs.test/docs/docs/docs/intro docs.test/v1/api/v1/pods docs.test/_modules/pkg/sub/sub/mod.html
docs.test/javase/8/docs/api/java/util/concurrent/locks/AbstractQueuedSynchronizer.ConditionObject.html docs.test/search?q=a+b&check_keywords=yes&area=default
docs.test/rust/std/std/std/index.html docs.test/pkg/github.com/a/b/internal/c/v2/d docs.test/apidocs/org/apache/commons/commons/lang3/package-summary.html
git.test/a/a/a git.test/org/repo/blob/main/test/fixtures/test/test/test.js git.test/org/repo/tree/9fceb02d0ae598e95dc970b74767f19372d61af8/src/a/b/c/d/e/f/g/h/i/j/k/l/m
git.test/org/repo/blob/main/node_modules/a/node_modules/b/node_modules/c/node_modules/d/index.js git.test/org/repo/compare/v1.0.0...v1.0.1?expand=1
git.test/org/repo/commit/9fceb02d0ae598e95dc970b74767f19372d61af8 git.test/org/repo/issues?q=is%3Aissue+is%3Aopen+sort%3Aupdated-desc&page=12
git.test/cgit/linux.git/tree/arch/arm/mach-s3c/include/mach/s3c64xx-regs-gpio.h?h=v6.1&id=830b3c68c1fb1e9176028d02ef86f3cf76aa2476
git.test/src/main/java/com/acme/acme/acme/Acme.java git.test/-/blob/master/lib/lib/lib.rb git.test/group/sub/sub/project/-/merge_requests/12/diffs?commit_id=0a1b2c
wiki.test/wiki/New_York,_New_York wiki.test/wiki/Duran_Duran wiki.test/wiki/1984 wiki.test/wiki/2031 wiki.test/wiki/Portal:Current_events/2026_June_15
wiki.test/wiki/Special:Contributions/127.0.0.1 wiki.test/w/index.php?title=Main_Page&oldid=1234567890&diff=prev wiki.test/wiki/%E6%97%A5%E6%9C%AC
wiki.test/w/index.php?title=X&action=history&limit=500&offset=20140305123456 wiki.test/wiki/AC/DC wiki.test/wiki/3000_(number)
shop.test/c/shoes?color=red&color=blue&color=green&size=9&size=10&brand=a&brand=b&sort=price&page=3 shop.test/dp/B000123456/ref=sr_1_1?keywords=x&qid=1700000000&sr=8-1
shop.test/p/20310512 shop.test/p/30010512 shop.test/item/123456789012 shop.test/itm/9780306406157 shop.test/catalog/product/view/id/12/s/x/category/3/
shop.test/s?k=lamp&rh=n%3A1234%2Cp_36%3A1000-2000&dc&page=2&crid=ABC&qid=1700000000&rnid=1&ref=sr_pg_2 shop.test/c/tv?f[0]=brand:a&f[1]=brand:b&f[2]=size:50&f[3]=size:55&f[4]=hdr:1
shop.test/filter/brand/a/brand/b/brand/c/size/50 shop.test/search?cat=1&min=1&max=2&brand=3&color=4&size=5&fit=6&len=7&mat=8&sale=9&new=10&sort=11&dir=12&view=13&page=14
shop.test/product/550e8400-e29b-41d4-a716-446655440000 shop.test/model/3000/10 shop.test/a?sid=12&s=shoes shop.test/section?sid=politics
forum.test/viewtopic.php?f=2&t=12345&p=678901&hilit=x#p678901 forum.test/showthread.php?t=12345&page=17 forum.test/threads/a-title.12345/page-200#post-1
forum.test/index.php?topic=12.0;wap2 forum.test/index.php?action=profile;u=5;area=showposts;start=20 forum.test/t/a-topic/1234/567?u=someone
news.test/2026/jun/15/a-story news.test/2026/06/15/world/a-story.html news.test/1998/01/01/old news.test/story/20260615-a-slug news.test/archives/2011-03
news.test/a/b/c-12345678 news.test/video/2026/6/15/a-film news.test/section/world?page=99 news.test/tag/a/page/2000/
blog.test/2011/03/ blog.test/2011/03/page/4/ blog.test/?p=123 blog.test/?m=201103 blog.test/category/a/b/c/ blog.test/author/me/feed/ blog.test/2014/
blog.test/search/label/x?updated-max=2014-03-05T12:34:56-08:00&max-results=20&start=7&by-date=false blog.test/feeds/posts/default?start-index=26&max-results=25
tiles.test/12/0/0.png tiles.test/0/0/0.png tiles.test/00/00/00/00/12/image.jpg arxiv.test/abs/2106.01234v2 rfc.test/rfc/rfc9309.html isbn.test/978-3-16-148410-0
lib.test/record/1895-03-12 lib.test/issn/1234-5679 lib.test/doi/10.1000/182 lib.test/1543/06 gov.test/law/1789/04/30/a uni.test/events/2027-10-01
cal.test/event/2026-09-01/summer cal.test/month/2025-12 cal.test/?date=2026-01-01 gov.test/eli/reg/2016/679/oj map.test/@52.5,13.4,12z map.test/a?ll=52.500000,13.400000
login.test/login?next=%2Fsettings%3Ftab%3D1 login.test/oauth?redirect_uri=https%3A%2F%2Fa.test%2Fcb%3Fx%3D%252F&state=abc
cdn.test/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p.js cdn.test/npm/@scope/pkg@1.2.3/dist/dist/index.min.js maven.test/maven2/org/apache/apache/apache/1/apache-1.pom
i18n.test/en/us/en/home i18n.test/de-de/de/produkte i18n.test/en/en/en mail.test/pipermail/list/2011-March/012345.html mail.test/archives/list/1999/12/msg00001.html
bank.test/a;v=1.2;w=3 java.test/app/faces/page.xhtml;windowId=12 asp.test/default.aspx?id=1&ID=2 php.test/index.php?option=com_content&view=article&id=1:a&catid=2:b&Itemid=3
app.test/?utm_source=a&utm_medium=b&utm_campaign=c&utm_term=d&utm_content=e&gclid=f&fbclid=g app.test/x?a=1&a=1&a=1 app.test/calc?x=1&y=2&z=3&x=4&y=5
`)
	for y := 2012; y <= 2026; y++ {
		for m := 1; m <= 12; m++ {
			urls = append(urls, fmt.Sprintf("blog.test/%d/%02d/", y, m), fmt.Sprintf("blog.test/archive?year=%d&month=%d", y, m))
		}
	}
	for n := 1; n <= 2000; n += 37 {
		urls = append(urls, fmt.Sprintf("list.test/all?page=%d", n), fmt.Sprintf("list.test/page/%d/", n), fmt.Sprintf("list.test/s?start=%d&rows=100", n*100))
	}
	return urls
}
