package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
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
	columns []string // of the header in the file; nil while it has none
	broken  bool     // the file's last row has no end yet
	eol     string   // row end
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
		var bad *csv.ParseError
		if errors.As(err, &bad) {
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
	w.columns = columns
	return nil
}

func (w *table) Write(items [][]byte) error {
	if len(items) == 0 {
		return nil
	}
	buf, columns := w.buf[:0], w.columns
	missing := map[string]int64{}
	if w.broken {
		buf = append(buf, w.eol...)
	}
	for i, item := range items {
		fields, err := parseFields(item)
		if err != nil {
			return &ItemError{w.s.path, i, err}
		}
		if columns == nil && len(fields) == 0 {
			continue // it has neither columns nor values
		}
		if columns == nil {
			columns = make([]string, len(fields))
			for j, f := range fields {
				columns[j] = f.name
			}
			buf = w.appendRow(buf, columns)
		}
		buf = w.appendRow(buf, arrange(fields, columns, missing))
	}
	w.buf = buf
	if err := w.s.put(buf, nil); err != nil {
		return err
	}
	w.columns, w.broken = columns, false
	for name, n := range missing {
		if _, ok := w.dropped[name]; !ok && len(w.dropped) >= maxDroppedNames {
			name = ""
		}
		w.dropped[name] += n
	}
	return nil
}

func (w *table) Flush() (int64, error) { return w.s.flush() }
func (w *table) Close() error          { return w.s.close() }

func (w *table) Dropped() map[string]int64 { return maps.Clone(w.dropped) }

// appendRow quotes as Python's csv module does by default (QUOTE_MINIMAL).
func (w *table) appendRow(buf []byte, row []string) []byte {
	for i, text := range row {
		if i > 0 {
			buf = append(buf, ',')
		}
		if strings.ContainsAny(text, ",\"\r\n") || len(row) == 1 && text == "" {
			buf = append(buf, '"')
			buf = append(buf, strings.ReplaceAll(text, `"`, `""`)...)
			buf = append(buf, '"')
			continue
		}
		buf = append(buf, text...)
	}
	return append(buf, w.eol...)
}

// arrange puts fields under their columns and counts those that have none.
func arrange(fields []field, columns []string, missing map[string]int64) []string {
	row := make([]string, len(columns))
	for i, f := range fields {
		if i < len(columns) && columns[i] == f.name { // the usual case
			row[i] = f.text
			continue
		}
		if at := slices.Index(columns, f.name); at >= 0 {
			row[at] = f.text
			continue
		}
		missing[f.name]++
	}
	return row
}

type field struct{ name, text string }

// parseFields reads a JSON object's fields in order; a repeated name keeps its
// first place and its last value, as in JSON.
func parseFields(item []byte) ([]field, error) {
	dec := json.NewDecoder(bytes.NewReader(item))
	t, err := dec.Token()
	if err != nil || t != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	var fields []field
	var raw json.RawMessage
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, errors.New("not a JSON object")
		}
		if err := dec.Decode(&raw); err != nil {
			return nil, errors.New("not a JSON object")
		}
		f := field{name.(string), cell(raw)}
		if at := slices.IndexFunc(fields, func(o field) bool { return o.name == f.name }); at >= 0 {
			fields[at] = f
			continue
		}
		fields = append(fields, f)
	}
	if _, err := dec.Token(); err != nil {
		return nil, errors.New("not a JSON object")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("not one JSON object")
	}
	return fields, nil
}

// cell is a JSON value as Scrapy writes it into a CSV cell: text as it is, null
// as nothing, True and False, a list of texts with commas between. Other lists
// and objects stay JSON; Scrapy has Python's notation there.
func cell(raw json.RawMessage) string {
	switch raw[0] {
	case '"':
		var text string
		if json.Unmarshal(raw, &text) == nil {
			return text
		}
	case 'n':
		return ""
	case 't':
		return "True"
	case 'f':
		return "False"
	case '[':
		var texts []*string
		if json.Unmarshal(raw, &texts) == nil && !slices.Contains(texts, nil) {
			all := make([]string, len(texts))
			for i, t := range texts {
				all[i] = *t
			}
			return strings.Join(all, ",")
		}
	}
	return string(raw)
}
