package fetcher

import (
	"io"
	"sync"
)

// bodyClasses are the capacities of pooled body buffers in bytes. Larger ones
// are left to the garbage collector.
var bodyClasses = [...]int{2 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20} //nolint:gochecknoglobals // a constant

// buffers recycles body buffers by size. The zero value is ready.
type buffers struct{ pools [len(bodyClasses)]sync.Pool }

// get gives an empty buffer with room for at least n bytes.
func (p *buffers) get(n int) []byte {
	for i, size := range bodyClasses {
		if n <= size {
			if b, ok := p.pools[i].Get().(*[]byte); ok {
				return (*b)[:0]
			}
			return make([]byte, 0, size)
		}
	}
	return make([]byte, 0, n)
}

// put takes a buffer back, or leaves one of odd size to the garbage collector.
func (p *buffers) put(b []byte) {
	for i, size := range bodyClasses {
		if cap(b) == size {
			b = b[:0]
			p.pools[i].Put(&b)
			return
		}
	}
}

// grow gives a buffer with b's bytes and room for at least one more, up to limit.
func (p *buffers) grow(b []byte, limit int64) []byte {
	n := 2 * cap(b)
	if limit < int64(n) && limit > int64(cap(b)) {
		n = int(limit)
	}
	bigger := append(p.get(max(n, bodyClasses[1])), b...)
	p.put(b)
	return bigger
}

// trustedLength is how much room a body's announced length may ask for at once;
// the rest is made as bytes arrive.
const trustedLength = 256 << 10

// readAll reads r to its end into a pooled buffer. more is called after every
// read with the bytes so far. It stops with tooLarge when there are more than
// limit bytes; hint is the expected length, or less than 0.
func (p *buffers) readAll(r io.Reader, hint int, limit int64, more func(n int)) (body []byte, tooLarge bool, err error) {
	room := bodyClasses[1]
	if hint >= 0 {
		room = min(hint, trustedLength)
	}
	body = p.get(room)
	for {
		if len(body) == cap(body) {
			body = p.grow(body, limit+1)
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			p.put(body)
			return nil, true, nil
		case err == io.EOF: //nolint:errorlint // io.Reader's contract
			if len(body) == 0 {
				p.put(body)
				return nil, false, nil
			}
			return body, false, nil
		case err != nil:
			p.put(body)
			return nil, false, err
		}
		if more != nil {
			more(len(body))
		}
	}
}
