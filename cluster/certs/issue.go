package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	caFile    = "ca.pem"
	caKeyFile = "ca-key.pem"

	// backdate lets machines whose clock is a little behind use a new certificate.
	backdate = 5 * time.Minute
)

// NewCA writes a new certificate authority for development into dir, made when
// missing: ca.pem, and ca-key.pem which only the owner may read. It never replaces
// an existing one: every node's certificate would be worthless.
func NewCA(dir string, validFor time.Duration) error {
	if validFor <= 0 {
		return fmt.Errorf("certs: make CA: validity %v is not positive", validFor)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("certs: make CA: %w", err)
	}
	for _, name := range []string{caFile, caKeyFile} {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("certs: make CA: %s exists: remove it yourself to start anew: %w", path, fs.ErrExist)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("certs: make CA: %w", err)
		}
	}
	tmpl, err := template("orbweaver development CA", validFor)
	if err != nil {
		return fmt.Errorf("certs: make CA: %w", err)
	}
	tmpl.IsCA = true
	tmpl.BasicConstraintsValid = true
	tmpl.MaxPathLenZero = true
	tmpl.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	certPEM, keyPEM, err := sign(tmpl, tmpl, nil)
	if err != nil {
		return fmt.Errorf("certs: make CA: %w", err)
	}
	if err := create(filepath.Join(dir, caKeyFile), keyPEM, 0o600); err != nil {
		return fmt.Errorf("certs: make CA: %w", err)
	}
	if err := create(filepath.Join(dir, caFile), certPEM, 0o644); err != nil {
		return fmt.Errorf("certs: make CA: %w", err)
	}
	return nil
}

// NewNode writes <name>.pem and <name>-key.pem into dir, signed by the authority
// there, for server and client use. hosts are the DNS names and IPs under which
// other nodes dial this one, at least one. A pair of that name is replaced, which
// is how a node's certificate is renewed; it never outlives its authority.
func NewNode(dir, name string, hosts []string, validFor time.Duration) error {
	if err := checkNode(name, hosts, validFor); err != nil {
		return fmt.Errorf("certs: make node certificate: %w", err)
	}
	ca, caKey, err := readCA(dir)
	if err != nil {
		return err
	}
	tmpl, err := template(name, validFor)
	if err != nil {
		return fmt.Errorf("certs: make node certificate: %w", err)
	}
	if tmpl.NotAfter.After(ca.NotAfter) {
		tmpl.NotAfter = ca.NotAfter
	}
	tmpl.KeyUsage = x509.KeyUsageDigitalSignature
	tmpl.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			tmpl.IPAddresses = append(tmpl.IPAddresses, ip)
		} else {
			tmpl.DNSNames = append(tmpl.DNSNames, h)
		}
	}
	certPEM, keyPEM, err := sign(tmpl, ca, caKey)
	if err != nil {
		return fmt.Errorf("certs: make node certificate: %w", err)
	}
	if err := replace(filepath.Join(dir, name+"-key.pem"), keyPEM, 0o600); err != nil {
		return fmt.Errorf("certs: make node certificate: %w", err)
	}
	if err := replace(filepath.Join(dir, name+".pem"), certPEM, 0o644); err != nil {
		return fmt.Errorf("certs: make node certificate: %w", err)
	}
	return nil
}

func checkNode(name string, hosts []string, validFor time.Duration) error {
	if name == "" || name == "ca" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\\\x00") {
		return fmt.Errorf("name %q cannot be a file name here", name)
	}
	if len(hosts) == 0 {
		return errors.New("no host: name the addresses under which other nodes dial this one")
	}
	for _, h := range hosts {
		if h == "" || strings.ContainsAny(h, " /*") || (net.ParseIP(h) == nil && strings.Contains(h, ":")) {
			return fmt.Errorf("host %q is neither an IP nor a DNS name (no port)", h)
		}
	}
	if validFor <= 0 {
		return fmt.Errorf("validity %v is not positive", validFor)
	}
	return nil
}

// readCA reads the authority of dir with its key.
func readCA(dir string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	certPath, keyPath := filepath.Join(dir, caFile), filepath.Join(dir, caKeyFile)
	certPEM, err := readPEM("CA", certPath, "CERTIFICATE")
	if err != nil {
		return nil, nil, err
	}
	keyPEM, err := readPEM("CA key", keyPath, "PRIVATE KEY")
	if err != nil {
		return nil, nil, err
	}
	block, _ := pem.Decode(certPEM)
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("certs: parse CA file %s: %w", certPath, err)
	}
	block, _ = pem.Decode(keyPEM)
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("certs: parse CA key file %s: %w", keyPath, err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !key.PublicKey.Equal(ca.PublicKey) {
		return nil, nil, fmt.Errorf("certs: read CA key file %s: not the key of %s", keyPath, certPath)
	}
	return ca, key, nil
}

// template is what all certificates here have in common.
func template(name string, validFor time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(validFor),
	}, nil
}

// sign makes a P-256 key and the certificate over it, both as PEM. Without a
// parent key the certificate signs itself.
func sign(tmpl, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if parentKey == nil {
		parentKey = key
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, parent, &key.PublicKey, parentKey)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	certPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	return certPEM, keyPEM, nil
}

// create writes a file that must not exist yet.
func create(path string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// replace writes a file so that a reader sees the old or the new content whole.
func replace(path string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
