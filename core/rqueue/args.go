package rqueue

import (
	"strconv"
	"sync"
	"unsafe"
)

// args collects the keys and arguments of one EVALSHA without an allocation a
// value: texts live in one buffer and are handed over as *string, which go-redis
// writes as it is. It must live until the call is over, and is confined to one.
type args struct {
	keys []any // boxed beforehand
	argv []any
	list []any // the whole command, made by command
	strs []string
	buf  []byte
}

var argsPool = sync.Pool{New: func() any { return new(args) }} //nolint:gochecknoglobals // memory to use again, no state

func newArgs() *args {
	a, _ := argsPool.Get().(*args)
	return a
}

// free makes the arguments reusable; nothing may refer to them any more. Large
// ones go to the garbage collector, so that one big batch does not stay.
func (a *args) free() {
	if cap(a.buf) > 1<<20 || cap(a.list) > 1<<15 {
		return
	}
	clear(a.keys)
	clear(a.argv)
	clear(a.list)
	clear(a.strs)
	a.keys, a.argv, a.list, a.strs, a.buf = a.keys[:0], a.argv[:0], a.list[:0], a.strs[:0], a.buf[:0]
	argsPool.Put(a)
}

func (a *args) key(boxed any) { a.keys = append(a.keys, boxed) }

// boxed adds an argument that is in an interface already.
func (a *args) boxed(v any) { a.argv = append(a.argv, v) }

func (a *args) str(s string) {
	a.strs = append(a.strs, s)
	a.argv = append(a.argv, &a.strs[len(a.strs)-1]) // stays valid when strs grows: the old array is kept
}

// since adds what was appended to buf from offset on.
func (a *args) since(from int) {
	if from == len(a.buf) {
		a.str("")
		return
	}
	a.str(unsafe.String(&a.buf[from], len(a.buf)-from)) // buf is only appended to, or left behind whole
}

func (a *args) bytes(b []byte) {
	from := len(a.buf)
	a.buf = append(a.buf, b...)
	a.since(from)
}

func (a *args) int(n int64) {
	from := len(a.buf)
	a.buf = strconv.AppendInt(a.buf, n, 10)
	a.since(from)
}

func (a *args) flag(b bool) {
	if b {
		a.str("1")
		return
	}
	a.str("0")
}

// slot reserves an argument whose value comes later, by set.
func (a *args) slot() int {
	a.argv = append(a.argv, nil)
	return len(a.argv) - 1
}

func (a *args) set(i int, n int64) {
	a.int(n)
	a.argv[i] = a.argv[len(a.argv)-1]
	a.argv = a.argv[:len(a.argv)-1]
}

// command is EVALSHA with everything added so far.
func (a *args) command(s *script) []any {
	from := len(a.buf)
	a.buf = strconv.AppendInt(a.buf, int64(len(a.keys)), 10)
	a.since(from)
	n := a.argv[len(a.argv)-1]
	a.argv = a.argv[:len(a.argv)-1]
	a.list = append(a.list[:0], "EVALSHA", s.sha, n)
	a.list = append(a.list, a.keys...)
	a.list = append(a.list, a.argv...)
	return a.list
}
