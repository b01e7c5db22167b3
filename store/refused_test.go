package store_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orbweaver/internal/redistest"
	"orbweaver/store"
)

// serve answers every connection with talk and returns the address.
func serve(t *testing.T, talk func(net.Conn)) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			talk(conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

// info plays a server that answers INFO with the given text.
func info(text string) func(net.Conn) {
	return func(conn net.Conn) {
		r := bufio.NewReader(conn)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			switch strings.ToLower(strings.TrimSpace(line)) {
			case "hello":
				_, _ = io.WriteString(conn, "-ERR unknown command 'HELLO'\r\n")
			case "info":
				_, _ = io.WriteString(conn, "$"+pid(len(text))+"\r\n"+text+"\r\n")
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	say := func(text string) func(t *testing.T) string {
		return func(t *testing.T) string {
			return "redis://" + serve(t, func(c net.Conn) {
				_, _ = io.WriteString(c, text)
				_, _ = io.CopyN(io.Discard, c, 1)
			})
		}
	}
	tests := []struct {
		name string
		url  func(t *testing.T) string
		want error
		says string
	}{
		{"nobody listens", func(*testing.T) string { return "redis://:secret@127.0.0.1:1" }, store.ErrUnreachable, "no server answers there"},
		{"no socket", func(t *testing.T) string { return "unix://" + filepath.Join(t.TempDir(), "s") }, store.ErrUnreachable, "no server listens on this socket"},
		{"password needed", func(t *testing.T) string {
			return redistest.New(t, redistest.WithTCP(), redistest.WithArgs("--requirepass", "right")).URL()
		}, store.ErrAuth, "wants a password"},
		{"wrong password", func(t *testing.T) string {
			return "unix://:secret@" + redistest.New(t, redistest.WithArgs("--requirepass", "right")).Addr()
		}, store.ErrAuth, "user name or password is wrong"},
		{"no permission", func(t *testing.T) string {
			s := redistest.New(t)
			require.NoError(t, s.Client().Do(t.Context(), "ACL", "SETUSER", "u", "on", ">secret", "~*", "+get").Err())
			return "unix://u:secret@" + s.Addr()
		}, store.ErrAuth, "may not run INFO"},
		{"http server", func(t *testing.T) string {
			s := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(s.Close)
			return "redis://:secret@" + s.Listener.Addr().String()
		}, store.ErrNotRedis, "something else answers there"},
		{"ssh server", say("SSH-2.0-OpenSSH_9.9\r\n"), store.ErrNotRedis, "something else"},
		{"memcached", say("ERROR\r\n"), store.ErrNotRedis, "something else"},
		{"pop3 server", say("+OK ready\r\n-ERR what?\r\n-ERR what?\r\n"), store.ErrNotRedis, ""},
		{"endless line", say(strings.Repeat("x", 1<<20)), store.ErrNotRedis, ""},
		{"closes at once", func(t *testing.T) string { return "redis://" + serve(t, func(net.Conn) {}) }, store.ErrNotRedis, "closed the connection"},
		{"silent", func(t *testing.T) string {
			return "redis://" + serve(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
		}, store.ErrUnreachable, "does not answer"},
		{"no TLS there", func(t *testing.T) string {
			return strings.Replace(redistest.New(t, redistest.WithTCP()).URL(), "redis://", "rediss://", 1)
		}, store.ErrUnreachable, "does not speak TLS"},
		{"certificate", func(t *testing.T) string {
			s := httptest.NewTLSServer(http.NotFoundHandler())
			t.Cleanup(s.Close)
			return "rediss://" + s.Listener.Addr().String()
		}, store.ErrUnreachable, "certificate is not trusted"},
		{"too old", func(t *testing.T) string {
			return "redis://" + serve(t, info("redis_version:5.0.7\r\nredis_mode:standalone\r\nrole:master\r\n"))
		}, store.ErrTooOld, `version "5.0.7"`},
		{"sentinel", func(t *testing.T) string {
			return "redis://" + serve(t, info("redis_version:7.0.15\r\nredis_mode:sentinel\r\n"))
		}, store.ErrConfig, "redis+sentinel://"},
		{"replica", func(t *testing.T) string {
			s := redistest.New(t, redistest.WithArgs("--replicaof", "127.0.0.1 1"))
			return s.URL()
		}, store.ErrNotPrimary, "replica"},
		{"no such database", func(t *testing.T) string { return redistest.New(t).URL() + "?db=99" }, store.ErrConfig, "no database of this number"},
		{"not a cluster", func(t *testing.T) string {
			s := redistest.New(t, redistest.WithTCP())
			return s.URL() + "," + s.Addr()
		}, store.ErrConfig, "name one address"},
		{"no cluster there", func(*testing.T) string { return "redis://127.0.0.1:1,127.0.0.1:2" }, store.ErrUnreachable, ""},
		{"redis is no sentinel", func(t *testing.T) string {
			return strings.Replace(redistest.New(t, redistest.WithTCP()).URL(), "redis://", "redis+sentinel://", 1) + "/m"
		}, store.ErrConfig, "it is no Sentinel"},
		{"no sentinel there", func(*testing.T) string { return "redis+sentinel://:secret@127.0.0.1:1/m" }, store.ErrUnreachable, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := store.Open(t.Context(), store.Config{URL: tt.url(t), Timeout: 500 * time.Millisecond, DialTimeout: time.Second})
			t.Log(err)
			require.ErrorIs(t, err, tt.want)
			require.ErrorContains(t, err, tt.says)
			require.NotContains(t, err.Error(), "secret")
			require.NotContains(t, err.Error(), "\n")
			require.Less(t, len(err.Error()), 600)
		})
	}
}

// TestWaitsForLoading: a server that loads is waited for, but not for ever.
func TestWaitsForLoading(t *testing.T) {
	t.Parallel()
	loading := func(rounds int) string {
		return serve(t, func(conn net.Conn) {
			r := bufio.NewReader(conn)
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				if strings.ToLower(strings.TrimSpace(line)) != "info" {
					if strings.EqualFold(strings.TrimSpace(line), "hello") {
						_, _ = io.WriteString(conn, "-ERR unknown command 'HELLO'\r\n")
					}
					continue
				}
				if rounds--; rounds >= 0 {
					_, _ = io.WriteString(conn, "-LOADING Redis is loading the dataset in memory\r\n")
					continue
				}
				_, _ = io.WriteString(conn, "$20\r\nredis_version:7.0.15\r\n")
			}
		})
	}
	s := open(t, store.Config{URL: "redis://" + loading(2)})
	require.Equal(t, store.KindRedis, s.Kind())
	require.NoError(t, s.Close())
	_, err := store.Open(t.Context(), store.Config{URL: "redis://" + loading(1<<30), StartTimeout: 300 * time.Millisecond})
	require.ErrorIs(t, err, store.ErrLoading)
}
