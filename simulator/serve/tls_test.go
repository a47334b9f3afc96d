package serve

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conform-dev/conform/simulator"
)

// TestFollowTLS: the same stream and the same control API over TLS, for a client that trusts the certificate, in HTTP/1.1.
func TestFollowTLS(t *testing.T) {
	s := openWith(t, Options{TLS: true})
	s.client.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	res := s.get("")
	if res.StatusCode != 200 || res.Proto != "HTTP/1.1" || !strings.HasPrefix(s.URL(), "https://127.0.0.1:") || !strings.HasPrefix(s.ControlURL(), "https://") {
		t.Fatalf("%s: %s %s", s.URL(), res.Proto, res.Status)
	}
	body := bufio.NewReader(res.Body)
	blocks(t, body, 2)
	post, err := s.client.Post(s.ControlURL()+"/publish", "application/json", strings.NewReader(`{"count":1}`))
	s.must(err)
	_ = post.Body.Close()
	if post.StatusCode != 200 || !strings.Contains(blocks(t, body, 1)[0], "id: c-7-1") {
		t.Errorf("publish: %s", post.Status)
	}
	_ = res.Body.Close()
	s.wait("the client to be gone", func(st simulator.State) bool { return len(st.Connections) == 0 })
	if _, err := (&http.Client{}).Get(s.URL()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a client that does not know the certificate: %v", err)
	}
}

// TestCutsTLS: a cut, a reset and a clean end are where they were planned over TLS too, and told apart: only a clean end says
// goodbye.
func TestCutsTLS(t *testing.T) {
	for _, c := range []struct {
		as  string
		err error
	}{{"eof", io.EOF}, {"cut", io.ErrUnexpectedEOF}, {"reset", syscall.ECONNRESET}} {
		t.Run(c.as, func(t *testing.T) {
			for range 10 {
				s := openWith(t, Options{TLS: true})
				s.must(s.Add(simulator.Fault{Name: "cut", At: simulator.At{Byte: 333}, With: map[string]string{"as": c.as}}))
				res := s.get("")
				s.must(s.Publish(simulator.AutoUpsert, 5))
				got, err := io.ReadAll(res.Body)
				if err == nil {
					err = io.EOF
				}
				if !errors.Is(err, c.err) || len(got) != 333 {
					t.Fatalf("%d bytes, ended with %v, want %v", len(got), err, c.err)
				}
				s.wait("the end", func(st simulator.State) bool { return len(st.Connections) == 0 })
			}
		})
	}
}

// TestGoodbye: under the body, a clean end closes the TLS connection with an alert and a cut does not: a client without chunks
// could not tell them apart otherwise. Records show their type in TLS 1.2.
func TestGoodbye(t *testing.T) {
	for as, want := range map[string]bool{"eof": true, "cut": false} {
		s := openWith(t, Options{TLS: true})
		s.must(s.Add(simulator.Fault{Name: "cut", At: simulator.At{Byte: 100}, With: map[string]string{"as": as}}))
		plain, err := net.Dial("tcp", s.Addr())
		s.must(err)
		var wire bytes.Buffer
		config := s.client.Transport.(*http.Transport).TLSClientConfig.Clone()
		config.MaxVersion, config.ServerName = tls.VersionTLS12, "localhost"
		c := tls.Client(tapped{plain, io.TeeReader(plain, &wire)}, config)
		defer c.Close()
		_, err = io.WriteString(c, "GET /stream HTTP/1.0\r\nHost: localhost\r\n\r\n")
		s.must(err)
		text, _ := io.ReadAll(c)
		if _, body, _ := strings.Cut(string(text), "\r\n\r\n"); len(body) != 100 {
			t.Errorf("%s: %d bytes of the body", as, len(body))
		}
		last := byte(0)
		for b := wire.Bytes(); len(b) >= 5; {
			last = b[0]
			b = b[min(len(b), 5+int(b[3])<<8+int(b[4])):]
		}
		const alert = 21
		if (last == alert) != want {
			t.Errorf("%s: the last record is of type %d", as, last)
		}
	}
}

