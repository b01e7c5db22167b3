package main

import (
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"orbweaver/core/rqueue"
)

// hookPrefix begins the variables that are hooks of tests, no settings.
const hookPrefix = "ORBWEAVER_TEST_"

// withoutTestHooks is the environment that holds settings.
func withoutTestHooks(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, hookPrefix) })
}

// faultVar names a fault point and a number, "<point>:<n>", in the environment: a
// test's way to end this process exactly there.
const faultVar = hookPrefix + "FAULT"

// faultHook gives what kills this process, as kill -9 does, when the point that
// env names is reached for the n-th time; nil when env names none.
func faultHook(env []string) func(point string) {
	var point string
	var n int64
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, faultVar+"="); ok {
			name, count, _ := strings.Cut(v, ":")
			point, n = name, 1
			if i, err := strconv.ParseInt(count, 10, 64); err == nil && i > 0 {
				n = i
			}
		}
	}
	if point == "" {
		return nil
	}
	var reached atomic.Int64
	return func(at string) {
		if at != point || reached.Add(1) != n {
			return
		}
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		select {} // nothing more happens here
	}
}

// hook is the value of a hook in the environment; "" when it is not set.
func hook(env []string, name string) string {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, hookPrefix+name+"="); ok {
			return v
		}
	}
	return ""
}

// tracedStep is a line of the history of slot leases.
type tracedStep struct {
	Op       string `json:"op"`
	Slot     string `json:"slot"`
	Node     string `json:"node"`
	Token    string `json:"token"` // that it was done under; of acquire, the new one
	Err      string `json:"err"`
	CallNS   int64  `json:"call_ns"`
	ReturnNS int64  `json:"return_ns"`
}

// traceHook appends every step on a slot's lease to the file that LEASE_LOG names;
// nil when it names none.
func traceHook(env []string) func(rqueue.Trace) {
	path := hook(env, "LEASE_LOG")
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err) // a test's mistake
	}
	var mu sync.Mutex
	return func(t rqueue.Trace) {
		if t.Op == "recover" { // it changes no lease of a slot
			return
		}
		line, _ := json.Marshal(tracedStep{t.Op, t.Slot, t.Node, cmp.Or(t.Held, t.Token), t.Err, t.CallNS, t.ReturnNS})
		mu.Lock()
		defer mu.Unlock()
		_, _ = f.Write(append(line, '\n'))
	}
}

// clockHook is the wall clock, off by as many seconds as the file says that CLOCK
// names; nil when it names none.
func clockHook(env []string) func() time.Time {
	path := hook(env, "CLOCK")
	if path == "" {
		return nil
	}
	return func() time.Time {
		text, _ := os.ReadFile(path) //nolint:gosec // a test's own file
		off, _ := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		return time.Now().Round(0).Add(time.Duration(off * float64(time.Second)))
	}
}
