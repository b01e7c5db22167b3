package export

import (
	"bytes"
	"encoding/json"
)

// lines writes one JSON object a line.
type lines struct {
	s      *sink
	buf    []byte
	broken bool // the file's last line has no end yet
}

func newLines(s *sink) (*lines, error) {
	b, ok, err := s.lastByte()
	if err != nil {
		return nil, err
	}
	return &lines{s: s, broken: ok && b != '\n'}, nil
}

func (w *lines) Write(items [][]byte) error {
	if len(items) == 0 {
		return nil
	}
	buf := w.buf[:0]
	if w.broken {
		buf = append(buf, '\n')
	}
	for i, item := range items {
		var err error
		if buf, err = appendLine(buf, item); err != nil {
			return &ItemError{w.s.path, i, err}
		}
		buf = append(buf, '\n')
	}
	w.buf = buf
	if err := w.s.put(buf, len(buf)); err != nil {
		return err
	}
	w.broken = false
	return nil
}

func (w *lines) Flush() (int64, error)     { return w.s.flush() }
func (w *lines) Close() error              { return w.s.close() }
func (w *lines) Dropped() map[string]int64 { return nil }

// appendLine adds an item on one line. Items are that already, so that only one
// with line ends in it is read as JSON.
func appendLine(buf, item []byte) ([]byte, error) {
	if bytes.IndexByte(item, '\n') < 0 && bytes.IndexByte(item, '\r') < 0 {
		return append(buf, item...), nil
	}
	one := bytes.NewBuffer(buf)
	if err := json.Compact(one, item); err != nil {
		return nil, err
	}
	return one.Bytes(), nil
}
