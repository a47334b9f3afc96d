//go:build linux

package host

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

func TestOthersAreRefusedAtTheSocket(t *testing.T) {
	leakCheck(t)
	p, _ := startT(t, mustSelf("script"), standard, time.Now)
	sockets, err := filepath.Glob(filepath.Join(p.dir.path, "*", "*"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("sockets: %q, %v", sockets, err)
	}
	for name, creds := range map[string]credentials.TransportCredentials{
		"plain":               insecure.NewCredentials(),
		"no certificate":      credentials.NewTLS(&tls.Config{InsecureSkipVerify: true}),
		"another certificate": credentials.NewTLS(&tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{strangerCert(t)}}),
	} {
		conn, err := grpc.NewClient("unix:"+sockets[0], grpc.WithTransportCredentials(creds))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		_, err = pb.NewTransportClient(conn).Describe(ctx, &pb.DescribeRequest{})
		if status.Code(err) != codes.Unavailable {
			t.Errorf("%s: got %v, want a refused connection", name, err)
		}
		cancel()
		conn.Close()
	}
	// And the host's own connection has not suffered.
	if err := p.Ping(context.Background()); err != nil {
		t.Error(err)
	}
}

func strangerCert(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestEnvironmentIsAllowListed(t *testing.T) {
	t.Setenv("CANARY_TOKEN", "canary-value")
	t.Setenv("NAMED", "wanted")
	t.Setenv("TZ", "UTC")
	c := mustSelf("script")
	c.Inherit = []string{"NAMED", "NOT_SET_AT_ALL"}
	c.Env = []string{"GIVEN=yes"}
	p, _ := startT(t, c, standard, time.Now)
	s, got := newServer(t), &recorder{}
	if err := wait(t, "end", s.talk(p, s.attempt(1), got, "env", "cause 1")); err != nil {
		t.Fatal(err)
	}
	env := got.docs[0]
	if strings.Contains(env, "CANARY") || strings.Contains(env, "canary") {
		t.Error("the plugin sees a variable of the host that nobody allowed")
	}
	for _, want := range []string{"NAMED=wanted", "GIVEN=yes", "TZ=UTC", "TMPDIR=" + p.dir.path} {
		if !strings.Contains("\n"+env+"\n", "\n"+want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(env, "NOT_SET_AT_ALL") {
		t.Error("a variable that is not set was passed")
	}
}

func TestChildrenOfThePluginDieWithIt(t *testing.T) {
	leakCheck(t)
	for _, end := range []string{"kill", "close"} {
		p, _ := startT(t, mustSelf("script"), standard, time.Now)
		s, got := newServer(t), &recorder{some: make(chan struct{}, 4)}
		done := s.talk(p, s.attempt(1), got, "child")
		wait(t, "item", got.some)
		child := atoi(got.docs[0])
		if dead(child) {
			t.Fatal("there is no child")
		}
		if end == "kill" {
			s.say("kill")
		} else {
			p.Close()
		}
		wait(t, "end", done)
		eventually(t, "child of a plugin gone after "+end, func() bool { return dead(child) })
	}
}

// A message above the limit is refused by its length, before it is read into memory.
func TestOversizeMessageCostsNoMemory(t *testing.T) {
	p, _ := startT(t, rogueCommand("serves", "huge"), standard, time.Now)
	before := rss(t, selfPID)
	err := p.Open(context.Background(), transport.Attempt{}, &recorder{})
	if err == nil || !strings.Contains(err.Error(), "above the limit of 1310720 bytes") {
		t.Errorf("got %v", err)
	}
	if grown := rss(t, selfPID) - before; grown > 32<<20 {
		t.Errorf("host grew by %d MiB", grown>>20)
	}
}

func TestDocumentLimitFollowsTheOption(t *testing.T) {
	leakCheck(t)
	p, _ := startT(t, mustSelf("script"), standard, time.Now)
	s := newServer(t)
	got := &recorder{}
	if err := wait(t, "end", s.talk(p, s.attempt(1), got, "size 16777216", "cause 1")); err != nil {
		t.Errorf("a document at the default limit: %v", err)
	}
	if err := wait(t, "end", s.talk(p, s.attempt(2), got, "size 18874368", "cause 1")); err == nil || !strings.Contains(err.Error(), "document_bytes is 18874368, outside 0 to 16777216 (maxEventBytes)") {
		t.Errorf("a document above it: %v", err)
	}
	a := s.attempt(3)
	a.Options = map[string]string{"maxEventBytes": "67108864"}
	got = &recorder{}
	if err := wait(t, "end", s.talk(p, a, got, "size 67108864", "cause 1")); err != nil || got.all() != "doc 67108864 bytes, ended connection-lost" {
		t.Errorf("a document at the ceiling: %v, %s", err, got.all())
	}
	a.Options = map[string]string{"maxEventBytes": "67108865"}
	if err := p.Open(context.Background(), a, got); err == nil || !strings.Contains(err.Error(), "ceiling of 67108864") {
		t.Errorf("a setting above the ceiling: %v", err)
	}
}

func TestRogueStreams(t *testing.T) {
	leakCheck(t)
	for what, want := range map[string]string{
		"crashed": "it broke the protocol: signal.cause 9 is unknown or not the plugin's to report",
		"half":    "it ended a connection without a final signal",
		"lies":    "it broke the protocol: event.sequence -1 is outside 0 to 9007199254740991",
		"parts":   "it broke the protocol: part.offset is 7, 0 bytes went before",
		"claims":  "it ended a connection without a final signal", // with most of a document still owed
	} {
		p, _ := startT(t, rogueCommand("serves", what), standard, time.Now)
		if err := p.Open(context.Background(), transport.Attempt{}, &recorder{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", what, err, want)
		}
	}
	p, _ := startT(t, rogueCommand("serves", "endless"), standard, time.Now)
	got := &recorder{}
	if err := p.Open(context.Background(), transport.Attempt{}, got); err == nil || !strings.Contains(err.Error(), "part.data goes beyond the 1000000 bytes of its document") || got.all() != "" {
		t.Errorf("parts without an end: %v, %s", err, got.all())
	}
	p, log := startT(t, rogueCommand("serves", "deaf"), standard, time.Now)
	got = &recorder{}
	if err := p.Open(context.Background(), transport.Attempt{}, got); err != nil || got.all() != "ended plugin-crashed" {
		t.Errorf("a plugin that cuts its connection: %s, %v", got.all(), err)
	}
	if log.kinds() != "started exited(signal: killed)" || !strings.Contains(got.last.Detail, "it broke its connection") {
		t.Errorf("%s: %s", log.kinds(), got.last.Detail)
	}
}

func TestCloseWhileStarting(t *testing.T) {
	leakCheck(t)
	// The second start hangs: the script plugin is replaced by one that never speaks.
	p, _ := startT(t, mustSelf("script"), standard, time.Now)
	s, got := newServer(t), &recorder{}
	wait(t, "end", s.talk(p, s.attempt(1), got, "exit 1"))
	file := filepath.Join(t.TempDir(), "pid")
	p.command.Args = []string{"rogue", "sleeps", file}
	done := make(chan error, 1)
	go func() { done <- p.Open(context.Background(), s.attempt(2), got) }()
	eventually(t, "second start", func() bool { return fileExists(file) })
	p.Close()
	if err := wait(t, "end", done); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want %v", err, ErrClosed)
	}
}
