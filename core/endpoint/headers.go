package endpoint

import (
	"context"
	"fmt"

	"github.com/conform-dev/conform/core/transport"
)

// Headers reads references to extra headers, each NAME=env:VARIABLE or NAME=file:PATH. What it returns reads the values anew
// at each call, so that a file may be rotated; it is made for subscription.WithHeaders. Headers itself reads them once, and
// fails for a reference that is none, for a value that is missing, empty or cannot be sent, and for a header that
// transport.CheckHeaders refuses.
func Headers(references ...string) (func(context.Context) ([]transport.ExtraHeader, error), error) {
	if len(references) > transport.MaxHeaders {
		return nil, fmt.Errorf("headers: %d of them, the limit is %d", len(references), transport.MaxHeaders)
	}
	refs := make([]reference, len(references))
	for i, text := range references {
		var err error
		if refs[i], err = parse(text); err != nil {
			return nil, fmt.Errorf("headers: reference %d %w", i+1, err)
		}
	}
	source := func(context.Context) ([]transport.ExtraHeader, error) {
		out := make([]transport.ExtraHeader, len(refs))
		for i, r := range refs {
			value, err := r.read()
			if err != nil {
				return nil, fmt.Errorf("headers: %w", err)
			}
			out[i] = transport.ExtraHeader{Name: r.name, Value: value}
		}
		return out, nil
	}
	headers, err := source(context.Background())
	if err == nil {
		err = transport.CheckHeaders(headers, transport.Credential{})
	}
	if err != nil {
		return nil, err
	}
	return source, nil
}

// Credential reads a reference to the credential, in the same form: Authorization=file:PATH. What it returns is made for
// subscription.WithCredentials: it reads the value anew before each connection, so that after a 401 a rotated one is found,
// and says nothing about the scope. Credential itself reads the value once and fails as Headers does.
func Credential(text string) (func(ctx context.Context, renew bool) (transport.Credential, string, error), error) {
	ref, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("credential: the reference %w", err)
	}
	if why, fit := transport.Reserved(ref.name); why != "" && !fit {
		return nil, fmt.Errorf("credential: %s %s", ref.name, why)
	}
	source := func(context.Context, bool) (transport.Credential, string, error) {
		value, err := ref.read()
		if err != nil {
			return transport.Credential{}, "", fmt.Errorf("credential: %w", err)
		}
		return transport.Credential{Header: ref.name, Value: value}, "", nil
	}
	if _, _, err := source(context.Background(), false); err != nil {
		return nil, err
	}
	return source, nil
}
