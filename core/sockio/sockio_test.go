package sockio

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair gives both ends of a connection of the network: the wrapped one and its peer.
func pair(t *testing.T, network string) (*Conn, net.Conn) {
	t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		addr = filepath.Join(t.TempDir(), "s")
	}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), network, addr)
	require.NoError(t, err)
	defer l.Close()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), network, l.Addr().String())
	require.NoError(t, err)
	peer, err := l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() {
		c.Close()
		peer.Close()
	})
	return Wrap(c), peer
}

func eachNetwork(t *testing.T, f func(t *testing.T, c *Conn, peer net.Conn)) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			c, peer := pair(t, network)
			require.Equal(t, supported, c.raw != nil)
			f(t, c, peer)
		})
	}
}

// More than the socket's buffers hold goes both ways at once.
func TestTransfer(t *testing.T) {
	eachNetwork(t, func(t *testing.T, c *Conn, peer net.Conn) {
		data := make([]byte, 8<<20)
		_, _ = rand.Read(data)
		go func() {
			_, _ = io.Copy(peer, peer) // an echo
		}()
		wrote := make(chan error, 1)
		go func() {
			n, err := c.Write(data)
			if err == nil && n != len(data) {
				err = io.ErrShortWrite
			}
			wrote <- err
		}()
		got := make([]byte, len(data))
		_, err := io.ReadFull(c, got)
		require.NoError(t, err)
		require.NoError(t, <-wrote)
		require.True(t, bytes.Equal(data, got))
	})
}

// An empty call does nothing, even where there is nothing to read.
func TestEmpty(t *testing.T) {
	eachNetwork(t, func(t *testing.T, c *Conn, _ net.Conn) {
		n, err := c.Read(nil)
		require.NoError(t, err)
		require.Zero(t, n)
		n, err = c.Write(nil)
		require.NoError(t, err)
		require.Zero(t, n)
	})
}

func TestEndOfStream(t *testing.T) {
	eachNetwork(t, func(t *testing.T, c *Conn, peer net.Conn) {
		_, err := peer.Write([]byte("last"))
		require.NoError(t, err)
		require.NoError(t, peer.Close())
		got, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, "last", string(got))
		n, err := c.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err) //nolint:testifylint // callers compare it so
		require.Zero(t, n)
	})
}

// Each failure reads as the same failure of package net does.
func TestFailures(t *testing.T) {
	tests := []struct {
		name string
		do   func(c net.Conn, peer net.Conn) error
		is   error
	}{
		{"read past its deadline", func(c, _ net.Conn) error {
			_ = c.SetReadDeadline(time.Now().Add(-time.Second))
			_, err := c.Read(make([]byte, 1))
			return err
		}, os.ErrDeadlineExceeded},
		{"read that a deadline ends", func(c, _ net.Conn) error {
			_ = c.SetDeadline(time.Now().Add(20 * time.Millisecond))
			_, err := c.Read(make([]byte, 1))
			return err
		}, os.ErrDeadlineExceeded},
		{"write that a deadline ends", func(c, _ net.Conn) error {
			_ = c.SetDeadline(time.Now().Add(50 * time.Millisecond))
			_, err := c.Write(make([]byte, 64<<20))
			return err
		}, os.ErrDeadlineExceeded},
		{"read after Close", func(c, _ net.Conn) error {
			_ = c.Close()
			_, err := c.Read(make([]byte, 1))
			return err
		}, net.ErrClosed},
		{"write after Close", func(c, _ net.Conn) error {
			_ = c.Close()
			_, err := c.Write([]byte("x"))
			return err
		}, net.ErrClosed},
		{"read that Close ends", func(c, _ net.Conn) error {
			time.AfterFunc(20*time.Millisecond, func() { _ = c.Close() })
			_, err := c.Read(make([]byte, 1))
			return err
		}, net.ErrClosed},
		{"read after a reset", func(c, peer net.Conn) error {
			_ = peer.(*net.TCPConn).SetLinger(0)
			_ = peer.Close()
			_ = c.SetDeadline(time.Now().Add(10 * time.Second))
			_, err := c.Read(make([]byte, 1))
			return err
		}, syscall.ECONNRESET},
		{"write after a reset", func(c, peer net.Conn) error {
			_ = peer.(*net.TCPConn).SetLinger(0)
			_ = peer.Close()
			_ = c.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = c.Read(make([]byte, 1)) // it has come
			_, err := c.Write([]byte("x"))
			return err
		}, syscall.EPIPE},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, peer := pair(t, "tcp")
			got := tt.do(c, peer)
			plain, peer := pair(t, "tcp")
			want := tt.do(plain.Conn, peer)
			require.ErrorIs(t, want, tt.is)
			require.ErrorIs(t, got, tt.is)
			var a, b *net.OpError
			require.ErrorAs(t, got, &a)
			require.ErrorAs(t, want, &b)
			require.Equal(t, b.Op, a.Op)
			require.Equal(t, b.Net, a.Net)
			require.Equal(t, b.Err.Error(), a.Err.Error())
			require.Equal(t, b.Timeout(), a.Timeout())
			require.Equal(t, c.RemoteAddr(), a.Addr)
		})
	}
}

func TestQuiet(t *testing.T) {
	eachNetwork(t, func(t *testing.T, c *Conn, peer net.Conn) {
		require.True(t, c.Quiet())
		_, err := peer.Write([]byte("x"))
		require.NoError(t, err)
		c.AwaitReadable()
		require.Equal(t, !supported, c.Quiet())
		n, err := c.Read(make([]byte, 9)) // nothing was taken by looking
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.True(t, c.Quiet())
		require.NoError(t, peer.Close())
		c.AwaitReadable()
		require.Equal(t, !supported, c.Quiet(), "its peer hung up")
		require.NoError(t, c.Close())
		c.AwaitReadable() // ends at once
		require.Equal(t, !supported, c.Quiet(), "it is closed")
	})
}

// AwaitReadable ends at a deadline, which the read that follows tells.
func TestAwaitReadableDeadline(t *testing.T) {
	c, _ := pair(t, "tcp")
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	c.AwaitReadable()
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// What is no socket works as it did.
func TestNoSocket(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	c := Wrap(a)
	defer c.Close()
	require.True(t, c.Quiet())
	c.AwaitReadable()
	go func() { _, _ = b.Write([]byte("abc")) }()
	got := make([]byte, 3)
	_, err := io.ReadFull(c, got)
	require.NoError(t, err)
	require.Equal(t, "abc", string(got))
	go func() {
		_, _ = b.Read(got)
		_ = b.Close()
	}()
	n, err := c.Write([]byte("xyz"))
	require.NoError(t, err)
	require.Equal(t, 3, n)
	_, err = c.Read(got)
	require.True(t, errors.Is(err, io.EOF) && string(got) == "xyz")
}

// Reading and writing allocate nothing where the system is called directly.
func TestAllocations(t *testing.T) {
	c, peer := pair(t, "tcp")
	buf, answer := []byte("ping"), make([]byte, 4)
	n := testing.AllocsPerRun(100, func() {
		_, _ = c.Write(buf)
		_, _ = io.ReadFull(peer, answer)
		_, _ = peer.Write(answer)
		c.AwaitReadable()
		_, _ = io.ReadFull(c, answer)
		_ = c.Quiet()
	})
	require.True(t, !direct || n == 0, "%v allocations", n)
}
