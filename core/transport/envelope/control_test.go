package envelope

import (
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

// D-36, D-41: a server says that it is about to close in its first frame or in one of its own; the second says nothing about the
// resume.
func TestClosingSoon(t *testing.T) {
	for doc, want := range map[string]transport.Signal{
		`{"type":"status","status":"connected","headSequence":4,"resumed":true,"closingSoon":true}`: {Kind: transport.Answered, Answer: transport.Answer{Head: 4, Resumed: transport.Yes, ClosingSoon: true}},
		`{"type":"status","status":"reconnecting","reason":"closing-soon","closingSoon":true}`:      {Kind: transport.Answered, Answer: transport.Answer{Head: event.NoSeq, ClosingSoon: true}},
		`{"type":"status","status":"reconnecting","closingSoon":"true"}`:                            {Kind: transport.Heartbeat},
		`{"type":"status","status":"reconnecting","closingSoon":false}`:                             {Kind: transport.Heartbeat},
		`{"type":"status","code":"authorization-ended","closingSoon":true}`:                         {Kind: transport.Refused, Cause: transport.Unauthorized, Detail: "authorization-ended"},
	} {
		if got := ReadStatus([]byte(doc)); got != want {
			t.Errorf("%s: got %+v, want %+v", doc, got, want)
		}
	}
}

func TestEpochIsBounded(t *testing.T) {
	doc := func(n int) []byte {
		return []byte(`{"type":"status","status":"connected","streamEpoch":"` + strings.Repeat("v", n) + `"}`)
	}
	if got := ReadStatus(doc(MaxEpochBytes)); got.Kind != transport.Answered || len(got.Answer.StreamEpoch) != MaxEpochBytes {
		t.Errorf("at the limit: %v", got.Kind)
	}
	if got := ReadStatus(doc(MaxEpochBytes + 1)); got.Cause != transport.ProtocolError || got.Detail != "stream-epoch-too-long: limit 1024" {
		t.Errorf("above: %+v", got)
	}
}

// FuzzControl: no control frame panics, and none of its text is shown.
func FuzzControl(f *testing.F) {
	f.Add([]byte(`{"type":"status","status":"connected","headSequence":1e2,"resumed":false,"resumeRejected":"cursor-expired"}`))
	f.Add([]byte(`{"type":"error","terminal":false,"code":"canary","retryAfterMs":1e400}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		for _, s := range []transport.Signal{ReadStatus(doc), ReadError(doc)} {
			if s.RetryAfter < 0 || s.Kind == 0 || strings.Contains(s.Detail, "canary") {
				t.Errorf("%q: %+v", doc, s)
			}
		}
	})
}
