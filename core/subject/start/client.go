package start

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/conform-dev/conform/core/subject"
)

// newClient trusts what the file says.
func newClient(s *subject.Subject) (*http.Client, error) {
	transport := &http.Transport{DisableCompression: true, Proxy: http.ProxyFromEnvironment}
	if s.CA != "" {
		path := s.CA
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.Dir, path)
		}
		pem, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: tls.ca: %w", s.File, err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: tls.ca: %s holds no certificate", s.File, s.CA)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}
