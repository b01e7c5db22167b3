package trap

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// monthsOf is a calendar that shows every month there is, and links to those beside.
func monthsOf(base string, link func(y, m int) string) site {
	return func(path string) *page {
		if path == "/" {
			return &page{title: "Home", text: "welcome", links: []string{link(2026, 6)}}
		}
		s := shapeOf("http://h" + path)
		m, ok := s.month()
		if !ok {
			return nil
		}
		var days strings.Builder
		for i := range 31 {
			fmt.Fprintf(&days, "<td>%d</td>", i+1)
		}
		month := []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}[m%12]
		return &page{
			title: fmt.Sprintf("%s %d - %s", month, m/12, base), text: fmt.Sprintf("%s %d no events this month %s", month, m/12, days.String()),
			links: []string{link((m-1)/12, (m-1)%12+1), link((m+1)/12, (m+1)%12+1)},
		}
	}
}

func TestTrapsEnd(t *testing.T) {
	t.Parallel()
	number := func(path string) int {
		n, _ := strconv.Atoi(path[strings.LastIndexAny(path, "/=")+1:])
		return n
	}
	tests := []struct {
		name string
		site site
		most int // fetches
		kind Kind
	}{
		{"calendar by path", monthsOf("cal", func(y, m int) string { return fmt.Sprintf("/calendar/%d/%02d", y, m) }), 22*12 + 30, Calendar},
		{"calendar by parameters", monthsOf("cal", func(y, m int) string { return fmt.Sprintf("/cal?year=%d&month=%d", y, m) }), 22*12 + 30, Calendar},
		{"calendar by date", monthsOf("cal", func(y, m int) string { return fmt.Sprintf("/events/%d-%02d-01", y, m) }), 22*12 + 30, Calendar},
		{"a relative link that grows", func(path string) *page {
			return &page{title: "News", text: words(200, path), links: []string{path + "a/b/"}}
		}, 5, RepeatedSegments},
		{"two relative links that grow", func(path string) *page {
			return &page{title: "News", text: "the same", links: []string{path + "news/", path + "sport/"}}
		}, 5000, Host},
		{"session ids", func(path string) *page {
			n := hashSegment(path)
			return &page{title: "Shop", text: words(100, path), links: []string{
				fmt.Sprintf("/a?PHPSESSID=%016x%016x", n, mix(n)), fmt.Sprintf("/b;jsessionid=%016x%016x", n, mix(n)), fmt.Sprintf("/?sid=a%015x%016x", n>>4, mix(n)),
			}}
		}, 4, None},
		{"session ids under an unknown name", func(path string) *page {
			n := mix(hashSegment(path))
			return &page{title: "Shop", text: "shoes and more", links: []string{fmt.Sprintf("/a?visit=%x", n), fmt.Sprintf("/b?visit=%x", n)}}
		}, 400, Pattern},
		{"facets", func(path string) *page {
			if path == "/" {
				return &page{title: "Home", text: "welcome", links: []string{"/search?q=1"}}
			}
			p := &page{title: "Search", text: "no results for this choice of filters"}
			for f := range 12 {
				if name := "f" + string(rune('a'+f)); !strings.Contains(path, name+"=") {
					for v := range 3 {
						p.links = append(p.links, fmt.Sprintf("%s&%s=%d", path, name, v))
					}
				}
			}
			return p
		}, 4000, Pattern},
		{"next page, the same content", func(path string) *page {
			return &page{title: fmt.Sprintf("Page %d", number(path)), text: "nothing here " + words(60, "x"), links: []string{"/list?page=" + strconv.Itoa(number(path)+1)}}
		}, 150, Pattern},
		{"orders of the same list", func(path string) *page {
			p := &page{title: "List", text: words(200, "list")}
			for i := range 10 {
				p.links = append(p.links, fmt.Sprintf("/list?sort=%d&order=%s&n=%d", i, []string{"asc", "desc"}[i%2], number(path)+i))
			}
			return p
		}, 1500, Pattern},
		{"soft 404 with ever new links", func(path string) *page {
			p := &page{title: "Not found", text: "Sorry, this page does not exist. Try these instead."}
			for i := range 5 {
				p.links = append(p.links, fmt.Sprintf("/item/%d", mix(hashSegment(path)+uint64(i))%1e12))
			}
			return p
		}, 700, Pattern},
		{"soft 404 with ever new words", func(path string) *page {
			p := &page{title: "Not found", text: "Sorry, this page does not exist. Try these instead."}
			for i := range 3 {
				w := strings.Fields(words(2, path, i))
				p.links = append(p.links, "/"+w[0]+"/"+w[1])
			}
			return p
		}, 1500, Host},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := visit(newDetector(t), "h", tt.site, 20_000)
			t.Logf("%d fetched, dropped %v, closed %v", got.fetched, got.dropped, got.closed)
			require.LessOrEqual(t, got.fetched, tt.most)
			if tt.kind != None {
				require.Positive(t, got.dropped[tt.kind])
			}
		})
	}
}
