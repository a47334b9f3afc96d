package websocket

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// appendServerFrame is a frame as a server sends it, with any first byte.
func appendServerFrame(dst []byte, first byte, payload []byte) []byte {
	dst = append(dst, first)
	switch n := len(payload); {
	case n < 126:
		dst = append(dst, byte(n))
	case n < 65536:
		dst = binary.BigEndian.AppendUint16(append(dst, 126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, 127), uint64(n))
	}
	return append(dst, payload...)
}

// cutAnywhere cuts all into reads.
func cutAnywhere(t *rapid.T, all []byte) (reads [][]byte) {
	for len(all) > 0 {
		n := min(rapid.IntRange(1, 200).Draw(t, "read"), len(all))
		reads, all = append(reads, all[:n]), all[n:]
	}
	return reads
}

var someText = rapid.OneOf(rapid.StringN(0, 40, 150), rapid.StringMatching(`[a-z€😀]{0,300}`))

// validFrames draws messages, fragmented anywhere, bytes of a character included, with control frames between, and what a decoder
// must say of them.
func validFrames(t *rapid.T) (all []byte, want string) {
	control := func() {
		for range rapid.IntRange(0, 2).Draw(t, "controls") {
			p := []byte(rapid.StringN(0, 125, 125).Draw(t, "control"))
			op := rapid.SampledFrom([]Opcode{OpPing, OpPong}).Draw(t, "op")
			all = appendServerFrame(all, 0x80|byte(op), p)
			want += fmt.Sprintf("%s %q\n", map[Opcode]string{OpPing: "ping", OpPong: "pong"}[op], p)
		}
	}
	for range rapid.IntRange(0, 5).Draw(t, "messages") {
		control()
		message := []byte(someText.Draw(t, "message"))
		op, said := byte(OpText), fmt.Sprintf("text %q\n", message)
		if rapid.Bool().Draw(t, "binary") {
			op, said = byte(OpBinary), fmt.Sprintf("binary %x\n", message)
		}
		for range rapid.IntRange(0, 3).Draw(t, "fragments") {
			n := rapid.IntRange(0, len(message)).Draw(t, "fragment")
			all = appendServerFrame(all, op, message[:n])
			message, op = message[n:], byte(OpContinuation)
			want += "fragment\n"
			control()
		}
		all = appendServerFrame(all, 0x80|op, message)
		want += said
	}
	if rapid.Bool().Draw(t, "close") {
		all = appendServerFrame(all, 0x88, []byte("\x03\xe9soon"))
		want += "close 1001 \"soon\"\n"
	}
	return all, want
}

// Any split of valid frames gives the same messages, and the model agrees.
func TestValidFramesInAnySplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, want := validFrames(t)
		if got := transcript(NewDecoder(0, Deflate{}), cutAnywhere(t, all)...); got != want {
			t.Fatalf("% x\ngot\n%swant\n%s", all, got, want)
		}
		if got := modelTranscript(all, DefaultMaxMessageBytes); got != want {
			t.Fatalf("% x\nthe model says\n%swant\n%s", all, got, want)
		}
	})
}

// Frames that were damaged give the same violation in any split, and it is the one that the model finds.
func TestDamagedFramesInAnySplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, _ := validFrames(t)
		for range rapid.IntRange(0, 4).Draw(t, "damages") {
			if len(all) == 0 {
				break
			}
			i := rapid.IntRange(0, len(all)-1).Draw(t, "at")
			switch rapid.IntRange(0, 3).Draw(t, "how") {
			case 0:
				all[i] = rapid.Byte().Draw(t, "byte")
			case 1:
				all[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			case 2:
				all = append(all[:i], all[i+1:]...)
			default:
				all = all[:i]
			}
		}
		limit := rapid.SampledFrom([]int{1, 50, 1000}).Draw(t, "limit")
		want := modelTranscript(all, limit)
		if got := transcript(NewDecoder(limit, Deflate{}), cutAnywhere(t, all)...); got != want {
			t.Fatalf("% x\ngot\n%swant\n%s", all, got, want)
		}
	})
}

// FuzzDecoder: whatever a server sends, however it is cut, the decoder says what the model says and holds no more than its limit.
func FuzzDecoder(f *testing.F) {
	for _, s := range loadStreams(f) {
		if len(s.all) < 4096 {
			f.Add(s.all, uint8(3))
		}
	}
	f.Fuzz(func(t *testing.T, all []byte, step uint8) {
		const limit = 300
		want := modelTranscript(all, limit)
		d := NewDecoder(limit, Deflate{})
		var out strings.Builder
		for rest := all; len(rest) > 0; {
			n := min(int(step)+1, len(rest))
			out.WriteString(transcript(d, rest[:n]))
			rest = rest[n:]
			if cap(d.message) > 4*limit || d.Unfinished() < 0 || d.Offset() > int64(len(all)) {
				t.Fatalf("holds %d, unfinished %d, offset %d", cap(d.message), d.Unfinished(), d.Offset())
			}
		}
		if got := out.String(); got != want {
			t.Fatalf("got\n%swant\n%s", got, want)
		}
	})
}
