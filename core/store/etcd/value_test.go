package etcd

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
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

// TestLongestRecord: the longest texts that a checkpoint may have are kept by a server with its usual limits, of letters that
// compress badly and of bytes that JSON escapes.
func TestLongestRecord(t *testing.T) {
	c := cluster(t).client(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for name, letters := range map[string]string{
		"letters": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_",
		"quotes":  "\"\\ab",
		"escapes": "\x01\x02\x03\x04\x05\x06\x07\x0e",
	} {
		t.Run(name, func(t *testing.T) {
			text := func() string {
				b := make([]byte, checkpoint.MaxText-2)
				for i := range b {
					b[i] = letters[rng.IntN(len(letters))]
				}
				return "a" + string(b) + "z" // white space at the ends does not count
			}
			var heard []store.Diagnostic
			s := over(t, c, store.Config{OnDiagnostic: func(d store.Diagnostic) { heard = append(heard, d) }}, fresh())
			cp := at(41)
			cp.Context = checkpoint.Context{SourceID: text(), QueryFingerprint: text(), SourceVersion: text(), SchemaVersion: text(), AuthorizationScopeFingerprint: text()}
			cp.Resume.Cursor, cp.Resume.Watermark, cp.Resume.DeltaToken = text(), text(), text()
			if err := s.Save(t.Context(), cp); err != nil || len(heard) > 0 {
				t.Fatalf("%v, %.300v", err, heard)
			}
			if a := s.Load(t.Context(), cp.Context); a.Found != checkpoint.Stored || a.Checkpoint.Resume != cp.Resume {
				t.Errorf("%v, %v", a.Found, a.Reason)
			}
		})
	}
}

// TestCorrupt: a record that nobody wrote is an error of a load, is passed over by a list, and goes when it is written to.
func TestCorrupt(t *testing.T) {
	p := newPair(t)
	key, err := checkpoint.ScopeKey(storetest.Scope())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.client.Put(t.Context(), p.a.under.records+key, "canary-garbage"); err != nil {
		t.Fatal(err)
	}
	if a := p.a.Load(t.Context(), storetest.Scope()); a.Found != checkpoint.Nothing {
		t.Errorf("%+v", a)
	}
	if len(p.heard) != 1 || p.heard[0].Reason != store.StorageFailed || !errors.Is(p.heard[0].Err, ErrCorrupt) || strings.Contains(p.heard[0].Err.Cause.Error(), "canary") {
		t.Errorf("heard %+v", p.heard)
	}
	if got := mustList(t, p.b.under); got != "[]" {
		t.Errorf("listed %s", got)
	}
	if !p.save(t, p.b, at(41)) {
		t.Error("it stays")
	}
	p.holds(t, 41)
}
