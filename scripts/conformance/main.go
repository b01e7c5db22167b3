// Command conformance reads the output of `go test -json` on its standard input
// and prints, for each file of testdata/vectors, how many of its cases passed. A
// case is a subtest whose name ends in the case's id; a case that no test runs (what
// it is about does not exist yet) is counted as such. The exit code is 1 when a case
// failed or a package could not be tested.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	ok, err := report(os.Stdout, os.Stdin, filepath.Join("testdata", "vectors"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// event is the part of a test2json event that is used here.
type event struct {
	Action, Package, Test, Output string
}

// report writes a line per file of vectors and says whether none of their cases
// failed and every package could be tested.
func report(w io.Writer, events io.Reader, vectors string) (bool, error) {
	names, err := filepath.Glob(filepath.Join(vectors, "*.json"))
	if err != nil {
		return false, fmt.Errorf("conformance: list vectors: %w", err)
	}
	if len(names) == 0 {
		return false, fmt.Errorf("conformance: no vectors in %s", vectors)
	}
	passed, failed, broken, err := results(events)
	if err != nil {
		return false, err
	}
	ok := len(broken) == 0
	for _, line := range broken {
		fmt.Fprintln(w, line)
	}
	for _, name := range names {
		ids, err := caseIDs(name)
		if err != nil {
			return false, err
		}
		var good, bad, notRun int
		for _, id := range ids {
			switch {
			case failed[id]:
				bad++
			case passed[id]:
				good++
			default:
				notRun++
			}
		}
		fmt.Fprintf(w, "%-24s %4d passed %4d failed %4d not run of %d\n", filepath.Base(name), good, bad, notRun, len(ids))
		ok = ok && bad == 0
	}
	return ok, nil
}

// results gives the last parts of the names of passed and failed tests, and a
// line for each package that could not be built or that failed as a whole.
func results(events io.Reader) (passed, failed map[string]bool, broken []string, err error) {
	passed, failed = make(map[string]bool), make(map[string]bool)
	failedIn := make(map[string]bool) // packages with a failed test
	in := bufio.NewScanner(events)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e event
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			broken = append(broken, in.Text()) // go's own words, such as a build error
			continue
		}
		leaf := e.Test[strings.LastIndexByte(e.Test, '/')+1:]
		switch {
		case e.Action == "build-output":
			broken = append(broken, strings.TrimRight(e.Output, "\n"))
		case e.Action == "pass" && e.Test != "":
			passed[leaf] = true
		case e.Action == "fail" && e.Test != "":
			failed[leaf] = true
			failedIn[e.Package] = true
		case e.Action == "fail" && !failedIn[e.Package]:
			broken = append(broken, e.Package+": no result")
		}
	}
	if err := in.Err(); err != nil {
		return nil, nil, nil, fmt.Errorf("conformance: read test events: %w", err)
	}
	return passed, failed, broken, nil
}

// caseIDs are the ids of the cases in a file of vectors.
func caseIDs(name string) ([]string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("conformance: read vectors: %w", err)
	}
	var file struct {
		Cases []struct{ ID string }
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("conformance: read %s: %w", name, err)
	}
	ids := make([]string, 0, len(file.Cases))
	for _, c := range file.Cases {
		ids = append(ids, c.ID)
	}
	return ids, nil
}
