// Package export writes items to files as Scrapy's feed exports do: JSON lines,
// one JSON array, CSV.
//
// The main type is Writer. It knows nothing of crawls and checkpoints: who uses
// it stores the offset that Flush returns together with what has been exported
// up to there, and opens the file with that offset after a crash. Then every
// item is in the file exactly once.
package export

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Writer writes items to one file. It is confined to one goroutine.
type Writer interface {
	// Write adds items, each a JSON object on one line; it keeps none of them.
	// All of them or none: after an error the file ends as it did before, as soon
	// as its disk allows, and the same items can be written again. The error names
	// the file; it is an *ItemError when an item is at fault rather than the file.
	Write(items [][]byte) error

	// Flush brings what was written to the disk and gives the offset to resume
	// at; NoOffset when the output is no regular file. After an error that is
	// ErrLost nothing more can be written.
	Flush() (offset int64, err error)

	// Close finishes the file and flushes. The Writer cannot be used afterwards,
	// whatever the error.
	Close() error

	// Dropped counts values that found no column, by field name; nil when the
	// format has none to drop. Names beyond the first hundred are counted as "".
	Dropped() map[string]int64
}

// NoOffset as resumeAt starts afresh; Flush gives it for pipes and terminals,
// which have no place to come back to.
const NoOffset int64 = -1

// ErrLost says that the disk lost bytes that it had taken. What was written
// since the last Flush may be gone: open the file again at that offset.
var ErrLost = errors.New("the disk lost written bytes: open the file again at the last flushed offset")

// ErrInUse says that another Writer, here or in another process, has the file.
var ErrInUse = errors.New("it is in use: another crawl is writing to it")

// ItemError says which item of a Write cannot be written, in any try.
type ItemError struct {
	Path  string // the file
	Index int    // of the item in the call
	Err   error
}

func (e *ItemError) Error() string {
	return fmt.Sprintf("export: write %s: item %d: %v", e.Path, e.Index, e.Err)
}

// BadItem is the index of the item in the call; who cannot import this package
// knows an ItemError by it.
func (e *ItemError) BadItem() int { return e.Index }

// Unwrap gives the cause.
func (e *ItemError) Unwrap() error { return e.Err }

// Stdout as a path is the standard output.
const Stdout = "-"

// Formats lists the names that Open and a file's extension can say.
func Formats() []string { return []string{"jsonl", "jl", "jsonlines", "json", "csv"} }

// Open opens path, making it when it is not there. An empty format is taken
// from the extension; Stdout is JSON lines unless a format is given.
//
// With resumeAt from an earlier Flush the file is cut there first and goes on;
// overwrite is then ignored, for it was done when the file was begun. With
// NoOffset (or any negative number) the file is emptied with overwrite, and
// else goes on after what it holds. A file shorter than resumeAt is an error.
func Open(path, format string, overwrite bool, resumeAt int64) (Writer, error) {
	format, err := formatOf(path, format)
	if err != nil {
		return nil, err
	}
	s, err := openSink(path)
	if err != nil {
		return nil, fmt.Errorf("export: open %s: %w", path, err)
	}
	w, err := start(s, format, overwrite, resumeAt)
	if err != nil {
		s.f.Close() //nolint:errcheck,gosec // nothing was written, and there is an error to tell already
		return nil, fmt.Errorf("export: open %s: %w", path, err)
	}
	return w, nil
}

// start puts a format's writer on an open file.
func start(s *sink, format string, overwrite bool, resumeAt int64) (Writer, error) {
	fresh := resumeAt < 0
	var err error
	switch {
	case s.stream:
	case !fresh:
		err = s.cut(resumeAt)
	case overwrite:
		err = s.cut(0)
	}
	if err != nil {
		return nil, err
	}
	switch format {
	case "json":
		return newJSON(s, fresh)
	case "csv":
		return newCSV(s)
	default:
		return newLines(s)
	}
}

// SplitFormat takes the format off Scrapy's FILE:FORMAT; format is "" when
// there is none.
func SplitFormat(arg string) (path, format string) {
	if i := strings.LastIndexByte(arg, ':'); i > 0 && known(arg[i+1:]) {
		return arg[:i], strings.ToLower(arg[i+1:])
	}
	return arg, ""
}

func formatOf(path, format string) (string, error) {
	switch {
	case path == "":
		return "", errors.New("export: open output: no file name given")
	case format != "" && !known(format):
		return "", fmt.Errorf("export: open %s: unknown format %q: there are %s", path, format, strings.Join(Formats(), ", "))
	case format != "":
		return strings.ToLower(format), nil
	case path == Stdout:
		return "jsonl", nil
	}
	ext := strings.TrimPrefix(filepath.Ext(path), ".")
	if !known(ext) {
		return "", fmt.Errorf("export: open %s: unknown extension %q: use one of .%s, or FILE:FORMAT", path, ext, strings.Join(Formats(), ", ."))
	}
	return strings.ToLower(ext), nil
}

func known(format string) bool {
	for _, f := range Formats() {
		if strings.EqualFold(format, f) {
			return true
		}
	}
	return false
}

// sectionOf reads a sink's file from an offset to its end.
func sectionOf(s *sink, from int64) *io.SectionReader {
	return io.NewSectionReader(s.f, from, max(0, s.size-from))
}
