package export

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"slices"
)

const (
	maxHeaderBytes  = 1 << 20
	maxDroppedNames = 100
)

// table writes CSV as Scrapy does: the columns are the fields of the first
// item, or of the header that the file has already; rows end in CR LF unless
// that header ends otherwise.
type table struct {
	s       *sink
	buf     []byte
	fields  []field        // scratch
	row     [][]byte       // scratch
	columns []string       // of the header in the file; nil while it has none
	index   map[string]int // column name -> place; the first where names repeat
	broken  bool           // the file's last row has no end yet
	eol     string         // row end
	dropped map[string]int64
}

func newCSV(s *sink) (*table, error) {
	w := &table{s: s, eol: "\r\n", dropped: map[string]int64{}}
	last, ok, err := s.lastByte()
	if err != nil || !ok {
		return w, err
	}
	w.broken = last != '\n'
	return w, w.readHeader()
}

// readHeader takes columns and row ends from the file.
func (w *table) readHeader() error {
	head := make([]byte, min(w.s.end, maxHeaderBytes))
	if _, err := w.s.f.ReadAt(head, 0); err != nil {
		return cause(err)
	}
	text := bytes.TrimPrefix(head, []byte("\ufeff"))
	if len(bytes.TrimSpace(text)) == 0 {
		if len(head) == maxHeaderBytes {
			return errors.New("has no CSV header in its first MiB: overwrite it (-O) or choose another file")
		}
		return nil // blank lines: the header is still to come
	}
	r := csv.NewReader(bytes.NewReader(text))
	columns, err := r.Read()
	if err != nil {
		if bad, ok := errors.AsType[*csv.ParseError](err); ok {
			err = bad.Err
		}
		return fmt.Errorf("has no CSV header to go on under (%w): overwrite it (-O) or choose another file", err)
	}
	read := text[:r.InputOffset()]
	if len(read) == len(text) && len(head) == maxHeaderBytes {
		return errors.New("has a CSV header of more than 1 MiB: overwrite it (-O) or choose another file")
	}
	if bytes.HasSuffix(read, []byte("\n")) && !bytes.HasSuffix(read, []byte("\r\n")) {
		w.eol = "\n"
	}
	w.columns, w.index = columns, make(map[string]int, len(columns))
	for i, name := range columns {
		if _, ok := w.index[name]; !ok {
			w.index[name] = i
		}
	}
	return nil
}

func (w *table) Write(items [][]byte) error {
	if len(items) == 0 {
		return nil
	}
	buf, columns, index := w.buf[:0], w.columns, w.index
	var missing map[string]int64
	if w.broken {
		buf = append(buf, w.eol...)
	}
	for i, item := range items {
		var err error
		if w.fields, err = appendFields(w.fields[:0], item); err != nil {
			return &ItemError{w.s.path, i, err}
		}
		if columns == nil {
			if len(w.fields) == 0 {
				continue // it has neither columns nor values
			}
			columns, index = columnsOf(w.fields)
			buf = w.appendHeader(buf, columns)
		}
		row := slices.Grow(w.row[:0], len(columns))[:len(columns)]
		clear(row)
		for j, f := range w.fields {
			if j < len(columns) && columns[j] == string(f.name) { // the usual case
				row[j] = f.raw
			} else if at, ok := index[string(f.name)]; ok {
				row[at] = f.raw
			} else {
				if missing == nil {
					missing = map[string]int64{}
				}
				missing[string(f.name)]++
			}
		}
		buf, w.row = w.appendRow(buf, row), row
	}
	w.buf = buf
	if err := w.s.put(buf, len(buf)); err != nil {
		return err
	}
	w.columns, w.index, w.broken = columns, index, false
	for name, n := range missing {
		if _, ok := w.dropped[name]; !ok && len(w.dropped) >= maxDroppedNames {
			name = ""
		}
		w.dropped[name] += n
	}
	return nil
}

// columnsOf makes a column of each name, in order; a repeated one has one
// column, and in a row its last value, as in JSON.
func columnsOf(fields []field) ([]string, map[string]int) {
	columns, index := make([]string, 0, len(fields)), make(map[string]int, len(fields))
	for _, f := range fields {
		if _, ok := index[string(f.name)]; !ok {
			index[string(f.name)] = len(columns)
			columns = append(columns, string(f.name))
		}
	}
	return columns, index
}

func (w *table) Flush() (int64, error) { return w.s.flush() }
func (w *table) Close() error          { return w.s.close() }

func (w *table) Dropped() map[string]int64 { return maps.Clone(w.dropped) }

func (w *table) appendHeader(buf []byte, columns []string) []byte {
	for i, name := range columns {
		buf = appendCell(buf, []byte(name), i, len(columns))
	}
	return append(buf, w.eol...)
}

func (w *table) appendRow(buf []byte, row [][]byte) []byte {
	for i, raw := range row {
		buf = appendCell(buf, cellText(raw), i, len(row))
	}
	return append(buf, w.eol...)
}

// appendCell quotes as Python's csv module does by default (QUOTE_MINIMAL).
func appendCell(buf, text []byte, i, cells int) []byte {
	if i > 0 {
		buf = append(buf, ',')
	}
	if bytes.IndexByte(text, ',') < 0 && bytes.IndexByte(text, '"') < 0 &&
		bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') < 0 && (cells > 1 || len(text) > 0) {
		return append(buf, text...)
	}
	buf = append(buf, '"')
	for {
		at := bytes.IndexByte(text, '"')
		if at < 0 {
			break
		}
		buf = append(append(buf, text[:at]...), '"', '"')
		text = text[at+1:]
	}
	return append(append(buf, text...), '"')
}
