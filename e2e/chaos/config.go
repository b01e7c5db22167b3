package chaos

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Config says what a run is. Node and Dir are required; Seed is taken as it is.
type Config struct {
	Node string // path of the program under test
	Dir  string // an existing folder for what the processes write

	Nodes     int // members at the start; default 5
	MostNodes int // members at most, joined ones included; default Nodes + 2
	Hosts     int // of the site; default 200

	Delay       time.Duration // DOWNLOAD_DELAY of every host; default 200 ms
	Concurrency int           // CONCURRENT_REQUESTS_PER_DOMAIN; default 1
	TTL         time.Duration // of a slot lease; default 4 s

	Duration time.Duration // of the faults; default 30 min
	Requests int           // the faults also end after that many requests; 0: no such end
	Every    time.Duration // between the beginnings of two faults; default 10 s
	Longest  time.Duration // of a fault, at most; default 20 s, least 5 s
	Drain    time.Duration // for the crawl to end without faults, at most; default 3 min

	// Namespaces puts Redis into a network namespace, with a link for each member that a
	// cut takes down, rather than behind proxies. It takes root and Linux.
	Namespaces bool

	Seed  uint64
	Kinds []Kind    // faults to draw from; default all that the machine and the node allow
	Env   []string  // more environment of the nodes
	Set   []string  // more settings of the nodes, NAME=VALUE
	Log   io.Writer // tells of each fault as it happens; nil: nobody is told
}

// WithDefaults is a copy with every zero replaced by its default.
func (c Config) WithDefaults() Config {
	c.Nodes = cmp.Or(c.Nodes, 5)
	c.MostNodes = cmp.Or(c.MostNodes, c.Nodes+2)
	c.Hosts = cmp.Or(c.Hosts, 200)
	c.Delay = cmp.Or(c.Delay, 200*time.Millisecond)
	c.Concurrency = cmp.Or(c.Concurrency, 1)
	c.TTL = cmp.Or(c.TTL, 4*time.Second)
	c.Duration = cmp.Or(c.Duration, 30*time.Minute)
	c.Every = cmp.Or(c.Every, 10*time.Second)
	c.Longest = cmp.Or(c.Longest, 20*time.Second)
	c.Drain = cmp.Or(c.Drain, 3*time.Minute)
	if c.Log == nil {
		c.Log = io.Discard
	}
	return c
}

// mostMembers is how many addresses 127.0.7.x are set aside for members.
const mostMembers = 100

// Validate tells all that is wrong with a Config that has its defaults.
func (c Config) Validate() error {
	var errs []error
	bad := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf("chaos: "+format, args...))
		}
	}
	bad(c.Node == "", "no program")
	bad(c.Dir == "", "no folder")
	bad(c.Nodes < 2, "%d nodes: want 2 at least", c.Nodes)
	bad(c.MostNodes < c.Nodes || c.MostNodes > mostMembers, "%d nodes at most: want %d to %d", c.MostNodes, c.Nodes, mostMembers)
	bad(c.Hosts < 1 || c.Hosts > 10_000, "%d hosts: want 1 to 10000", c.Hosts)
	bad(c.Delay < 10*time.Millisecond, "delay %s: want 10ms at least", c.Delay)
	bad(c.Concurrency < 1, "concurrency %d: want 1 at least", c.Concurrency)
	bad(c.TTL < time.Second, "TTL %s: want 1s at least", c.TTL)
	bad(c.Duration < 0 || c.Drain < 0 || c.Requests < 0, "a limit is negative")
	bad(c.Every < 100*time.Millisecond, "a fault every %s: want 100ms at least", c.Every)
	bad(c.Longest < 5*time.Second, "longest fault %s: want 5s at least", c.Longest)
	for _, k := range c.Kinds {
		bad(!slices.Contains(Kinds(), k), "unknown fault %q", k)
	}
	return errors.Join(errs...)
}
