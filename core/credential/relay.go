package credential

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"

	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/transport"
)

// Relay is what a fleet-wake relay may present. The zero value may present nothing.
type Relay struct {
	// Behind a pointer, since what prints a struct goes past the methods of members that are not exported.
	secrets *secrets
	problem string
	notes   []string
}

type secrets struct{ stream, poll transport.Secret }

func (r Relay) held() secrets {
	if r.secrets == nil {
		return secrets{}
	}
	return *r.secrets
}

// AliasError says that one secret stands in two classes (D-56). A relay must not start.
type AliasError struct{ Leaf, Other string }

// Error names both leaves.
func (e *AliasError) Error() string {
	what := "the plane-MCP bearer"
	if e.Other == LeafAdmissionTokenFile {
		what = "the bootstrap/healthcheck admission token"
	}
	return fmt.Sprintf("%s holds the same secret as %s, %s; the credential-class ledger forbids one secret in two classes: mint another one", e.Leaf, e.Other, what)
}

// Resolve reads the sources and the secret files they name. It fails for a flag that holds no reference (*FlagError), for a
// configuration file that cannot be read, and for a secret that is also that of another class (*AliasError). That nothing is declared, or
// that a declared file cannot be used, is no error: see Relay.Declared.
func Resolve(s Sources) (Relay, error) {
	leaves, err := s.leaves()
	if err != nil {
		return Relay{}, err
	}
	one, three, boot := resolve(admission, leaves), resolve(plane, leaves), resolve(bootstrap, leaves)
	for _, pair := range [][2]held{{one, three}, {one, boot}, {three, boot}} {
		if same(pair[0].value, pair[1].value) {
			return Relay{}, &AliasError{pair[0].leaf, pair[1].leaf}
		}
	}
	r := Relay{secrets: &secrets{one.value, three.value}, problem: one.problem}
	for _, other := range []held{three, boot} {
		if other.problem != "" {
			r.notes = append(r.notes, other.problem+"; nothing was compared with it")
		}
	}
	return r, nil
}

// same compares two secrets that are there, in a time that says nothing about them.
func same(a, b transport.Secret) bool {
	if a == "" || b == "" {
		return false
	}
	x, y := sha256.Sum256([]byte(a.Reveal())), sha256.Sum256([]byte(b.Reveal()))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// Declared says whether there is a class-1 credential. Without one no consumer is built, and Reason says so.
func (r Relay) Declared() bool { return r.held().stream != "" }

// Reason is why there is no consumer: fleet facts 6, row 7, with the names of the leaves, and behind it what is wrong with a home that was
// declared. Empty if there is a credential.
func (r Relay) Reason() string {
	if r.Declared() {
		return ""
	}
	return session.Undeclared(r.problem).Reason
}

// Notes say which homes of the other classes were declared and cannot be used, so that nothing could be compared with them.
func (r Relay) Notes() []string { return r.notes }

// Credential is the stream's one header: class 1. The zero value if nothing is declared.
func (r Relay) Credential() transport.Credential {
	if !r.Declared() {
		return transport.Credential{}
	}
	return transport.Credential{Header: "Authorization", Value: "Bearer " + r.held().stream}
}

// Headers is what else the transport gets: class 3 for its catch-up poll, as transport.PollCredential. None if that is not declared.
func (r Relay) Headers() []transport.ExtraHeader {
	if r.held().poll == "" {
		return nil
	}
	return []transport.ExtraHeader{{Name: transport.PollCredential, Value: "Bearer " + r.held().poll}}
}

// CredentialSource is Credential for subscription.WithCredentials: the same one each time, since secrets are read once.
func (r Relay) CredentialSource() func(context.Context, bool) (transport.Credential, string, error) {
	return func(context.Context, bool) (transport.Credential, string, error) { return r.Credential(), "", nil }
}

// HeaderSource is Headers for subscription.WithHeaders.
func (r Relay) HeaderSource() func(context.Context) ([]transport.ExtraHeader, error) {
	return func(context.Context) ([]transport.ExtraHeader, error) { return r.Headers(), nil }
}
