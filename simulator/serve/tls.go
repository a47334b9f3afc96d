package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// certificateLife is how long the certificates of one server are good: longer than anybody leaves a simulator running.
	certificateLife = 7 * 24 * time.Hour
	// clockSkew is how far the clock of a client in a container may be behind.
	clockSkew = 5 * time.Minute
	// authorityName is the subject of the authority, by which its file is known again.
	authorityName = "conform simulator (not for real use)"
	// maxAuthorityFile bounds what is read of a file that may be an authority's; one has 600 bytes.
	maxAuthorityFile = 16 << 10
)

// identity is a certificate made for one server, and the authority to trust for it, in PEM. The authority's key is thrown away:
// nothing else can ever be signed with it.
type identity struct {
	config    *tls.Config
	authority []byte
}

// newIdentity makes both for the names under which the server answers.
func newIdentity(hosts []string, now time.Time) (identity, error) {
	authority := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: authorityName},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(certificateLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(strings.Trim(h, "[]")); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else if h != "" {
			leaf.DNSNames = append(leaf.DNSNames, h)
		}
	}
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return identity{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return identity{}, err
	}
	root, err := x509.CreateCertificate(rand.Reader, authority, authority, &signer.PublicKey, signer)
	if err != nil {
		return identity{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, authority, &key.PublicKey, signer)
	if err != nil {
		return identity{}, fmt.Errorf("hosts: no certificate can be made for them: %w", err)
	}
	return identity{
		config: &tls.Config{
			MinVersion:   tls.VersionTLS12,
			Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
			// A cut at a byte, an unfinished chunk and a reset are things of HTTP/1.1.
			NextProtos: []string{"http/1.1"},
		},
		authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root}),
	}, nil
}

func serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // crypto/rand never fails
	}
	return n
}

// save puts the authority's certificate into a file. Only the file of an earlier simulator is replaced.
func (i identity) save(path string) error {
	switch old, err := os.Stat(path); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	case !old.Mode().IsRegular() || old.Size() > maxAuthorityFile:
		return fmt.Errorf("%s is there and is no certificate of a simulator", path)
	default:
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !isAuthority(text) {
			return fmt.Errorf("%s is there and is no certificate of a simulator", path)
		}
	}
	// Whoever waits for the file must not see half of it.
	f, err := os.CreateTemp(filepath.Dir(path), ".conform-ca-*")
	if err != nil {
		return err
	}
	_, err = f.Write(i.authority)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

func isAuthority(text []byte) bool {
	block, _ := pem.Decode(text)
	if block == nil {
		return false
	}
	c, err := x509.ParseCertificate(block.Bytes)
	return err == nil && c.Subject.CommonName == authorityName
}

// transportOf is the TCP connection under c, which is where a cut and a reset happen.
func transportOf(c net.Conn) net.Conn {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c
}
