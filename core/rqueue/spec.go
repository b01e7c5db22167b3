package rqueue

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// QueueClass is the order in which a host's waiting requests are taken.
type QueueClass string

// The queue classes, by scrapy-redis's names. Equal priorities are first in,
// first out; FifoQueue and LifoQueue ignore priorities.
const (
	PriorityQueue QueueClass = "PriorityQueue"
	FifoQueue     QueueClass = "FifoQueue"
	LifoQueue     QueueClass = "LifoQueue"
)

// Filter is a dupefilter mode.
type Filter string

// The dupefilter modes.
const (
	FilterCompact Filter = "compact" // about 9.3 bytes a URL, per host
	FilterScrapy  Filter = "scrapy"  // compact, and a SET of 40-hex fingerprints shared with scrapy-redis (rule 17)
	FilterOff     Filter = "off"     // requests are let in once per id
)

// Spec is a crawl's definition as all nodes share it.
type Spec struct {
	Name       string     `json:"name"`                  // required; the key prefix
	QueueClass QueueClass `json:"queue_class,omitempty"` // default PriorityQueue
	Filter     Filter     `json:"filter,omitempty"`      // default compact

	DupefilterKey string `json:"dupefilter_key,omitempty"`  // default <c>:dupefilter; used by the scrapy mode
	StartURLsKey  string `json:"start_urls_key,omitempty"`  // default <c>:start_urls
	StartURLsType string `json:"start_urls_type,omitempty"` // list, set or zset; default: what the key is
	ItemsKey      string `json:"items_key,omitempty"`       // default <c>:items

	Items   bool `json:"items,omitempty"`   // push items to ItemsKey
	Export  bool `json:"export,omitempty"`  // push items to <c>:export, for ExportRead
	Persist bool `json:"persist,omitempty"` // SCHEDULER_PERSIST: opened again after its end, a crawl keeps its filter

	// HostLimit is how many requests a host lets in, seeds included, but seeds are
	// let in all the same (unless Filter is off); 0: any number.
	HostLimit int `json:"host_limit,omitempty"`

	Weight   float64         `json:"weight,omitempty"`   // share of a slot among the crawls that use it; default 1
	Settings json.RawMessage `json:"settings,omitempty"` // the node's; not looked at here
}

// WithDefaults fills zero fields.
func (s Spec) WithDefaults() Spec {
	set := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	if s.QueueClass == "" {
		s.QueueClass = PriorityQueue
	}
	if s.Filter == "" {
		s.Filter = FilterCompact
	}
	if s.Weight == 0 {
		s.Weight = 1
	}
	set(&s.DupefilterKey, s.Name+":dupefilter")
	set(&s.StartURLsKey, s.Name+":start_urls")
	set(&s.ItemsKey, s.Name+":items")
	return s
}

// Validate reports every problem of a spec that has its defaults.
func (s Spec) Validate() error {
	var errs []error
	if s.Name == "" || len(s.Name) > 200 || strings.ContainsAny(s.Name, "{} \t\r\n\x00") {
		errs = append(errs, fmt.Errorf("rqueue: crawl name %.220q: want 1 to 200 bytes without braces and blanks", s.Name))
	}
	switch s.QueueClass {
	case PriorityQueue, FifoQueue, LifoQueue:
	default:
		errs = append(errs, fmt.Errorf("rqueue: queue class %q: want PriorityQueue, FifoQueue or LifoQueue", s.QueueClass))
	}
	switch s.Filter {
	case FilterCompact, FilterScrapy, FilterOff:
	default:
		errs = append(errs, fmt.Errorf("rqueue: filter %q: want compact, scrapy or off", s.Filter))
	}
	switch s.StartURLsType {
	case "", "list", "set", "zset":
	default:
		errs = append(errs, fmt.Errorf("rqueue: start_urls type %q: want list, set or zset", s.StartURLsType))
	}
	if s.HostLimit < 0 {
		errs = append(errs, fmt.Errorf("rqueue: host limit %d: want 0 or more", s.HostLimit))
	}
	if !(s.Weight > 0) {
		errs = append(errs, fmt.Errorf("rqueue: weight %v: want more than 0", s.Weight))
	}
	if len(s.Settings) > 0 && !json.Valid(s.Settings) {
		errs = append(errs, errors.New("rqueue: settings are not JSON"))
	}
	return errors.Join(errs...)
}

// class is the queue class as the scripts know it.
func (s Spec) class() string {
	switch s.QueueClass {
	case FifoQueue:
		return "f"
	case LifoQueue:
		return "l"
	default:
		return "p"
	}
}
