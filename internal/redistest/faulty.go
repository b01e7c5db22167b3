package redistest

import (
	"bufio"
	"bytes"
	"crypto/sha1" //nolint:gosec // Redis names scripts so
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Fault is what Faulty does to some calls instead of passing them on. Exactly one
// of Reply, Late, Drop and Cut is set.
type Fault struct {
	// Call is a command in capitals ("HGETALL"), or a script by the name that its
	// first comment gives it ("lease"). Required.
	Call  string
	Skip  int // so many of these calls pass before
	Times int // so many calls are hit; 0 is one

	Reply string        // the call is not executed; this is the answer, "OOM command not allowed ..."
	Late  time.Duration // the call is executed after so long, and its connection closed without an answer
	Drop  bool          // the call is executed, and its connection closed without an answer
	Cut   bool          // the connection is closed, the call not executed
}

// Faulty stands between clients and a server and answers some calls itself, as a
// broken store would. Commands of a pipeline are passed on one by one. Its methods
// are safe for concurrent use.
type Faulty struct {
	t      testing.TB
	server *Server
	listen net.Listener
	wg     sync.WaitGroup
	done   chan struct{}

	mu      sync.Mutex
	closed  bool                  // guarded by mu
	conns   map[net.Conn]struct{} // guarded by mu
	faults  []*Fault              // guarded by mu; Skip and Times count down
	hits    int                   // guarded by mu
	scripts map[string]string     // guarded by mu: SHA1 -> name
}

// NewFaulty starts a proxy on a unix socket before the server, and stops it when
// the test ends. Scripts have their names when they are loaded through it.
func NewFaulty(t testing.TB, s *Server) *Faulty {
	t.Helper()
	l, err := net.Listen("unix", socketPath(t, t.TempDir())) //nolint:noctx // immediate
	if err != nil {
		t.Fatalf("redistest: listen: %v", err)
	}
	f := &Faulty{t: t, server: s, listen: l, done: make(chan struct{}), conns: map[net.Conn]struct{}{}, scripts: map[string]string{}}
	f.wg.Go(f.accept)
	t.Cleanup(f.close)
	return f
}

// URL is where clients of the proxy connect to.
func (f *Faulty) URL() string { return "unix://" + f.listen.Addr().String() }

// NewClient is a client behind the proxy, with the given limit on an answer,
// closed when the test ends.
func (f *Faulty) NewClient(timeout time.Duration) *redis.Client {
	opts, err := redis.ParseURL(f.URL())
	if err != nil {
		f.t.Fatalf("redistest: %v", err)
	}
	opts.Protocol, opts.MaxRetries, opts.DialerRetries = 2, -1, 1
	opts.ReadTimeout, opts.ContextTimeoutEnabled = timeout, true
	c := redis.NewClient(opts)
	f.t.Cleanup(func() { _ = c.Close() })
	return c
}

// Inject adds a fault to those under way.
func (f *Faulty) Inject(fault Fault) {
	fault.Times = max(fault.Times, 1)
	f.mu.Lock()
	f.faults = append(f.faults, &fault)
	f.mu.Unlock()
}

// Heal ends every fault, but for calls that are held already.
func (f *Faulty) Heal() {
	f.mu.Lock()
	f.faults = nil
	f.mu.Unlock()
}

// Hits is how many calls were hit so far.
func (f *Faulty) Hits() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hits
}

func (f *Faulty) close() {
	close(f.done)
	_ = f.listen.Close()
	f.mu.Lock()
	f.closed = true
	for c := range f.conns {
		_ = c.Close()
	}
	f.mu.Unlock()
	f.wg.Wait()
}

// hold keeps a connection to be closed at the end; false: it is the end.
func (f *Faulty) hold(c net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.conns[c] = struct{}{}
	}
	return !f.closed
}

func (f *Faulty) drop(c net.Conn) {
	_ = c.Close()
	f.mu.Lock()
	delete(f.conns, c)
	f.mu.Unlock()
}

func (f *Faulty) accept() {
	for {
		c, err := f.listen.Accept()
		if err != nil {
			return
		}
		if !f.hold(c) {
			_ = c.Close()
			return
		}
		f.wg.Go(func() {
			defer f.drop(c)
			f.serve(c)
		})
	}
}

