package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// file is what a sink needs of *os.File.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Writer
	Truncate(size int64) error
	Sync() error
	Close() error
}

// sink is a file that takes whole chunks: after a failed one it ends where it
// ended before. A chunk is a body, which stays, and a tail, which the next
// chunk overwrites (the end of a JSON array).
//
// Nothing is kept back: a chunk that was put is with the operating system, and
// survives the death of the process; flush makes it survive the machine's.
type sink struct {
	f      file
	path   string
	stream bool // no regular file: nothing can be read, cut or written again

	end   int64  // where the next body goes
	tail  []byte // what follows end in the file
	size  int64  // of the file; may differ from end + len(tail) while dirty, or before the first chunk
	dirty bool   // bytes after end are not what they should be
	dir   string // folder to sync once, because the file was made by us; "" when not
	lost  error  // set for good when a sync failed

	torn []byte // stream only: a chunk that was written in part...
	done int    // ...and how much of it
}

// openSink opens a file for reading and writing, and locks it.
func openSink(path string) (*sink, error) {
	if path == Stdout {
		return &sink{f: os.Stdout, path: "standard output", stream: true}, nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, errors.New("is a directory")
	case err == nil && !info.Mode().IsRegular(): // a pipe waits for its reader here, as in a shell
		f, err := os.OpenFile(path, os.O_WRONLY, 0) //nolint:gosec // the user's file
		return &sink{f: f, path: path, stream: true}, cause(err)
	}
	made := errors.Is(err, os.ErrNotExist)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644) //nolint:gosec // the user's file, with the usual rights
	if err != nil {
		return nil, cause(err)
	}
	s := &sink{f: f, path: path}
	if made {
		s.dir = filepath.Dir(path)
	}
	if err := lock(f); err != nil {
		f.Close() //nolint:errcheck,gosec // nothing was written
		return nil, err
	}
	if info, err = f.Stat(); err != nil { // after the lock: who held it may have written
		f.Close() //nolint:errcheck,gosec // nothing was written
		return nil, cause(err)
	}
	s.end, s.size = info.Size(), info.Size()
	return s, nil
}

// cut ends the file at size.
func (s *sink) cut(size int64) error {
	if size > s.size {
		return fmt.Errorf("has %d bytes, %d were flushed before: it was changed or replaced meanwhile, so the items cannot go on in it", s.size, size)
	}
	if size < s.size {
		if err := s.f.Truncate(size); err != nil {
			return cause(err)
		}
	}
	s.end, s.size = size, size
	return nil
}

// put writes a chunk of which the first bytes stay and the rest is the tail. On
// an error the sink is as before and put can be called again.
func (s *sink) put(chunk []byte, stay int) error {
	if s.lost != nil {
		return fmt.Errorf("export: write %s: %w", s.path, s.lost)
	}
	var err error
	if s.stream {
		err = s.putStream(chunk)
	} else {
		err = s.putFile(chunk, stay)
	}
	if err != nil {
		return fmt.Errorf("export: write %s: %w", s.path, cause(err))
	}
	return nil
}

func (s *sink) putFile(chunk []byte, stay int) error {
	if err := s.repair(); err != nil {
		return err
	}
	n, err := s.f.WriteAt(chunk, s.end)
	size := s.end + int64(len(chunk))
	if err == nil && size < s.size { // what was overwritten was longer
		err = s.f.Truncate(size)
	}
	if err != nil {
		s.dirty = true
		s.size = max(s.size, s.end+int64(n))
		_ = s.repair() // at once if the disk lets us, else before the next chunk
		return err
	}
	s.end += int64(stay)
	s.tail, s.size = append(s.tail[:0], chunk[stay:]...), size
	return nil
}

// repair takes away what a failed chunk left behind.
func (s *sink) repair() error {
	if !s.dirty {
		return nil
	}
	if err := s.f.Truncate(s.end); err != nil {
		return err
	}
	s.size = s.end
	if len(s.tail) > 0 {
		n, err := s.f.WriteAt(s.tail, s.end)
		s.size += int64(n)
		if err != nil {
			return err
		}
	}
	s.dirty = false
	return nil
}

// putStream writes to what cannot be cut. If the chunk begins with what an
// earlier failure managed to write, it goes on from there; if it is another
// one, the torn one is completed first, for a reader must not see half a line.
func (s *sink) putStream(chunk []byte) error {
	if s.done > 0 && !bytes.Equal(chunk, s.torn) {
		n, err := s.f.Write(s.torn[s.done:])
		s.done += n
		if err != nil {
			return err
		}
		s.torn, s.done = nil, 0
	}
	n, err := s.f.Write(chunk[s.done:])
	if err != nil {
		if s.done += n; s.done > 0 {
			s.torn = bytes.Clone(chunk)
		}
		return err
	}
	s.torn, s.done = nil, 0
	return nil
}

// flush brings the file to the disk and gives the offset to resume at.
func (s *sink) flush() (int64, error) {
	if s.lost != nil {
		return 0, fmt.Errorf("export: flush %s: %w", s.path, s.lost)
	}
	if s.stream {
		return NoOffset, nil
	}
	if err := s.repair(); err != nil {
		return 0, fmt.Errorf("export: flush %s: %w", s.path, cause(err))
	}
	if err := s.f.Sync(); err != nil {
		// The kernel forgets which pages failed, so that a second sync would
		// succeed without them.
		s.lost = fmt.Errorf("%w (%w)", ErrLost, cause(err))
		return 0, fmt.Errorf("export: flush %s: %w", s.path, s.lost)
	}
	if s.dir != "" { // the name itself must last too
		if err := syncDir(s.dir); err != nil {
			return 0, fmt.Errorf("export: flush %s: %w", s.path, cause(err))
		}
		s.dir = ""
	}
	return s.end, nil
}

// close flushes and closes; standard output stays open.
func (s *sink) close() error {
	_, err := s.flush()
	if s.f == file(os.Stdout) {
		return err
	}
	if cerr := s.f.Close(); cerr != nil && err == nil {
		err = fmt.Errorf("export: close %s: %w", s.path, cause(cerr))
	}
	return err
}

// lastByte is the last byte before end; ok is false when there is none.
func (s *sink) lastByte() (b byte, ok bool, err error) {
	if s.stream || s.end == 0 {
		return 0, false, nil
	}
	var buf [1]byte
	if _, err := s.f.ReadAt(buf[:], s.end-1); err != nil {
		return 0, false, cause(err)
	}
	return buf[0], true, nil
}

// cause drops the path of an *os.PathError, which the caller names.
func cause(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}

func syncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // the folder of the user's file
	if err != nil {
		return err
	}
	err = ignoreUnsupported(d.Sync())
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
