package event

import "testing"

// TestReasons is facts 1.6: 24 reasons, each with its code, category and retryable flag.
func TestReasons(t *testing.T) {
	want := map[Class][]string{
		{"realtime.protocol.terminal", "protocol", false}: {"compatible", "invalid-event", "consumer-failed", "delivery-failed", "checkpoint-load-failed", "checkpoint-save-failed"},
		{"realtime.checkpoint.invalid", "validation", false}: {"invalid-checkpoint", "source-changed", "query-changed", "source-version-changed", "schema-version-changed",
			"authorization-scope-changed", "checkpoint-conflict"},
		{"realtime.sequence.gap", "protocol", true}:           {"snapshot-required", "replacement-snapshot-required", "sequence-missing", "sequence-gap", "event-id-reused", "buffer-overflow"},
		{"realtime.transport.reconnectable", "network", true}: {"cursor-expired", "resume-unsupported", "transport-gap"},
		{"realtime.cancelled", "cancellation", false}:         {"cancelled", "closed"},
	}
	n := 0
	for class, texts := range want {
		for _, text := range texts {
			n++
			r, ok := ParseReason(text)
			if !ok || r.String() != text || r.Class() != class {
				t.Errorf("%s: %v %v %+v, want %+v", text, ok, r, r.Class(), class)
			}
		}
	}
	if n != 24 || int(Closed) != 24 {
		t.Errorf("%d reasons, the last is number %d", n, Closed)
	}
	for _, text := range []string{"", "Closed", "nonsense"} {
		if r, ok := ParseReason(text); ok || r != None {
			t.Errorf("ParseReason(%q) = %v", text, r)
		}
	}
	if r := Reason(99); r.String() != "invalid-event" || r.Class().Code != "realtime.protocol.terminal" {
		t.Errorf("a number that is no reason: %v %+v", r, r.Class())
	}
}

func TestKindsAndSequences(t *testing.T) {
	for _, text := range []string{"snapshot", "upsert", "delete", "delta"} {
		if k := ParseKind(text); k == Malformed || k.String() != text {
			t.Errorf("%s: %v", text, k)
		}
	}
	for _, text := range []string{"", "malformed", "heartbeat", "Delta"} {
		if k := ParseKind(text); k != Malformed {
			t.Errorf("%q is %v", text, k)
		}
	}
	if Kind(77).String() != "malformed" {
		t.Error(Kind(77))
	}
	for s, want := range map[Seq]bool{NoSeq: false, 0: true, MaxSeq: true, MaxSeq + 1: false, -2: false} {
		if s.Valid() != want {
			t.Errorf("%d: %v", s, s.Valid())
		}
	}
	for _, e := range []Event{{Kind: Snapshot}, {Kind: Snapshot, Merge: true}, {Kind: Delta}} {
		if e.Replaces() != (e.Kind == Snapshot && !e.Merge) {
			t.Errorf("%+v replaces: %v", e, e.Replaces())
		}
	}
}
