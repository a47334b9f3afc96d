package websocket

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// RFC 6455 5.7: "Hello" as a client sends it.
func TestClientFrame(t *testing.T) {
	got := appendFrame(nil, OpText, []byte("Hello"), [4]byte{0x37, 0xfa, 0x21, 0x3d})
	want := []byte{0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58}
	if !bytes.Equal(got, want) {
		t.Errorf("% x", got)
	}
	if got := appendClose(nil, CodeProtocolError, [4]byte{}); !bytes.Equal(got, []byte{0x88, 0x82, 0, 0, 0, 0, 0x03, 0xEA}) {
		t.Errorf("close: % x", got)
	}
	if got := appendClose(nil, CodeNone, [4]byte{1}); !bytes.Equal(got, []byte{0x88, 0x80, 1, 0, 0, 0}) {
		t.Errorf("close without a code: % x", got)
	}
}

// A client frame with its mask taken off is the server's frame with the same payload: lengths are in the shortest form.
func TestClientFrameUnmasked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, rapid.SampledFrom([]int{0, 1, 125, 126, 65535, 65536}).Draw(t, "size"))
		var key [4]byte
		copy(key[:], rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "key"))
		b := appendFrame(nil, OpBinary, payload, key)
		head := 2
		switch b[1] & 0x7F {
		case 126:
			head = 4
		case 127:
			head = 10
		}
		if b[1]&maskBit == 0 || !bytes.Equal(b[head:head+4], key[:]) {
			t.Fatalf("% x", b[:head+4])
		}
		plain := append([]byte{b[0], b[1] &^ maskBit}, b[2:head]...)
		for i, c := range b[head+4:] {
			plain = append(plain, c^key[i%4])
		}
		if !bytes.Equal(plain, appendServerFrame(nil, 0x82, payload)) {
			t.Fatal("not the same")
		}
	})
}

// All chance comes from the draw: the same draw gives the same bytes, however they are asked for, and another one others.
func TestChance(t *testing.T) {
	a, b, other := chance{draw: [32]byte{1}}, chance{draw: [32]byte{1}}, chance{draw: [32]byte{2}}
	whole, parts, others := make([]byte, 100), make([]byte, 100), make([]byte, 100)
	a.fill(whole)
	for i := range parts {
		b.fill(parts[i : i+1])
	}
	other.fill(others)
	if !bytes.Equal(whole, parts) || bytes.Equal(whole, others) || bytes.Equal(whole[:32], whole[32:64]) {
		t.Errorf("% x\n% x\n% x", whole, parts, others)
	}
	for range 1000 {
		if d := a.upTo(3 * time.Millisecond); d < 0 || d > 2*time.Millisecond {
			t.Fatal(d)
		}
	}
}
