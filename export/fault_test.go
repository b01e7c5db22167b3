package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// faultyFile is a file on a disk that has room for so many more bytes.
type faultyFile struct {
	*os.File
	room     int  // bytes that may still be written; negative is no limit
	noCut    bool // Truncate fails too
	failSync bool
}

func (f *faultyFile) allow(p []byte) ([]byte, error) {
	if f.room < 0 {
		return p, nil
	}
	if len(p) > f.room {
		p = p[:f.room]
		f.room = 0
		return p, &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	f.room -= len(p)
	return p, nil
}

func (f *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	p, fault := f.allow(p)
	n, err := f.File.WriteAt(p, off)
	return n, errors.Join(err, fault)
}

func (f *faultyFile) Write(p []byte) (int, error) {
	p, fault := f.allow(p)
	n, err := f.File.Write(p)
	return n, errors.Join(err, fault)
}

func (f *faultyFile) Truncate(size int64) error {
	if f.noCut {
		return syscall.EIO
	}
	return f.File.Truncate(size)
}

func (f *faultyFile) Sync() error {
	if f.failSync {
		return syscall.EIO
	}
	return f.File.Sync()
}

// openFaulty is Open on a faulty disk.
func openFaulty(t *testing.T, path string, resumeAt int64) (Writer, *faultyFile) {
	t.Helper()
	format, err := formatOf(path, "")
	require.NoError(t, err)
	s, err := openSink(path)
	require.NoError(t, err)
	f := &faultyFile{File: s.f.(*os.File), room: -1}
	t.Cleanup(func() { _ = f.Close() })
	s.f = f
	w, err := start(s, format, false, resumeAt)
	require.NoError(t, err)
	return w, f
}

// batch is a few items that differ from those of every other batch.
func batch(i int) [][]byte {
	var out [][]byte
	for j := range 1 + i%3 {
		out = append(out, fmt.Appendf(nil, `{"id":"%d.%d","text":"%s"}`, i, j, strings.Repeat("x,", i%5)))
	}
	return out
}

func files() []string { return []string{"a.jsonl", "a.json", "a.csv"} }

// undisturbed is what a file holds after so many batches and no fault.
func undisturbed(t *testing.T, file string, batches int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), file)
	w, err := Open(path, "", false, NoOffset)
	require.NoError(t, err)
	for i := range batches {
		require.NoError(t, w.Write(batch(i)))
	}
	require.NoError(t, w.Close())
	return readFile(t, path)
}

func TestFlushedFileIsWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.json")
	w, err := Open(path, "", false, NoOffset)
	require.NoError(t, err)
	var offset int64
	for i := range 5 {
		require.NoError(t, w.Write(batch(i)))
		require.True(t, json.Valid([]byte(readFile(t, path))))
		offset, err = w.Flush()
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	w, err = Open(path, "", false, offset)
	require.NoError(t, err)
	again, err := w.Flush()
	require.NoError(t, err)
	require.Equal(t, offset, again)
	require.True(t, json.Valid([]byte(readFile(t, path))), "resumed and flushed without a write")
	require.NoError(t, w.Close())
}

// TestCrash kills the writer after each byte that it writes behind a flush, and
// resumes at that flush.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, file := range files() {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			want := undisturbed(t, file, 5)
			for _, flushed := range []int{0, 1, 3} {
				whole := false
				for written := 0; !whole; written++ {
					path := filepath.Join(t.TempDir(), file)
					w, f := openFaulty(t, path, NoOffset)
					for i := range flushed {
						require.NoError(t, w.Write(batch(i)))
					}
					offset, err := w.Flush()
					require.NoError(t, err)
					f.room, f.noCut = written, true
					whole = w.Write(batch(flushed)) == nil && w.Write(batch(flushed+1)) == nil
					require.NoError(t, f.Close()) // the process dies

					next, err := Open(path, "", true, offset)
					require.NoError(t, err)
					for i := flushed; i < 5; i++ {
						require.NoError(t, next.Write(batch(i)))
					}
					require.NoError(t, next.Close())
					require.Equal(t, want, readFile(t, path), "flushed %d, then %d bytes", flushed, written)
				}
			}
		})
	}
}

