package fetcher

import (
	"errors"
	"io"
	"math"
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

// grow gives a buffer with b's bytes and twice the room.
func (p *buffers) grow(b []byte) []byte {
	bigger := append(p.get(max(2*cap(b), bodyClasses[1])), b...)
	p.put(b)
	return bigger
}

// trustedLength is how much room a body's announced length may ask for at once;
// the rest is made as bytes arrive.
const trustedLength = 256 << 10

// pieceSize is the size in bytes of the pieces in which a body that outgrows the
// pooled buffers is collected: growing by copying would hold it twice and a half.
const pieceSize = 256 << 10

// noLimit stands for no limit on the bytes of a body.
const noLimit = math.MaxInt64 - 1

// startOf gives what ends r after most bytes; 0 is no limit.
func startOf(r io.Reader, most int64) io.Reader {
	if most == 0 {
		return r
	}
	return io.LimitReader(r, most)
}

// readAll reads r to its end into a buffer of the pools, or into one of its own
// when there is more than a piece. hint is the expected length, or less than 0.
// The body is given beside an error too: it is what came before it.
//
// While reading, it holds what has come and at most one piece more; a long body
// is held twice only when it is whole, while its pieces are joined.
func (p *buffers) readAll(r io.Reader, hint int64) (body []byte, err error) {
	room := int64(bodyClasses[1])
	if hint >= 0 {
		room = min(hint, trustedLength)
	}
	body = p.get(int(room))
	var pieces [][]byte // full ones
	for {
		if len(body) == cap(body) {
			if len(body) < pieceSize {
				body = p.grow(body)
			} else {
				pieces = append(pieces, body)
				body = p.get(pieceSize)
			}
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == nil {
			continue
		}
		if err == io.EOF { //nolint:errorlint // io.Reader's contract
			err = nil
		}
		if drop := errors.Is(err, errTooLarge) || errors.Is(err, errBomb); len(pieces) > 0 || drop {
			body = p.join(pieces, body, drop)
		}
		if len(body) == 0 {
			p.put(body)
			body = nil
		}
		return body, err
	}
}

// join makes one buffer of the pieces and the last of them, or only gives them
// back to the pools.
func (p *buffers) join(pieces [][]byte, last []byte, drop bool) []byte {
	var whole []byte
	if !drop {
		n := len(last)
		for _, piece := range pieces {
			n += len(piece)
		}
		whole = make([]byte, 0, n)
	}
	for _, piece := range append(pieces, last) {
		if !drop {
			whole = append(whole, piece...)
		}
		p.put(piece)
	}
	return whole
}