// tapped is a connection whose input somebody else reads along.
type tapped struct {
	net.Conn
	in io.Reader
}

func (t tapped) Read(b []byte) (int, error) { return t.in.Read(b) }

// TestCloseTLS: closing the server ends streams, clients that never finished the handshake, and clients that do not read.
func TestCloseTLS(t *testing.T) {
	s := openWith(t, Options{TLS: true})
	s.narrow()
	silent, err := net.Dial("tcp", s.Addr())
	s.must(err)
	defer silent.Close()
	res := s.get("")
	s.must(s.Add(simulator.Fault{Name: "oversize", At: simulator.At{Sequence: 1}, With: map[string]string{"bytes": "16000000"}}))
	s.must(s.Publish(simulator.AutoUpsert, 1))
	s.must(s.Close())
	if _, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Error("the stream ended cleanly")
	}
}

func TestCertificate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it's a ca.pem")
	s := openWith(t, Options{TLS: true, CAFile: path, Hosts: []string{"sim.test", "10.1.2.3"}})
	text, err := os.ReadFile(path)
	s.must(err)
	if string(text) != s.CA() || strings.Contains(string(text), "PRIVATE") {
		t.Errorf("the file holds\n%s", text)
	}
	block, rest := pem.Decode(text)
	if block == nil || len(rest) > 0 {
		t.Fatalf("not one block:\n%s", text)
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	s.must(err)
	left := time.Until(ca.NotAfter)
	if !ca.IsCA || ca.PublicKeyAlgorithm != x509.ECDSA || left > certificateLife || left < certificateLife-time.Hour {
		t.Errorf("%v, %v left", ca.Subject, left)
	}
	c, err := tls.Dial("tcp", s.Addr(), s.client.Transport.(*http.Transport).TLSClientConfig)
	s.must(err)
	defer c.Close()
	leaf := c.ConnectionState().PeerCertificates[0]
	for _, name := range []string{"localhost", "127.0.0.1", "::1", "sim.test", "10.1.2.3"} {
		if err := leaf.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
	if want := `curl -N --cacert '` + filepath.Dir(path) + `/it'\''s a ca.pem' '` + s.URL() + `?sourceId=incidents&mode=snapshot-then-delta'`; s.Curl() != want {
		t.Errorf("curl line\n%s\nwant\n%s", s.Curl(), want)
	}
	// The next run replaces the file; nobody else's is.
	next := openWith(t, Options{TLS: true, CAFile: path})
	if again, err := os.ReadFile(path); err != nil || string(again) != next.CA() || bytes.Equal(again, text) {
		t.Errorf("the file was not replaced: %v", err)
	}
	for name, text := range map[string]string{"empty": "", "notes": "mine", "key": "-----BEGIN PRIVATE KEY-----\nYQ==\n-----END PRIVATE KEY-----\n", "large": strings.Repeat("x", maxAuthorityFile+1)} {
		theirs := filepath.Join(t.TempDir(), name)
		s.must(os.WriteFile(theirs, []byte(text), 0o600))
		_, err := Start(t.Context(), Options{TLS: true, CAFile: theirs})
		if err == nil || err.Error() != "ca-out: "+theirs+" is there and is no certificate of a simulator" {
			t.Errorf("%s: %v", name, err)
		}
		if kept, _ := os.ReadFile(theirs); string(kept) != text {
			t.Errorf("%s was changed", name)
		}
	}
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{CAFile: path}, "ca-out: there is no certificate to write without TLS"},
		{Options{TLS: true, CAFile: filepath.Join(path, "x")}, "ca-out: "},
		{Options{TLS: true, CAFile: t.TempDir()}, "is no certificate of a simulator"},
		{Options{TLS: true, Hosts: []string{"not ascii \xff"}}, "hosts: "},
	} {
		if _, err := Start(t.Context(), c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
