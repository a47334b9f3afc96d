package transport

import "log/slog"

// Secret is a string that must not be shown. Every way of printing it gives [REDACTED]; Reveal is the one way to the
// bytes, and only the code that writes the request header calls it.
type Secret string

const redacted = "[REDACTED]"

// Reveal is the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String hides the secret.
func (s Secret) String() string { return redacted }

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return redacted }

// MarshalText hides the secret from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue hides the secret from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
