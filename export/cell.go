package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// field is one member of a JSON object.
type field struct {
	name []byte // decoded
	raw  []byte // the value as JSON
}

// appendFields adds the members of a JSON object in their order. They point
// into item where nothing has to be decoded. The item is validated first, so
// that the scan need not look for faults.
func appendFields(fields []field, item []byte) ([]field, error) {
	item = bytes.TrimSpace(item)
	if !json.Valid(item) || item[0] != '{' {
		return fields, errors.New("not a JSON object")
	}
	i := 1
	for {
		i = skipSpace(item, i)
		if item[i] == '}' {
			return fields, nil
		}
		if item[i] == ',' {
			i = skipSpace(item, i+1)
		}
		end := valueEnd(item, i)
		name := unquote(item[i:end])
		i = skipSpace(item, skipSpace(item, end)+1) // over the colon
		end = valueEnd(item, i)
		fields = append(fields, field{name, item[i:end]})
		i = end
	}
}

func skipSpace(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r' {
		i++
	}
	return i
}

// valueEnd is the place behind the value that begins at i, in valid JSON that
// goes on behind it.
func valueEnd(b []byte, i int) int {
	depth := 0
	for {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		default:
			if depth == 0 { // number, true, false or null
				for ; strings.IndexByte(",}] \t\r\n", b[i]) < 0; i++ {
				}
				return i
			}
		}
		i++
		if depth == 0 {
			return i
		}
	}
}

// unquote decodes a JSON string.
func unquote(raw []byte) []byte {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return inner
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw // not reached with valid JSON
	}
	return []byte(text)
}

// cellText is a JSON value as Scrapy writes it into a CSV cell: text as it is,
// null (and nil, for no value) as nothing, True and False, a list of texts with
// commas between. Other lists and objects stay JSON, where Scrapy has Python's
// notation.
func cellText(raw []byte) []byte {
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '"':
		return unquote(raw)
	case 'n':
		return nil
	case 't':
		return []byte("True")
	case 'f':
		return []byte("False")
	case '[':
		var texts []*string
		if json.Unmarshal(raw, &texts) == nil && !slices.Contains(texts, nil) {
			all := make([]string, len(texts))
			for i, t := range texts {
				all[i] = *t
			}
			return []byte(strings.Join(all, ","))
		}
	}
	return raw
}
