package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
)

// Kept opens shipped stores for the suite.
type Kept struct {
	// Open gives an empty store with this configuration, or the error of its constructor.
	Open func(t *testing.T, cfg store.Config) (store.Store, error)
	// Plant puts a document under a key, below all rules.
	Plant func(t *testing.T, s store.Store, key string, doc []byte)
	// Dump gives the documents that are kept, in any order.
	Dump func(t *testing.T, s store.Store) [][]byte
}

// bench is one shipped store under test, with a clock of the test's own.
type bench struct {
	Kept
	store.Store
	now   int64
	heard []store.Diagnostic
}

func (k Kept) bench(t *testing.T, cfg store.Config) *bench {
	t.Helper()
	b := &bench{Kept: k, now: 1_000_000}
	cfg.Now = func() int64 { return b.now }
	cfg.OnDiagnostic = func(d store.Diagnostic) { b.heard = append(b.heard, d) }
	s, err := k.Open(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.Store = s
	return b
}

// wantHeard checks that exactly this one diagnostic was reported since the last check, and that its JSON form is the
// contract's.
func (b *bench) wantHeard(t *testing.T, op store.Operation, trouble store.Trouble, code event.Reason) store.Diagnostic {
	t.Helper()
	heard := b.heard
	b.heard = nil
	if len(heard) != 1 || heard[0].Operation != op || heard[0].Reason != trouble || heard[0].Err.Reason != code {
		t.Fatalf("heard %+v, want one %s/%s with code %v", heard, op, trouble, code)
	}
	return heard[0]
}

// Shipped checks what the shipped stores promise beyond Run: facts 4.1 to 4.5 with the decisions D-23, D-24 and D-26.
func Shipped(t *testing.T, k Kept) {
	t.Run("ref:STO-03 ten members, canonical, nothing else", k.closedSet)
	t.Run("ref:STO-07 a tampered scope digest is discarded", k.tampered)
	t.Run("ref:STO-08 P-CK-02 P-CK-03 age", k.age)
	t.Run("ref:STO-09 ref:STO-10 P-CK-04 corrupt and foreign records", k.corrupt)
	t.Run("P-CK-01 a record planted under the right key", k.planted)
	t.Run("ref:STO-12 P-CK-08 the least recently written goes first", k.evicts)
	t.Run("ref:STO-13 ceilings", k.ceilings)
	t.Run("ref:STO-16 an invalid checkpoint is not written", k.invalid)
	t.Run("P-CK-01 each bound identity, one at a time", k.identities)
	t.Run("D-26 a load judges in the contract's order", k.order)
	t.Run("D-21 what the screen refuses is not kept, nor the record before it", k.screened)
	t.Run("P-CK-05 links and secrets are refused, never rewritten", k.refusals)
	t.Run("nothing stored appears in a diagnostic or an error", k.canaries)
	t.Run("records are listed and cleared", k.records)
	t.Run("D-24 a panic of the caller's is contained", k.contained)
}

func (k Kept) closedSet(t *testing.T) {
	b := k.bench(t, store.Config{})
	c := At(41, b.now-5)
	c.RecentIDs = []string{"canary-id"}
	save(t, b, c)
	docs := k.Dump(t, b.Store)
	if len(docs) != 1 {
		t.Fatalf("%d documents", len(docs))
	}
	if canonical, err := checkpoint.Canonical(docs[0]); err != nil || string(canonical) != string(docs[0]) {
		t.Errorf("not canonical: %s, %v", docs[0], err)
	}
	var members map[string]any
	if err := json.Unmarshal(docs[0], &members); err != nil || len(members) != 10 {
		t.Errorf("%d members, %v", len(members), err)
	}
	for _, never := range []string{"scope-a", "canary-id", "recentEventIds"} {
		if strings.Contains(string(docs[0]), never) {
			t.Errorf("%q is stored: %s", never, docs[0])
		}
	}
	a := b.Load(t.Context(), Scope())
	if a.Checkpoint.SavedAt != c.SavedAt || len(a.Checkpoint.RecentIDs) != 0 {
		t.Errorf("loaded %+v", a.Checkpoint)
	}
	if len(b.heard) != 0 {
		t.Errorf("heard %+v", b.heard)
	}
}

// plant puts the record of At(41) with one member changed, loads it, and checks that it is gone afterwards.
func (k Kept) plant(t *testing.T, b *bench, change func(m map[string]any)) store.Answer {
	t.Helper()
	c := At(41, b.now)
	rec, err := checkpoint.NewRecord(&c, b.now)
	if err != nil {
		t.Fatal(err)
	}
	text, err := rec.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	change(members)
	doc, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return k.plantDoc(t, b, doc)
}

func (k Kept) plantDoc(t *testing.T, b *bench, doc []byte) store.Answer {
	t.Helper()
	key, err := checkpoint.ScopeKey(Scope())
	if err != nil {
		t.Fatal(err)
	}
	k.Plant(t, b.Store, key, doc)
	a := b.Load(t.Context(), Scope())
	if a.Found == checkpoint.Discarded && len(k.Dump(t, b.Store)) != 0 {
		t.Errorf("the discarded record is still there: %q", doc)
	}
	return a
}

func (k Kept) tampered(t *testing.T) {
	b := k.bench(t, store.Config{})
	a := k.plant(t, b, func(m map[string]any) { m["authorizationScopeDigest"] = checkpoint.ScopeDigest("scope-b") })
	if a.Found != checkpoint.Discarded || a.Reason != event.AuthorizationScopeChanged {
		t.Errorf("got %v %v", a.Found, a.Reason)
	}
	b.wantHeard(t, store.Loading, "authorization-scope-changed", event.AuthorizationScopeChanged)
}

func (k Kept) planted(t *testing.T) {
	for member, reason := range map[string]event.Reason{
		"sourceId": event.SourceChanged, "queryFingerprint": event.QueryChanged,
		"sourceVersion": event.SourceVersionChanged, "schemaVersion": event.SchemaVersionChanged,
	} {
		b := k.bench(t, store.Config{})
		a := k.plant(t, b, func(m map[string]any) { m[member] = "another" })
		if a.Found != checkpoint.Discarded || a.Reason != reason {
			t.Errorf("%s: got %v %v", member, a.Found, a.Reason)
		}
		d := b.wantHeard(t, store.Loading, store.Trouble(reason.String()), reason)
		if strings.Contains(fmt.Sprint(d.Err), "another") {
			t.Errorf("the diagnostic repeats a stored value: %v", d.Err)
		}
	}
	b := k.bench(t, store.Config{})
	a := k.plant(t, b, func(m map[string]any) { m["key"] = checkpoint.PlaceholderKey })
	if a.Found != checkpoint.Discarded || a.Reason != event.InvalidCheckpoint {
		t.Errorf("another key: got %v %v", a.Found, a.Reason)
	}
}

func (k Kept) corrupt(t *testing.T) {
	set := func(name string, v any) func(map[string]any) {
		return func(m map[string]any) { m[name] = v }
	}
	for name, change := range map[string]func(map[string]any){
		"sequence is text":            func(m map[string]any) { m["resume"].(map[string]any)["sequence"] = "50" },
		"sequence is no safe integer": func(m map[string]any) { m["resume"].(map[string]any)["sequence"] = json.Number("9007199254740993") },
		"sequence is missing":         func(m map[string]any) { delete(m["resume"].(map[string]any), "sequence") },
		"cursor is a number":          func(m map[string]any) { m["resume"].(map[string]any)["cursor"] = 7 },
		"resume is null":              set("resume", nil),
		"savedAt is no date":          set("savedAt", "soon"),
		"savedAt is a number":         set("savedAt", 5),
		"observedAt is missing":       func(m map[string]any) { delete(m, "observedAt") },
		"sourceId is empty":           set("sourceId", ""),
		"digest is no digest":         set("authorizationScopeDigest", "scope-a"),
		"an eleventh member":          set("recentEventIds", []string{}),
	} {
		b := k.bench(t, store.Config{})
		if a := k.plant(t, b, change); a.Found != checkpoint.Discarded || a.Reason != event.InvalidCheckpoint || a.Detail != "" {
			t.Errorf("%s: %v %v %q", name, a.Found, a.Reason, a.Detail)
		}
		b.wantHeard(t, store.Loading, "invalid-checkpoint", event.InvalidCheckpoint)
	}
	for _, doc := range []string{"null", "[]", "7", `"x"`, `{"format":"honua.realtime-checkpoint-store/1.0","seq`, `{"format":"honua.realtime-checkpoint-store/1.0","sequence":"50"}`, `{"format":"honua.realtime-checkpoint-store/1.0","sequence":9007199254740993}`, "", "\xff"} {
		b := k.bench(t, store.Config{})
		if a := k.plantDoc(t, b, []byte(doc)); a.Found != checkpoint.Discarded || a.Reason != event.InvalidCheckpoint {
			t.Errorf("%q: %v %v", doc, a.Found, a.Reason)
		}
		b.wantHeard(t, store.Loading, "invalid-checkpoint", event.InvalidCheckpoint)
	}
	for _, format := range []any{"honua.realtime-checkpoint-store/1.1", "honua.realtime-checkpoint-store/2.0", "honua.realtime-checkpoint-store/0.9", 1, nil} {
		b := k.bench(t, store.Config{})
		if a := k.plant(t, b, set("format", format)); a.Found != checkpoint.Discarded || a.Reason != event.InvalidCheckpoint || a.Detail != checkpoint.DetailFormat {
			t.Errorf("format %v: %v %v %q", format, a.Found, a.Reason, a.Detail)
		}
		b.wantHeard(t, store.Loading, store.UnsupportedFormat, event.InvalidCheckpoint)
	}
	b := k.bench(t, store.Config{})
	k.plant(t, b, func(m map[string]any) { delete(m, "format") })
	b.wantHeard(t, store.Loading, store.UnsupportedFormat, event.InvalidCheckpoint)
}
