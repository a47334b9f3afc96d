package etcd

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestValue: what was encoded is decoded, on both sides of the size from which it is compressed.
func TestValue(t *testing.T) {
	who := stamp{[writerBytes]byte{1, 2, 15: 9}, 1 << 40}
	for _, size := range []int{0, 1, squeezeAbove, squeezeAbove + 1, MaxDocument} {
		doc := bytes.Repeat([]byte("{}"), size/2+1)[:size]
		v, err := encode("k", who, doc)
		if err != nil {
			t.Fatal(err)
		}
		if squeezed := v[0] == squeezedForm; squeezed != (size > squeezeAbove) {
			t.Errorf("%d bytes: compressed %v", size, squeezed)
		}
		s, got, err := decode("k", v)
		if err != nil || s != who || got == nil || !bytes.Equal(got, doc) {
			t.Errorf("%d bytes: %v, %d bytes, %v", size, s, len(got), err)
		}
		for name, spoil := range map[string]func([]byte) []byte{
			"a bit":      func(v []byte) []byte { v[len(v)-1] ^= 1; return v },
			"the form":   func(v []byte) []byte { v[0] ^= plainForm ^ squeezedForm; return v },
			"no form":    func(v []byte) []byte { v[0] = 9; return v },
			"the writer": func(v []byte) []byte { v[5] ^= 1; return v },
			"the number": func(v []byte) []byte { v[headBytes-1] ^= 1; return v },
			"the end":    func(v []byte) []byte { return v[:len(v)-1] },
			"a head":     func(v []byte) []byte { return v[:headBytes-1] },
			"everything": func([]byte) []byte { return nil },
		} {
			if _, _, err := decode("k", spoil(bytes.Clone(v))); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%d bytes, %s: %v", size, name, err)
			}
		}
		if _, _, err := decode("another", v); !errors.Is(err, ErrCorrupt) {
			t.Errorf("under another key: %v", err)
		}
	}
}

// TestTooLarge: both limits of a record are refused by name; a value that unpacks to more than a document is corrupt, and
// is not unpacked further.
func TestTooLarge(t *testing.T) {
	if _, err := encode("k", stamp{}, make([]byte, MaxDocument+1)); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "8388608") {
		t.Errorf("%v", err)
	}
	noise := make([]byte, MaxValue)
	r := rand.NewChaCha8([32]byte{7})
	_, _ = r.Read(noise)
	if _, err := encode("k", stamp{}, noise); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "1048576") {
		t.Errorf("%v", err)
	}
	if _, err := unsqueeze(squeeze(nil, make([]byte, MaxDocument))); err != nil {
		t.Errorf("%v", err)
	}
	if _, err := unsqueeze(squeeze(nil, make([]byte, MaxDocument+1))); !errors.Is(err, ErrCorrupt) {
		t.Errorf("%v", err)
	}
}
