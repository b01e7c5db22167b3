// Package leasecheck judges what a cluster's nodes did to their slot leases: it
// reads the histories that the nodes wrote, one file a process, and checks them
// with porcupine against a model of one slot. At any time at most one token is
// good, epochs only rise, and a slot changes hands only when it was released, its
// lease has run out, or its owner takes it anew.
//
// Only what a store acknowledged is judged. An outcome that is unknown is given the
// benefit of the doubt, so a violation is one whatever really happened.
package leasecheck

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Op is one call of a lease operation by a node, and what came of it.
type Op struct {
	Kind  string `json:"op"` // "acquire", "renew", "reserve", "lease" or "release"
	Slot  string `json:"slot"`
	Node  string `json:"node"`  // member id
	Token string `json:"token"` // member id "." epoch; for acquire the one that was given
	Held  bool   `json:"held"`  // acquire: refused, somebody else holds the slot
	Err   string `json:"err"`   // "": it succeeded; else refused, or nobody knows
	// CallNS and ReturnNS are CLOCK_MONOTONIC, ns; the same clock for all processes.
	CallNS   int64 `json:"call_ns"`
	ReturnNS int64 `json:"return_ns"`
}

// History is what one process wrote.
type History struct {
	Name string
	Ops  []Op
	// KilledNS is when the process was killed, CLOCK_MONOTONIC ns; 0: it ended by
	// itself. What it had under way then was never written down.
	KilledNS int64
}

// mostLineBytes bounds a line of a history.
const mostLineBytes = 1 << 16

// Read reads a history: JSON, one operation a line. The last line may be cut off,
// as by the death of the process.
func Read(r io.Reader) ([]Op, error) {
	var ops []Op
	in := bufio.NewReaderSize(r, mostLineBytes)
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return ops, nil // whatever is left was not finished
		case errors.Is(err, bufio.ErrBufferFull):
			return ops, fmt.Errorf("leasecheck: read line %d: over %d bytes", n, mostLineBytes)
		case err != nil:
			return ops, fmt.Errorf("leasecheck: read line %d: %w", n, err)
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var op Op
		if err := json.Unmarshal(line, &op); err != nil {
			return ops, fmt.Errorf("leasecheck: read line %d: %w", n, err)
		}
		if err := op.validate(); err != nil {
			return ops, fmt.Errorf("leasecheck: read line %d: %w", n, err)
		}
		ops = append(ops, op)
	}
}

// ReadFile is Read of a file.
func ReadFile(path string) ([]Op, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("leasecheck: %w", err)
	}
	defer f.Close()
	return Read(f)
}

func (o Op) validate() error {
	switch o.Kind {
	case "acquire", "renew", "reserve", "lease", "release":
	default:
		return fmt.Errorf("unknown operation %q", o.Kind)
	}
	if o.Slot == "" {
		return errors.New("no slot")
	}
	if o.ReturnNS < o.CallNS {
		return errors.New("returned before it was called")
	}
	return nil
}

func (o Op) String() string {
	out := fmt.Sprintf("%s %s by %s token %s [%.3f s, %.3f s]", o.Kind, o.Slot, o.Node, o.Token,
		float64(o.CallNS)/1e9, float64(o.ReturnNS)/1e9)
	if o.Held {
		out += " held"
	}
	if o.Err != "" {
		out += " err: " + o.Err
	}
	return out
}
