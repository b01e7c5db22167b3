package certs

import (
	"crypto/tls"
	"crypto/x509"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// authority makes a CA with the node n1 and returns its files.
func authority(t *testing.T) Files {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, NewCA(dir, time.Hour))
	return node(t, dir, "n1")
}

func node(t *testing.T, dir, name string) Files {
	t.Helper()
	require.NoError(t, NewNode(dir, name, []string{"127.0.0.1", "node.test"}, time.Hour))
	return Files{
		CA:   filepath.Join(dir, "ca.pem"),
		Cert: filepath.Join(dir, name+".pem"),
		Key:  filepath.Join(dir, name+"-key.pem"),
	}
}

// clock is moved by hand.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func source(t *testing.T, f Files) (*Source, *clock, *logtest.Hook) {
	t.Helper()
	log, hook := logtest.NewNullLogger()
	c := &clock{at: time.Now()}
	s, err := load(f, log, c.now)
	require.NoError(t, err)
	return s, c, hook
}

// handshake connects a client to a server and returns the error of either side.
func handshake(t *testing.T, server, client *tls.Config) (serverErr, clientErr error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	done := make(chan error, 1)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			done <- err
			return
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		s := tls.Server(c, server)
		if err = s.Handshake(); err == nil {
			_, err = s.Write([]byte("x"))
		}
		done <- err
	}()
	raw, err := net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	defer raw.Close()
	require.NoError(t, raw.SetDeadline(time.Now().Add(5*time.Second)))
	c := tls.Client(raw, client)
	if clientErr = c.Handshake(); clientErr == nil {
		_, clientErr = c.Read(make([]byte, 1)) // with TLS 1.3 the server's refusal comes here
	}
	_ = raw.Close()
	return <-done, clientErr
}

func TestNewCARefusesToReplace(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "certs")
	require.NoError(t, NewCA(dir, time.Hour))
	st, err := os.Stat(filepath.Join(dir, "ca-key.pem"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), st.Mode().Perm())
	require.ErrorIs(t, NewCA(dir, time.Hour), fs.ErrExist)
	require.NoError(t, os.Remove(filepath.Join(dir, "ca.pem")))
	require.ErrorIs(t, NewCA(dir, time.Hour), fs.ErrExist, "a key alone is kept too")
	require.ErrorContains(t, NewCA(dir, 0), "not positive")
}

func TestNewNode(t *testing.T) {
	t.Parallel()
	f := authority(t)
	dir := filepath.Dir(f.CA)
	st, err := os.Stat(f.Key)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), st.Mode().Perm())
	s, _, _ := source(t, f)
	leaf := s.Leaf()
	require.Equal(t, []string{"node.test"}, leaf.DNSNames)
	require.Len(t, leaf.IPAddresses, 1)
	require.ElementsMatch(t, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, leaf.ExtKeyUsage)

	require.NoError(t, NewNode(dir, "long", []string{"::1"}, 1000*time.Hour))
	long, _, _ := source(t, Files{CA: f.CA, Cert: filepath.Join(dir, "long.pem"), Key: filepath.Join(dir, "long-key.pem")})
	require.Less(t, time.Until(long.Leaf().NotAfter), 2*time.Hour, "not longer than the CA")

	for _, tt := range []struct {
		name, node string
		hosts      []string
		valid      time.Duration
		want       string
	}{
		{"no name", "", []string{"a"}, time.Hour, "file name"},
		{"path", "../x", []string{"a"}, time.Hour, "file name"},
		{"the CA's name", "ca", []string{"a"}, time.Hour, "file name"},
		{"no host", "x", nil, time.Hour, "no host"},
		{"host with port", "x", []string{"a:1"}, time.Hour, "no port"},
		{"no time", "x", []string{"a"}, 0, "not positive"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, NewNode(dir, tt.node, tt.hosts, tt.valid), tt.want)
		})
	}
	require.ErrorContains(t, NewNode(t.TempDir(), "x", []string{"a"}, time.Hour), "no such file")
}

func TestLoadNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	garbage := func(t *testing.T) string {
		name := filepath.Join(t.TempDir(), "garbage.pem")
		require.NoError(t, os.WriteFile(name, []byte("no PEM at all"), 0o600))
		return name
	}
	for _, tt := range []struct {
		name  string
		spoil func(*testing.T, *Files)
		at    time.Duration // from now
		want  []string
	}{
		{"CA unset", func(_ *testing.T, f *Files) { f.CA = "" }, 0, []string{"CA", "no file name set"}},
		{"CA missing", func(_ *testing.T, f *Files) { f.CA += ".not" }, 0, []string{"ca.pem.not", "no such file", "node certs"}},
		{"certificate missing", func(_ *testing.T, f *Files) { f.Cert += ".not" }, 0, []string{"n1.pem.not", "no such file"}},
		{"key missing", func(_ *testing.T, f *Files) { f.Key += ".not" }, 0, []string{"n1-key.pem.not", "no such file"}},
		{"CA garbage", func(t *testing.T, f *Files) { f.CA = garbage(t) }, 0, []string{"garbage.pem", "no PEM"}},
		{"certificate garbage", func(t *testing.T, f *Files) { f.Cert = garbage(t) }, 0, []string{"garbage.pem", "no PEM"}},
		{"key garbage", func(t *testing.T, f *Files) { f.Key = garbage(t) }, 0, []string{"garbage.pem", "no PEM"}},
		{"a folder", func(t *testing.T, f *Files) { f.CA = t.TempDir() }, 0, []string{"not a file"}},
		{"key and certificate swapped", func(_ *testing.T, f *Files) { f.Cert, f.Key = f.Key, f.Cert }, 0, []string{"n1-key.pem", "CERTIFICATE"}},
		{"another key", func(t *testing.T, f *Files) { f.Key = node(t, filepath.Dir(f.CA), "n2").Key }, 0, []string{"n2-key.pem", "does not match"}},
		{"another CA", func(t *testing.T, f *Files) { f.CA = authority(t).CA }, 0, []string{"n1.pem", "not signed by that CA"}},
		{"a node as CA", func(_ *testing.T, f *Files) { f.CA = f.Cert }, 0, []string{"not a certificate authority"}},
		{"expired", func(*testing.T, *Files) {}, 2 * time.Hour, []string{"n1.pem", "expired on"}},
		{"from the future", func(*testing.T, *Files) {}, -2 * time.Hour, []string{"n1.pem", "not valid before", "clock"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := authority(t)
			tt.spoil(t, &f)
			log, _ := logtest.NewNullLogger()
			_, err := load(f, log, func() time.Time { return time.Now().Add(tt.at) })
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestHandshake(t *testing.T) {
	t.Parallel()
	f := authority(t)
	s, _, _ := source(t, f)
	other, _, _ := source(t, node(t, filepath.Dir(f.CA), "n2"))
	stranger, _, _ := source(t, authority(t))
	plainTLS := func() *tls.Config { return &tls.Config{RootCAs: s.identity().pool, ServerName: "127.0.0.1"} }
	tls12 := other.Client("127.0.0.1")
	tls12.MinVersion, tls12.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	for _, tt := range []struct {
		name   string
		client *tls.Config
		server string // part of the server's error, empty: none
		fails  bool   // the client's side
	}{
		{"a node by IP", other.Client("127.0.0.1"), "", false},
		{"a node by name", other.Client("node.test"), "", false},
		{"another host", other.Client("127.0.0.2"), "bad certificate", true},
		{"another name", other.Client("other.test"), "bad certificate", true},
		{"no certificate", plainTLS(), "didn't provide a certificate", true},
		{"another CA", stranger.Client("127.0.0.1"), "bad certificate", true},
		{"TLS 1.2", tls12, "unsupported versions", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			serverErr, clientErr := handshake(t, s.Server(), tt.client)
			if tt.server == "" {
				require.NoError(t, serverErr)
			} else {
				require.ErrorContains(t, serverErr, tt.server)
			}
			require.Equal(t, tt.fails, clientErr != nil, "%v", clientErr)
		})
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	f := authority(t)
	dir := filepath.Dir(f.CA)
	s, clock, hook := source(t, f)
	server := s.Server() // kept over all of it
	old := s.Leaf().SerialNumber

	node(t, dir, "n1")
	require.Equal(t, old, s.Leaf().SerialNumber, "not looked at again within two seconds")
	clock.at = clock.at.Add(checkEvery)
	renewed := s.Leaf().SerialNumber
	require.NotEqual(t, old, renewed)
	serverErr, clientErr := handshake(t, server, s.Client("127.0.0.1"))
	require.NoError(t, serverErr)
	require.NoError(t, clientErr)

	// A broken file is said once a minute, and the good ones stay in use.
	good, err := os.ReadFile(f.Cert)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(f.Cert, []byte("half a fi"), 0o644))
	hook.Reset()
	for range 20 {
		clock.at = clock.at.Add(checkEvery)
		require.Equal(t, renewed, s.Leaf().SerialNumber)
	}
	require.Len(t, hook.AllEntries(), 1)
	require.Equal(t, logrus.WarnLevel, hook.LastEntry().Level)
	require.NoError(t, os.WriteFile(f.Cert, good, 0o644))
	clock.at = clock.at.Add(checkEvery)
	require.Equal(t, renewed, s.Leaf().SerialNumber)

	// A clock that stepped back does not stop the looking.
	clock.at = clock.at.Add(-time.Minute)
	node(t, dir, "n1")
	require.NotEqual(t, renewed, s.Leaf().SerialNumber)
}

func TestReplacingTheCA(t *testing.T) {
	t.Parallel()
	f, next := authority(t), authority(t)
	s, clock, _ := source(t, f)
	server := s.Server()
	newcomer, _, _ := source(t, next)
	// connect gives the server's verdict; the newcomer itself trusts both.
	connect := func(from *Source) error {
		clock.at = clock.at.Add(checkEvery)
		conf := from.Client("127.0.0.1")
		conf.RootCAs = pool(t, f.CA, next.CA)
		err, _ := handshake(t, server, conf)
		return err
	}
	require.Error(t, connect(newcomer))

	oldCA, err := os.ReadFile(f.CA)
	require.NoError(t, err)
	newCA, err := os.ReadFile(next.CA)
	require.NoError(t, err)
	require.NoError(t, replace(f.CA, append(append([]byte{}, oldCA...), newCA...), 0o644))
	second, _, _ := source(t, node(t, filepath.Dir(next.CA), "n9"))
	require.NoError(t, connect(newcomer))
	require.NoError(t, connect(second))
	require.NoError(t, connect(s))

	for from, to := range map[string]string{next.CA: f.CA, next.Cert: f.Cert, next.Key: f.Key} {
		data, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, replace(to, data, 0o600))
	}
	require.NoError(t, connect(newcomer))
	gone, _, _ := source(t, authority(t))
	require.Error(t, connect(gone))
}

func pool(t *testing.T, names ...string) *x509.CertPool {
	t.Helper()
	out := x509.NewCertPool()
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		require.True(t, out.AppendCertsFromPEM(data))
	}
	return out
}
