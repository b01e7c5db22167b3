package faultproxy_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"orbweaver/internal/faultproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait for something that must happen; silence is how long
// nothing may come for a cut to be believed.
const (
	patience = 20 * time.Second
	silence  = 150 * time.Millisecond
)

// echo is a server that answers what it was sent.
func echo(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

func proxy(t *testing.T, target string) *faultproxy.Proxy {
	t.Helper()
	p, err := faultproxy.Listen(t.Context(), "127.0.0.1:0", target)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// dial connects from a source address of the loopback.
func dial(t *testing.T, p *faultproxy.Proxy, source string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	c, err := d.DialContext(t.Context(), "tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	return c
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(c, text)
	require.NoError(t, err)
}

func receive(t *testing.T, c net.Conn, text string) {
	t.Helper()
	buf := make([]byte, len(text))
	_, err := io.ReadFull(c, buf)
	require.NoError(t, err)
	require.Equal(t, text, string(buf))
}

// silent requires that nothing comes for a while.
func silent(t *testing.T, c net.Conn) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(silence)))
	n, err := c.Read(make([]byte, 1))
	require.Zero(t, n)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
}

// ended requires that a connection ends, and gives how.
func ended(t *testing.T, c net.Conn) error {
	t.Helper()
	_, err := io.Copy(io.Discard, c)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	return err
}

func TestForwards(t *testing.T) {
	p := proxy(t, echo(t))
	c := dial(t, p, "127.0.0.1")
	send(t, c, "one")
	receive(t, c, "one")
	require.Equal(t, 1, p.Conns())

	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<17) // 2 MiB: more than a connection holds
	wrote := make(chan error, 1)
	go func() {
		_, err := c.Write(big)
		wrote <- errors.Join(err, c.(*net.TCPConn).CloseWrite())
	}()
	got, err := io.ReadAll(c)
	require.NoError(t, err)
	require.NoError(t, <-wrote)
	require.True(t, bytes.Equal(big, got), "%d bytes of %d", len(got), len(big))
	require.Eventually(t, func() bool { return p.Conns() == 0 }, patience, time.Millisecond)
}

func TestCutHoldsAndHealDelivers(t *testing.T) {
	p := proxy(t, echo(t))
	for _, tt := range []struct {
		name  string
		fault faultproxy.Fault
	}{
		{"both ways", faultproxy.Cut()},
		{"up", faultproxy.Fault{CutUp: true}},
		{"down", faultproxy.Fault{CutDown: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			old := dial(t, p, "127.0.0.1")
			send(t, old, "before")
			receive(t, old, "before")
			p.Set(tt.fault)
			send(t, old, "held")
			young := dial(t, p, "127.0.0.1")
			send(t, young, "young")
			silent(t, old)
			silent(t, young)
			p.Heal()
			receive(t, old, "held")
			receive(t, young, "young")
		})
	}
}

// One direction alone: what goes the other way arrives.
func TestCutDownLetsUpThrough(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	p := proxy(t, l.Addr().String())
	c := dial(t, p, "127.0.0.1")
	server, err := l.Accept()
	require.NoError(t, err)
	defer server.Close()
	require.NoError(t, server.SetDeadline(time.Now().Add(patience)))
	p.Set(faultproxy.Fault{CutDown: true})
	send(t, c, "up")
	receive(t, server, "up")
	send(t, server, "down")
	silent(t, c)
	p.Set(faultproxy.Fault{CutUp: true})
	receive(t, c, "down")
	send(t, c, "more")
	silent(t, server)
	p.Heal()
	receive(t, server, "more")
}

func TestSourcesAreToldApart(t *testing.T) {
	p := proxy(t, echo(t))
	good, bad := dial(t, p, "127.0.7.1"), dial(t, p, "127.0.7.2")
	p.SetFrom("127.0.7.2", faultproxy.Cut())
	p.SetFrom("no address", faultproxy.Cut())
	send(t, good, "good")
	send(t, bad, "bad")
	receive(t, good, "good")
	silent(t, bad)
	p.SetFrom("127.0.7.2", faultproxy.Fault{})
	receive(t, bad, "bad")
	p.ResetFrom("127.0.7.2")
	require.Error(t, ended(t, bad))
	send(t, good, "still")
	receive(t, good, "still")
}

func TestHealResetAndReset(t *testing.T) {
	p := proxy(t, echo(t))
	c := dial(t, p, "127.0.0.1")
	send(t, c, "one")
	receive(t, c, "one")
	p.Set(faultproxy.Cut())
	send(t, c, "held")
	p.HealReset()
	require.ErrorIs(t, ended(t, c), syscall.ECONNRESET)
	c = dial(t, p, "127.0.0.1")
	send(t, c, "two")
	receive(t, c, "two")
	p.Reset()
	require.ErrorIs(t, ended(t, c), syscall.ECONNRESET)
}

func TestSlow(t *testing.T) {
	p := proxy(t, echo(t))
	c := dial(t, p, "127.0.0.1")
	p.Set(faultproxy.Fault{Latency: 40 * time.Millisecond, Jitter: 20 * time.Millisecond})
	begin := time.Now()
	send(t, c, "one")
	receive(t, c, "one")
	require.GreaterOrEqual(t, time.Since(begin), 80*time.Millisecond)

	p.Set(faultproxy.Fault{Rate: 1 << 20})
	begin = time.Now()
	text := string(bytes.Repeat([]byte("x"), 100<<10))
	go func() { _, _ = io.WriteString(c, text) }()
	receive(t, c, text)
	require.GreaterOrEqual(t, time.Since(begin), 95*time.Millisecond)
}

// Lost segments come late, all others in order behind them.
func TestLossDelaysAndKeepsOrder(t *testing.T) {
	p := proxy(t, echo(t))
	c := dial(t, p, "127.0.0.1")
	p.Set(faultproxy.Fault{Loss: 0.2})
	send(t, c, "a")
	for range 20 {
		send(t, c, "bcdefghij")
	}
	receive(t, c, "a")
	for range 20 {
		receive(t, c, "bcdefghij")
	}
}

func TestTargetGone(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	_ = l.Close()
	p := proxy(t, addr)
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.Addr())
	if err != nil { // the reset was faster than the dialer
		require.ErrorIs(t, err, syscall.ECONNRESET)
		return
	}
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	require.Error(t, ended(t, c))
}

// Closed while cut, with connections that hold bytes, nothing is left running.
func TestCloseWhileCut(t *testing.T) {
	target := echo(t)
	for range 10 {
		p, err := faultproxy.Listen(t.Context(), "127.0.0.1:0", target)
		require.NoError(t, err)
		c := dial(t, p, "127.0.0.1")
		p.Set(faultproxy.Cut())
		send(t, c, "held")
		_ = dial(t, p, "127.0.0.1")
		p.Close()
		_ = ended(t, c)
	}
}
