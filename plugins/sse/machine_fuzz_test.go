package sse

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/event"
)

// told is what a machine makes of reads, signs of life apart: how many of those come depends on the reads.
func told(m *Machine, reads ...[]byte) string {
	var lines []string
	for _, r := range reads {
		m.Bytes(r)
		for o, ok := m.Take(); ok; o, ok = m.Take() {
			if line := render(o); line != "heartbeat" {
				lines = append(lines, line)
			}
		}
	}
	return strings.Join(lines, "\n")
}

// FuzzMachine: whatever a server sends, however it is cut, the machine says the same, nothing after a final signal, and hands
// on only documents of the four types.
func FuzzMachine(f *testing.F) {
	for _, s := range loadStreams(f) {
		if all := s.whole(); len(all) < 4096 {
			f.Add(all, uint8(3))
		}
	}
	f.Add([]byte("id: 1\ndata: {\"kind\":\"delta\"}\n\nid\ndata: {\"type\":\"status\",\"status\":\"connected\",\"headSequence\":1e400}\n\n"), uint8(1))
	f.Add([]byte("data: {\"type\":\"error\",\"retryAfterMs\":1e999,\"terminal\":false}\n\n"), uint8(2))
	f.Fuzz(func(t *testing.T, all []byte, step uint8) {
		want := told(openMachine(nil), all)
		var parts [][]byte
		for rest := all; len(rest) > 0; {
			n := min(int(step)+1, len(rest))
			parts, rest = append(parts, rest[:n]), rest[n:]
		}
		if got := told(openMachine(nil), parts...); got != want {
			t.Fatalf("cut:\n%s\nwhole:\n%s", got, want)
		}
		m := openMachine(nil)
		m.Bytes(all)
		final := false
		for o, ok := m.Take(); ok; o, ok = m.Take() {
			if final {
				t.Fatal("something follows a final signal")
			}
			if o.Signal != nil {
				final = o.Signal.Kind.Final()
			} else if name, ok := event.TypeOf(o.Document.JSON); !json.Valid(o.Document.JSON) || !ok || event.ParseKind(name) == event.Malformed {
				t.Fatalf("handed on %q", o.Document.JSON)
			}
		}
	})
}
