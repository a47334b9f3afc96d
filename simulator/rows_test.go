package simulator

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"testing"
)

// TestRowsDigest: the digest as the documentation says it, computed the long way, and pinned: it is a public format.
func TestRowsDigest(t *testing.T) {
	r := NewRows("incidents")
	if got := r.Digest(); got != "533bf2342a20b16cd839804e131a794f" || got != long(nil) {
		t.Errorf("empty: %s", got)
	}
	apply(t, r, `{"type":"snapshot","sequence":5,"features":[{"id":"1","version":2,"feature":{"b":1.0,"a":"x\u000ay"}},{"id":2,"sourceId":"other","version":1,"feature":{}}]}`)
	rows := []string{"incidents:1\n2\n" + `{"a":"x\u000ay","b":1}`, "other:2\n1\n{}"}
	if got, want := r.Digest(), long(rows); got != want {
		t.Errorf("digest %s, the long way %s", got, want)
	}
	if got := r.Digest(); got != "5fda7e2a48cadeea6a8564a46ad40bca" {
		t.Errorf("digest %s is not the pinned one (computed in another language)", got)
	}
}

// long adds the rows up as big numbers.
func long(rows []string) string {
	sum := new(big.Int)
	for _, row := range rows {
		h := sha256.Sum256([]byte("conform-row:v1\n" + row))
		sum.Add(sum, new(big.Int).SetBytes(h[:]))
	}
	sum.Mod(sum, new(big.Int).Lsh(big.NewInt(1), 256))
	h := sha256.Sum256(fmt.Appendf(nil, "conform-rows:v1\n%d\n%064x", len(rows), sum))
	return hex.EncodeToString(h[:])[:32]
}

func apply(t *testing.T, r *Rows, doc string) {
	t.Helper()
	if err := r.Apply([]byte(doc)); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
}

// TestRows: the reducer's rules (facts 7.7, D-40). Each line is applied to rows 1 and 2; want are the digests' rows.
func TestRows(t *testing.T) {
	const one, two = "s:1\n1\n{}", "s:2\n1\n{}"
	for _, c := range []struct {
		doc  string
		want []string
	}{
		{`{"type":"snapshot","features":[{"id":"3","version":1,"feature":{}}]}`, []string{"s:3\n1\n{}"}},
		{`{"type":"snapshot","replace":true,"features":[]}`, nil},
		{`{"type":"snapshot","replace":false,"features":[{"id":"3","version":1,"feature":{}}]}`, []string{one, two, "s:3\n1\n{}"}},
		{`{"type":"upsert","feature":{"id":"1","version":2,"feature":{"a":null}}}`, []string{"s:1\n2\n{\"a\":null}", two}},
		{`{"type":"upsert","feature":{"id":1,"version":2,"feature":{}}}`, []string{"s:1\n2\n{}", two}},
		{`{"type":"upsert","feature":{"id":"1","sourceId":"z","version":2,"feature":{}}}`, []string{one, two, "z:1\n2\n{}"}},
		{`{"type":"delete","id":"2"}`, []string{one}},
		{`{"type":"delete","id":"9"}`, []string{one, two}},
		{`{"type":"delta","upserts":[{"id":"3","version":7,"feature":{}}],"deletes":[{"id":"1"},{"id":2}]}`, []string{"s:3\n7\n{}"}},
		{`{"type":"delta"}`, []string{one, two}},
		{`{"event":{"type":"delete","id":"2"}}`, []string{one}},
		{`{"kind":"delete","id":"2"}`, []string{one}},
	} {
		r := NewRows("s")
		apply(t, r, `{"type":"upsert","feature":{"id":"1","sourceId":"x","version":1,"feature":{}}}`)
		apply(t, r, `{"type":"snapshot","features":[{"id":"1","version":1,"feature":{}},{"id":"2","version":1,"feature":{}}]}`)
		apply(t, r, c.doc)
		// Writing a row again that is gone, and taking it away, must count it once.
		apply(t, r, `{"type":"upsert","feature":{"id":"1","sourceId":"x","version":1,"feature":{}}}`)
		apply(t, r, `{"type":"delete","id":"1","sourceId":"x"}`)
		if got := r.Digest(); got != long(c.want) || r.Len() != len(c.want) {
			t.Errorf("%s: %d rows, digest %s, want that of %q", c.doc, r.Len(), got, c.want)
		}
	}
}

// TestRowsRefuse: what carries no rows is an error and changes nothing.
func TestRowsRefuse(t *testing.T) {
	r := NewRows("s")
	apply(t, r, `{"type":"upsert","feature":{"id":"1","version":1,"feature":{}}}`)
	before := r.Digest()
	for _, doc := range []string{``, `{`, `[]`, `null`, `{}`, `{"type":"heartbeat"}`, `{"type":"status","status":"live"}`, `{"type":"upsert"}`,
		`{"type":"upsert","feature":{"id":null}}`, `{"type":"upsert","feature":{"id":{}}}`, `{"type":"delete"}`, `{"type":"delete","id":true}`,
		`{"type":"snapshot","features":[{"id":"2"},{}]}`, `{"type":"delta","deletes":[{"id":"1"},{"id":[]}]}`} {
		if err := r.Apply([]byte(doc)); err == nil {
			t.Errorf("%s was applied", doc)
		}
		if r.Digest() != before {
			t.Fatalf("%s changed the rows", doc)
		}
	}
}

// TestCanonical: one value, one text; different values, different texts.
func TestCanonical(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"b":1,"a":[true,false,null]}`, `{"a":[true,false,null],"b":1}`},
		{` { "a" : "\u0041\n\"\\é\u2028" } `, `{"a":"A\u000a\"\\é` + "\u2028" + `"}`},
		{`{"a":1,"a":2}`, `{"a":2}`},
		{`[0,-0,0.0,0e9]`, `[0,0,0,0]`},
		{`[10,10.0,1e1,0.1e2,100e-1]`, `[1e1,1e1,1e1,1e1,1e1]`},
		{`[1.50,-0.015,9007199254740993,1e400]`, `[15e-1,-15e-3,9007199254740993,1e400]`},
		{`1e99999999999`, `1e99999999999`},
		{`not json`, `not json`},
		{`{} {}`, `{} {}`},
	} {
		if got := string(Canonical([]byte(c.in))); got != c.want {
			t.Errorf("%s: %s, want %s", c.in, got, c.want)
		}
		if got := string(Canonical([]byte(c.want))); got != c.want {
			t.Errorf("%s is not its own canonical form: %s", c.want, got)
		}
	}
}
