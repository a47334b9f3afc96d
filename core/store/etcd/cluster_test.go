//go:build unix

package etcd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
	"github.com/conform-dev/conform/internal/testcert"
)

const passwordCanary = "canary-password-19c4"

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// everyWord is an error's text and that of all its causes, with their fields.
func everyWord(err error) string {
	if err == nil {
		return ""
	}
	out := fmt.Sprintf("%v %+v %#v\n", err, err, err)
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		out += everyWord(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, c := range e.Unwrap() {
			out += everyWord(c)
		}
	}
	return out
}

// TestOpenRefuses: settings out of range and what does not fit together are refused by name, before anything is sent, and no
// error repeats what may be a secret.
func TestOpenRefuses(t *testing.T) {
	here := []string{"http://127.0.0.1:1"}
	secure := []string{"https://127.0.0.1:1"}
	password, empty := file(t, "password", passwordCanary+"\n"), file(t, "empty", "\n")
	long := file(t, "long", strings.Repeat(passwordCanary, 1+MaxCredentialFile/len(passwordCanary)))
	exact := file(t, "exact", strings.Repeat("x", MaxCredentialFile))
	for want, c := range map[string]struct {
		cluster Cluster
		opt     Options
	}{
		"endpoints must be 1 to 32, got 0":      {Cluster{}, Options{}},
		"endpoints must be 1 to 32, got 33":     {Cluster{Endpoints: make([]string, 33)}, Options{}},
		"endpoint 2 is no URL of scheme":        {Cluster{Endpoints: []string{here[0], "http://u:" + passwordCanary + "@h:1"}}, Options{}},
		"endpoint 1 is no URL of scheme":        {Cluster{Endpoints: []string{"http://h:1?token=" + passwordCanary}}, Options{}},
		"endpoint 1 must begin with https://":   {Cluster{Endpoints: []string{"localhost:2379"}}, Options{}},
		"endpoints with TLS and without":        {Cluster{Endpoints: append(here[:1:1], secure...)}, Options{}},
		"certificates are given, and endpoint":  {Cluster{Endpoints: here, CAFile: "x"}, Options{}},
		"certFile and keyFile go together":      {Cluster{Endpoints: secure, CertFile: "x"}, Options{}},
		"user and passwordFile go together":     {Cluster{Endpoints: secure, User: "u"}, Options{}},
		"a password is not sent to another":     {Cluster{Endpoints: []string{"http://10.0.0.1:2379"}, User: "u", PasswordFile: password}, Options{}},
		"passwordFile " + empty + " is empty":   {Cluster{Endpoints: here, User: "u", PasswordFile: empty}, Options{}},
		"cannot exceed 65536 bytes":             {Cluster{Endpoints: here, User: "u", PasswordFile: long}, Options{}},
		"caFile " + password + " holds no PEM":  {Cluster{Endpoints: secure, CAFile: password}, Options{}},
		"caFile " + exact + " holds no PEM":     {Cluster{Endpoints: secure, CAFile: exact}, Options{}},
		"are no PEM certificate and its key":    {Cluster{Endpoints: secure, CertFile: password, KeyFile: password}, Options{}},
		"caFile: open ":                         {Cluster{Endpoints: secure, CAFile: filepath.Join(t.TempDir(), "nowhere")}, Options{}},
		"prefix cannot exceed 256 bytes":        {Cluster{Endpoints: here}, Options{Prefix: strings.Repeat("p", 257)}},
		"prefix must not begin or end":          {Cluster{Endpoints: here}, Options{Prefix: "p/"}},
		"timeout cannot exceed 1m0s, got 1m1s":  {Cluster{Endpoints: here}, Options{Timeout: time.Minute + time.Second}},
		"timeout must be above zero, got -1s":   {Cluster{Endpoints: here}, Options{Timeout: -time.Second}},
		"http://127.0.0.1:1: etcd: read: no an": {Cluster{Endpoints: here}, Options{Timeout: 200 * time.Millisecond}},
	} {
		s, err := Open(t.Context(), c.cluster, store.Config{}, c.opt)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(everyWord(err), "canary") || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %s", err, want)
		}
		if s != nil {
			t.Errorf("%s: a store beside an error", want)
		}
	}
	var r *event.ResumeError
	if _, err := Open(t.Context(), Cluster{Endpoints: here}, store.Config{MaxRecords: 513}, Options{}); !errors.As(err, &r) || r.Reason != event.InvalidCheckpoint {
		t.Errorf("got %v", err)
	}
	if _, err := Over(nil, store.Config{}, Options{}); err == nil {
		t.Error("a store over no client")
	}
	if _, err := Over(new(clientv3.Client), store.Config{}, Options{Prefix: "/p"}); err == nil {
		t.Error("a prefix that begins with a slash")
	}
}

