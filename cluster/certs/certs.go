// Package certs keeps the TLS identity of a node: it issues development
// certificates and serves the files of a certificate authority, a node's
// certificate and its key to both sides of a connection between nodes, always as
// they are on disk now. TLS 1.3 with certificates on both sides is the only form.
// It knows nothing of actors or connections, and revokes nothing: a certificate is
// withdrawn by a new authority.
package certs

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	checkEvery = 2 * time.Second // at most one look at the files in this time
	warnEvery  = time.Minute     // at most one line about broken files in this time
)

// Files are the paths of PEM files. All are needed.
type Files struct {
	CA   string // one or more authorities; two while one replaces the other
	Cert string // the node's certificate, then its intermediates if any
	Key  string // the private key of Cert
}

// Source serves the current content of its files. Files that change are noticed
// at the next handshake, at most 2 s late; a changed file that cannot be used is
// logged, at most once a minute, and the last good content stays in use. Safe for
// concurrent use; it holds no goroutine and no open file.
type Source struct {
	files Files
	log   logrus.FieldLogger
	now   func() time.Time

	mu      sync.Mutex
	current *identity // guarded by mu; replaced whole
	stamps  [3]stamp  // guarded by mu; of the files that current was read from
	checked time.Time // guarded by mu
	warned  time.Time // guarded by mu; zero: never
}

// stamp tells one content of a file from another without reading it.
type stamp struct {
	modified time.Time
	size     int64
}

// Load reads the files and checks that they fit together. An error names the file
// and what is wrong with it: missing, no PEM, a key of another certificate, a
// certificate that is expired or that the authority did not sign.
func Load(f Files, log logrus.FieldLogger) (*Source, error) {
	return load(f, log, time.Now)
}

func load(f Files, log logrus.FieldLogger, now func() time.Time) (*Source, error) {
	stamps := f.stamps()
	id, err := readIdentity(f, now())
	if err != nil {
		return nil, err
	}
	return &Source{files: f, log: log, now: now, current: id, stamps: stamps, checked: now()}, nil
}

// Server is the configuration of the accepting side. It may be kept: every
// handshake uses the files' current content. A client without a certificate of the
// current authority is refused, and sessions are never resumed, so that a new
// authority holds from the next connection on.
func (s *Source) Server() *tls.Config {
	c := s.server()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.server(), nil }
	return c
}

func (s *Source) server() *tls.Config {
	id := s.identity()
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{id.cert},
		ClientAuth:             tls.RequireAndVerifyClientCert,
		ClientCAs:              id.pool,
		NextProtos:             []string{"h2"},
		SessionTicketsDisabled: true,
	}
}

// Client is the configuration for ONE connection to host, a DNS name or an IP
// without port: the server's certificate must name it and be signed by the current
// authority. Ask again for the next connection; it costs no more than a look at
// the clock.
func (s *Source) Client(host string) *tls.Config {
	id := s.identity()
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{id.cert},
		RootCAs:      id.pool,
		ServerName:   host,
		NextProtos:   []string{"h2"},
	}
}

// Leaf is the node's own certificate as it is in use now.
func (s *Source) Leaf() *x509.Certificate { return s.identity().cert.Leaf }

// identity is the newest usable content of the files.
func (s *Source) identity() *identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if since := now.Sub(s.checked); since >= 0 && since < checkEvery {
		return s.current
	}
	s.checked = now
	stamps := s.files.stamps()
	if stamps == s.stamps {
		return s.current
	}
	id, err := readIdentity(s.files, now)
	if err != nil {
		// The stamps stay those of the content in use, so the next look tries again:
		// files are often replaced one after the other.
		if s.warned.IsZero() || now.Sub(s.warned) >= warnEvery {
			s.warned = now
			s.log.WithError(err).Warn("changed certificate files are not usable, keeping the old ones")
		}
		return s.current
	}
	s.current, s.stamps, s.warned = id, stamps, time.Time{}
	s.log.WithField("until", id.cert.Leaf.NotAfter.UTC().Format(time.RFC3339)).Info("certificate files changed, using the new ones")
	return id
}

// stamps of CA, certificate and key; zero for one that cannot be seen.
func (f Files) stamps() (out [3]stamp) {
	for i, name := range [...]string{f.CA, f.Cert, f.Key} {
		if st, err := os.Stat(name); err == nil {
			out[i] = stamp{modified: st.ModTime(), size: st.Size()}
		}
	}
	return out
}