// serve passes one client's commands on until either side ends.
func (f *Faulty) serve(client net.Conn) {
	server, err := net.Dial(f.server.backend.network(), f.server.backend.addr()) //nolint:noctx // loopback, immediate
	if err != nil || !f.hold(server) {
		return
	}
	defer f.drop(server)
	in, out := bufio.NewReader(client), bufio.NewWriter(client)
	replies := bufio.NewReader(server)
	for {
		command, err := readValue(in, nil)
		if err != nil {
			return
		}
		fault := f.fate(command)
		switch {
		case fault == nil:
		case fault.Cut:
			return
		case fault.Reply != "":
			if _, err := fmt.Fprintf(out, "-%s\r\n", fault.Reply); err != nil {
				return
			}
			if in.Buffered() == 0 && out.Flush() != nil {
				return
			}
			continue
		case fault.Late > 0:
			_ = out.Flush() // what came before has its answer
			late := time.NewTimer(fault.Late)
			select {
			case <-late.C:
			case <-f.done:
				late.Stop()
				return
			}
		}
		if _, err := server.Write(command); err != nil {
			return
		}
		reply, err := readValue(replies, nil)
		if err != nil || fault != nil {
			return
		}
		if _, err := out.Write(reply); err != nil {
			return
		}
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
	}
}

// fate is the fault that the command meets, or nil.
func (f *Faulty) fate(command []byte) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	call := f.call(command)
	for _, fault := range f.faults {
		if fault.Call != call || fault.Times == 0 {
			continue
		}
		if fault.Skip > 0 {
			fault.Skip--
			continue
		}
		fault.Times--
		f.hits++
		hit := *fault
		return &hit
	}
	return nil
}

var scriptName = regexp.MustCompile(`(?m)^-- ([a-z_]+): `)

// call names a command, and learns the names of scripts. Called with mu held.
func (f *Faulty) call(command []byte) string {
	words := bulks(command, 3)
	if len(words) == 0 {
		return ""
	}
	name := strings.ToUpper(string(words[0]))
	switch {
	case name == "SCRIPT" && len(words) == 3 && strings.EqualFold(string(words[1]), "LOAD"):
		for _, m := range scriptName.FindAllSubmatch(words[2], 2) {
			sum := sha1.Sum(words[2]) //nolint:gosec // Redis names scripts so
			f.scripts[hex.EncodeToString(sum[:])] = string(m[1])
		}
	case name == "EVALSHA" && len(words) > 1:
		if script := f.scripts[string(words[1])]; script != "" {
			return script
		}
	}
	return name
}

// bulks are the first n strings of a command.
func bulks(command []byte, n int) [][]byte {
	var words [][]byte
	_, rest, _ := bytes.Cut(command, []byte("\r\n"))
	for len(words) < n && len(rest) > 0 && rest[0] == '$' {
		head, tail, ok := bytes.Cut(rest[1:], []byte("\r\n"))
		size, err := strconv.Atoi(string(head))
		if !ok || err != nil || size < 0 || size+2 > len(tail) {
			break
		}
		words = append(words, tail[:size])
		rest = tail[size+2:]
	}
	return words
}

var errValue = errors.New("redistest: no RESP value")

// readValue appends one whole RESP value to b.
func readValue(r *bufio.Reader, b []byte) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	b = append(b, line...)
	if len(line) < 3 {
		return nil, errValue
	}
	size := 0
	if strings.IndexByte("$!=*~>%", line[0]) >= 0 {
		if size, err = strconv.Atoi(string(line[1 : len(line)-2])); err != nil {
			return nil, errValue
		}
	}
	switch line[0] {
	case '$', '!', '=':
		if size < 0 {
			return b, nil
		}
		at := len(b)
		b = append(b, make([]byte, size+2)...)
		_, err = io.ReadFull(r, b[at:])
		return b, err
	case '%':
		size *= 2
		fallthrough
	case '*', '~', '>':
		for range max(size, 0) {
			if b, err = readValue(r, b); err != nil {
				return nil, err
			}
		}
		return b, nil
	}
	return b, nil
}
