package rqueue

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// StoreError is the store's own refusal of a command, such as "OOM ...".
type StoreError struct{ Reply string }

func (e *StoreError) Error() string { return e.Reply }

var errReply = errors.New("rqueue: reply of another shape than the script's")

// reply reads one raw RESP reply from front to back. The first fault sticks:
// later reads give zero values, and err tells.
type reply struct {
	b   []byte
	err error
}

// newReply starts reading; an error reply becomes the reply's err.
func newReply(b []byte) reply {
	if len(b) > 0 && (b[0] == '-' || b[0] == '!') {
		line := b[1:]
		if b[0] == '!' { // a bulk error: its length, then the text
			_, line, _ = bytes.Cut(line, []byte("\r\n"))
		}
		return reply{err: &StoreError{Reply: string(bytes.TrimSpace(line))}}
	}
	return reply{b: b}
}

func (r *reply) fail() {
	if r.err == nil {
		r.err = errReply
	}
	r.b = nil
}

// head takes one line: its type byte and the number in it. A nil is '_' or -1.
func (r *reply) head() (kind byte, n int64) {
	i := bytes.IndexByte(r.b, '\n')
	if i < 2 {
		r.fail()
		return 0, 0
	}
	line := r.b[:i-1]
	r.b = r.b[i+1:]
	if line[0] == '_' {
		return '$', -1
	}
	if len(line) == 2 && line[1] >= '0' && line[1] <= '9' {
		return line[0], int64(line[1] - '0')
	}
	n, err := strconv.ParseInt(string(line[1:]), 10, 64) // does not allocate
	if err != nil {
		r.fail()
		return 0, 0
	}
	return line[0], n
}

// array is the length of an array; -1 for nil.
func (r *reply) array() int {
	kind, n := r.head()
	if kind != '*' && (kind != '$' || n != -1) {
		r.fail()
		return 0
	}
	if n > int64(len(r.b)) { // an element takes more than a byte
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reply) int() int64 {
	if len(r.b) > 0 && r.b[0] == '$' {
		n, err := strconv.ParseInt(string(r.bytes()), 10, 64)
		if err != nil {
			r.fail()
		}
		return n
	}
	kind, n := r.head()
	if kind != ':' {
		r.fail()
		return 0
	}
	return n
}

// bytes is a bulk or simple string, in the reply's own memory; nil for nil.
func (r *reply) bytes() []byte {
	if len(r.b) > 0 && r.b[0] == '+' {
		i := bytes.IndexByte(r.b, '\n')
		if i < 2 {
			r.fail()
			return nil
		}
		s := r.b[1 : i-1]
		r.b = r.b[i+1:]
		return s
	}
	kind, n := r.head()
	if kind == '$' && n == -1 {
		return nil
	}
	if kind != '$' || n < 0 || n > int64(len(r.b))-2 {
		r.fail()
		return nil
	}
	s := r.b[:n:n]
	r.b = r.b[n+2:]
	return s
}

func (r *reply) string() string { return string(r.bytes()) }

// ok checks that everything was read as expected.
func (r *reply) ok(verb string) error {
	if r.err != nil {
		return fmt.Errorf("rqueue: %s: %w", verb, r.err)
	}
	return nil
}
