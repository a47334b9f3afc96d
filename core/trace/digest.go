package trace

import (
	"crypto/sha256"
	"encoding/hex"
)

// digestLen is how many hex digits of the hash a trace keeps: 64 bits tell the few thousand values of one trace apart
// and keep a line readable.
const digestLen = 16

// Digest stands in for a raw position in traces: equal values of one field have equal digests, and the value cannot be
// read back. An empty value stays empty: absence is not a secret. field is cursor, watermark, timestamp or deltaToken,
// or a name of the caller's (rows, env).
func Digest(field, raw string) string {
	if raw == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("conform-trace:v1:" + field + ":" + raw))
	return hex.EncodeToString(sum[:])[:digestLen]
}
