// Package fetcher gets one page at a time over HTTP/1.1: Client and its Slots
// are the wire (requests written by fasthttp, answers read by rules of our own), Actor is the worker that a domain actor spawns for each request in
// flight.
//
// A fetch always ends, within its time, its body cap and a budget for whatever
// surrounds the body, and its end is a crawl.Response with a named Cause, never
// an error. A request is sent at most once per Do: it is never repeated behind
// the caller's back, and never written after the permit ran out. Whether to
// retry or to follow a redirect is not decided here.
package fetcher

import (
	"bufio"
	"crypto/tls"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"orbweaver/core/crawl"
	"orbweaver/core/netguard"
)

const (
	// smallReader is the read buffer in bytes of a fetch whose header fits in
	// it. A longer header is finished in a reader of MaxHeaderBytes. 4 KiB cost
	// one more read a page, a twelfth of the fetch.
	smallReader = 16 << 10

	// waitingReaders is how many fetches may hold a reader while they wait for
	// an answer. More than those wait without one, at the price of one system
	// call each: ten thousand waiting fetches need 4 MiB and not 160.
	waitingReaders = 256
)

// Client holds what all slots share: limits, guard, TLS sessions and buffer
// pools. Idle connections and idle slots hold no buffers. Safe for concurrent
// use; it starts no goroutines and needs no closing.
type Client struct {
	cfg      Config
	tls      *tls.Config
	trusted  netguard.Policy // for proxies of the settings
	proxies  *proxies
	auth     credentials
	maxSize  int64
	defaults []crawl.Header // User-Agent, DefaultHeaders, Accept-Encoding

	idle    atomic.Int64 // kept connections of all slots
	reading atomic.Int64 // fetches that wait for an answer or read it
	small   sync.Pool    // *bufio.Reader of smallReader bytes
	large   sync.Pool    // *bufio.Reader of MaxHeaderBytes
	scratch sync.Pool    // *[]byte: request bytes
	bodies  buffers
	layers  layers
}

// New gives a Client, or what is wrong with the configuration.
func New(cfg Config) (*Client, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	known, err := newProxies(cfg.Proxy)
	if err != nil {
		return nil, err
	}
	auth, err := cfg.Auth.ready()
	if err != nil {
		return nil, err
	}
	trusted := cfg.Guard
	trusted.AllowPrivate, trusted.Ports = true, []netguard.PortRange{{First: 1, Last: math.MaxUint16}}
	c := &Client{
		cfg:     cfg,
		trusted: trusted,
		proxies: known,
		auth:    auth,
		maxSize: cfg.MaxSize,
		tls: &tls.Config{
			MinVersion:         cfg.MinTLS,
			MaxVersion:         cfg.MaxTLS,
			RootCAs:            cfg.Roots,
			InsecureSkipVerify: cfg.SkipVerify, //nolint:gosec // the operator's choice, off by default
			ClientSessionCache: tls.NewLRUClientSessionCache(1024),
			NextProtos:         []string{"http/1.1"},
		},
	}
	if c.maxSize < 0 {
		c.maxSize = noLimit
	}
	c.defaults = append(c.defaults, crawl.Header{Name: "User-Agent", Value: cfg.UserAgent})
	c.defaults = append(c.defaults, cfg.DefaultHeaders...)
	c.defaults = slices.DeleteFunc(c.defaults, func(h crawl.Header) bool { return strings.EqualFold(h.Name, proxyAuth) })
	if headerIndex(c.defaults, "Accept-Encoding") < 0 {
		c.defaults = append(c.defaults, crawl.Header{Name: "Accept-Encoding", Value: acceptEncoding})
	}
	c.small.New = func() any { return bufio.NewReaderSize(nil, smallReader) }
	c.large.New = func() any { return bufio.NewReaderSize(nil, cfg.MaxHeaderBytes) }
	c.scratch.New = func() any { b := make([]byte, 0, 1024); return &b }
	return c, nil
}

// Slot gives the connections of one slot. It costs nothing until it is used.
func (c *Client) Slot() *Slot { return &Slot{client: c} }

// Release takes the body's memory back for other fetches; resp.Body is nil
// afterwards and no slice of it may be used any more. Calling it is optional:
// a body that is not released is left to the garbage collector.
func (c *Client) Release(resp *crawl.Response) {
	c.bodies.put(resp.Body)
	resp.Body = nil
}
