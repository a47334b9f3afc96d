package store

import (
	"fmt"
	"testing"

	"github.com/conform-dev/conform/core/checkpoint"
)

// TestScopesBounded: what is remembered stays within the most records of a store, and is that of the context asked for.
func TestScopesBounded(t *testing.T) {
	var s scopes
	for round := range 2 {
		for n := range CeilingMaxRecords + 10 {
			ctx := checkpoint.Context{SourceID: fmt.Sprint("s-", n), QueryFingerprint: "q", SourceVersion: "v", SchemaVersion: "s", AuthorizationScopeFingerprint: "a"}
			scope, err := s.bind(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if want, err := checkpoint.ScopeKey(ctx); err != nil || scope.Key() != want {
				t.Fatalf("round %d, scope %d: key %s, want %s (%v)", round, n, scope.Key(), want, err)
			}
			if len(s.of) > CeilingMaxRecords {
				t.Fatalf("%d remembered", len(s.of))
			}
		}
	}
	if _, err := s.bind(checkpoint.Context{}); err == nil {
		t.Error("a context that is not valid is bound")
	}
}
