package endpoint

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/conform-dev/conform/core/transport"
)

// Files name the certificates of an endpoint; empty ones are not used.
type Files struct {
	CA          string // certificates to trust instead of the system's
	Certificate string // client certificate, leaf first
	Key         string // its private key; may be the same file
	ServerName  string // name on the server's certificate, where that is not the URL's host
}

// Source reads the files at each call, so that certificates may be rotated; it is made for subscription.WithTLS. Source itself
// reads them once, and fails for one that cannot be read, is too large or does not hold what it should.
func (f Files) Source() (func(context.Context) (transport.TLS, error), error) {
	source := func(context.Context) (t transport.TLS, err error) {
		key := ""
		for _, part := range []struct {
			name, path string
			limit      int
			to         *string
		}{
			{"CA", f.CA, transport.MaxCA, &t.CA}, {"certificate", f.Certificate, transport.MaxCertificate, &t.Certificate}, {"key", f.Key, transport.MaxKey, &key},
		} {
			if part.path == "" {
				continue
			}
			if *part.to, err = readFile(part.path, part.limit); err != nil {
				return transport.TLS{}, fmt.Errorf("tls: %s: %w", part.name, err)
			}
			if *part.to == "" {
				return transport.TLS{}, fmt.Errorf("tls: %s: file %s is empty", part.name, part.path)
			}
		}
		t.Key, t.ServerName = transport.Secret(key), f.ServerName
		_, err = Config(t)
		return t, err
	}
	if _, err := source(context.Background()); err != nil {
		return nil, err
	}
	return source, nil
}

// Config is t for crypto/tls: TLS 1.2 or later. It fails for text that is not what it should be, without repeating any of it.
func Config(t transport.TLS) (*tls.Config, error) {
	if err := (transport.Attempt{TLS: t}).CheckAccess(); err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		c.RootCAs = x509.NewCertPool()
		certificates, err := certificates(t.CA)
		if err != nil {
			return nil, fmt.Errorf("tls: CA: %w", err)
		}
		for _, certificate := range certificates {
			c.RootCAs.AddCert(certificate)
		}
	}
	if t.Certificate != "" {
		pair, err := pair(t.Certificate, t.Key.Reveal())
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// certificates reads a bundle; text between the blocks is for people.
func certificates(text string) (out []*x509.Certificate, err error) {
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("block %d is no certificate", len(out)+1)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d cannot be read", len(out)+1)
		}
		out = append(out, certificate)
	}
	if len(out) == 0 {
		return nil, errors.New("it holds no certificate in PEM")
	}
	return out, nil
}

func pair(certificate, key string) (tls.Certificate, error) {
	out, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	if err == nil {
		return out, nil
	}
	switch {
	case !holds(certificate, "CERTIFICATE"):
		err = errors.New("tls: certificate: it holds no certificate in PEM")
	case holds(key, "ENCRYPTED PRIVATE KEY"):
		err = errors.New("tls: key: it is encrypted; there is nobody to ask for its password")
	case !holds(key, "PRIVATE KEY") && !holds(key, "RSA PRIVATE KEY") && !holds(key, "EC PRIVATE KEY"):
		err = errors.New("tls: key: it holds no private key in PEM")
	default: // the text of X509KeyPair may repeat some of what it read
		err = errors.New("tls: certificate and key do not belong together, or one of them cannot be read")
	}
	return tls.Certificate{}, err
}

// holds says whether text has a PEM block of that type.
func holds(text, kind string) bool {
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type == kind {
			return block != nil
		}
	}
}
