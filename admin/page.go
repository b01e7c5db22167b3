package admin

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Pages of domains.
const (
	defaultPage = 100
	largestPage = 1000
)

// DomainQuery asks for one page of domains.
type DomainQuery struct {
	Limit int    // at least 1
	After string // the page's Next before; "" is the first page
	Sort  string // one of DomainSorts
	Down  bool   // largest first
}

// DomainSorts are the orders; within one value, by slot.
func DomainSorts() []string {
	return []string{"slot", "delay", "next_fetch", "queue", "slots_in_use"}
}

// DomainPage is a part of the domains.
type DomainPage struct {
	Domains []Domain `json:"domains"`
	Total   int      `json:"total"`          // of all pages
	Next    string   `json:"next,omitempty"` // for ?after; "" on the last page
}

// readDomainQuery reads ?limit, ?after and ?sort.
func readDomainQuery(values url.Values) (DomainQuery, error) {
	q := DomainQuery{Limit: defaultPage, After: values.Get("after"), Sort: "slot"}
	if s := values.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > largestPage {
			return q, fmt.Errorf("limit is %q: want 1 to %d", s, largestPage)
		}
		q.Limit = n
	}
	if s := values.Get("sort"); s != "" {
		q.Sort, q.Down = strings.CutPrefix(s, "-")
		if !slices.Contains(DomainSorts(), q.Sort) {
			return q, fmt.Errorf("sort is %q: want one of %s, with - before it for largest first", s, strings.Join(DomainSorts(), ", "))
		}
	}
	if _, _, err := q.cursor(); err != nil {
		return q, err
	}
	return q, nil
}

// cursor reads After: the slot, or the sort value, a comma and the slot.
func (q DomainQuery) cursor() (value float64, slot string, err error) {
	if q.After == "" || q.Sort == "slot" {
		return 0, q.After, nil
	}
	text, slot, ok := strings.Cut(q.After, ",")
	value, err = strconv.ParseFloat(text, 64)
	if !ok || err != nil {
		return 0, "", fmt.Errorf("after is %q: want the next of the page before", q.After)
	}
	return value, slot, nil
}

// value is what d is sorted by.
func (q DomainQuery) value(d *Domain) float64 {
	switch q.Sort {
	case "delay":
		return float64(d.Delay)
	case "next_fetch":
		if d.NextFetchIn == nil {
			return math.MaxFloat64
		}
		return float64(*d.NextFetchIn)
	case "queue":
		return float64(d.Queue)
	case "slots_in_use":
		return float64(d.SlotsInUse)
	default:
		return 0
	}
}

// compare orders by value, in the direction asked for, then by slot.
func (q DomainQuery) compare(av float64, aslot string, bv float64, bslot string) int {
	order := cmp.Or(cmp.Compare(av, bv), cmp.Compare(aslot, bslot))
	if q.Down {
		return -order
	}
	return order
}

// Paginate sorts all and cuts out the page that q asks for. Domains that come,
// go or change between pages may be left out or come twice; the others do not.
func Paginate(all []Domain, q DomainQuery) DomainPage {
	page := DomainPage{Domains: []Domain{}, Total: len(all)}
	slices.SortFunc(all, func(a, b Domain) int {
		return q.compare(q.value(&a), a.Slot, q.value(&b), b.Slot)
	})
	start := 0
	if value, slot, err := q.cursor(); err == nil && q.After != "" {
		start, _ = slices.BinarySearchFunc(all, struct{}{}, func(d Domain, _ struct{}) int {
			if q.compare(q.value(&d), d.Slot, value, slot) <= 0 {
				return -1
			}
			return 1
		})
	}
	end := min(start+max(q.Limit, 1), len(all))
	page.Domains = append(page.Domains, all[start:end]...)
	if end < len(all) {
		last := &all[end-1]
		page.Next = last.Slot
		if q.Sort != "slot" && q.Sort != "" {
			page.Next = strconv.FormatFloat(q.value(last), 'g', -1, 64) + "," + last.Slot
		}
	}
	return page
}
