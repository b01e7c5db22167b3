package store

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A pooled connection that the server closed is found before a command is lost on it:
// the client repeats none.
func TestClosedConnectionIsNotUsed(t *testing.T) {
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var served atomic.Int32
	closed := make(chan struct{}, 8)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			served.Add(1)
			lines := bufio.NewScanner(c)
			for lines.Scan() && lines.Text() != "ping" {
				if lines.Text() == "hello" {
					_, _ = c.Write([]byte("-ERR unknown command\r\n"))
				}
			}
			_, _ = c.Write([]byte("+PONG\r\n"))
			_ = c.Close()
			closed <- struct{}{}
		}
	}()
	defer l.Close()
	o := &redis.Options{Network: "tcp", Addr: l.Addr().String(), PoolSize: 1}
	Config{}.WithDefaults().apply(o)
	o.PoolSize = 1
	client := redis.NewClient(o)
	defer client.Close()
	for i := range 3 {
		require.NoError(t, client.Ping(t.Context()).Err(), "ping %d", i)
		<-closed
	}
	require.EqualValues(t, 3, served.Load())
}

func TestDialTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	addr := s.Listener.Addr().String()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	for _, tt := range []struct {
		name string
		tls  *tls.Config
		err  string // "" when it connects
	}{
		{"the address is the name", &tls.Config{RootCAs: roots}, ""},
		{"a name of its own", &tls.Config{RootCAs: roots, ServerName: "example.com"}, ""},
		{"another's certificate", &tls.Config{RootCAs: roots, ServerName: "redis.test"}, "redis.test"},
		{"nobody vouches for it", &tls.Config{RootCAs: x509.NewCertPool()}, "unknown authority"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &redis.Options{TLSConfig: tt.tls}
			Config{}.WithDefaults().apply(o)
			conn, err := o.Dialer(t.Context(), "tcp", addr)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.True(t, conn.(*tls.Conn).ConnectionState().HandshakeComplete)
			require.NoError(t, conn.Close())
		})
	}
}