// TestFullDisk fills the disk at each byte; the write goes through when there is
// room again, and meanwhile the file is as it was.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, file := range files() {
		for _, noCut := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/noCut=%v", file, noCut), func(t *testing.T) {
				t.Parallel()
				want := undisturbed(t, file, 4)
				fits := false
				for room := 0; !fits; room++ {
					path := filepath.Join(t.TempDir(), file)
					w, f := openFaulty(t, path, NoOffset)
					require.NoError(t, w.Write(batch(0)))
					require.NoError(t, w.Write(batch(1)))
					f.room, f.noCut = room, noCut
					before := readFile(t, path)
					err := w.Write(batch(2))
					if fits = err == nil; !fits {
						require.ErrorIs(t, err, syscall.ENOSPC)
						require.ErrorContains(t, err, "export: write "+path+": no space left on device")
						if !noCut && file != "a.json" { // the array's end needs room
							require.Equal(t, before, readFile(t, path))
						}
						if noCut {
							_, err := w.Flush()
							require.ErrorContains(t, err, "export: flush "+path)
						}
						require.Error(t, w.Write(batch(2)))
						f.room, f.noCut = -1, false
						_, err = w.Flush()
						require.NoError(t, err)
						require.Equal(t, before, readFile(t, path))
						require.NoError(t, w.Write(batch(2)))
					}
					f.room, f.noCut = -1, false
					require.NoError(t, w.Write(batch(3)))
					require.NoError(t, w.Close())
					require.Equal(t, want, readFile(t, path), "room for %d", room)
				}
			})
		}
	}
}

// TestFailedAppend leaves an array that was there before as valid as it was.
func TestFailedAppend(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.json")
	require.NoError(t, os.WriteFile(path, []byte("[ 1 ]"+strings.Repeat(" ", 500)), 0o600))
	w, f := openFaulty(t, path, NoOffset)
	f.room = 10
	require.ErrorIs(t, w.Write(items(`{"a":"`+strings.Repeat("x", 100)+`"}`)), syscall.ENOSPC)
	f.room = -1
	_, err := w.Flush()
	require.NoError(t, err)
	require.JSONEq(t, `[1]`, readFile(t, path))
	require.NoError(t, w.Close())
}

// TestRandomFaults mixes full disks, crashes, flushes and resumes.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	const batches = 12
	for _, file := range files() {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			want := undisturbed(t, file, batches)
			for seed := range int64(60) {
				random := rand.New(rand.NewSource(seed)) //nolint:gosec // a test's schedule
				path := filepath.Join(t.TempDir(), file)
				w, f := openFaulty(t, path, NoOffset)
				safe, next := 0, 0
				offset, err := w.Flush() // the checkpoint: offset holds the batches before safe
				require.NoError(t, err)
				for steps := 0; next < batches; steps++ {
					require.Less(t, steps, 10_000)
					switch random.Intn(6) {
					case 0: // checkpoint
						if at, err := w.Flush(); err == nil {
							offset, safe = at, next
						}
					case 1: // crash
						require.NoError(t, f.Close())
						w, f = openFaulty(t, path, offset)
						next = safe
					case 2:
						f.room, f.noCut = random.Intn(150), random.Intn(2) == 0
					case 3:
						f.room, f.noCut = -1, false
					default:
						if w.Write(batch(next)) == nil {
							next++
						}
					}
				}
				f.room, f.noCut = -1, false
				require.NoError(t, w.Close())
				require.Equal(t, want, readFile(t, path), "seed %d", seed)
			}
		})
	}
}

func TestLostSync(t *testing.T) {
	t.Parallel()
	for _, file := range files() {
		path := filepath.Join(t.TempDir(), file)
		w, f := openFaulty(t, path, NoOffset)
		require.NoError(t, w.Write(batch(0)))
		offset, err := w.Flush()
		require.NoError(t, err)
		require.NoError(t, w.Write(batch(1)))
		f.failSync = true
		_, err = w.Flush()
		require.ErrorIs(t, err, ErrLost)
		require.ErrorIs(t, err, syscall.EIO)
		f.failSync = false
		_, err = w.Flush()
		require.ErrorIs(t, err, ErrLost, "a second sync proves nothing")
		require.ErrorIs(t, w.Write(batch(2)), ErrLost)
		require.ErrorIs(t, w.Close(), ErrLost)

		w, err = Open(path, "", false, offset)
		require.NoError(t, err)
		require.NoError(t, w.Write(batch(1)))
		require.NoError(t, w.Close())
		require.Equal(t, undisturbed(t, file, 2), readFile(t, path))
	}
}

