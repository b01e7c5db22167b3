// Package e2e runs the real node as users do: its own processes, a real Redis and
// a website that records all it sees. Each test is about one promise to users.
//
// ORBWEAVER_E2E_RACE=1 builds the node with the race detector; a race found in it
// fails the test that ran it. ORBWEAVER_E2E_SEED=N moves the kills to other moments.
package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// raceVar is the environment variable that asks for the race detector.
const raceVar = "ORBWEAVER_E2E_RACE"

// nodePath is the program under test, built once.
var nodePath string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "e2e-")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	nodePath = filepath.Join(dir, "node")
	args := []string{"build", "-o", nodePath}
	if os.Getenv(raceVar) != "" {
		args = append(args, "-race")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", append(args, "orbweaver/cmd/node")...)
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return failed(err)
	}
	return m.Run()
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "e2e: build the node:", err)
	return 1
}
