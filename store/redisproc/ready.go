package redisproc

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Pauses between two questions to a server that does not answer yet.
const (
	firstPause = 2 * time.Millisecond
	lastPause  = 50 * time.Millisecond
)

// WaitReady returns when the server answers PING, having read its data (one that
// wants a password: when it says so); with an
// error when it ends before that (with the last line of its log) or ctx ends.
// onLoading, when not nil, is called once when the server says that it is still
// reading its data.
func (p *Process) WaitReady(ctx context.Context, onLoading func()) error {
	pause := firstPause
	for {
		reply, err := p.ping(ctx)
		switch {
		case err == nil && (strings.HasPrefix(reply, "+PONG") || strings.HasPrefix(reply, "-NOAUTH")):
			return nil
		case strings.HasPrefix(reply, "-LOADING") && onLoading != nil:
			onLoading()
			onLoading = nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("redisproc: start %s: it ended at once (%w): %s", p.opts.Path, exitError(p.err), LastLogLine(p.opts.Dir))
		case <-ctx.Done():
			return fmt.Errorf("redisproc: start %s: no answer on %s (last reply %q): %w", p.opts.Path, p.opts.Socket, reply, ctx.Err())
		case <-time.After(pause):
			pause = min(2*pause, lastPause)
		}
	}
}

// ping asks once over a connection of its own and returns the reply's line.
func (p *Process) ping(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", p.opts.Socket)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(io.LimitReader(conn, 512)).ReadString('\n')
	return strings.TrimSpace(line), err
}

func exitError(err error) error {
	if err == nil {
		return io.EOF
	}
	return err
}

// LastLogLine is the last non-empty line of the server's log in dir, for an
// error message; the path of the log when there is none.
func LastLogLine(dir string) string {
	path := filepath.Join(dir, LogName)
	f, err := os.Open(path)
	if err != nil {
		return "no log at " + path
	}
	defer f.Close()
	const tail = 4096
	if st, err := f.Stat(); err == nil && st.Size() > tail {
		if _, err := f.Seek(-tail, io.SeekEnd); err != nil {
			return "see " + path
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, tail))
	if err != nil {
		return "see " + path
	}
	b = bytes.TrimSpace(b)
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		b = b[i+1:]
	}
	return fmt.Sprintf("%s: %s", path, bytes.TrimSpace(b))
}
