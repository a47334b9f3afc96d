//go:build linux

package host

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/transport"
)

// What an attempt brings along is hidden as its credential is.
func TestAccessIsRedacted(t *testing.T) {
	const (
		first  = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgcanarycanary0001"
		second = "oAoGCCqGSM49AwEHoUQDQgAEcanarycanary0002"
		key    = "-----BEGIN PRIVATE KEY-----\n" + first + "\n" + second + "\n-----END PRIVATE KEY-----\n"
	)
	r := &redactor{}
	r.learn(transport.Attempt{
		Headers: []transport.ExtraHeader{{Name: "X-Key", Value: "canary-0123456789"}, {Name: "X-Tenant", Value: "t%nant"}},
		TLS:     transport.TLS{CA: "the CA", Certificate: "the certificate", Key: key},
		Proxy:   "http://user:hunter2secret@proxy.test:3128",
	})
	for in, want := range map[string]string{
		"key canary-0123456789!":    "key " + hidden + "!",
		"tenant t%25nant":           "tenant " + hidden,
		"pw hunter2secret":          "pw " + hidden,
		first:                       hidden,
		"joined " + first + second:  "joined " + hidden + hidden,
		"the last line " + second:   "the last line " + hidden,
		"-----BEGIN PRIVATE KEY---": "-----BEGIN PRIVATE KEY---",
		"the CA the certificate":    "the CA the certificate",
		"proxy.test:3128":           "proxy.test:3128",
		"Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("user:hunter2secret")): "Proxy-Authorization: Basic " + hidden,
	} {
		if got := r.text(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// The most that two attempts may bring along is remembered at once: an older connection may still be printing.
func TestTwoAttemptsAreRemembered(t *testing.T) {
	r := &redactor{}
	for n := range 2 {
		a := transport.Attempt{
			Endpoint: fmt.Sprintf("https://u:endpoint-%d-password@x.test", n), Proxy: transport.Secret(fmt.Sprintf("http://u:proxy-%d-password@x.test", n)),
			Credential: transport.Credential{Header: "A", Value: transport.Secret(fmt.Sprintf("credential-%d-value", n))},
			TLS:        transport.TLS{Key: transport.Secret(fmt.Sprintf("key-%d-value", n))},
		}
		for i := range transport.MaxHeaders + 5 { // the rest is refused, and must not push others out
			a.Headers = append(a.Headers, transport.ExtraHeader{Name: "X", Value: transport.Secret(fmt.Sprintf("header-%d-%d-value", n, i))})
		}
		r.learn(a)
	}
	for _, secret := range []string{"credential-0-value", "header-0-0-value", "header-0-23-value", "key-0-value", "endpoint-0-password", "proxy-0-password", "header-1-23-value", "proxy-1-password"} {
		if got := r.text(secret); got != hidden {
			t.Errorf("%q is shown as %q", secret, got)
		}
	}
}

// D-62: the host refuses what the plugin did not say that it takes, before it is asked for a connection.
func TestPluginDoesNotTake(t *testing.T) {
	p, _ := startT(t, mustSelf("script"), standard, time.Now)
	for want, a := range map[string]transport.Attempt{
		`plugin "script": transport test does not take headers`: {Headers: []transport.ExtraHeader{{Name: "X", Value: "canary"}}},
		`plugin "script": transport test does not take tls`:     {TLS: transport.TLS{ServerName: "canary"}},
		`plugin "script": transport test does not take proxy`:   {Proxy: "http://canary"},
	} {
		got := &recorder{}
		if err := p.Open(context.Background(), a, got); err == nil || err.Error() != want || strings.Contains(err.Error(), "canary") || got.all() != "" {
			t.Errorf("got %v, %s; want %s", err, got.all(), want)
		}
	}
}
