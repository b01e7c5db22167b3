package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// array writes one JSON array, an item a line. Every chunk ends with the
// array's end, so that the file is valid JSON after each Write and Flush; the
// next chunk goes over it.
type array struct {
	s     *sink
	buf   []byte
	begun bool // the opening bracket is there
	empty bool // nothing follows the bracket yet
}

const arrayEnd = "\n]\n"

// newJSON goes on inside the array that the file holds. A resumed file ends
// after an item or the opening bracket; a fresh one is read whole, because going
// on in something that is no array would make it worse.
func newJSON(s *sink, fresh bool) (*array, error) {
	w := &array{s: s, empty: true}
	if s.stream || s.size == 0 {
		return w, nil
	}
	if fresh {
		if err := w.enter(); err != nil {
			return nil, err
		}
		if s.end == 0 {
			return w, nil
		}
	}
	b, at, err := s.lastInk(s.end)
	if err != nil {
		return nil, err
	}
	w.begun, w.empty = at >= 0, b == '['
	return w, nil
}

// enter checks that the file is one array and moves the sink's end to behind
// the array's last element.
func (w *array) enter() error {
	s := w.s
	dec := json.NewDecoder(bufio.NewReaderSize(sectionOf(s, 0), 1<<16))
	t, err := dec.Token()
	if errors.Is(err, io.EOF) { // only white space
		s.end = 0
		return nil
	}
	if err == nil && t != json.Delim('[') {
		err = errors.New("it begins with something else")
	}
	var element json.RawMessage
	for err == nil && dec.More() {
		err = dec.Decode(&element)
	}
	if err == nil {
		_, err = dec.Token()
	}
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows it")
		}
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("is not one JSON array to go on in (%w): overwrite it (-O) or choose another file", err)
	}
	_, closing, err := s.lastInk(s.size)
	if err != nil {
		return err
	}
	_, last, err := s.lastInk(closing)
	if err != nil {
		return err
	}
	s.end, s.tail = last+1, []byte(arrayEnd)
	return nil
}

// lastInk is the last byte before an offset that is not JSON's white space, and
// where it is; at is -1 when there is none.
func (s *sink) lastInk(before int64) (b byte, at int64, err error) {
	var block [512]byte
	for before > 0 {
		from := max(0, before-int64(len(block)))
		part := block[:before-from]
		if _, err := s.f.ReadAt(part, from); err != nil {
			return 0, -1, cause(err)
		}
		if part = bytes.TrimRight(part, " \t\r\n"); len(part) > 0 {
			return part[len(part)-1], from + int64(len(part)) - 1, nil
		}
		before = from
	}
	return 0, -1, nil
}

func (w *array) Write(items [][]byte) error {
	if len(items) == 0 {
		return nil
	}
	buf := w.buf[:0]
	if !w.begun {
		buf = append(buf, '[')
	}
	for i, item := range items {
		if !json.Valid(item) { // one bad item would spoil the whole file
			return &ItemError{w.s.path, i, errors.New("not valid JSON")}
		}
		if !w.empty || i > 0 {
			buf = append(buf, ',')
		}
		buf = append(buf, '\n')
		buf = append(buf, bytes.TrimSpace(item)...)
	}
	stay := len(buf)
	if !w.s.stream { // there the end could not be taken back
		buf = append(buf, arrayEnd...)
	}
	w.buf = buf
	if err := w.s.put(buf, stay); err != nil {
		return err
	}
	w.begun, w.empty = true, false
	return nil
}

func (w *array) Dropped() map[string]int64 { return nil }

func (w *array) Flush() (int64, error) {
	if w.begun && !w.s.stream && len(w.s.tail) == 0 { // resumed, and nothing came since
		if err := w.s.put([]byte(arrayEnd), 0); err != nil {
			return 0, err
		}
	}
	return w.s.flush()
}

// Close leaves a whole array, an empty one when nothing was written.
func (w *array) Close() error {
	var err error
	switch {
	case w.s.lost != nil:
	case !w.begun:
		err = w.s.put([]byte("["+arrayEnd), 1)
	case w.s.stream:
		err = w.s.put([]byte(arrayEnd), len(arrayEnd))
	default:
		_, err = w.Flush()
	}
	return errors.Join(err, w.s.close())
}
