// Command placement simulates, in virtual time, who owns which host while nodes join,
// leave and die, and holds the outcome against what placement promises: the hosts are
// spread by weight, a change moves no more of them than it must, and none between two
// nodes that have nothing to do with it. It asks core/placement only: nothing is
// fetched and nothing waits. The exit code is 1 when a promise is broken.
//
//	go run ./scripts/placement -nodes 100 -hosts 10000000 -weights 1,1,2,4 -seed 1
//
// Chance alone spreads few hosts unevenly: the limits suit 5,000 hosts or more for
// each unit of weight.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

func main() {
	ok, err := run(os.Stdout, os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// settings are what the command line says.
type settings struct {
	nodes   int
	hosts   int
	weights []float64 // of node i the one at i modulo their number
	seed    uint64
	ramp    time.Duration // over which a node that joins takes over its share
	ttl     time.Duration // after which a killed node is no member any more
	workers int
}

// maxNodes leaves room for those that join, among the numbers of 16 bits.
const maxNodes = 10_000

func parse(args []string) (settings, error) {
	s := settings{workers: runtime.GOMAXPROCS(0)}
	flags := flag.NewFlagSet("placement", flag.ContinueOnError)
	flags.IntVar(&s.nodes, "nodes", 100, "nodes at the start")
	flags.IntVar(&s.hosts, "hosts", 10_000_000, "hosts to place")
	weights := flags.String("weights", "1,1,2,4", "weights of the nodes, in turn")
	flags.Uint64Var(&s.seed, "seed", 1, "what the hosts' names and the nodes that leave are drawn from")
	flags.DurationVar(&s.ramp, "ramp", 10*time.Second, "how long a node that joins takes to take over its share")
	flags.DurationVar(&s.ttl, "ttl", 8*time.Second, "how long a killed node stays a member")
	if err := flags.Parse(args); err != nil {
		return s, fmt.Errorf("placement: parse flags: %w", err)
	}
	for word := range strings.SplitSeq(*weights, ",") {
		weight, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		if err != nil || !(weight > 0) || math.IsInf(weight, 1) {
			return s, fmt.Errorf("placement: parse weights: %q is not a number above 0", word)
		}
		s.weights = append(s.weights, weight)
	}
	return s, s.validate(flags.NArg())
}

func (s settings) validate(surplus int) error {
	var errs []error
	check := func(ok bool, problem string) {
		if !ok {
			errs = append(errs, errors.New("placement: "+problem))
		}
	}
	check(surplus == 0, "there are arguments that are no flags")
	check(s.nodes >= 2 && s.nodes <= maxNodes, fmt.Sprintf("nodes must be between 2 and %d", maxNodes))
	check(s.hosts >= 1, "hosts must be above 0")
	// In shorter steps a kill during a join could not be told from a step.
	check(s.ramp == 0 || s.ramp >= 20*tick && s.ramp <= time.Hour, fmt.Sprintf("ramp must be 0 or between %s and 1h", 20*tick))
	check(s.ttl >= 0 && s.ttl <= time.Hour, "ttl must be between 0 and 1h")
	return errors.Join(errs...)
}

// run simulates and writes a line per event; it says whether every promise was kept.
func run(w io.Writer, args []string) (bool, error) {
	s, err := parse(args)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(w, "%d hosts on %d nodes of weights %v, seed %d, ramp %s\n\n", s.hosts, s.nodes, s.weights, s.seed, s.ramp)
	fmt.Fprintln(w, header)
	ok := true
	simulate(s, func(r result) {
		fmt.Fprintln(w, r)
		for _, fault := range r.faults(limits{balance: 1.1, moved: 0.1}) {
			fmt.Fprintln(w, "  BROKEN:", fault)
			ok = false
		}
	})
	return ok, nil
}