// TestStream writes to what cannot be cut: a write that is tried again goes on
// where it broke off.
func TestStream(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"jsonl", "json", "csv"} {
		for room := range 40 {
			path := filepath.Join(t.TempDir(), "pipe."+format)
			disk, err := os.Create(path) //nolint:gosec // a test's own file
			require.NoError(t, err)
			f := &faultyFile{File: disk, room: -1, noCut: true}
			w, err := start(&sink{f: f, path: path, stream: true}, format, false, NoOffset)
			require.NoError(t, err)
			require.NoError(t, w.Write(batch(0)))
			f.room = room
			if err := w.Write(batch(1)); err != nil {
				require.ErrorIs(t, err, syscall.ENOSPC)
				require.Error(t, w.Write(batch(1)))
				f.room = 3
				err = w.Write(batch(1))
				f.room = -1
				if err != nil {
					require.NoError(t, w.Write(batch(1)))
				}
			}
			f.room = -1
			require.NoError(t, w.Write(batch(2)))
			require.NoError(t, w.Close())
			require.Equal(t, undisturbed(t, "a."+format, 3), readFile(t, path), "room for %d", room)
		}
	}

	t.Run("AnotherChunk", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "pipe")
		disk, err := os.Create(path) //nolint:gosec // a test's own file
		require.NoError(t, err)
		f := &faultyFile{File: disk, room: 5}
		w, err := start(&sink{f: f, path: path, stream: true}, "jsonl", false, NoOffset)
		require.NoError(t, err)
		require.Error(t, w.Write(items(`{"a":1}`)))
		f.room = -1
		require.NoError(t, w.Write(items(`{"b":2}`)))
		require.NoError(t, w.Close())
		require.Equal(t, "{\"a\":1}\n{\"b\":2}\n", readFile(t, path))
	})
}

func FuzzAppendArray(f *testing.F) {
	for _, s := range []string{"", "[]", "[1]", " [ {\"a\":[]} ,2]\n", "[1", "{}", "[]]", "\ufeff[]", "[\"]\"]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, before []byte) {
		path := filepath.Join(t.TempDir(), "a.json")
		require.NoError(t, os.WriteFile(path, before, 0o600))
		w, err := Open(path, "", false, NoOffset)
		if err != nil {
			require.Equal(t, string(before), readFile(t, path))
			return
		}
		require.NoError(t, w.Write(items(`{"a":1}`)))
		require.NoError(t, w.Close())
		var old, now []json.RawMessage
		if len(bytes.TrimSpace(before)) > 0 {
			require.NoError(t, json.Unmarshal(before, &old))
		}
		require.NoError(t, json.Unmarshal([]byte(readFile(t, path)), &now))
		require.Len(t, now, len(old)+1)
		require.Equal(t, `{"a":1}`, string(now[len(old)]))
		for i := range old {
			require.Equal(t, string(old[i]), string(now[i]))
		}
	})
}

func FuzzTable(f *testing.F) {
	f.Add([]byte("a,b\n"), []byte(`{"a":1}`))
	f.Add([]byte("\"a\r\nb\",b\r\n"), []byte(`{"a":["x","y"],"b":null}`))
	f.Add([]byte(""), []byte(`{"":"\ud800","a":{}}`))
	f.Fuzz(func(t *testing.T, before, item []byte) {
		path := filepath.Join(t.TempDir(), "a.csv")
		require.NoError(t, os.WriteFile(path, before, 0o600))
		w, err := Open(path, "", false, NoOffset)
		if err != nil {
			require.Equal(t, string(before), readFile(t, path))
			return
		}
		err = w.Write([][]byte{item})
		if err != nil {
			require.Equal(t, string(before), readFile(t, path))
		} else {
			require.True(t, json.Valid(item))
			require.True(t, strings.HasPrefix(readFile(t, path), string(before)))
		}
		require.NoError(t, w.Close())
	})
}

func BenchmarkWrite(b *testing.B) {
	line := []byte(`{"url":"http://example.org/page/1234567","status":200,"title":"Some page of the site","depth":3,"fetched_at":"2026-01-02T03:04:05Z"}`)
	fifty := make([][]byte, 50)
	for i := range fifty {
		fifty[i] = line
	}
	for _, file := range files() {
		b.Run(file, func(b *testing.B) {
			w, err := Open(filepath.Join(b.TempDir(), file), "", false, NoOffset)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, w.Write(fifty))
			}
			require.NoError(b, w.Close())
		})
	}
}
