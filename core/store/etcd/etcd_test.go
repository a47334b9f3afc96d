//go:build unix

package etcd

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
)

// shared is one cluster of three members for all tests that break nothing.
var shared struct {
	once sync.Once
	*members
	err error
}

var prefixes atomic.Int64

func cluster(t testing.TB) *members {
	t.Helper()
	shared.once.Do(func() { shared.members, shared.err = startMembers(3, "nosync") })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.members
}

func endShared() error {
	if shared.members == nil {
		return nil
	}
	return shared.members.end()
}

// fresh are the options of a store whose prefix nobody has used.
func fresh() Options {
	return Options{Prefix: fmt.Sprint("test/", prefixes.Add(1)), Timeout: readyTime}
}

func over(t testing.TB, c *clientv3.Client, cfg store.Config, opt Options) *Store {
	t.Helper()
	s, err := Over(c, cfg, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestStorage: the suite of every storage, with the field cases P-CK-01, P-CK-02, P-CK-03, P-CK-04, P-CK-05 and P-CK-08.
func TestStorage(t *testing.T) {
	c := cluster(t).client(t)
	storetest.Storage(t, func(t *testing.T) store.Storage { return over(t, c, store.Config{}, fresh()).under })
}

// TestStore: the store itself, over a client of its own.
func TestStore(t *testing.T) {
	m := cluster(t)
	m.client(t) // it answers
	storetest.Run(t, func(t *testing.T) store.Store {
		s, err := Open(t.Context(), Cluster{Endpoints: m.endpoints()}, store.Config{}, fresh())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
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
