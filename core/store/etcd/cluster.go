package etcd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Limits of what names a cluster.
const (
	// MaxEndpoints is how many members may be named.
	MaxEndpoints = 32
	// MaxCredentialFile is how long a file of credentials may be, in bytes.
	MaxCredentialFile = 64 << 10
	// keepAlive is how long a connection is silent before it is asked for a sign of life. gRPC asks no sooner, and a server
	// with etcd's own settings hangs up on who asks every 5 s.
	keepAlive = 10 * time.Second
	// maxAnswer bounds an answer that a server makes us hold, in bytes: one page of a list and some room.
	maxAnswer = page*MaxValue + 4<<20
)

// Cluster names an etcd cluster and the files that hold what it asks for. Files are read once, by Open; a secret that was
// changed needs another Open.
type Cluster struct {
	Endpoints []string // such as https://10.0.0.1:2379; 1 to MaxEndpoints, all with TLS or none
	CAFile    string   // PEM, whom to trust; the system's roots if empty
	CertFile  string   // PEM, the client's certificate, with KeyFile
	KeyFile   string
	User      string // with PasswordFile; not without TLS, unless all endpoints are on this machine
	// PasswordFile holds the password, and nothing else but a line's end.
	PasswordFile string
}

// connect makes a client. No error of it holds a byte of a file.
func (c Cluster) connect(ctx context.Context, timeout time.Duration) (*clientv3.Client, error) {
	secure, err := c.check()
	if err != nil {
		return nil, err
	}
	cfg := clientv3.Config{
		Endpoints: c.Endpoints, DialTimeout: timeout, Username: c.User, Logger: zap.NewNop(), // it would write to stderr
		// A member that hangs is noticed and left. Until then each second attempt or so goes to another one.
		DialKeepAliveTime: keepAlive, DialKeepAliveTimeout: timeout,
		MaxCallRecvMsgSize: maxAnswer,
		Context:            context.WithoutCancel(ctx), // the client outlives the call that made it
	}
	if c.User != "" {
		secret, err := readFile("passwordFile", c.PasswordFile)
		if err != nil {
			return nil, err
		}
		cfg.Password = string(bytes.TrimRight(secret, "\r\n"))
		if cfg.Password == "" {
			return nil, fmt.Errorf("etcd: passwordFile %s is empty", c.PasswordFile)
		}
	}
	if secure {
		if cfg.TLS, err = c.tls(); err != nil {
			return nil, err
		}
	}
	client, err := clientv3.New(cfg)
	if errors.Is(err, context.DeadlineExceeded) { // gRPC does not tell a refused certificate from a host that is away
		err = &callError{fmt.Sprintf("%v (%v); is it there, and are the certificates right?", ErrNoAnswer, timeout), []error{ErrNoAnswer, err}}
	}
	if err != nil {
		return nil, fmt.Errorf("etcd: %s: %w", strings.Join(c.Endpoints, " "), failed("connect", err))
	}
	return client, nil
}

// check says whether the endpoints are reached with TLS, and refuses what does not fit together.
func (c Cluster) check() (secure bool, err error) {
	if len(c.Endpoints) == 0 || len(c.Endpoints) > MaxEndpoints {
		return false, fmt.Errorf("etcd: endpoints must be 1 to %d, got %d", MaxEndpoints, len(c.Endpoints))
	}
	away := false
	for i, e := range c.Endpoints {
		u, err := url.Parse(e)
		if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" { // not repeated: it may hold a secret
			return false, fmt.Errorf("etcd: endpoint %d is no URL of scheme, host and port alone; a user goes into user and passwordFile", i+1)
		}
		tls := false
		switch u.Scheme {
		case "https", "unixs":
			tls = true
		case "http", "unix":
		default:
			return false, fmt.Errorf("etcd: endpoint %d must begin with https:// or http://", i+1)
		}
		if i > 0 && tls != secure {
			return false, errors.New("etcd: endpoints with TLS and without are mixed")
		}
		secure = tls
		away = away || u.Scheme == "http" && !loopback(u.Hostname())
	}
	switch {
	case !secure && (c.CAFile != "" || c.CertFile != "" || c.KeyFile != ""):
		return false, errors.New("etcd: certificates are given, and endpoints without TLS: write https://")
	case (c.CertFile == "") != (c.KeyFile == ""):
		return false, errors.New("etcd: certFile and keyFile go together")
	case (c.User == "") != (c.PasswordFile == ""):
		return false, errors.New("etcd: user and passwordFile go together")
	case c.User != "" && away:
		return false, errors.New("etcd: a password is not sent to another machine without TLS: write https://")
	}
	return secure, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (c Cluster) tls() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		pem, err := readFile("caFile", c.CAFile)
		if err != nil {
			return nil, err
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("etcd: caFile %s holds no PEM certificate", c.CAFile)
		}
	}
	if c.CertFile == "" {
		return cfg, nil
	}
	cert, err := readFile("certFile", c.CertFile)
	if err != nil {
		return nil, err
	}
	key, err := readFile("keyFile", c.KeyFile)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("etcd: certFile %s and keyFile %s are no PEM certificate and its key", c.CertFile, c.KeyFile)
	}
	cfg.Certificates = []tls.Certificate{pair}
	return cfg, nil
}

// readFile reads a file of credentials; what names the setting.
func readFile(what, path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("etcd: %s: %w", what, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxCredentialFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("etcd: %s: %w", what, err)
	case len(text) > MaxCredentialFile:
		return nil, fmt.Errorf("etcd: %s %s cannot exceed %d bytes", what, path, MaxCredentialFile)
	}
	return text, nil
}
