package certs

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// maxFile bounds what is read of a PEM file, bytes.
const maxFile = 1 << 20

// identity is one usable content of the files. Never changed once built.
type identity struct {
	cert tls.Certificate // with Leaf
	pool *x509.CertPool  // the authorities
}

// readIdentity reads the three files and refuses a set that no peer would accept.
func readIdentity(f Files, now time.Time) (*identity, error) {
	pool, err := readPool(f.CA)
	if err != nil {
		return nil, err
	}
	certPEM, err := readPEM("certificate", f.Cert, "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	keyPEM, err := readPEM("key", f.Key, "PRIVATE KEY")
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("certs: pair certificate %s with key %s: %w: give the key that was made with this certificate", f.Cert, f.Key, err)
	}
	if err := checkLeaf(pair, pool, now); err != nil {
		return nil, fmt.Errorf("certs: check certificate %s against CA %s: %w", f.Cert, f.CA, err)
	}
	return &identity{cert: pair, pool: pool}, nil
}

// checkLeaf says whether peers that trust pool accept the certificate at now, as
// server and as client.
func checkLeaf(pair tls.Certificate, pool *x509.CertPool, now time.Time) error {
	leaf := pair.Leaf
	if now.After(leaf.NotAfter) {
		return fmt.Errorf("expired on %s: issue a new one", leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	if now.Before(leaf.NotBefore) {
		return fmt.Errorf("not valid before %s: check this machine's clock", leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	between := x509.NewCertPool()
	for _, der := range pair.Certificate[1:] {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return fmt.Errorf("parse intermediate: %w", err)
		}
		between.AddCert(c)
	}
	for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		opts := x509.VerifyOptions{Roots: pool, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{use}}
		_, err := leaf.Verify(opts)
		var unknown x509.UnknownAuthorityError
		var invalid x509.CertificateInvalidError
		switch {
		case err == nil:
		case errors.As(err, &unknown):
			return fmt.Errorf("not signed by that CA: issue it with the CA's key: %w", err)
		case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
			return fmt.Errorf("not allowed for both server and client: a node is both: %w", err)
		default:
			return err
		}
	}
	return nil
}

// readPool reads every authority of the CA file.
func readPool(name string) (*x509.CertPool, error) {
	data, err := readPEM("CA", name, "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certs: parse CA file %s: %w", name, err)
		}
		if !c.IsCA {
			return nil, fmt.Errorf("certs: read CA file %s: %q is not a certificate authority: give the CA's certificate, not a node's", name, c.Subject.CommonName)
		}
		pool.AddCert(c)
	}
	return pool, nil
}

// readPEM reads a file that must hold a PEM block whose type ends in kind.
func readPEM(what, name, kind string) ([]byte, error) {
	if name == "" {
		return nil, fmt.Errorf("certs: read %s file: no file name set: CA, certificate and key are all needed", what)
	}
	st, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("certs: read %s file %s: no such file: make one with `node certs` or correct the path: %w", what, name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("certs: read %s file %s: %w", what, name, err)
	}
	if !st.Mode().IsRegular() || st.Size() > maxFile {
		return nil, fmt.Errorf("certs: read %s file %s: not a file of at most %d bytes", what, name, maxFile)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("certs: read %s file %s: %w", what, name, err)
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if len(block.Type) >= len(kind) && block.Type[len(block.Type)-len(kind):] == kind {
			return data, nil
		}
	}
	return nil, fmt.Errorf("certs: read %s file %s: no PEM block %q in it: it must begin with -----BEGIN", what, name, kind)
}
