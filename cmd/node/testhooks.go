package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
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
