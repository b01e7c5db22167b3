package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// testbed lets what is made for tests be used by a command: it is a testing.TB of
// which only the methods below may be called.
type testbed struct {
	testing.TB
	ctx context.Context //nolint:containedctx // what Context gives

	mu       sync.Mutex
	cleanups []func() // guarded by mu
}

func (b *testbed) Helper()                  {}
func (b *testbed) Context() context.Context { return b.ctx }

func (b *testbed) Cleanup(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cleanups = append(b.cleanups, f)
}

// refusal is what Fatalf panics with; Run makes an error of it.
type refusal struct{ text string }

func (b *testbed) Fatalf(format string, args ...any) { panic(refusal{fmt.Sprintf(format, args...)}) }

// close runs the cleanups, the last first.
func (b *testbed) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, cleanup := range slices.Backward(b.cleanups) {
		cleanup()
	}
	b.cleanups = nil
}
