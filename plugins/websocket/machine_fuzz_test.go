package websocket

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

// FuzzMachine: whatever a server sends, however it is cut, the machine says the same, nothing after a final signal, a close frame
// right before it, and hands on only documents of the four types.
func FuzzMachine(f *testing.F) {
	for _, s := range loadStreams(f) {
		if len(s.all) < 4096 {
			f.Add(s.all, uint8(3), s.deflate.On)
		}
	}
	f.Add(append(text(`{"kind":"delta"}`), text(`{"type":"status","status":"connected","headSequence":1e400}`)...), uint8(1), false)
	f.Fuzz(func(t *testing.T, all []byte, step uint8, deflate bool) {
		words := []string{"maxMessageBytes=2000", "closeCodes=4001=expired,4002=wait"}
		if deflate {
			words = append(words, "compression=deflate")
		}
		want := told(openMachine(words...), all)
		var parts [][]byte
		for rest := all; len(rest) > 0; {
			n := min(int(step)+1, len(rest))
			parts, rest = append(parts, rest[:n]), rest[n:]
		}
		if got := told(openMachine(words...), parts...); got != want {
			t.Fatalf("cut:\n%s\nwhole:\n%s", got, want)
		}
		m := openMachine(words...)
		m.Bytes(all)
		final, parted := false, false
		for o, ok := m.Take(); ok; o, ok = m.Take() {
			switch {
			case final:
				t.Fatal("something follows a final signal")
			case o.Send != nil:
				if parted {
					t.Fatal("a frame follows a close frame")
				}
				parted = strings.HasPrefix(clientFrame(o.Send), "close")
			case o.Signal != nil:
				if final = o.Signal.Kind.Final(); final && !parted {
					t.Fatalf("ended without a close frame: %s", render(o))
				}
			default:
				name, ok := event.TypeOf(o.Document.JSON)
				if !json.Valid(o.Document.JSON) || !ok || event.ParseKind(name) == event.Malformed {
					t.Fatalf("handed on %q", o.Document.JSON)
				}
			}
		}
	})
}