// guarded is one member with TLS, certificates of clients, and users.
type guarded struct {
	Cluster // of the user whose rights are those that Options.Prefix asks for
	root    *clientv3.Client
	opt     Options
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	ca := testcert.New(t, "etcd")
	server, client := ca.Issue(t, "127.0.0.1"), ca.Issue(t, "somebody")
	dir, err := os.MkdirTemp("", "cetcd")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"ca": ca.PEM, "cert": server.Certificate, "key": server.Key, "client-cert": client.Certificate, "client-key": client.Key} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := startIn(dir, 1, "nosync,tls")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.end(); err != nil {
			t.Error(err)
		}
	})
	var address []byte
	wait(t, "address of the member", func() bool {
		address, err = os.ReadFile(filepath.Join(dir, "address"))
		return err == nil
	})
	g := &guarded{opt: Options{Prefix: "guarded/records", Timeout: 20 * time.Second}, Cluster: Cluster{
		Endpoints: []string{"https://" + string(address)}, CAFile: filepath.Join(dir, "ca"), CertFile: filepath.Join(dir, "client-cert"), KeyFile: filepath.Join(dir, "client-key"),
	}}
	if g.root, err = g.connect(t.Context(), readyTime); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.root.Close() })
	_, err = g.root.UserAdd(t.Context(), "root", "root-of-the-test")
	for _, step := range []func() error{
		func() error { _, err := g.root.UserGrantRole(t.Context(), "root", "root"); return err },
		func() error { _, err := g.root.RoleAdd(t.Context(), "relays"); return err },
		func() error {
			from := g.opt.Prefix + "/"
			_, err := g.root.RoleGrantPermission(t.Context(), "relays", from, clientv3.GetPrefixRangeEnd(from), clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
		func() error { _, err := g.root.UserAdd(t.Context(), "relay", passwordCanary); return err },
		func() error { _, err := g.root.UserGrantRole(t.Context(), "relay", "relays"); return err },
		func() error { _, err := g.root.AuthEnable(t.Context()); return err },
	} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	g.User, g.PasswordFile = "relay", file(t, "password", passwordCanary+"\n")
	return g
}

// TestCredentials: a password and a client's key come from files, and the right to one prefix is enough for every call. With
// a wrong password, no password, no certificate, another authority or no right, the error is one line that says so and
// holds no secret, and so does every diagnostic.
func TestCredentials(t *testing.T) {
	g := newGuarded(t)
	s, err := Open(t.Context(), g.Cluster, store.Config{OnDiagnostic: func(d store.Diagnostic) { t.Errorf("%v: %v", d.Reason, d.Err.Cause) }, MaxRecords: 1}, g.opt)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	other := at(7)
	other.Context.SourceID = "evicted"
	for _, c := range []checkpoint.Checkpoint{other, at(41), at(42)} {
		if err := s.Save(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if a := s.Load(t.Context(), storetest.Scope()); a.Checkpoint.Resume.Seq != 42 {
		t.Errorf("%+v", a)
	}
	if recs, err := s.Records(t.Context()); err != nil || len(recs) != 1 {
		t.Errorf("%d records, %v", len(recs), err)
	}
	if err := s.Forget(t.Context(), storetest.Scope()); err != nil {
		t.Error(err)
	}
	if err := s.Clear(t.Context()); err != nil {
		t.Error(err)
	}

	key, err := os.ReadFile(g.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	secret := string(bytes.Split(key, []byte("\n"))[1]) // the first line of the key itself
	for name, c := range map[string]struct {
		change func(*Cluster, *Options)
		want   string
	}{
		"wrong password":    {func(c *Cluster, _ *Options) { c.PasswordFile = file(t, "wrong", passwordCanary+"x") }, "authentication failed"},
		"no password":       {func(c *Cluster, _ *Options) { c.User, c.PasswordFile = "", "" }, "etcdserver: "},
		"no certificate":    {func(c *Cluster, _ *Options) { c.CertFile, c.KeyFile = "", "" }, "are the certificates right?"},
		"another authority": {func(c *Cluster, _ *Options) { c.CAFile = file(t, "ca", testcert.New(t, "another").PEM) }, "are the certificates right?"},
		"another prefix":    {func(_ *Cluster, o *Options) { o.Prefix = "guarded/others" }, "permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			where, opt := g.Cluster, g.opt
			opt.Timeout = time.Second
			c.change(&where, &opt)
			s, err := Open(t.Context(), where, store.Config{}, opt)
			if err == nil {
				_ = s.Close()
				t.Fatal("opened")
			}
			all := everyWord(err)
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), where.Endpoints[0]) || strings.Contains(err.Error(), "\n") || strings.Contains(all, "canary") || strings.Contains(all, secret) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}

	// A right that is taken away later is a diagnostic of each save.
	var heard []store.Diagnostic
	late, err := Open(t.Context(), g.Cluster, store.Config{OnDiagnostic: func(d store.Diagnostic) { heard = append(heard, d) }}, g.opt)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	config, err := g.tls()
	if err != nil {
		t.Fatal(err)
	}
	root, err := clientv3.New(clientv3.Config{Endpoints: g.Endpoints, TLS: config, Username: "root", Password: "root-of-the-test", Logger: g.root.GetLogger()})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := root.UserRevokeRole(t.Context(), "relay", "relays"); err != nil {
		t.Fatal(err)
	}
	if err := late.Save(t.Context(), at(43)); err != nil || len(heard) != 1 || heard[0].Reason != store.StorageFailed || !strings.Contains(heard[0].Err.Cause.Error(), "permission denied") || strings.Contains(everyWord(heard[0].Err), "canary") {
		t.Errorf("%v, heard %+v", err, heard)
	}
}
