package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// The domains of the contract's digests (facts 3.6): each input begins with its own, so that a digest made for one purpose
// is never equal to one made for another.
const (
	redactionDomain = "honua-realtime-checkpoint-redaction:v1:"
	scopeDomain     = "honua-realtime-checkpoint-scope-digest:v1:"
	keyDomain       = "honua-realtime-checkpoint-scope:v1:"
	digestPrefix    = "sha256:"
)

// PlaceholderKey stands in diagnostics for a scope whose key could not be made.
var PlaceholderKey = digestPrefix + strings.Repeat("0", 2*sha256.Size)

// digest is `sha256:` and the lower-case SHA-256 of text's UTF-8 bytes.
func digest(text string) string {
	sum := sha256.Sum256([]byte(toUTF8(text)))
	return digestPrefix + hex.EncodeToString(sum[:])
}

// isDigest says whether s is written like a digest.
func isDigest(s string) bool {
	text, ok := strings.CutPrefix(s, digestPrefix)
	return ok && len(text) == 2*sha256.Size && strings.Trim(text, "0123456789abcdef") == ""
}

// ScopeDigest is what a store keeps of an authorization scope fingerprint.
func ScopeDigest(fingerprint string) string { return digest(scopeDomain + fingerprint) }

// ScopeKey is the key of a context's record: a digest over authorization scope, source and query. Source and schema
// version are outside it on purpose, so that a newer version replaces the record of the older one (facts 4.1). It fails
// for a context that does not validate.
func ScopeKey(ctx Context) (string, error) {
	ctx, err := ctx.Validate()
	if err != nil {
		return "", err
	}
	return scopeKey(ScopeDigest(ctx.AuthorizationScopeFingerprint), ctx.QueryFingerprint, ctx.SourceID)
}

func scopeKey(scopeDigest, query, source string) (string, error) {
	text, err := appendValue(nil, members{
		{"authorizationScopeDigest", scopeDigest},
		{"queryFingerprint", query},
		{"sourceId", source},
	})
	if err != nil {
		return "", err
	}
	return digest(keyDomain + string(text)), nil
}

// RedactPosition is the digest that stands for a position in everything that is shown. field is cursor, watermark or
// deltaToken: equal texts in different fields have different digests.
func RedactPosition(field, raw string) string { return digest(redactionDomain + field + ":" + raw) }

// CanonicalDigest is the digest of a document's canonical form: equal for documents that differ in white space, member
// order and spelling only. It fails where Canonical does.
func CanonicalDigest(doc []byte) (string, error) {
	text, err := Canonical(doc)
	if err != nil {
		return "", err
	}
	return digest(string(text)), nil
}
