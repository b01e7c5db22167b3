// Package vectors finds the conformance data of tests: files of answers that other
// programs gave, in the folder that ORBWEAVER_VECTORS names or in testdata/vectors.
package vectors

import (
	"os"
	"path/filepath"
	"testing"
)

// Read gives a file, such as "robots.json", to the tests of a package two folders
// deep. A file that is missing fails the test.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	dir := os.Getenv("ORBWEAVER_VECTORS")
	if dir == "" {
		dir = filepath.Join("..", "..", "testdata", "vectors")
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatalf("vectors: %v", err)
	}
	return data
}
