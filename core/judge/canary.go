package judge

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/conform-dev/conform/core/trace"
)

// MinSecret is the shortest text that counts as a secret: a shorter one is found by chance in numbers and words.
const MinSecret = 6

// Forms are the shapes in which a secret is looked for: as it is, percent-encoded, in hex, and in base64 (the part of it
// that does not depend on what stands behind).
func Forms(secret string) []string {
	if len(secret) < MinSecret {
		return nil
	}
	out := []string{secret}
	if q := url.QueryEscape(secret); q != secret {
		out = append(out, q)
	}
	whole := secret[:len(secret)/3*3]
	return append(out, hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(whole)), base64.RawURLEncoding.EncodeToString([]byte(whole)))
}

// Masked stands in for a planted secret in everything that is shown or written. A judge that reads a trace in which secrets
// were masked that way still finds each place where one stood.
const Masked = "[CANARY]"

// Canaries are the secrets that a trace's set-up planted, by argument.
func Canaries(records []trace.Record) map[string]string {
	out := map[string]string{}
	for name, value := range setupArgs(records) {
		if strings.HasPrefix(name, argCanary) && len(value) >= MinSecret {
			out[name] = value
		}
	}
	return out
}

// masker replaces every form of every planted secret.
func masker(records []trace.Record) *strings.Replacer {
	var pairs []string
	planted := Canaries(records)
	for _, name := range slices.Sorted(maps.Keys(planted)) {
		for _, form := range Forms(planted[name]) {
			pairs = append(pairs, form, Masked)
		}
	}
	return strings.NewReplacer(pairs...)
}

// leaks finds planted secrets in any text of any record, other than the argument that planted them (law 7). The finding
// names the record and the member, never the secret.
func leaks(records []trace.Record) []Finding {
	type plant struct{ form, name string }
	var planted []plant
	secrets := Canaries(records)
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		for _, form := range Forms(secrets[name]) {
			planted = append(planted, plant{form, name})
		}
	}
	if len(planted) == 0 {
		return nil
	}
	var out []Finding
	for i := range records {
		members := texts(&records[i])
		for _, member := range slices.Sorted(maps.Keys(members)) {
			k := slices.IndexFunc(planted, func(p plant) bool { return strings.Contains(members[member], p.form) })
			if k >= 0 {
				out = append(out, Finding{Check: Canary, Expected: "the planted secret " + planted[k].name + " nowhere",
					Seen: fmt.Sprintf("it stands in member %s of record %d", member, i+1), Record: i + 1})
			}
		}
	}
	return out
}

// texts are all texts of a record by member, without the planted secrets themselves.
func texts(r *trace.Record) map[string]string {
	out := map[string]string{"type": r.Type, "id": r.ID, "cursor": r.Cursor, "watermark": r.Watermark, "timestamp": r.Timestamp,
		"deltaToken": r.DeltaToken, "status": r.Status, "reason": r.Reason, "detail": r.Detail, "phase": r.Phase}
	for k, v := range r.Args {
		if r.Kind == trace.StageSetup && strings.HasPrefix(k, argCanary) {
			continue
		}
		out["argument "+k] = k + "=" + v
	}
	return out
}
