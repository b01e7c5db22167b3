package admin

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"
)

// Errors that a backend wraps to be answered with other than 500.
var (
	ErrNotFound    = errors.New("not found")   // 404
	ErrUnavailable = errors.New("unavailable") // 503: the store cannot be reached, the node stops
	ErrInvalid     = errors.New("invalid")     // 400: what was asked for makes no sense
)

// ElsewhereError says that another node should have a domain; it is answered with 404
// and the owner.
type ElsewhereError struct {
	Slot  string
	Owner Node
}

func (e *ElsewhereError) Error() string {
	return "domain " + e.Slot + " is not live on this node; node " + e.Owner.ID + " should have it"
}

// Unwrap makes it an ErrNotFound.
func (e *ElsewhereError) Unwrap() error { return ErrNotFound }

// Inspector shows what runs on the node.
type Inspector interface {
	// Actors lists the actors, parents before their children.
	Actors(ctx context.Context) ([]Actor, error)
	// Domains gives one page; Paginate does it for a backend that has them all.
	Domains(ctx context.Context, q DomainQuery) (DomainPage, error)
	// Domain gives one domain, or an error that wraps ErrNotFound, or an *ElsewhereError.
	Domain(ctx context.Context, slot string) (Domain, error)
}

// Cluster knows the nodes.
type Cluster interface {
	// Nodes lists the members as this node sees them, itself among them.
	Nodes(ctx context.Context) ([]Node, error)
}

// Node is one member of the cluster.
type Node struct {
	ID      string  `json:"id"`
	Self    bool    `json:"self,omitempty"` // the node that answers
	Address string  `json:"address,omitempty"`
	Admin   string  `json:"admin,omitempty"` // URL of its endpoint
	Version string  `json:"version"`
	Crawl   string  `json:"crawl,omitempty"` // the only one that it works for; "": it serves all
	Weight  float64 `json:"weight"`          // of its whole share
	Share   float64 `json:"share"`           // of the slots, now: less than its weight gives while it is new
	Age     Seconds `json:"age_s"`           // since it joined
}

// Crawler knows the crawls.
type Crawler interface {
	Crawls(ctx context.Context) ([]Crawl, error)
	// Seed takes start messages that seeds.Parse reads, in UTF-8. refused has
	// for each payload nil or why it is not taken (a private address, say); nil
	// when all are. A crawl that does not exist is ErrNotFound. On an error
	// nothing is known to be taken.
	Seed(ctx context.Context, crawl string, payloads [][]byte) (refused []error, err error)
}

// Actor is one actor of the node's tree.
type Actor struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"`
	Parent   string   `json:"parent,omitempty"` // id; "" for a root
	State    string   `json:"state"`
	Mailbox  int      `json:"mailbox"` // user messages waiting
	Restarts int      `json:"restarts"`
	Children []string `json:"children"` // ids; filled in from Parent
}

// Domain is one slot as its owner sees it.
type Domain struct {
	Slot        string   `json:"slot"`
	Delay       Seconds  `json:"delay_s"`
	Concurrency int      `json:"concurrency"`
	SlotsInUse  int      `json:"slots_in_use"`
	NextFetchIn *Seconds `json:"next_fetch_in_s"` // nil when nothing is planned
	Reason      string   `json:"reason"`          // why it waits; "" when it does not
	Queue       int64    `json:"queue"`           // requests waiting and delayed
	LastError   string   `json:"last_error,omitempty"`
	LastStatus  int      `json:"last_status,omitempty"`
	LastLatency Seconds  `json:"last_latency_s,omitempty"`
	Crawls      []string `json:"crawls"`
}

// Crawl is one crawl that the node serves.
type Crawl struct {
	Name    string           `json:"name"`
	State   string           `json:"state"`
	Waiting int64            `json:"waiting"`
	Delayed int64            `json:"delayed"`
	Leased  int64            `json:"leased"` // in flight
	Done    int64            `json:"done"`
	Dead    int64            `json:"dead"`
	Items   int64            `json:"items"`
	Stats   map[string]int64 `json:"stats,omitempty"` // under Scrapy's names
}

// Seconds is a duration that JSON shows as seconds.
type Seconds time.Duration

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, time.Duration(s).Seconds(), 'f', -1, 64), nil
}

// UnmarshalJSON implements json.Unmarshaler, for programs that read the answers.
func (s *Seconds) UnmarshalJSON(b []byte) error {
	var f float64
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	*s = Seconds(math.Round(f * float64(time.Second)))
	return nil
}
